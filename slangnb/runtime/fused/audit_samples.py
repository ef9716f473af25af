"""Arguments for the audit: half of them random, half near those of the call."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from slangnb.compiler.reflection import Signature, TypeInfo
from slangnb.runtime.binding import Bound
from slangnb.runtime.fused.audit_text import SAMPLES
from slangnb.runtime.fused.job import REAL
from slangnb.runtime.parameter import Parameter

#: Whole numbers that are on the device only: a loop that runs so often shows what is wrong with it.
UNSEEN = 3
#: Arrays of more numbers are not searched for their largest, and tensors of more are not read.
MOST_SEARCHED = 1 << 14
#: Samples from here on are near the arguments of the call.
RANDOM = SAMPLES // 2


def rounds_in(value: Any) -> Hashable:
    """Give the largest whole number in a value, which may say how often a loop runs; None if there is none.

    Examples
    --------
    >>> rounds_in(3), rounds_in(np.int32(12)), rounds_in([1, 7]), rounds_in({"n": np.array([3, 12]), "x": 2.5})
    (3, 12, 7, 12)
    >>> rounds_in(2.5), rounds_in(np.zeros(3)), rounds_in(True)
    (None, None, None)
    """
    kind = type(value)
    if kind is float or kind is bool:
        return None
    if kind is int:
        return value
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        searched = value.dtype.kind in "iu" and 0 < value.size <= MOST_SEARCHED
        return int(value.max()) if searched else None
    if isinstance(value, list | tuple):
        return max((n for n in map(rounds_in, value) if isinstance(n, int)), default=None)
    if isinstance(value, dict):
        return max((n for n in map(rounds_in, value.values()) if isinstance(n, int)), default=None)
    return None


def samples(signature: Signature, bound: Bound) -> tuple[np.ndarray, np.ndarray]:
    """Draw arguments.

    Returns
    -------
    reals, whole : numpy.ndarray
        Of shape (SAMPLES, numbers): float32 and int32, in the order of `audit_text`.
    """
    draw = np.random.default_rng(20260828)
    values = {s.parameter.name: s.value for s in bound.slots}
    reals: list[np.ndarray] = []
    whole: list[np.ndarray] = []
    for p in signature.parameters:
        if p.io != "out":
            _columns(p.type, values.get(p.name), draw, reals, whole)
    return _joined(reals, np.float32), _joined(whole, np.int32)


def _joined(columns: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([*columns, np.zeros((SAMPLES, 0))], axis=1).astype(dtype)


def _columns(
    t: TypeInfo, value: Any, draw: np.random.Generator, reals: list[np.ndarray], whole: list[np.ndarray]
) -> None:
    if t.kind == "struct":
        for name, inner in t.fields.items():
            _columns(inner, value.get(name) if isinstance(value, Mapping) else None, draw, reals, whole)
        return
    count = int(np.prod(t.shape))
    seen = _rows(value, count, draw)
    if t.scalar in REAL:
        found = draw.uniform(0.3, 2.0, (SAMPLES, count))
        if seen is not None and np.isfinite(seen).all():
            near = seen[draw.integers(0, len(seen), SAMPLES - RANDOM)]
            # Beside the value, since at a kink, such as 0 of abs, the two modes may take different sides.
            found[RANDOM:] = near * (1 + 1e-3 * draw.uniform(0.5, 1, near.shape)) + 1e-4 * draw.uniform(0.5, 1)
        reals.append(found)
        return
    largest = np.full(count, UNSEEN if t.scalar != "bool" else 1) if seen is None else seen.max(axis=0)
    whole.append(np.clip(np.tile(largest, (SAMPLES, 1)), -(2**31), 2**31 - 1))


def _rows(value: Any, count: int, draw: np.random.Generator) -> np.ndarray | None:
    """Give some values of an argument as rows of its numbers; None where Python does not see them."""
    if isinstance(value, Parameter):
        value = value.array
    elif hasattr(value, "storage"):
        value = value.to_numpy() if value.element_count <= MOST_SEARCHED else None
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif type(value).__module__ == "slangpy.math":
        value = [value[k] for k in range(count)]
    if value is None or isinstance(value, str | dict):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not array.size or array.size % count:
        return None
    if array.size > MOST_SEARCHED:
        places = draw.integers(0, array.size // count, SAMPLES)
        return np.stack([array.flat[place * count : (place + 1) * count] for place in places]).astype(np.float64)
    return array.reshape(-1, count).astype(np.float64)
