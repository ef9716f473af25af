"""The pull of `vjp` sees the arguments as they were, whatever becomes of the containers that held them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.stale import copied

SOURCE = """
[Differentiable] float matrix(float2x2 w, float x) { return w[0][1] * w[1][0] * x; }
[Differentiable] float vector(float3 v, float x) { return v.x * v.y * x; }
[Differentiable] float four(float4 v, float x) { return v.x * v.y * x; }
[Differentiable] float narrow(half v, float x) { return v * x; }
"""
XS = np.array([1, 2, 3], np.float32)


def nested_list() -> tuple[str, Any, Callable[[Any], None]]:
    return "matrix", [[1.0, 2.0], [3.0, 4.0]], lambda w: w[0].__setitem__(1, 100.0)


def tuple_of_arrays() -> tuple[str, Any, Callable[[Any], None]]:
    return "matrix", (np.array([1.0, 2.0]), np.array([3.0, 4.0])), lambda w: w[0].fill(100.0)


def slangpy_matrix() -> tuple[str, Any, Callable[[Any], None]]:
    import slangpy as spy

    return "matrix", spy.float2x2([1.0, 2.0, 3.0, 4.0]), lambda w: w.__setitem__(0, spy.float2(100.0))


def slangpy_vector() -> tuple[str, Any, Callable[[Any], None]]:
    import slangpy as spy

    return "vector", spy.float3(2.0, 3.0, 1.0), lambda v: setattr(v, "y", 100.0)


def quaternion() -> tuple[str, Any, Callable[[Any], None]]:
    import slangpy as spy

    return "four", spy.quatf(2.0, 3.0, 1.0, 1.0), lambda v: setattr(v, "y", 100.0)


@pytest.mark.parametrize("made", [nested_list, tuple_of_arrays, slangpy_matrix, slangpy_vector, quaternion])
def test_later_changes_of_containers_are_not_seen(session: Any, made: Any) -> None:
    name, value, change = made()
    y, pull = sn.vjp(session.compile(SOURCE)[name], value, XS)
    before = str(value)
    change(value)
    assert str(value) != before
    assert y.tolist() == [6, 12, 18] and pull()["x"].tolist() == [6, 6, 6]


def test_a_half_of_slangpy(session: Any) -> None:
    import slangpy as spy

    _, pull = sn.vjp(session.compile(SOURCE).narrow, spy.float16_t(2), XS)
    found = pull()
    assert found["v"] == 6.0 and found["x"].tolist() == [2, 2, 2]


def test_vectors_of_slangpy_have_their_own_size(session: Any) -> None:
    import slangpy as spy

    m = session.compile("[Differentiable] float f(float2 v, float a) { return v.x * v.y * a; }")
    with pytest.raises(sn.CallError, match=r"'v' has shape \(3,\), but float2 needs it to end with \(2,\)"):
        sn.grad(m.f)(spy.float3(2, 3, 4), 1.0)
    assert sn.grad(m.f, "a")(spy.float2(2, 3), spy.float3(1, 2, 3)).tolist() == [6, 6, 6]


def test_copies_are_deep() -> None:
    inner = np.zeros(2)
    value = {"a": [(inner, [1.0])], "b": 2}
    made = copied(value)
    inner[:] = 9
    value["a"][0][1][0] = 9.0  # pyright: ignore[reportIndexIssue]
    assert made["b"] == 2 and made["a"][0][0].tolist() == [0, 0] and made["a"][0][1] == [1.0]


def test_a_function_that_was_compiled_again(session: Any) -> None:
    text = "[Differentiable] float again(float x) {{ return {} * x; }}"
    m = session.compile(text.format(2), "compiled_again")
    _, pull = sn.vjp(m.again, XS)
    session.compile(text.format(3), "compiled_again")
    with pytest.raises(sn.GradientError, match=r"^again was compiled again after this result was computed") as caught:
        pull()
    assert caught.value.remedy == "compute the result again, then its gradient"
