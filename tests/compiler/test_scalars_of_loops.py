"""Scalars that leave a loop and meet a vector: a warning where they get lost, and silence everywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

LOOP = "float t = 0.5; [MaxIters(6)] for (int j = 0; j < 6; j++) t += w[j]; float3 o = V[i];"
TEXT = """import slangpy;
[Differentiable] float total(DiffTensor<float, 1> w)
{{ float t = 0.5; for (int j = 0; j < 6; j++) t += w[j]; return t; }}
[Differentiable] float3 same(float3 v) {{ return v; }}
[Differentiable] float f(DiffTensor<float, 1> w, DiffTensor<float3, 1> V, int i, float3 a[4], float2x2 m)
{{ {loop}
{body}
return dot(o, float3(1, 2, 3)); }}"""
LOST = (
    "o = o * t;",
    "o = t * o;",
    "o = t / o;",
    "o = o / t;",
    "o /= t;",
    "o *= t;",
    "o = o * w[i] * t;",
    "o = (o + V[0]) * t;",
    "o = normalize(o) * t;",
    "o = same(o) * t;",
    "o = V[0] - t * V[1];",
    "o += a[2] * t;",
    "for (int j = 0; j < 6; j++) o += V[j] * w[j] / t;",
)
KEPT = (
    "o = o / float3(t);",
    "o = float3(t) * o;",
    "o = (o + t) * o;",
    "o *= t * t;",
    "o = o * (1 / t);",
    "o = w[i] * t * o;",
    "o = t * w[i] * o;",
    "o = -t * o;",
    "o = o / max(t, 0.1);",
    "o = lerp(o, o, t);",
    "t = max(t, 0.1); o = o * t;",
    "o += float3(1, 2, 3) * t;",
    "float q = o.x * t + o[0] * t + dot(o, o) * t;",
    "float t2 = total(w); o = o * t2;",
    "float3 z = float3(0, 0, 1); o += z * t;",
)


def warned(body: str, loop: str = LOOP) -> list[str]:
    found = lint(Source(TEXT.format(loop=loop, body=body), "In[1]", 1))
    assert all("comes from a loop and meets a vector" in d.message and d.line == 7 for d in found)
    return [d.remedy for d in found]


@pytest.mark.parametrize("body", LOST)
def test_lost(body: str) -> None:
    assert warned(body) == ["write `float3(t)` for `t`"]


@pytest.mark.parametrize("body", KEPT)
def test_kept(body: str) -> None:
    assert warned(body) == []


def test_parts_and_matrices_and_unrolled_loops() -> None:
    assert warned("float2 q = o.xy * t;") == ["write `float2(t)` for `t`"]
    assert warned("float2x2 q = m * t;") == ["compute `t` in a [Differentiable] function of its own"]
    assert warned("o = o * t;", LOOP.replace("[MaxIters(6)]", "[ForceUnroll]")) == []


W = np.array([0.5, 0.25, 1, 0.75, 0.5, 1], np.float32)
V = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("body", ["o = o * float3(t);", "o = o * total(w);", "o = o / float3(t);", "o *= t * t;"])
def test_the_remedies_are_right(session: Any, body: str) -> None:
    text = TEXT.replace(", float3 a[4], float2x2 m", "").format(loop=LOOP, body=body)
    found = sn.grad(session.compile(text).f, wrt=("w", "V"))(sn.tensor(W), sn.tensor(V, dtype="float3"), 1)
    t, along = 0.5 + float(W.sum()), V[1].astype(np.float64) @ [1, 2, 3]
    power = -1 if "/" in body else 2 if "t * t" in body else 1
    assert found["V"].to_numpy()[1] == pytest.approx(t**power * np.array([1, 2, 3]), rel=1e-5)
    assert found["w"].to_numpy() == pytest.approx(np.full(6, power * t ** (power - 1) * along), rel=1e-5)


def test_a_vector_of_numbers_loses_nothing(session: Any) -> None:
    body = "float3 z = float3(0, 0, 1); o += z * t;"
    text = TEXT.replace(", float3 a[4], float2x2 m", "").format(loop=LOOP, body=body)
    found = sn.grad(session.compile(text).f, wrt=("w", "V"))(sn.tensor(W), sn.tensor(V, dtype="float3"), 1)
    assert found["w"].to_numpy().tolist() == [3.0] * 6
    assert found["V"].to_numpy().tolist() == [[0, 0, 0], [1, 2, 3]]
    assert warned("float3 z = float3(0, 0, 1); z.x = o.x; o += z * t;") == ["write `float3(t)` for `t`"]


def test_the_audit_says_this_cause(session: Any) -> None:
    text = (
        "[Differentiable] float f(float w, float3 v) { float t = 1; [MaxIters(6)] for (int j = 0; j < 6; j++) "
        "t *= 1 - w * 0.5; float3 q = t * v; return q.x + q.y * q.z; }"
    )
    with pytest.raises(sn.GradientError, match="loses a scalar that a loop assigned to") as caught:
        sn.grad(session.compile(text).f)(np.full(5, 0.5, np.float32), np.ones((5, 3), np.float32))
    assert "float3(t) * v" in caught.value.remedy
