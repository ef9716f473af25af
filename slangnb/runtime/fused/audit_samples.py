"""Arguments for the audit: half of them random, half those of the call."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangnb.compiler.reflection import REAL, Signature, TypeInfo
from slangnb.runtime.binding import Bound
from slangnb.runtime.fused.audit_text import SAMPLES
from slangnb.runtime.parameter import Parameter

#: Whole numbers that are on the device only: a loop that runs so often shows what is wrong with it.
UNSEEN = 3
#: Arrays of more numbers are not searched for their largest, and tensors of more are not read.
MOST_SEARCHED = 1 << 14
#: How often the element with the largest whole number is taken, so that it is more than a stray sample.
AGAIN = 8
#: Samples from here on are arguments of the call.
RANDOM = SAMPLES // 2

#: A part of an argument, and its numbers where Python sees them.
Seen = tuple[TypeInfo, np.ndarray | None]


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


@dataclass(frozen=True)
class Samples:
    """Arguments for the kernel of `audit_text`.

    Attributes
    ----------
    reals, whole : numpy.ndarray
        Of shape (SAMPLES, numbers): float32 and int32, in the order of the kernel.
    near : bool
        Whether those from `RANDOM` on are arguments of the call, all of them.
    """

    reals: np.ndarray
    whole: np.ndarray
    near: bool


def samples(signature: Signature, bound: Bound) -> Samples:
    """Draw arguments: from `RANDOM` on, elements of the call, each with all that belongs to it."""
    draw = np.random.default_rng(20260828)
    values = {s.parameter.name: s.value for s in bound.slots}
    leaves: list[Seen] = [
        leaf for p in signature.parameters if p.io != "out" for leaf in _leaves(p.type, values.get(p.name))
    ]
    shapes = [array.shape[: array.ndim - len(t.shape)] for t, array in leaves if array is not None]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:  # `.map` may bring them together in another way
        shape = ()
        leaves: list[Seen] = [(t, None) for t, _ in leaves]
    places = draw.integers(0, max(1, math.prod(shape)), SAMPLES)
    for k, place in enumerate(_largest(leaves, shape)[: (SAMPLES - RANDOM) // AGAIN]):
        places[SAMPLES - (k + 1) * AGAIN : SAMPLES - k * AGAIN] = place
    reals, whole, near = [], [], True
    for t, array in leaves:
        taken = _taken(t, array, shape, places)
        if t.scalar in REAL:
            found = draw.uniform(0.3, 2.0, (SAMPLES, math.prod(t.shape)))
            near = near and taken is not None
            if taken is not None:
                found[RANDOM:] = taken[RANDOM:]
            reals.append(found)
        else:
            unseen = np.full((SAMPLES, math.prod(t.shape)), UNSEEN if t.scalar != "bool" else 1)
            whole.append(unseen if taken is None else np.clip(taken, -(2**31), 2**31 - 1))
    return Samples(_joined(reals, np.float32), _joined(whole, np.int32), near)


def _joined(columns: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([*columns, np.zeros((SAMPLES, 0))], axis=1).astype(dtype)


def _leaves(t: TypeInfo, value: Any) -> Iterator[Seen]:
    """Give the plain parts of an argument; None where Python does not see their numbers."""
    if t.kind == "struct":
        for name, inner in t.fields.items():
            yield from _leaves(inner, value.get(name) if isinstance(value, Mapping) else None)
    else:
        yield t, _array(t, value)


def _array(t: TypeInfo, value: Any) -> np.ndarray | None:
    if isinstance(value, Parameter):
        value = value.array
    elif hasattr(value, "storage"):
        value = value.to_numpy() if value.element_count <= MOST_SEARCHED else None
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif type(value).__module__ == "slangpy.math":
        value = [value[k] for k in range(math.prod(t.shape))]
    if value is None or isinstance(value, str | dict):
        return None
    array = np.asarray(value)
    fits = array.shape[array.ndim - len(t.shape) :] == t.shape
    return array if array.dtype.kind in "biuf" and array.size and fits else None


def _largest(leaves: list[Seen], shape: tuple[int, ...]) -> list[int]:
    """Give the elements of the call with the largest whole numbers of each argument."""
    found = []
    for t, array in leaves:
        if array is None or array.dtype.kind not in "iu" or not 1 < array.size <= MOST_SEARCHED:
            continue
        outer = array.reshape(*array.shape[: array.ndim - len(t.shape)], -1).max(axis=-1)
        if math.prod(shape) <= MOST_SEARCHED:
            found.append(int(np.broadcast_to(outer, shape).argmax()))
    return found


def _taken(t: TypeInfo, array: np.ndarray | None, shape: tuple[int, ...], places: np.ndarray) -> np.ndarray | None:
    """Give the numbers of an argument at elements of the call; None where they are not seen, or beyond float."""
    if array is None:
        return None
    outer = array.shape[: array.ndim - len(t.shape)]
    at = np.unravel_index(places, shape) if shape else ()
    own = at[len(at) - len(outer) :]
    found = array[tuple(np.where(n == 1, 0, i) for n, i in zip(outer, own, strict=True))] if outer else array
    found = np.broadcast_to(found, (SAMPLES, *t.shape)).reshape(SAMPLES, -1).astype(np.float64)
    largest = np.finfo(np.float32).max
    return found if (np.isfinite(found) & (np.abs(found) <= largest)).all() else None
