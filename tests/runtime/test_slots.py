"""How the sums of threads come together: by thread, by group, or by the group that comes last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.fused import finish

SOURCE = """
[Differentiable] float line(float a, float3 v, float x) { return a * x * x + dot(v, v) * x; }
[Differentiable] double square(double a, float b, float x) { return a * x * x + double(b * x); }
[Differentiable] float many(float[12] w, float x)
{ float s = 0.0; for (int i = 0; i < 12; i++) s += w[i] * x; return s; }
"""


@pytest.fixture(params=["thread", "group", "last"])
def who(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, session: Any) -> str:
    """Choose who adds; nothing prepared before, or here, is used again."""
    if request.param == "last" and session.backend.key not in ("cuda", "software"):
        pytest.skip("groups need not see what others wrote here")
    monkeypatch.setattr(finish, "who_adds", lambda *of: request.param)
    session.plans.clear()
    session.said.clear()
    request.addfinalizer(session.plans.clear)
    return request.param


@pytest.mark.parametrize("n", [1, 300, 5000, 300_001])
def test_sums(session: Any, who: str, n: int) -> None:
    m = session.compile(SOURCE)
    x = np.random.default_rng(n).uniform(0.5, 1, n).astype(np.float32)
    x64 = x.astype(np.float64)
    v = [0.5, -1.0, 0.25]
    run = sn.value_and_grad(m.line, wrt=("a", "v", "x"))
    for _ in range(3):  # the count of groups starts again at each launch
        value, grads = run(a=2.0, v=v, x=x)
        np.testing.assert_allclose(value, (2 * x64**2 + 1.3125 * x64).sum(), rtol=1e-6)
        np.testing.assert_allclose(grads["a"], (x64**2).sum(), rtol=1e-6)
        np.testing.assert_allclose(grads["v"], 2 * np.array(v) * x64.sum(), rtol=1e-6)
        np.testing.assert_allclose(grads["x"], 4 * x64 + 1.3125, rtol=1e-6)


def test_double_beside_float(session: Any, who: str) -> None:
    m = session.compile(SOURCE)
    x = np.random.default_rng(3).uniform(0.5, 1, 70_001).astype(np.float32)
    value, grads = sn.value_and_grad(m.square, wrt=("a", "b"))(a=3.0, b=0.5, x=x)
    x64 = x.astype(np.float64)
    np.testing.assert_allclose(value, (3 * x64**2 + 0.5 * x64).sum(), rtol=1e-7)
    np.testing.assert_allclose(grads["a"], (x64**2).sum(), rtol=1e-13)
    np.testing.assert_allclose(grads["b"], x64.sum(), rtol=1e-6)


def test_more_rows_than_group_memory_holds_at_a_time(session: Any, who: str) -> None:
    if who == "last":
        pytest.skip("the last group adds few rows only")
    m = session.compile(SOURCE)
    x = np.random.default_rng(4).uniform(0.5, 1, 20_000).astype(np.float32)
    w = np.arange(12, dtype=np.float32)
    value, grads = sn.value_and_grad(m.many, wrt="w")(w=sn.Parameter(w), x=x)
    np.testing.assert_allclose(value, 66 * x.astype(np.float64).sum(), rtol=1e-6)
    np.testing.assert_allclose(grads, np.full(12, x.astype(np.float64).sum()), rtol=1e-6)


def test_a_sum_beyond_the_largest_number_is_infinite(session: Any, who: str) -> None:
    m = session.compile(SOURCE)
    x = np.full(50_000, 1e19, np.float32)
    with pytest.warns(sn.GradientWarning):
        value, da = sn.value_and_grad(m.line, wrt="a")(a=0.5, v=[0.0, 0.0, 0.0], x=x)
    assert value == np.inf
    assert da == np.inf
