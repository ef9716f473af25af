"""Arguments for the audit: random ones, elements of the call, and each combination of its whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangnb.compiler.reflection import REAL, Signature, TypeInfo
from slangnb.runtime.binding import Bound
from slangnb.runtime.fused.audit_text import THREADS, uniform_of
from slangnb.runtime.fused.audit_values import Values, values_of

#: Random arguments, and elements of the call; and those that show what few elements do.
RANDOM, NEAR, MANY = 32, 32, 1024
#: Combinations of whole numbers, at most, and the samples of each.
MOST_COMBINATIONS, REPEATS = 64, 3
#: Elements that are searched for combinations, at most.
MOST_SEARCHED = 1 << 20
#: Whole numbers that Python does not see: a loop that runs so often shows what is wrong with it.
UNSEEN = 3


@dataclass(frozen=True)
class Samples:
    """Arguments for the kernel of `audit_text`.

    Attributes
    ----------
    reals, whole : numpy.ndarray
        Of shape (samples, numbers): float32 and int32, in the order of the kernel.
    random, near, many : slice
        Which are random, which are elements of the call, and which are more of these; none if it has no more.
    combinations : list of slice
        Which have the same whole numbers, for each combination, and which are the same extreme of the call.
    reals_seen, whole_seen : bool
        Whether all numbers of the call were seen; those that were not are random, or `UNSEEN`.
    """

    reals: np.ndarray
    whole: np.ndarray
    random: slice
    near: slice
    many: slice
    combinations: list[slice]
    reals_seen: bool
    whole_seen: bool


@dataclass(frozen=True)
class _Leaf:
    """A part of an argument; no values where Python does not see them."""

    type: TypeInfo
    values: Values | None

    @property
    def is_real(self) -> bool:
        return self.type.scalar in REAL


def samples(signature: Signature, bound: Bound, *, own: bool) -> Samples:
    """Draw arguments; also for each combination of the call's whole numbers, or those most likely to be unlike others.

    Parameters
    ----------
    own : bool
        Take numbers of the call alone, where they are seen: others may let a loop run longer than any call does, or
        for ever, or may be an index that is too large. The smallest and largest are taken, too.
    """
    draw = np.random.default_rng(20260828)
    given = {s.parameter.name: s.value for s in bound.slots}
    parameters = [p for p in signature.parameters if p.io != "out" and not uniform_of(p.type)]
    leaves = [leaf for p in parameters for leaf in _leaves(p.type, given.get(p.name))]
    try:
        shape = np.broadcast_shapes(*(leaf.values.outer for leaf in leaves if leaf.values is not None))
    except ValueError:  # `.map` may bring them together in another way
        shape, leaves = (), [_Leaf(leaf.type, None) for leaf in leaves]
    size = max(1, math.prod(shape))
    places = draw.integers(0, size, RANDOM + NEAR)
    more = np.arange(size if size > 1 else 0) if size <= MANY else draw.integers(0, size, MANY)
    first = len(places) + len(more)
    special = _combinations(leaves, shape, draw)
    if own:
        special += [
            k for leaf in leaves if leaf.is_real and leaf.values is not None for k in leaf.values.extremes(shape)
        ]
    places = np.concatenate([places, more, *([place] * REPEATS for place in special)]).astype(np.int64)
    count = len(places)
    places = np.concatenate([places, np.zeros(-count % THREADS, np.int64)])
    reals, whole, reals_seen, whole_seen = [], [], True, True
    for leaf in leaves:
        taken = None if leaf.values is None else leaf.values.take(places, shape)
        if leaf.is_real:
            reals_seen = reals_seen and taken is not None
            mine = slice(None) if own else slice(RANDOM, first)
            reals.append(_reals(taken, (len(places), math.prod(leaf.type.shape)), mine, draw))
        else:
            if taken is not None and not ((taken >= -(2**31)) & (taken < 2**32)).all():
                taken = None
            whole_seen = whole_seen and taken is not None
            unseen = np.full((len(places), math.prod(leaf.type.shape)), UNSEEN if leaf.type.scalar != "bool" else 1)
            whole.append(unseen if taken is None else taken)
    return Samples(
        _joined(reals, len(places), np.float32),
        _joined(whole, len(places), np.int64).astype(np.uint32).view(np.int32),
        slice(0, RANDOM),
        slice(RANDOM, RANDOM + NEAR),
        slice(RANDOM + NEAR, first),
        [slice(k, k + REPEATS) for k in range(first, count, REPEATS)],
        reals_seen,
        whole_seen,
    )


def _reals(taken: np.ndarray | None, size: tuple[int, int], mine: slice, draw: np.random.Generator) -> np.ndarray:
    """Give real numbers: those of the call in the samples `mine`.

    The first half of the random ones is positive, as many functions need it; the others have any sign and several
    sizes.
    """
    found = draw.uniform(0.3, 2.0, size)
    signed = found * draw.choice([-1.0, 1.0], size) * draw.choice([0.1, 1.0, 4.0], (size[0], 1))
    found[RANDOM // 2 : RANDOM] = signed[RANDOM // 2 : RANDOM]
    if taken is not None:
        found[mine] = taken[mine]
    return found


def moved(reals: np.ndarray, share: float, least: float) -> list[np.ndarray]:
    """Give copies of numbers, moved by about a share of them: two up, two down.

    Numbers smaller than `least`, or than the usual ones of their column, are moved as these are.
    """
    sizes = np.abs(np.where(np.isfinite(reals), reals, 0))
    sizes = np.maximum(np.maximum(sizes, sizes.mean(axis=0, keepdims=True)), least)
    sizes = np.where(sizes == 0, 1.0, sizes)
    draw = np.random.default_rng(0)
    amounts = [sign * share * draw.uniform(0.5, 2.0, reals.shape) * sizes for sign in (1, 1, -1, -1)]
    return [(reals + amount).astype(np.float32) for amount in amounts]


def _joined(columns: list[np.ndarray], count: int, dtype: Any) -> np.ndarray:
    return np.concatenate([*columns, np.zeros((count, 0))], axis=1).astype(dtype)


def _leaves(t: TypeInfo, value: Any) -> Iterator[_Leaf]:
    if t.kind == "struct":
        for name, inner in t.fields.items():
            yield from _leaves(inner, value.get(name) if isinstance(value, Mapping) else None)
    else:
        yield _Leaf(t, values_of(t, value))


def _combinations(leaves: list[_Leaf], shape: tuple[int, ...], draw: np.random.Generator) -> list[int]:
    """Give an element of the call for each combination of its whole numbers.

    Of too many, those with the extremes of each number and those with equal numbers come first.
    """
    seen = [leaf.values for leaf in leaves if not leaf.is_real and leaf.values is not None]
    if not seen:
        return []
    count = math.prod(shape)
    places = np.arange(count) if count <= MOST_SEARCHED else draw.integers(0, count, MOST_SEARCHED)
    columns = [column for values in seen if (found := values.take(places, shape)) is not None for column in found.T]
    if not columns:
        return []
    rows = np.stack(columns, axis=1).astype(np.int64)
    # One number for each row, which is different for different rows.
    keys = (rows * draw.integers(1, 1 << 62, rows.shape[1]) * 2 + rows).sum(axis=1)
    first = np.unique(keys, return_index=True)[1]
    if len(first) > MOST_COMBINATIONS:
        of = rows[first]
        extremes = first[np.concatenate([of.argmin(axis=0), of.argmax(axis=0)])]
        alike = first[(of[:, :-1] == of[:, 1:]).any(axis=1)] if of.shape[1] > 1 else first[:0]
        rest = draw.permutation(first)
        first = np.array(list(dict.fromkeys(np.concatenate([extremes, alike[: MOST_COMBINATIONS // 2], rest]))))
    return [int(places[k]) for k in first[:MOST_COMBINATIONS]]
