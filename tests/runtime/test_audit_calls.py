"""What the audit tries: the call's own arguments first, others where they cannot do harm, and later calls again."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import slangnb as sn

BODY = "{{ float a = x; [MaxIters(4)] {} a *= x; return a; }}"
TOO_LONG = "a loop seems to run more often"


class Rounds(IntEnum):
    FEW = 2
    MANY = 9


def chain(session: Any, parameters: str, loop: str) -> Any:
    return sn.grad(session.compile(f"[Differentiable] float f(float x, {parameters}) " + BODY.format(loop)).f, "x")


@pytest.mark.parametrize(
    ("parameters", "loop", "few", "many", "rounds"),
    [
        ("int n", "for (int t = n; t < 9; t++)", (6,), (0,), 3),
        ("int n", "for (int t = 0; t < -n; t++)", (-2,), (-9,), 2),
        ("int n, int k", "for (int t = 0; t < n - k; t++)", (9, 8), (9, 0), 1),
        ("uint n", "for (int t = 0; t < countbits(n); t++)", (512,), (511,), 1),
        ("bool deep", "for (int t = 0; t < (deep ? 9 : 2); t++)", (False,), (True,), 2),
        ("int n", "for (int t = 0; t < n; t++)", (Rounds.FEW,), (Rounds.MANY,), 2),
    ],
)
def test_whole_numbers_of_any_form(session: Any, parameters: str, loop: str, few: Any, many: Any, rounds: int) -> None:
    g = chain(session, parameters, loop)
    assert g(2.0, *few) == (rounds + 1) * 2.0**rounds
    with pytest.raises(sn.GradientError, match=TOO_LONG):
        g(2.0, *many)


def test_vectors_of_whole_numbers(session: Any) -> None:
    import slangpy as spy

    g = chain(session, "int2 n", "for (int t = 0; t < n.y; t++)")
    assert g(2.0, spy.int2(2, 2)) == 12
    with pytest.raises(sn.GradientError, match=TOO_LONG):
        g(2.0, spy.int2(9, 9))


def test_one_long_loop_among_very_many(session: Any) -> None:
    g = chain(session, "int n", "for (int t = 0; t < n; t++)")
    n = np.full(20000, 2, np.int32)
    assert g(2.0, n) == 12 * 20000
    n[12345] = 9
    with pytest.raises(sn.GradientError, match=TOO_LONG):
        g(2.0, n)
    left, right = np.full(100, 9, np.int32), np.full(100, 8, np.int32)
    right[40] = 0
    with pytest.raises(sn.GradientError, match=TOO_LONG):
        chain(session, "int n, int k", "for (int t = 0; t < n - k; t++)")(2.0, left, right)


def test_loops_by_real_numbers_are_looked_at_again(session: Any) -> None:
    g = chain(session, "float n", "for (float t = 0; t < n; t += 1)")
    assert g(2.0, 2.0) == 12
    with pytest.raises(sn.GradientError, match=TOO_LONG):  # the second call
        g(2.0, 7.0)
    assert g(2.0, 2.0) == 12
    with pytest.raises(sn.GradientError, match=TOO_LONG):  # and each one after such a call
        g(2.0, 7.0)


def test_later_calls_are_looked_at_ever_more_seldom(session: Any) -> None:
    g = chain(session, "float n", "for (float t = 0; t < n; t += 1)")
    for _ in range(7):
        assert g(2.0, 2.0) == 12
    with pytest.raises(sn.GradientError, match=TOO_LONG):  # the eighth
        g(2.0, 7.0)


def test_constants_of_the_link(session: Any, ones: Any) -> None:
    f = session.compile(
        "extern static const int K = 2;\n"
        "[Differentiable] float f(float x) { float a = x; [MaxIters(4)] for (int t = 0; t < K; t++) a *= x; return a; }"
    ).f.constants({"K": 9})
    x = sn.tensor([2.0, 1.0], grad=True)
    y = ones(f(x, _result="tensor"))
    with pytest.raises(sn.GradientError, match=TOO_LONG):
        f.bwds(x, _result=y)


V = np.full((2, 3), 0.5, np.float32)


@pytest.mark.parametrize(
    ("body", "k", "v"),
    [
        ("return k * v * sqrt(v.x - 100) + v * k;", 1.0, V + 120),
        ("return max(-(k * v), 0.0) + v * (0.1 * k);", -1.0, V),
        ("return saturate(4 * (k * v)) + v * (0.1 * k);", 0.2, V),
        ("return 1e-6 * (k * v) + v * (1e-7 * k);", 0.2, V),
    ],
    ids=["few finite", "other sign", "other size", "small units"],
)
def test_lost_gradients_that_random_numbers_do_not_show(session: Any, body: str, k: float, v: Any) -> None:
    f = session.compile(f"[Differentiable] float3 f(float k, float3 v) {{ {body} }}").f
    with pytest.raises(sn.GradientError, match="loses the gradient of a scalar"):
        sn.grad(f, "k")(k, v)


def test_a_loop_that_ends_for_the_call_alone(session: Any) -> None:
    f = session.compile(
        "[Differentiable] float fall(float h, float g, float dt) {"
        " float v = 0, t = 0; [MaxIters(64)] while (h > 0) { v += g * dt; h += v * dt; t += dt; } return v * t; }"
    ).fall
    rounds = 6  # h = 2 + g dt^2 (1 + 2 + ... + n) is below 0 then
    assert sn.grad(f, "g")(2.0, -9.81, 0.1) == pytest.approx((rounds * 0.1) ** 2, rel=1e-5)
    grows = session.compile(
        "[Differentiable] float grows(float x) { float a = 1; [MaxIters(64)] while (a < 100) a = a * x; return a; }"
    ).grows
    assert sn.grad(grows, "x")(2.0) == 7 * 2.0**6


def test_loops_that_just_fit_real_numbers_of_the_call(session: Any) -> None:
    m = session.compile("""
[Differentiable] float2 turns(float2 x, float len)
{ [MaxIters(8)] for (float t = 0; t < len; t += 0.125) x = x + x.yx * 0.5; return x; }
[Differentiable] float2 steps(float2 x, float len)
{ [MaxIters(10)] for (int i = 0; i < int(len * 10); i++) x = x + x.yx * (0.01 * len); return x; }
""")
    x = np.array([1, 2], np.float32)
    assert sn.grad(m.turns, "x")(x, 1.0).tolist() == pytest.approx([1.5**8] * 2, rel=1e-5)
    assert sn.grad(m.steps, "x")(x, 1.0).tolist() == pytest.approx([1.01**10] * 2, rel=1e-5)


def test_numbers_of_large_tensors_are_read(session: Any) -> None:
    g = sn.grad(session.compile("[Differentiable] float f(float x) { return pow(x, 2); }").f, "x")
    x = np.linspace(1, 2, 1 << 16, dtype=np.float32)
    np.testing.assert_allclose(g(sn.tensor(x)).to_numpy(), 2 * x, rtol=1e-5)
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        g(sn.tensor(-x))
