"""Parameters that are arrays of arrays: written, and shown, in the order of the source."""

from __future__ import annotations

from typing import Any

import numpy as np

import slangnb as sn

TEXT = """[Differentiable] float free(float t[2][3]) { return t[0][0] + 2 * t[1][2]; }
struct A { float k; [Differentiable] float method(no_diff int n, float t[2][3]) { return k * free(t) + n; } }"""


def test_a_method_takes_what_a_function_takes(session: Any) -> None:
    module = session.compile(TEXT)
    t = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    gradient = np.array([[[1, 0, 0], [0, 0, 2]]], np.float32)
    assert np.array_equal(sn.grad(module.free, wrt="t")(t), gradient)
    assert np.array_equal(sn.grad(module["A::method"], wrt="t")({"k": 3.0}, 1, t), 3 * gradient)


def test_a_signature_shows_sizes_as_they_are_written(session: Any) -> None:
    module = session.compile(TEXT)
    assert str(module.free.info.signature) == "float free(float t[2][3])"
    assert str(module["A::method"].info.signature) == "float method(A self, int n, float t[2][3])"
