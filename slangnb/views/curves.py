"""Draws numbers and curves into matplotlib axes that the caller has placed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from slangnb.views.measure import Array, Marks, limits
from slangnb.views.model import Panel, Role
from slangnb.views.style import (
    COMPONENTS,
    FEW,
    GRID,
    INK,
    MARK,
    MONO,
    MUTED,
    NEGATIVE,
    NEGATIVE_SOFT,
    POSITIVE,
    POSITIVE_SOFT,
    SMALL,
    VALUE,
    VALUE_SOFT,
    clip,
    finite,
    for_words,
    index_ticks,
    plain_axes,
    value_ticks,
)
from slangnb.views.text import number


def scalar(ax: Axes, panel: Panel, role: Role) -> None:
    """Write the number itself, large."""
    ax.axis("off")
    value = float(panel.array)
    words, colour = number(value, 6), INK
    if math.isnan(value):
        words, colour = "NaN", MARK
    elif math.isinf(value):
        words, colour = "+Inf" if value > 0 else "-Inf", MARK
    elif panel.array.dtype.kind != "f":
        words = panel.text
    elif role == "gradient" and value:
        colour = for_words(POSITIVE if value > 0 else NEGATIVE)
    ax.text(0, 0.45, words, family=MONO, size=20, color=colour, va="center")


def empty(ax: Axes) -> None:
    """Say that there is nothing."""
    ax.axis("off")
    ax.text(0, 0.5, "empty: no elements", size=10, color=MUTED, va="center")


def _range(panel: Panel, zero: bool, room: float) -> tuple[float, float]:
    """Give the limits of an axis of numbers, with room around the data."""
    lo, hi = panel.limits.lo, panel.limits.hi
    if panel.limits.symmetric and panel.stats.min is not None and panel.stats.max is not None and not _shared(panel):
        lo, hi = panel.stats.min, panel.stats.max
    if zero:
        lo, hi = min(lo, 0.0), max(hi, 0.0)
    lo, hi = (float(v) for v in clip(np.array([lo, hi])))
    if hi - lo <= 0:
        lo, hi = -1.0, 1.0
    pad = room * (hi - lo)
    return lo - (pad if lo < 0 or not zero else 0.03 * (hi - lo)), hi + (
        pad if hi > 0 or not zero else 0.03 * (hi - lo)
    )


def _shared(panel: Panel) -> bool:
    """Whether the limits are wider than those of its own elements: panels of other steps share them."""
    own = limits(panel.stats, symmetric=panel.limits.symmetric)
    return (panel.limits.lo, panel.limits.hi) != (own.lo, own.hi)


def _from_zero(panel: Panel, role: Role) -> bool:
    """Whether bars from zero would still show the differences."""
    lo, hi = panel.stats.min, panel.stats.max
    if role == "gradient" or lo is None or hi is None:
        return True
    if _shared(panel):
        lo, hi = panel.limits.lo, panel.limits.hi
    # Halved: the distance of the largest numbers is past the largest float.
    return max(abs(lo), abs(hi)) / 2 <= 4 * (hi / 2 - lo / 2) or lo == hi


def _mark_line(ax: Axes, positions: Array, marks: Marks, words: bool) -> None:
    places = (("NaN", "x", 0.0), ("+Inf", "^", 1.0), ("-Inf", "v", 0.0))
    along = ax.get_xaxis_transform()
    for (word, shape, height), mask in zip(places, marks, strict=True):
        at = positions[mask]
        if not at.size:
            continue
        ax.plot(
            at,
            np.full(at.size, height),
            shape,
            color=MARK,
            ms=4.5,
            mew=1.2,
            ls="none",
            transform=along,
            clip_on=False,
            zorder=5,
        )
        if words:
            for x in at:
                up = height == 0
                ax.annotate(
                    word,
                    (x, height),
                    (0, 5 if up else -5),
                    xycoords=along,
                    textcoords="offset points",
                    ha="center",
                    va="bottom" if up else "top",
                    size=7,
                    color=MARK,
                    weight="bold",
                )


def stems(ax: Axes, panel: Panel, role: Role, width: float) -> None:
    """Draw a few elements as dots on stems, with their numbers when there is room."""
    y = finite(panel.array[0])
    x = np.arange(y.size, dtype=np.float64)
    good = np.isfinite(y)
    zero = _from_zero(panel, role)
    written = y.size <= FEW
    lo, hi = _range(panel, zero, 0.2 if written else 0.1)
    ax.set_ylim(lo, hi)
    ax.set_xlim(-0.6, y.size - 0.4)
    if role == "value":
        strong = [VALUE] * y.size
        soft = [VALUE_SOFT] * y.size
    else:
        strong = [MUTED if v == 0 else POSITIVE if v > 0 else NEGATIVE for v in y]
        soft = [POSITIVE_SOFT if v > 0 else NEGATIVE_SOFT for v in y]
    stem_width = min(10.0, max(1.5, 0.32 * width * 72 / y.size))
    if zero:
        ax.vlines(x[good], 0, y[good], colors=[c for c, g in zip(soft, good, strict=True) if g], lw=stem_width)
        ax.axhline(0, color=MUTED, lw=0.7, zorder=1)
    else:
        ax.plot(x, y, color=VALUE_SOFT, lw=1.2, zorder=1)
    ax.scatter(
        x[good],
        y[good],
        s=26 if written else 14,
        c=[c for c, g in zip(strong, good, strict=True) if g],
        zorder=3,
        clip_on=False,
    )
    if written:
        labels = [number(float(v), 4 if y.size <= 5 else 3) for v in panel.array[0]]
        size = min(8.5, 72 * width / (y.size * 0.66 * max(map(len, labels))))
        for position, value, label, seen in zip(x, y, labels, good, strict=True):
            if seen:
                up = value >= 0 or not zero
                ax.annotate(
                    label,
                    (position, value),
                    (0, 5.5 if up else -5.5),
                    textcoords="offset points",
                    ha="center",
                    va="bottom" if up else "top",
                    size=size,
                    family=MONO,
                    color=INK,
                )
    masks = panel.marks.map(itemgetter(0))
    _mark_line(ax, x, masks, words=sum(int(mask.sum()) for mask in masks) <= FEW)
    plain_axes(ax)
    if written:
        ax.set_yticks([])
    else:
        ax.set_axisbelow(True)
        ax.grid(axis="y", color=GRID, lw=0.6)
        value_ticks(ax.yaxis, 4)
    if panel.labels and panel.array.shape[0] == 1:
        ax.xaxis.set_major_locator(FixedLocator(list(x)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: panel.labels[int(value)]))
    else:
        index_ticks(ax.xaxis, width, y.size - 1)


def _curve_axes(ax: Axes, panel: Panel, width: float) -> Array:
    positions = np.asarray(panel.positions, np.float64)
    last = max(float(positions[-1]), 1.0)
    ax.set_xlim(-0.005 * last, 1.005 * last)
    plain_axes(ax)
    ax.set_axisbelow(True)
    ax.grid(color=GRID, lw=0.6)
    index_ticks(ax.xaxis, width, last)
    return positions


def curve(ax: Axes, panel: Panel, width: float) -> None:
    """Draw values along one axis as a line each."""
    x = _curve_axes(ax, panel, width)
    lo, hi = _range(panel, False, 0.07)
    ax.set_ylim(lo, hi)
    if lo < 0 < hi:
        ax.axhline(0, color=MUTED, lw=0.6, zorder=1)
    dots = "o" if x.size <= SMALL else None
    for row, values in enumerate(panel.array):
        colour = VALUE if len(panel.array) == 1 else COMPONENTS[row]
        low = finite(values)
        if panel.upper is None:
            ax.plot(x, low, color=colour, lw=1.5, marker=dots, ms=2.6)
        else:
            ax.fill_between(x, low, finite(panel.upper[row]), color=colour, alpha=0.85, lw=0.8)
        _mark_line(ax, x, panel.marks.map(itemgetter(row)), words=False)
    value_ticks(ax.yaxis, 5)
    if panel.labels:
        end_labels(ax, panel.array, panel.labels, (lo, hi))


def end_labels(ax: Axes, rows: Array, labels: Sequence[str], span: tuple[float, float]) -> None:
    """Name lines at their right ends, apart enough to be read."""
    lo, hi = span
    ends: list[tuple[float, int]] = []
    for row, values in enumerate(rows):
        seen = finite(values)
        seen = seen[np.isfinite(seen)]
        ends.append(((float(seen[-1]) - lo) / (hi - lo) if seen.size else 0.0, row))
    height = -1.0
    for wanted, row in sorted(ends):
        height = max(wanted, height + 0.12)
        ax.text(
            1.008,
            height,
            labels[row],
            transform=ax.transAxes,
            va="center",
            size=8,
            weight="bold",
            color=for_words(COMPONENTS[row]),
        )


def area(ax: Axes, panel: Panel, row: int, width: float) -> None:
    """Draw one line of a gradient as an area about zero: orange above, blue below."""
    x = _curve_axes(ax, panel, width)
    ax.set_ylim(*_range(panel, True, 0.1))
    low = finite(panel.array[row])
    high = low if panel.upper is None else finite(panel.upper[row])
    if panel.upper is None:
        # "interpolate" ends each colour where the line crosses zero, between two elements.
        ax.fill_between(x, 0, low, where=low >= 0, interpolate=True, color=POSITIVE_SOFT, lw=0)
        ax.fill_between(x, 0, low, where=low <= 0, interpolate=True, color=NEGATIVE_SOFT, lw=0)
        ax.plot(x, low, color=INK, lw=0.9)
    else:
        kept = np.isfinite(low)
        ax.fill_between(x, 0, np.maximum(high, 0), where=kept, color=POSITIVE_SOFT, lw=0)
        ax.fill_between(x, 0, np.minimum(low, 0), where=kept, color=NEGATIVE_SOFT, lw=0)
        ax.fill_between(x, low, high, color=INK, alpha=0.35, lw=0.5)
    ax.axhline(0, color=MUTED, lw=0.7)
    _mark_line(ax, x, panel.marks.map(itemgetter(row)), words=False)
    value_ticks(ax.yaxis, 4 if len(panel.array) == 1 else 2)
    if panel.labels:
        ax.text(
            1.008,
            0.5,
            panel.labels[row],
            transform=ax.transAxes,
            va="center",
            size=8,
            weight="bold",
            color=for_words(COMPONENTS[row]),
        )
