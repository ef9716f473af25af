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
