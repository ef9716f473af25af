"""Draws what changes over the steps of a history: the numbers of short tensors, and the norms of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from slangnb.views.measure import Floats
from slangnb.views.model import Role
from slangnb.views.page import Page, shorten
from slangnb.views.snapshots import Frame, Norms, drawable_norm
from slangnb.views.style import (
    GRID,
    INK,
    MUTED,
    POSITIVE,
    VALUE,
    finite,
    for_words,
    index_ticks,
    plain_axes,
    value_ticks,
)
from slangnb.views.text import number

# Inches.
_HEAD, _TALL, _FOOT, _GAP, _NAMES = 0.4, 1.15, 0.3, 0.75, 0.85
_MOST_NAMES = 8
_COLOURS: dict[Role, str] = {"value": VALUE, "gradient": POSITIVE}
_STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


@dataclass(frozen=True, eq=False)
class Curve:
    """One line over the steps; NaN is a gap."""

    name: str
    role: Role
    heights: Floats
    style: int


def curves(frames: Sequence[Frame], norms: Sequence[Norms]) -> tuple[list[Curve], list[Curve]]:
    """Give a line for each number of each short tensor, and a line for the norm of each other tensor.

    Examples
    --------
    >>> from slangnb.views.array_source import pair_model
    >>> from slangnb.views.snapshots import norms
    >>> steps = [Frame(i, (pair_model(np.array([1.0, -i]), name="x"),)) for i in range(2)]
    >>> [(one.name, one.heights.tolist()) for one in curves(steps, [norms(f.step, f.models) for f in steps])[0]]
    [('x[0]', [1.0, 1.0]), ('x[1]', [0.0, -1.0])]
    """
    numbers: list[Curve] = []
    lengths: list[Curve] = []
    for i, model in enumerate(frames[-1].models):
        for role, _ in model.panels:
            short = [n.short[i].get(role, ()) for n in norms]
            count = max(map(len, short))
            if not count:
                seen = [n.value[i] if role == "value" else n.gradient[i] for n in norms]
                heights = np.array([drawable_norm(norm) for norm in seen])
                lengths.append(Curve(shorten(model.name, 12), role, heights, i))
            for k, place in enumerate(np.ndindex(model.shape) if math.prod(model.shape) == count else range(count)):
                where = ", ".join(map(str, np.atleast_1d(place)))
                name = shorten(model.name, 12) + (f"[{where}]" if count > 1 else "")
                heights = np.array([numbers_[k] if numbers_ else math.nan for numbers_ in short])
                numbers.append(Curve(name, role, finite(heights), k if count > 1 else i))
    return numbers, [one for one in lengths if one.role == "value" or np.isfinite(one.heights).any()]


def tall(found: tuple[list[Curve], list[Curve]]) -> float:
    """Give the height of what `draw` draws, in inches."""
    return (_HEAD + _TALL + _FOOT) * sum(map(bool, found))


def draw(
    page: Page,
    frames: Sequence[Frame],
    steps: Sequence[int],
    found: tuple[list[Curve], list[Curve]],
    place: tuple[float, float],
    wide: float,
) -> None:
    """Draw the lines at a place; a dashed line stands at each of the frames."""
    left, top = place
    marked, many = [frame.step for frame in frames], len(frames[-1].models) > 1
    numbers, lengths = found
    sides = [side for role in _COLOURS if (side := [one for one in numbers if one.role == role])]
    each = (wide - _GAP * (len(sides) - 1)) / max(len(sides), 1)
    for k, side in enumerate(sides):
        # Values and gradients have scales of their own.
        _chart(page, steps, marked, side, (left + k * (each + _GAP), top), each, many=many, log=False)
    if lengths:
        top += _HEAD + _TALL + _FOOT if sides else 0.0
        _chart(page, steps, marked, lengths, (left, top), wide, many=many, log=True)


def _chart(
    page: Page,
    steps: Sequence[int],
    marked: Sequence[int],
    drawn: Sequence[Curve],
    place: tuple[float, float],
    wide: float,
    *,
    many: bool,
    log: bool,
) -> None:
    left, top = place
    _title(page, drawn, place, log=log)
    named = len(drawn) <= _MOST_NAMES and (many or len({one.name for one in drawn}) > 1)
    wide -= _NAMES - 0.25 if named else 0.0
    ax = page.axes(left, top + _HEAD, wide, _TALL)
    over_steps(ax, wide, (steps[0], steps[-1]), np.concatenate([one.heights for one in drawn]), log=log)
    for step in marked:
        ax.axvline(step, color=MUTED, lw=0.8, ls=(0, (2, 2)), zorder=1)
    ends: list[tuple[float, str, str]] = []
    for one in drawn:
        there = np.isfinite(one.heights)
        if not there.any():
            continue
        colour, dots = _COLOURS[one.role], "o" if there.sum() <= 40 else None
        ax.plot(steps, one.heights, color=colour, lw=1.5, ls=_STYLES[one.style % 4], marker=dots, ms=2.4, clip_on=False)
        ends.append((float(one.heights[there][-1]), one.name, colour))
    if named:
        names_at_ends(ax, ends, wide)


def over_steps(ax: Axes, wide: float, steps: tuple[int, int], heights: Floats, *, log: bool) -> None:
    """Prepare axes, `wide` inches wide, for lines of these heights over the steps from the first to the last."""
    plain_axes(ax)
    ax.set_xlim(*steps)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=GRID, lw=0.6)
    (_log_axis if log else _linear_axis)(ax, heights[np.isfinite(heights)])
    index_ticks(ax.xaxis, wide, float(steps[1]))


def names_at_ends(ax: Axes, ends: Sequence[tuple[float, str, str]], wide: float, size: float = 7.5) -> None:
    """Write names to the right of lines, given as last height, name and colour, far enough apart to be read."""
    places = [(float(ax.transAxes.inverted().transform(ax.transData.transform((0.0, y)))[1]), *of) for y, *of in ends]
    height = -1.0
    for wanted, name, colour in sorted(places):
        height = max(wanted, height + 0.13)
        style = {"va": "center", "size": size, "color": for_words(colour), "parse_math": False}
        ax.text(1 + 0.07 / wide, height, name, transform=ax.transAxes, **style)


def _title(page: Page, drawn: Sequence[Curve], place: tuple[float, float], *, log: bool) -> None:
    """Say what is drawn, each word in the colour of its lines, and that an axis is logarithmic."""
    left, line = place[0], place[1] + 0.18
    if log:
        left += page.wide(page.text(left, line, "norm of ", size=9.5, color=INK)) + 0.05
    for role, colour in _COLOURS.items():
        if not any(one.role == role for one in drawn):
            continue
        words = page.text(left, line, role, size=9.5, color=for_words(colour), weight="bold")
        left += page.wide(words) + 0.1
    page.text(left, line, "over steps" + (", logarithmic axis" if log else ""), size=9.5, color=INK)


def _linear_axis(ax: Axes, there: Floats) -> None:
    low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    # Numbers that are equal but for rounding are no mountain.
    half = max((high - low) / 2, 1e-6 * max(abs(low), abs(high))) or 1.0
    middle = low / 2 + high / 2
    ax.set_ylim(middle - 1.1 * half, middle + 1.1 * half)
    value_ticks(ax.yaxis, 5)
    if ax.get_ylim()[0] < 0 < ax.get_ylim()[1]:
        ax.axhline(0.0, color=MUTED, lw=0.6, zorder=1)


def _log_axis(ax: Axes, there: Floats) -> None:
    low, high = (float(there.min()), float(there.max())) if there.size else (1.0, 10.0)
    ax.set_yscale("log")
    # At least a decade, so that two steps of rounding are no mountain.
    bottom, top = math.log10(low) - 0.15, math.log10(high) + 0.15
    middle, half = (bottom + top) / 2, max(0.5, (top - bottom) / 2)
    bottom, top = max(middle - half, -300.0), min(middle + half, 300.0)
    ax.set_ylim(10**bottom, 10**top)
    ax.yaxis.set_major_locator(FixedLocator(log_ticks(bottom, top)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(lambda value, _: number(value, 3))


def log_ticks(bottom: float, top: float) -> list[float]:
    """Give three to six ticks between two powers of ten, at least one apart.

    Examples
    --------
    >>> log_ticks(-0.2, 0.9), log_ticks(-4.5, 3.5)
    ([1.0, 2.0, 5.0], [0.0001, 0.01, 1.0, 100.0])
    """
    powers = range(math.ceil(bottom), math.floor(top) + 1)
    if len(powers) >= 3:
        return [float(10.0**k) for k in powers[:: math.ceil(len(powers) / 5)]]
    finer = [m * 10.0**k for k in range(math.floor(bottom), math.floor(top) + 1) for m in (1, 2, 5)]
    return [tick for tick in finer if bottom <= math.log10(tick) <= top]
