"""Many bools for a bool parameter: each element gets its own, in all transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
struct Choice { bool twice; float a; }
[Differentiable] float pick(bool b, float x) { return b ? 2 * x : x * x; }
[Differentiable] float choose(no_diff Choice c, float x) { return c.a * pick(c.twice, x); }
"""
X = np.array([3, 4, 5, 6], np.float32)
B = [True, False, True, False]
VALUES, SLOPES = [6, 16, 10, 36], [2, 8, 2, 12]


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.fixture(params=[list, tuple, np.array], ids=["list", "tuple", "array"])
def bools(request: pytest.FixtureRequest) -> Any:
    return request.param(B)


def test_bools_for_a_float_are_refused_with_the_cast(module: Any) -> None:
    with pytest.raises(sn.CallError, match="'x' is an array of bool, but the parameter is float") as caught:
        module.pick(True, np.array([True, False]))
    assert caught.value.remedy == "cast it: x.astype(np.float32)"


def test_values_and_gradients(module: Any, bools: Any) -> None:
    assert module.pick(bools, X, _result="numpy").tolist() == VALUES
    value, grads = sn.value_and_grad(module.pick)(bools, X)
    assert value == sum(VALUES) and grads["x"].tolist() == SLOPES
    y, dy = sn.jvp(module.pick, {"b": bools, "x": X}, {"x": 1.0})
    assert (y.tolist(), dy.tolist()) == (VALUES, SLOPES)
    y, pull = sn.vjp(module.pick, bools, X)
    assert (y.tolist(), pull()["x"].tolist()) == (VALUES, SLOPES)
    assert sn.hvp(module.pick, "x")(bools, X, v=np.ones(4, np.float32)).tolist() == [0, 2, 0, 2]
    assert sn.gradcheck(module.pick, bools, X).ok


def test_backward(module: Any, bools: Any, ones: Any) -> None:
    x = sn.tensor(X, grad=True)
    module.pick.bwds(bools, x, _result=ones(module.pick(bools, x, _result="tensor")))
    assert x.grad.to_numpy().tolist() == SLOPES


def test_repeated_and_in_structs(module: Any, bools: Any) -> None:
    rows = np.stack([X, X + 1])
    assert sn.grad(module.pick, "x")(bools, rows).tolist() == [SLOPES, [2, 10, 2, 14]]
    assert sn.grad(module.pick, "x")(bools, 3.0) == 2 + 6 + 2 + 6
    assert sn.grad(module.pick, "x")(bools[1:2], X).tolist() == [6, 8, 10, 12]  # one for all
    choice = {"twice": bools, "a": 3.0}
    assert sn.grad(module.choose, "x")(choice, X).tolist() == [3 * s for s in SLOPES]


@pytest.mark.parametrize("call", [lambda m, b: m.pick(b, X), lambda m, b: sn.grad(m.pick)(b, X)], ids=["call", "grad"])
def test_whole_numbers_for_bools_are_refused(module: Any, call: Any) -> None:
    with pytest.raises(sn.CallError, match="pick: 'b' is an array of int32, but the parameter is bool") as caught:
        call(module, np.array(B, np.int32))
    assert caught.value.remedy == "cast it: b.astype(bool)"


def test_arrays_of_bool_for_other_parameters_are_refused(session: Any) -> None:
    m = session.compile("[Differentiable] float f(float x, bool2 b) { return b.x ? x : 2 * x; }")
    with pytest.raises(sn.CallError, match="'x' is an array of bool") as caught:
        sn.grad(m.f)(np.array(B), (True, False))
    assert caught.value.remedy == "cast it: x.astype(np.float32)"
    with pytest.raises(sn.CallError, match="'b' is an array of bool, but the parameter is bool2") as caught:
        m.f(X, np.array([B[:2]] * 4))
    assert caught.value.remedy == "make the parameter int, and pass whole numbers"


def test_tensors_of_whole_numbers_for_bools(module: Any) -> None:
    with pytest.raises(sn.CallError, match="'b' is a 1-dimensional tensor of int, but the parameter is bool") as caught:
        module.pick(sn.tensor(np.array(B, np.int32)), X)
    assert caught.value.remedy == "pass an array of bool: b.to_numpy().astype(bool)"
