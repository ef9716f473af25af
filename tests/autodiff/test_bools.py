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


@pytest.fixture(params=[list, tuple], ids=["list", "tuple"])
def bools(request: pytest.FixtureRequest) -> Any:
    return request.param(B)


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
