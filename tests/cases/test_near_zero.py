"""Derivatives that Slang 2026.12 clamps near zero, by both modes alike, so that the audit cannot see it.

Notebook 02 says so. A newer Slang that mends it fails here: then its text can go.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
[Differentiable] float root(float x) { return sqrt(x); }
[Differentiable] double root_in_double(double x) { return sqrt(x); }
[Differentiable] float power(float x) { return pow(x, 0.5); }
[Differentiable] float size(float3 v) { return length(v); }
[Differentiable] float apart(float3 v) { return distance(v, float3(0)); }
[Differentiable] float pointing(float3 v) { return normalize(v).x; }
[Differentiable] float root_in_larger_units(float x) { return 1e-6 * sqrt(1e12 * x); }
[Differentiable] float size_in_larger_units(float3 v) { return 1e-6 * length(1e6 * v); }
[Differentiable] float pointing_in_larger_units(float3 v) { return normalize(1e6 * v).x; }
"""
CLAMP = 0.5 / math.sqrt(1e-7)
#: Of length 1.
ALONG = np.array([2, 1, 2], np.float32) / 3


@pytest.fixture(scope="module")
def module(session: Any) -> Any:
    return session.compile(SOURCE)


def slopes(f: Any, x: Any) -> list[Any]:
    """The gradient by reverse mode, and by forward mode."""
    name = f.info.signature.parameters[0].name
    axes = [x.dtype.type(1)] if not np.ndim(x) else list(np.eye(3, dtype=np.float32))
    forward = [sn.jvp(f, {name: x}, {name: axis})[1] for axis in axes]
    return [np.ravel(sn.grad(f, name)(x)), np.ravel(forward)]


@pytest.mark.parametrize(
    ("x", "known"), [(1.01e-7, 0.5 / math.sqrt(1.01e-7)), (0.99e-7, CLAMP), (1e-10, CLAMP), (0.0, CLAMP)]
)
def test_sqrt_below_1e7(module: Any, x: float, known: float) -> None:
    for found in (*slopes(module.root, np.float32(x)), *slopes(module.root_in_double, np.float64(x))):
        assert found == pytest.approx([known], rel=1e-6)
    if x:
        for found in slopes(module.root_in_larger_units, np.float32(x)):
            assert found == pytest.approx([0.5 / math.sqrt(x)], rel=1e-6)


@pytest.mark.parametrize(("length", "known"), [(3.17e-4, 1.0), (3.15e-4, 3.15e-4 * 2 * CLAMP), (1e-5, 0.0316227766)])
def test_length_and_distance_of_short_vectors(module: Any, length: float, known: float) -> None:
    v = ALONG * np.float32(length)
    for f in (module.size, module.apart):
        for found in slopes(f, v):
            np.testing.assert_allclose(found, known * ALONG, rtol=1e-5)
    for found in slopes(module.size_in_larger_units, v):
        np.testing.assert_allclose(found, ALONG, rtol=1e-5)


@pytest.mark.parametrize(("length", "right"), [(3.17e-4, True), (3.1e-4, False), (1e-5, False)])
def test_normalize_of_short_vectors(module: Any, length: float, right: bool) -> None:
    v = ALONG * np.float32(length)
    expected = (np.array([1, 0, 0]) - ALONG[0] * ALONG) / length
    for found in slopes(module.pointing, v):
        assert np.allclose(found, expected, rtol=1e-4) == right
    for found in slopes(module.pointing_in_larger_units, v):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_pow_below_1e6(module: Any) -> None:
    """It is 0 there, in both modes; slangnb sees it where the value is lost, too, also at a later call."""
    x = 1.01e-6
    _, found = sn.jvp(module.power, {"x": np.array([0.25, x], np.float32)}, {"x": np.float32(1)})
    np.testing.assert_allclose(found, [1, 0.5 / math.sqrt(x)], rtol=1e-5)
    with pytest.raises(sn.GradientError, match="below 1e-6"):
        sn.jvp(module.power, {"x": np.array([0.25, 0.99e-6], np.float32)}, {"x": np.float32(1)})
    _, found = sn.jvp(module.power, {"x": np.array([0.25, 1e-10], np.float32)}, {"x": np.float32(1)})
    assert found.tolist() == [1, 0]
