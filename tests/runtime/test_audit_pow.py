"""A power of a negative number has no derivative in Slang: it is refused, and powers of positive numbers are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
[Differentiable] float squared(float x) { return pow(x, 2); }
[Differentiable] float cubed(float x) { return 1.0 + pow(x, 3.0); }
[Differentiable] float power(float x, float y) { return pow(x, y); }
[Differentiable] float3 all_three(float3 v) { return pow(v, 2.0); }
[Differentiable] float loss(float a, float b, float x, float y) { float p = a * x + b; return pow(p - y, 2); }
[Differentiable] float inner(float x) { return pow(x - 1.0, 4.0); }
[Differentiable] float outer(float x) { return inner(x) * 2.0; }
[Differentiable] void doubled(inout float x) { x = pow(x, 2); }
"""
X = np.array([-2, 0.5, 2], np.float32)


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.mark.parametrize("name", ["squared", "cubed", "outer"])
def test_negative_bases_are_refused(m: Any, name: str) -> None:
    for _ in range(2):
        with pytest.raises(sn.GradientError, match="takes pow of a negative number"):
            sn.grad(m[name], "x")(X)
    with pytest.raises(sn.GradientError, match="takes pow of a negative number"):
        sn.jvp(m[name], {"x": X}, {"x": np.ones_like(X)})
    x = sn.tensor(X, grad=True)
    y = m[name](x, _result="tensor").with_grads()
    y.grad.copy_from_numpy(np.ones_like(X))
    with pytest.raises(sn.GradientError, match=r"write `x \* x` for `pow\(x, 2\)`"):
        m[name].bwds(x, _result=y)


def test_a_fit_with_negative_residuals_is_refused(m: Any) -> None:
    xs = np.linspace(-1, 1, 8, dtype=np.float32)
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        sn.value_and_grad(m.loss, wrt=("a", "b"))(0.0, 0.0, xs, 2 * xs + 1)


def test_vectors_and_values_changed_in_place(m: Any) -> None:
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        sn.grad(m.all_three, "v")(np.array([[1, -2, 3]], np.float32))
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        sn.grad(m.doubled, "x")(X)


def test_positive_bases_are_right(m: Any) -> None:
    x = np.array([0.5, 2, 3], np.float32)
    assert sn.grad(m.squared, "x")(x).tolist() == pytest.approx((2 * x).tolist(), rel=1e-5)
    assert sn.grad(m.cubed, "x")(x).tolist() == pytest.approx((3 * x**2).tolist(), rel=1e-5)
    assert sn.grad(m.doubled, "x")(x).tolist() == pytest.approx((2 * x).tolist(), rel=1e-5)
    found = sn.grad(m.power)(x, 1.5)
    assert found["x"].tolist() == pytest.approx((1.5 * x**0.5).tolist(), rel=1e-5)
    assert found["y"] == pytest.approx(float((x**1.5 * np.log(x)).sum()), rel=1e-5)
    assert sn.jvp(m.squared, {"x": x}, {"x": np.ones_like(x)})[1].tolist() == pytest.approx((2 * x).tolist(), rel=1e-5)


def test_later_calls_are_looked_at(session: Any) -> None:
    f = session.compile("[Differentiable] float later(float x) { return pow(x, 2); }").later
    g = sn.grad(f, "x")
    assert g(np.abs(X)).tolist() == pytest.approx([4, 1, 4], rel=1e-6)
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        g(-2.0)
    for _ in range(2):
        assert g(np.abs(X)).tolist() == pytest.approx([4, 1, 4], rel=1e-6)
        with pytest.raises(sn.GradientError, match="pow of a negative number"):  # of the same kind as the last
            g(X)


def test_later_directions_are_looked_at(session: Any) -> None:
    """Forward mode alone: it gives 0 as the value, too."""
    f = session.compile("[Differentiable] float risen(float x, float n) { return pow(x, n); }").risen
    ones = np.ones(3, np.float32)
    y, dy = sn.jvp(f, {"x": np.abs(X), "n": 2.0}, {"x": ones})
    assert (y.tolist(), dy.tolist()) == (pytest.approx([4, 0.25, 4]), pytest.approx([4, 1, 4]))
    for _ in range(2):
        with pytest.raises(sn.GradientError, match="pow of a negative number"):
            sn.jvp(f, {"x": X, "n": 2.0}, {"x": ones})
