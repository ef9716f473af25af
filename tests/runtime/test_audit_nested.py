"""Loops inside loops, of which reverse mode mixes up what they keep; and what to write instead."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

DRAW = np.random.default_rng(1)
LAYER = """import slangpy;
{row}
[Differentiable] float f({kind}<float, 2> w, float x[{d}])
{{
    float y = 0;
    {outer} for (int j = 0; j < {n}; j++) {{ float h = 0; {inner} y += h * h; }}
    return y;
}}"""
LOOP = "for (int k = 0; k < {d}; k++) h += w[j, k] * x[k];"
ROW = "[Differentiable] float row({kind}<float, 2> w, int j, float x[{d}]) {{ float h = 0; " + LOOP + " return h; }}"


def layer(n: int, d: int, kind: str = "DiffTensor", outer: str = "", inner: str = LOOP, row: str = "") -> str:
    names = {"n": n, "d": d, "kind": kind}
    parts = {k: v.format(**names) for k, v in (("outer", outer), ("inner", inner), ("row", row))}
    return LAYER.format(**names, **parts)


@pytest.mark.parametrize(("n", "d"), [(6, 2), (2, 8)])
@pytest.mark.parametrize("kind", ["IDiffTensor", "Tensor"])
def test_loops_whose_counts_slang_finds_are_refused(session: Any, n: int, d: int, kind: str) -> None:
    f = session.compile(layer(n, d, kind)).f
    with pytest.raises(sn.GradientError, match="of loops inside each other") as caught:
        sn.grad(f, wrt="x")(sn.tensor(DRAW.normal(size=(n, d)).astype(np.float32)), np.ones((3, d), np.float32))
    assert "function of its own" in caught.value.remedy and "[MaxIters(n)] says" not in str(caught.value)


def test_both_causes_are_said(session: Any) -> None:
    inner = "[MaxIters(2)] " + LOOP
    f = session.compile(layer(6, 2, "Tensor", "[MaxIters(6)]", inner)).f
    with pytest.raises(sn.GradientError, match=r"\[MaxIters\(n\)\] says; or of loops inside each other"):
        sn.grad(f, wrt="x")(sn.tensor(DRAW.normal(size=(6, 2)).astype(np.float32)), np.ones((3, 2), np.float32))


@pytest.mark.parametrize(("n", "d"), [(6, 2), (2, 8)])
@pytest.mark.parametrize(
    "way",
    [
        {"outer": "[MaxIters(8)]", "inner": "[MaxIters(8)] " + LOOP},
        {"inner": "[ForceUnroll] " + LOOP},
        {"outer": "[ForceUnroll]"},
        {"inner": "h = row(w, j, x);", "row": ROW},
    ],
    ids=["MaxIters", "inner unrolled", "outer unrolled", "function"],
)
def test_the_remedies_are_right(session: Any, n: int, d: int, way: dict[str, str]) -> None:
    w, x = DRAW.normal(size=(n, d)).astype(np.float32), DRAW.normal(size=(3, d)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = session.compile(layer(n, d, **way)).f
    found = sn.grad(f, wrt=("w", "x"))(sn.tensor(w), x)
    h = x.astype(np.float64) @ w.T
    assert found["x"] == pytest.approx(2 * h @ w, rel=1e-4, abs=1e-4)
    assert found["w"].to_numpy() == pytest.approx(2 * h.T @ x, rel=1e-4, abs=1e-4)


def test_the_wrong_layer_is_warned_of_when_it_is_compiled(session: Any) -> None:
    with pytest.warns(sn.CompileWarning, match="loops of 6 and 2 rounds, one inside the other"):
        session.compile(layer(6, 2))
