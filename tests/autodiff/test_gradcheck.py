"""`gradcheck` finds wrong derivatives (cases 003, 008) and passes right ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

RNG = np.random.default_rng(7)


def values(*shape: int) -> np.ndarray:
    return RNG.uniform(0.3, 2.0, shape).astype(np.float32)


def test_003_wrong_derivative_of_fmod(session: Any) -> None:
    f = session.compile("[Differentiable] float wrap(float x, float period) { return fmod(x, period); }").wrap
    report = sn.gradcheck(f, np.array([7.5, 10.1], np.float32), np.array([3.0, 4.2], np.float32))
    assert not report.ok
    assert {r.argument for r in report.rows if not r.ok} == {"period"}
    assert [r.numeric for r in report.rows if not r.ok] == pytest.approx([-2.0, -2.0], rel=1e-3)


def test_008_nan_of_the_branch_that_was_not_taken(session: Any) -> None:
    f = session.compile("""
[Differentiable] float softplus(float x) { float e = exp(x); return x > 20.0 ? x : log(1.0 + e); }
[Differentiable] float safe(float x) { if (x > 20.0) return x; return log(1.0 + exp(x)); }
""")
    x = np.array([-1.0, 0.5, 100.0], np.float32)
    report = sn.gradcheck(f.softplus, x)
    assert not report.ok and report.rows[0].index == (2,) and np.isnan(report.rows[0].analytic)
    assert sn.gradcheck(f.safe, x).ok


def test_wrong_custom_derivative(session: Any) -> None:
    f = session.compile("""
[BackwardDerivative(wrong)] float cube(float x) { return x * x * x; }
void wrong(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.9 * x.p * x.p * d); }
[Differentiable] float outer(float x) { return 2 * cube(x); }
""").outer
    report = sn.gradcheck(f, values(5))
    assert not report.ok and report.max_rel_error == pytest.approx(0.1 / 3, rel=0.1)


RIGHT = [
    "sin(x * y) + exp(-x * x)",
    "pow(x, y)",
    "log(x) / y",
    "sqrt(x * x + y * y)",
    "atan2(x, y)",
    "tanh(x) * cos(y)",
    "lerp(x, y, 0.3)",
    "x > 1.0 ? x * x : y * y",
    "min(x, 5.0) * max(y, 0.1)",
    "rsqrt(x) + exp2(y)",
    "x * y * y - 3 * x / (1 + y)",
    "saturate(0.2 * x) * y",
]


@pytest.mark.parametrize("expression", RIGHT)
def test_right_derivatives_pass(session: Any, expression: str) -> None:
    f = session.compile(f"[Differentiable] float right(float x, float y) {{ return {expression}; }}").right
    report = sn.gradcheck(f, values(200), values(200))
    assert report.ok, str(report)
    assert sn.gradcheck(f, 0.7, values(50)).ok


def test_kinks_and_jumps_give_no_false_alarm(session: Any) -> None:
    f = session.compile("[Differentiable] float kink(float x) { return abs(x) + fmod(x, 1.0); }").kink
    assert sn.gradcheck(f, np.linspace(-3, 3, 301).astype(np.float32)).ok


def test_vectors_and_report(session: Any) -> None:
    f = session.compile("[Differentiable] float dot3(float3 a, float3 b) { return dot(a, b) * a.x; }").dot3
    report = sn.gradcheck(f, values(4, 3), values(3))
    assert report.ok and len(report.rows) == 10
    assert "gradcheck of dot3: right" in str(report) and "<script" not in report._repr_html_()
