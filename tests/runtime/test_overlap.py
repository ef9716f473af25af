"""Results over their arguments: in place where each thread keeps to its own element, refused where they cross."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
float twice(float x) { return 2 * x; }
float first(float3 x) { return 2 * x.x; }
float plus(float a, float x) { return a + x; }
void to(float x, out float y) { y = 2 * x; }
"""
SIDES = [4, 512]  # SlangPy's kernel, and ours


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.mark.parametrize("side", SIDES)
def test_results_over_other_elements_are_refused(module: Any, side: int) -> None:
    a = np.arange(side * side, dtype=np.float32).reshape(side, side)
    t: Any = sn.tensor(a)
    turned = t.view((side, side), (1, side))
    with pytest.raises(sn.CallError, match="'_result' lies over other elements of 'x'") as caught:
        module.twice(turned, _result=t)
    assert caught.value.remedy == "write to a new tensor: y = twice(..., _result='tensor')"
    np.testing.assert_array_equal(module.twice(turned, _result="numpy"), 2 * a.T)
    rows = (side - 1, side)
    with pytest.raises(sn.CallError, match="'_result' lies over"):
        module.twice(t.view(rows, (side, 1)), _result=t.view(rows, (side, 1), side))
    with pytest.raises(sn.CallError, match="of 'a'"):  # one row for all rows, itself among these
        module.plus(t.view((side,), (1,)), t, _result=t)
    with pytest.raises(sn.CallError, match="'y' lies over other elements of 'x'"):
        module.to(turned, t)
    np.testing.assert_array_equal(t.to_numpy(), a)


@pytest.mark.parametrize("side", SIDES)
def test_the_second_call_of_a_kind_is_refused_too(module: Any, side: int) -> None:
    a = np.arange(side * side, dtype=np.float32).reshape(side, side)
    x: Any = sn.tensor(a)
    y = sn.tensor(0 * a)
    for _ in range(3):
        module.twice(x.view((side, side), (1, side)), _result=y)
    np.testing.assert_array_equal(y.to_numpy(), 2 * a.T)
    with pytest.raises(sn.CallError, match="lies over"):
        module.twice(x.view((side, side), (1, side)), _result=x)


@pytest.mark.parametrize("side", SIDES)
def test_elements_in_their_own_place_and_apart_are_right(module: Any, side: int) -> None:
    a = np.arange(side * side, dtype=np.float32).reshape(side, side)
    t: Any = sn.tensor(a)
    module.twice(t, _result=t)
    module.twice(t.view((side, side), (side, 1)), _result=t)  # the same elements by another tensor
    np.testing.assert_array_equal(t.to_numpy(), 4 * a)
    t, half = sn.tensor(a), (side, side // 2)
    module.twice(t.view(half, (side, 2)), _result=t.view(half, (side, 2), 1))  # even columns to odd ones
    np.testing.assert_array_equal(t.to_numpy(), np.stack([a[:, ::2], 2 * a[:, ::2]], -1).reshape(side, side))
    t = sn.tensor(np.arange(3 * side, dtype=np.float32).reshape(side, 3))
    module.first(t, _result=t.view((side,), (3,)))  # a number over the vector that it is made of
    np.testing.assert_array_equal(t.to_numpy()[:, 0], 6 * np.arange(side))
