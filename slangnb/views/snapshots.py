"""Snapshots over the steps of a descent: which are kept, how large they are, and limits that all share. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from slangnb.views.measure import Array, Limits, Mask, fits_single
from slangnb.views.model import PairModel, Panel, Role

T = TypeVar("T")

#: Gradients that fall by more than this over the steps would be blank on one scale.
_FADES = 10.0
#: Tensors of at most so many numbers are drawn over the steps as these numbers, with their signs.
MOST_SHORT = 4


@dataclass(frozen=True, eq=False)
class Frame:
    """What was shown at one step."""

    step: int
    models: tuple[PairModel, ...]


@dataclass(frozen=True)
class Norms:
    """The norms of one step: of each value and gradient, None where there is none.

    Of tensors of a few numbers, `short` holds the numbers themselves, by role; of all others it holds nothing.
    """

    step: int
    value: tuple[float | None, ...]
    gradient: tuple[float | None, ...]
    short: tuple[Mapping[Role, tuple[float, ...]], ...]


def thin(kept: Sequence[T]) -> tuple[T, ...]:
    """Keep every second, from the first on.

    Examples
    --------
    >>> thin([0, 4, 8, 12, 16])
    (0, 8, 16)
    """
    return tuple(kept[::2])


def wanted(count: int, stride: int) -> bool:
    """Say whether the snapshot after `count` others is one of those kept.

    Examples
    --------
    >>> [n for n in range(9) if wanted(n, 4)]
    [0, 4, 8]
    """
    return count % stride == 0


def spread(count: int, most: int) -> tuple[int, ...]:
    """Choose at most so many of `count` things, evenly, with the first and the last.

    Examples
    --------
    >>> spread(9, 3), spread(2, 3), spread(0, 3), spread(7, 1)
    ((0, 4, 8), (0, 1), (), (6,))
    """
    if count <= most:
        return tuple(range(count))
    if most == 1:
        return (count - 1,)
    return tuple(round(i * (count - 1) / (most - 1)) for i in range(most))


def slim(model: PairModel) -> PairModel:
    """Give the model in fewer bytes: single precision where it holds the numbers, no masks where nothing is marked."""
    return replace(model, **{role: _slim(panel) for role, panel in model.panels})


def _slim(panel: Panel) -> Panel:
    upper = None if panel.upper is None else _single(panel.upper, panel)
    return replace(panel, array=_single(panel.array, panel), upper=upper, marks=panel.marks.map(_mask))


def _mask(mask: Mask) -> Mask:
    # A mask without a mark takes one byte.
    return mask if mask.any() else np.broadcast_to(np.zeros((), np.bool_), mask.shape)


def _single(array: Array, panel: Panel) -> Array:
    low, high = panel.stats.min, panel.stats.max
    if array.dtype != np.float64 or low is None or high is None or panel.kind == "scalar":
        return array
    # Equal numbers stay exact, as those that single precision does not hold.
    equal = low == high != 0
    return array.astype(np.float32) if fits_single(low, high) and not equal else array


def size(models: Sequence[PairModel]) -> int:
    """Give the bytes that snapshots take.

    Examples
    --------
    >>> from slangnb.views.array_source import pair_model
    >>> size([slim(pair_model(np.arange(100.0), name="x"))])
    1203
    """
    return sum(_size(panel) for model in models for _, panel in model.panels)


def _size(panel: Panel) -> int:
    counted = 0 if panel.histogram is None else panel.histogram.counts.nbytes + panel.histogram.edges.nbytes
    arrays = [panel.array, panel.upper, panel.positions, *panel.marks]
    return counted + sum(_held(a) for a in arrays if a is not None)


def _held(array: Array) -> int:
    # A mask that is one byte, repeated, has no strides.
    return array.itemsize if array.size and not any(array.strides) else array.nbytes


def norms(step: int, models: Sequence[PairModel]) -> Norms:
    """Take the norms of all values and gradients."""
    return Norms(
        step,
        tuple(model.value.stats.norm for model in models),
        tuple(None if model.gradient is None else model.gradient.stats.norm for model in models),
        tuple(_short(model) for model in models),
    )


def _short(model: PairModel) -> dict[Role, tuple[float, ...]]:
    # A slice of a tensor is not all of it, and lines of several components hold their numbers in another order.
    whole = [p for _, p in model.panels if 0 < p.array.size == p.stats.count <= MOST_SHORT]
    if len(whole) < len(model.panels) or not all(p.kind in ("scalar", "image") or len(p.array) == 1 for p in whole):
        return {}
    return {role: tuple(panel.array.astype(np.float64).ravel().tolist()) for role, panel in model.panels}


def share_limits(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Give frames whose scales are the same, so that colours and heights compare.

    Panels of the same place share their limits: the smallest range that holds those of all frames. Gradients that
    fade keep their own.

    Examples
    --------
    >>> from slangnb.views.array_source import pair_model
    >>> steps = [Frame(i, (pair_model(np.array([0.0, 1.0 + i]), name="x"),)) for i in range(3)]
    >>> [frame.models[0].value.limits.hi for frame in share_limits(steps)]
    [3.0, 3.0, 3.0]
    """
    found: dict[tuple[int, Role], Limits] = {}
    own = {(i, "gradient") for i in fading(frames)}
    for frame in frames:
        for i, model in enumerate(frame.models):
            for role, panel in model.panels:
                if panel.stats.min is not None and (i, role) not in own:
                    known = found.get((i, role), panel.limits)
                    found[i, role] = _both(known, panel.limits)

    def with_limits(i: int, model: PairModel) -> PairModel:
        panels = {role: replace(p, limits=found.get((i, role), p.limits)) for role, p in model.panels}
        return replace(model, **panels)

    return tuple(Frame(f.step, tuple(with_limits(i, m) for i, m in enumerate(f.models))) for f in frames)


def fading(frames: Sequence[Frame]) -> tuple[int, ...]:
    """Give the places of the tensors whose gradients differ so much over the steps that each step needs its own scale.

    Examples
    --------
    >>> from slangnb.views.array_source import pair_model
    >>> def steps(last):
    ...     slopes = [8.0, 0.0, last]
    ...     return [Frame(i, (pair_model(np.ones(2), np.full(2, g), name="x"),)) for i, g in enumerate(slopes)]
    >>> fading(steps(1.0)), fading(steps(0.5))
    ((), (0,))
    """
    return tuple(i for i in range(len(frames[0].models) if frames else 0) if _fades(f.models[i] for f in frames))


def _fades(models: Iterable[PairModel]) -> bool:
    sides = [model.gradient.stats for model in models if model.gradient is not None]
    # One that is zero everywhere is blank on any scale.
    found = [reach for s in sides if s.min is not None and s.max is not None and (reach := max(-s.min, s.max))]
    return bool(found) and max(found) / _FADES > min(found)


def _both(one: Limits, other: Limits) -> Limits:
    return Limits(min(one.lo, other.lo), max(one.hi, other.hi), one.symmetric and other.symmetric)


def same_tensors(one: Sequence[PairModel], other: Sequence[PairModel]) -> bool:
    """Whether two snapshots are of the same tensors: names and shapes."""
    return [(m.name, m.shape) for m in one] == [(m.name, m.shape) for m in other]


def drawable_norm(norm: float | None) -> float:
    """Give a norm for a logarithmic axis; NaN, a gap, where there is none."""
    return norm if norm is not None and 0 < norm < math.inf else math.nan
