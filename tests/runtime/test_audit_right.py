"""Right functions that an audit could take for wrong ones, and wrong ones that it could take for right."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

F = np.float32
DRAW = np.random.default_rng(0)


def compiled(session: Any, text: str) -> Any:
    return session.compile(f"[Differentiable] {text}", warn=False).f


def test_powers_of_positive_numbers(session: Any) -> None:
    x = np.linspace(2, 3, 9, dtype=F)
    gauss = compiled(
        session, "float f(float x, float mu, float s) { return exp(-pow(x - mu, 2.0) / (2 * pow(s, 2.0))) / s; }"
    )
    d, s = x.astype(float) - 1, 2.2
    right = (np.exp(-(d**2) / (2 * s**2)) / s * d / s**2).sum()
    assert sn.grad(gauss, "mu")(x, 1.0, 2.2) == pytest.approx(right, rel=1e-5)
    times = compiled(session, "float f(float x, int n) { return pow(x - 3, 2.0) * n; }")
    np.testing.assert_allclose(sn.grad(times, "x")(x + 2, 2), 4 * (x - 1), rtol=1e-5)


def test_a_table_read_by_a_real_number(session: Any) -> None:
    f = compiled(
        session,
        "float f(float t, float k[8]) { int i = int(no_diff floor(t * 7)); float u = t * 7 - i;"
        " return k[i] * (1 - u) + k[i + 1] * u; }",
    )
    k = DRAW.random(8).astype(F)
    assert sn.grad(f, "k")(0.5, k).tolist() == [0, 0, 0, 0.5, 0.5, 0, 0, 0]


def test_a_fit_up_to_its_optimum(session: Any) -> None:
    f = compiled(
        session,
        "float f(float a, float x[8], float y[8]) { float s = 0;"
        " [MaxIters(8)] for (int i = 0; i < 8; i++) { float d = a * x[i] - y[i]; s += d * d; } return s; }",
    )
    x = np.linspace(0.3, 2.1, 8, dtype=F)
    y = F(1.7) * x + F(0.1) * np.sin(9 * x)
    a = 0.0
    for _ in range(200):
        a -= 0.02 * sn.grad(f, "a")(a, x, y)
    assert a == pytest.approx(float((x * y).sum() / (x * x).sum()), rel=1e-5)


LAYER = (
    "float f(float x[6], float g[6]) { float m = 0; [MaxIters(6)] for (int i = 0; i < 6; i++) m += x[i]; m /= 6;"
    " float v = 0; [MaxIters(6)] for (int i = 0; i < 6; i++) v += (x[i] - m) * (x[i] - m); v = v / 6 + 1e-5;"
    " float s = 0; [MaxIters(6)] for (int i = 0; i < 6; i++) s += (x[i] - m) / sqrt(v) * g[i]; return s; }"
)
#: Derivatives that are 0, but for roundings: the function, the argument, and the others.
INVARIANT = {
    "rotation": (
        "float f(float th, float2 v) { float2 r = float2(v.x * cos(th) - v.y * sin(th), v.x * sin(th) + v.y * cos(th));"
        " return dot(r, r); }",
        "th",
        (2.0, DRAW.normal(size=(5, 2)).astype(F)),
    ),
    "scale": (
        "float f(float s, float3 v, float3 l) { return dot(normalize(v * s), l); }",
        "s",
        (2.0, DRAW.normal(size=(5, 3)).astype(F), np.array([0, 0, 1], F)),
    ),
    "layer norm of equal numbers": (LAYER, "x", (np.ones((6, 6), F), np.ones(6, F))),
    "layer norm": (LAYER, "x", (DRAW.normal(size=(6, 6)).astype(F), np.ones(6, F))),
}


@pytest.mark.parametrize("name", INVARIANT)
def test_derivatives_that_are_zero_but_for_roundings(session: Any, name: str) -> None:
    text, wrt, args = INVARIANT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.GradientWarning)  # of zeros
        assert np.abs(sn.grad(compiled(session, text), wrt)(*args)).max() < 1e-3


def test_cancelled_terms_inside(session: Any) -> None:
    f = compiled(session, "float f(float4 x) { float m = dot(x, float4(1)) / 4; return dot(x, x) / 4 - m * m; }")
    x = (1000 + DRAW.random((9, 4))).astype(F)
    right = (x.astype(float) - x.astype(float).mean(axis=1, keepdims=True)) / 2
    np.testing.assert_allclose(sn.grad(f, "x")(x), right, atol=2e-4)


@pytest.mark.parametrize(
    ("text", "fine", "wrong"),
    [
        (
            "float3 f(float s, float3 v, int mode) { float3 a = s * v; return mode == 1 ? a : v * s; }",
            (1.0, 0),
            (1.0, 1),
        ),
        ("float3 f(float s, float3 v, int mode) { return float(mode) * (s * v) + v * s; }", (1.0, 0), (1.0, 1)),
        ("float3 f(float s, float3 v, int mode) { return max(s * v - 9, 0.0) + v * s; }", (1.0, 0), (10.0, 0)),
    ],
    ids=["branch", "factor", "threshold"],
)
def test_functions_of_vectors_are_looked_at_again(session: Any, text: str, fine: Any, wrong: Any) -> None:
    g, v = sn.grad(compiled(session, text), "s"), np.ones((1, 3), F)
    assert g(1.0, v * fine[0], fine[1]) == 3
    with pytest.raises(sn.GradientError, match="loses the gradient of a scalar"):
        g(1.0, v * wrong[0], wrong[1])


WHILE = "float f(float x, float T, float far) { float a = x; float t = 0; [MaxIters(4)] while (t < T) { a *= x; t += 1; } return min(a, far); }"  # noqa: E501


def test_few_long_loops_among_many(session: Any) -> None:
    long = np.full(2000, 2, F)
    long[[3, 700]] = 9
    with pytest.raises(sn.GradientError, match="MaxIters"):
        sn.grad(compiled(session, WHILE), "x")(np.full(2000, 2, F), long, 1e30)


def test_numbers_that_are_not_finite_hide_nothing(session: Any) -> None:
    g = sn.grad(compiled(session, WHILE), "x")
    assert g(2.0, 2.0, float("inf")) == 12
    with pytest.raises(sn.GradientError, match="MaxIters"):
        g(2.0, 9.0, float("inf"))
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        sn.grad(compiled(session, "float f(float x) { return pow(x, 2.0); }"), "x")(np.array([1, np.nan, -2], F))


def test_whole_numbers_in_tensors_and_beyond_int(session: Any) -> None:
    z = np.array([2, 3, 4], F)
    g = sn.grad(compiled(session, "float f(float z[3], int k) { return z [0] * z [k]; }"), "z")
    assert g(z, sn.tensor([1, 2, 1])).tolist() == [10, 4, 2]
    assert g(z, sn.tensor([2, 1, 2])).tolist() == [11, 2, 4]
    with pytest.raises(sn.GradientError, match="two indices"):
        g(z, sn.tensor([0, 1, 2]))
    big = compiled(session, "float f(float z[3], uint k) { return z[int(k - 0x80000000u)] * z[1]; }")
    assert sn.grad(big, "z")(z, 2**31 + 2).tolist() == [0, 4, 3]
    with pytest.raises(sn.GradientError, match="two indices"):
        sn.grad(big, "z")(z, 2**31 + 1)
