"""Short ways to write arrays, and to compare results."""

from __future__ import annotations

from typing import Any

import numpy as np


def f32(*values: Any) -> np.ndarray:
    """An array of float32."""
    return np.array(values, np.float32)


def plain(value: Any) -> Any:
    """Lists instead of arrays and tensors, so that whole results can be compared."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


def struct_rows(tensor: Any) -> list[list[float]]:
    """The numbers of each struct of a tensor, field by field: in memory there may be gaps between them."""
    cursor = tensor.cursor()
    return [_numbers(cursor[i].read()) for i in range(tensor.element_count)]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for part in value.values() for n in _numbers(part)]
    if hasattr(value, "__len__"):
        return [n for part in value for n in _numbers(part)]
    return [float(value)]
