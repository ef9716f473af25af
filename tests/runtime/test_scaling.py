"""Arrays are multiplied in place by a number in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slangnb.runtime.fused.scaling import THREADS, Scale

TYPES = {"float": np.float32, "double": np.float64}


@pytest.mark.parametrize("factor", [1.0, 0.5, -3.0, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("scalars", [("float",), ("double", "float"), ("float", "float", "double")])
@pytest.mark.parametrize("of", ["float", "double"])
def test_each_number_once(session: Any, factor: float, scalars: tuple[str, ...], of: str) -> None:
    if not session.host_memory:
        pytest.skip("kernels do not reach the memory of this process")
    rng, by = np.random.default_rng(1), np.array([factor], TYPES[of])
    arrays = [rng.uniform(-1, 1, n).astype(TYPES[s]) for s, n in zip(scalars, (1, 5, THREADS + 7), strict=False)]
    want = [a * TYPES[s](factor) for s, a in zip(scalars, arrays, strict=True)]
    kinds = [(s, a.size) for s, a in zip(scalars, arrays, strict=False)]
    Scale(session, kinds, of).run([a.ctypes.data for a in arrays], by.ctypes.data)
    for found, right in zip(arrays, want, strict=True):
        np.testing.assert_array_equal(found, right)


def test_one_leaves_all_bits(session: Any) -> None:
    if not session.host_memory:
        pytest.skip("kernels do not reach the memory of this process")
    odd = np.array([0x7FA00001, 0x80000000, 1], np.uint32)  # a signalling NaN, -0.0, the smallest number
    before, by = odd.copy(), np.ones(1, np.float32)
    Scale(session, [("float", odd.size)], "float").run([odd.ctypes.data], by.ctypes.data)
    assert np.array_equal(odd, before)
