"""The audit finds where Slang's reverse mode is wrong, and lets right functions pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

N = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
#: Measured with Slang 2026.12: reverse mode gives 0, or half, for the scalar.
WRONG = ["p * x", "x + p", "p - x", "p / x", "sin(p * x)", "x + p + p", "p * x + p * x.yzx"]
RIGHT = ["x * p", "float3(p) * x", "x * (2 * p)", "p * sin(x)", "x / p", "max(x, float3(p))"]


def compiled(session: Any, expression: str) -> Any:
    return session.compile(f"[Differentiable] float3 audited(float p, float3 x) {{ return {expression}; }}").audited


@pytest.mark.parametrize("expression", WRONG)
def test_lost_gradients_of_scalars_are_refused(session: Any, ones: Any, expression: str) -> None:
    f = compiled(session, expression)
    for _ in range(2):  # also at the second time
        with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
            sn.grad(f, "p")(2.0, N)
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        sn.vjp(f, 2.0, N)
    x, p = sn.tensor(N, dtype="float3", grad=True), sn.tensor([2.0], grad=True)
    y = ones(f(p, x, _result="tensor"))
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        f.bwds(p, x, _result=y)
    assert not sn.gradcheck(f, 2.0, N).ok


@pytest.mark.parametrize("expression", RIGHT)
def test_right_functions_pass(session: Any, expression: str) -> None:
    f = compiled(session, expression)
    grads = sn.grad(f)(2.0, N)
    dy = sn.jvp(f, {"p": 2.0, "x": N}, {"p": 1.0})[1]
    assert grads["p"] == pytest.approx(float(dy.sum()), rel=1e-5)


def test_loops_beyond_their_bound(session: Any) -> None:
    f = session.compile("""
[Differentiable] float chain(float x, int rounds)
{
    float r = x;
    [MaxIters(4)] for (int i = 0; i < rounds; i++) r = sin(r) * x + r;
    return r;
}
""").chain
    g = sn.grad(f, "x")
    assert g(0.5, 3) == pytest.approx(sn.jvp(f, {"x": 0.5, "rounds": 3}, {"x": 1.0})[1], rel=1e-5)
    for _ in range(2):
        with pytest.raises(sn.GradientError, match=r"wrong for 'x'.*MaxIters"):
            g(0.5, 9)


def test_loops_beyond_their_bound_in_backward_calls(session: Any, ones: Any) -> None:
    f = session.compile("""
[Differentiable] float grow(float x, int rounds)
{
    float r = x;
    [MaxIters(4)] for (int i = 0; i < rounds; i++) r = sin(r) * x + r;
    return r;
}
""").grow
    x = sn.tensor([0.5, 0.7], grad=True)
    y = ones(f(x, 3, _result="tensor"))
    f.bwds(x, 3, _result=y)
    dy = sn.jvp(f, {"x": np.array([0.5, 0.7], np.float32), "rounds": 3}, {"x": 1.0})[1]
    np.testing.assert_allclose(x.grad.to_numpy(), dy, rtol=1e-5)
    with pytest.raises(sn.GradientError, match=r"wrong for 'x'.*MaxIters"):
        f.bwds(x, 9, _result=y)


def test_derivatives_of_ones_own_are_left_alone(session: Any) -> None:
    f = session.compile("""
[BackwardDerivative(through)] float3 rounded(float3 x) { return round(x); }
void through(inout DifferentialPair<float3> x, float3 d) { x = diffPair(x.p, d); }
[Differentiable] float total(float3 x) { return dot(rounded(x), float3(1.0)); }
""").total
    assert sn.grad(f, "x")(np.array([0.2, 1.7, 3.1], np.float32)).tolist() == [1, 1, 1]
