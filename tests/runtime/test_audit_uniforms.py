"""The audit takes global uniforms as the call has them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

X = np.ones(3, np.float32)
LOOP = """
uniform int n;
[Differentiable] float f(float p, float x)
{
    float r = x;
    [MaxIters(4)] for (int i = 0; i < n; i++) r = r * p + 1 + i;
    return r;
}
"""
LIGHT = "[Differentiable] float3 f(float k, float3 x) {{ return ({} + x * (k * k)) * {}; }}"
#: Where a factor stands, and its value.
FACTORS = {
    "number": ("uniform float light;", "light", {"light": 1.0}),
    "vector": ("uniform float3 light;", "light", {"light": [1.0, 1.0, 1.0]}),
    "cbuffer": ("cbuffer Scene { float light; }", "light", {"Scene": {"light": 1.0}}),
    "struct": ("struct P { float a; float b; }; uniform P light;", "light.b", {"light": {"a": 0.0, "b": 1.0}}),
    "block": ("struct P { float b; }; ParameterBlock<P> light;", "light.b", {"light": {"b": 1.0}}),
}


def slope(f: Any, ones: Any, value: float, x: np.ndarray, name: str) -> float:
    """Give the gradient of the sum to a number."""
    p = sn.tensor([value], grad=True)
    y = ones(f(**{name: p}, x=x, _result="tensor"))
    f.bwds(**{name: p}, x=x, _result=y)
    return float(p.grad.to_numpy()[0])


def test_a_loop_that_a_uniform_bounds(session: Any, ones: Any) -> None:
    f = session.compile(LOOP).f
    for n in (3, 4):
        right = 3 * (n * 0.7 ** (n - 1) + sum((1 + i) * (n - 1 - i) * 0.7 ** (n - 2 - i) for i in range(n - 1)))
        assert slope(f.set({"n": n}), ones, 0.7, X, "p") == pytest.approx(right, rel=1e-5)
    for given in (f.set({"n": 8}), f.set(n=8), f.set({"n": 3}).set({"n": 8})):
        with pytest.raises(sn.GradientError, match=r"wrong for 'p'.*MaxIters"):
            slope(given, ones, 0.7, X, "p")
    slope(f.set(n=3), ones, 0.7, X, "p")  # still


def test_values_that_change_later(session: Any, ones: Any) -> None:
    values = {"n": 3}
    f = session.compile(LOOP).f.set(values)
    p = sn.tensor([0.7], grad=True)
    y = ones(f(p=p, x=1.0, _result="tensor"))
    for _ in range(3):
        f.bwds(p=p, x=1.0, _result=y)
    assert p.grad.to_numpy()[0] == pytest.approx(3 * 0.7**2 + 2 * 0.7 + 2)
    values["n"] = 8
    with pytest.raises(sn.GradientError, match=r"wrong for 'p'.*MaxIters"):
        f.bwds(p=p, x=1.0, _result=y)


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.filterwarnings("ignore:warning. what is in Scene:slangnb.CompileWarning")
def test_a_factor_that_is_a_uniform(session: Any, ones: Any, kind: str) -> None:
    before, factor, values = FACTORS[kind]
    x = np.ones((5, 3), np.float32)
    f = session.compile(f"{before} {LIGHT.format('k * x', factor)}").f.set(values)
    with pytest.raises(sn.GradientError, match="wrong for 'k'"):
        slope(f, ones, 0.7, x, "k")
    f = session.compile(f"{before} {LIGHT.format('x * k', factor)}").f.set(values)
    assert slope(f, ones, 0.7, x, "k") == pytest.approx(15 * (1 + 2 * 0.7), rel=1e-5)


def test_values_that_a_function_gives_are_not_looked_at(session: Any, ones: Any) -> None:
    f = session.compile(LOOP).f.set(lambda _: {"n": 3})
    with pytest.warns(sn.GradientWarning, match=r"f: .* alone; .* takes the values of `\.set` as arguments"):
        found = slope(f, ones, 0.7, X, "p")
    assert found == pytest.approx(3 * (3 * 0.7**2 + 2 * 0.7 + 2), rel=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope(f, ones, 0.7, X, "p")
