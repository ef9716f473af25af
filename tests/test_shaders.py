"""The Slang library in `shaders/`: values against numpy, gradients against differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn

SHADERS = Path(__file__).parent.parent / "shaders"
P = np.random.default_rng(3).uniform(-2, 2, (200, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def sdf(session: Any) -> Any:
    return session.load(SHADERS / "sdf.slang")


def test_distances(sdf: Any) -> None:
    r = np.linalg.norm(P.astype(np.float64), axis=1)
    np.testing.assert_allclose(sdf.sd_sphere(P, 1.5, _result="numpy"), r - 1.5, atol=1e-5)
    q = np.abs(P.astype(np.float64)) - [1.0, 0.5, 0.25]
    box = np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)
    np.testing.assert_allclose(sdf.sd_box(P, (1.0, 0.5, 0.25), _result="numpy"), box, atol=2e-6)
    assert sdf.sd_smooth_union(1.0, 1.0, 0.4) == pytest.approx(0.9)
    assert sdf.sd_smooth_union(1.0, 3.0, 0.4) == pytest.approx(1.0)


def test_gradients(sdf: Any) -> None:
    assert sn.gradcheck(sdf.sd_sphere, P, 1.5).ok
    assert sn.gradcheck(sdf.sd_box, P, np.array([1.0, 0.5, 0.25], np.float32)).ok
    assert sn.gradcheck(sdf.sd_smooth_union, P[:, 0].copy(), P[:, 1].copy(), 0.4).ok
    gradient = sn.grad(sdf.sd_sphere, wrt="p")(P, 1.5)
    np.testing.assert_allclose(gradient, P / np.linalg.norm(P, axis=1, keepdims=True), atol=1e-5)


def test_cells_import_it(session: Any) -> None:
    f = session.compile("import sdf; float scene(float3 p) { return sd_sphere(p, 1.0); }", include=(SHADERS,)).scene
    assert f((3.0, 0.0, 4.0)) == pytest.approx(4.0)
