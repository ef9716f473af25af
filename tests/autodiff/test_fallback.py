"""Gradients through SlangPy's own calls have the shape of what came in; it makes calls with outputs that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
[Differentiable] void scaled(float x, float c, out float y) { y = c * x * x; }
[Differentiable] void first(float x, float3 c, out float y) { y = c.x * x * x; }
"""
XS = np.array([1, 2, 3], np.float32)
ROWS = [[1.0, 2.0, 3.0]] * 3


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def given() -> Any:
    return sn.tensor(np.zeros(3, np.float32))


@pytest.mark.parametrize("make", [list, tuple, sn.Parameter, lambda c: np.array(c, np.float32)])
def test_a_value_for_each_element(m: Any, make: Any) -> None:
    c = [1.0, 2.0, 3.0]
    assert sn.grad(m.scaled, "c")(x=XS, c=make(c), y=given()).tolist() == [1, 4, 9]
    assert sn.grad(m.scaled, "c")(x=XS, c=make(c)).tolist() == [1, 4, 9]
    assert sn.grad(m.scaled, "x")(x=XS, c=make(c), y=given()).tolist() == [2, 8, 18]


@pytest.mark.parametrize("make", [list, tuple, sn.Parameter])
def test_one_value_in_a_list(m: Any, make: Any) -> None:
    assert sn.grad(m.scaled, "c")(x=XS, c=make([2.0]), y=given()).tolist() == [14]
    assert sn.grad(m.scaled, "x")(x=XS, c=make([2.0]), y=given()).tolist() == [4, 8, 12]


@pytest.mark.parametrize("c", [2, 2.0, np.float32(2), sn.Parameter(2.0)], ids=repr)
def test_one_number(m: Any, c: Any) -> None:
    found = sn.grad(m.scaled, "c")(x=XS, c=c, y=given())
    assert found == 14.0 and isinstance(found, float)


@pytest.mark.parametrize("make", [list, sn.Parameter])
def test_vectors(m: Any, make: Any) -> None:
    assert sn.grad(m.first, "c")(x=XS, c=make(ROWS[0]), y=given()).tolist() == [14, 0, 0]
    assert sn.grad(m.first, "c")(x=XS, c=make(ROWS), y=given()).tolist() == [[1, 0, 0], [4, 0, 0], [9, 0, 0]]
    assert sn.grad(m.first, "x")(x=XS, c=make(ROWS), y=given()).tolist() == [2, 4, 6]
