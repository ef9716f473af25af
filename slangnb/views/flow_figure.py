"""Draws the flow of gradients: one row per tensor, all on one page and the norms on one scale."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from slangnb.views.flow import MOST_DRAWN, FlowModel, FlowRow, FlowSide
from slangnb.views.page import Drawing, Page, shorten
from slangnb.views.style import (
    GRID,
    INK,
    MARK,
    MONO,
    MUTED,
    NEGATIVE,
    PAPER,
    POSITIVE,
    VALUE,
    clip,
    for_words,
    plain_axes,
)
from slangnb.views.text import number

# Inches.
_PAGE, _ROW, _TOP, _FOOT = 9.4, 0.62, 0.86, 0.52
_NAME, _VALUE, _GRADIENT, _NORMS, _RATIO, _COUNTS = 0.3, 2.1, 3.85, 5.65, 7.7, 8.4
_HIST, _NORMS_WIDE, _NORM_WORDS = 1.5, 1.95, 0.5
_TALL = 0.3
_MOST_DECADES = 6


def page_size(model: FlowModel) -> tuple[float, float]:
    """Give the width and height of the picture in inches."""
    return _PAGE, _TOP + _ROW * _drawn(model) + _FOOT


def _drawn(model: FlowModel) -> int:
    return min(len(model.rows), MOST_DRAWN)


def drawing(model: FlowModel, title: str = "gradient flow") -> Drawing:
    """Give the size of the picture, and what draws it."""
    rows = model.rows[: _drawn(model)]

    def draw(page: Page) -> None:
        bold = page.text(_NAME, 0.34, shorten(title), size=12, weight="bold", color=INK)
        said = f"{len(model.rows)} tensor" + "s" * (len(model.rows) != 1)
        if len(rows) < len(model.rows):
            said = f"the first {len(rows)} of {said}; the table below holds all"
        said += " · ratio: norm of gradient over norm of value"
        page.text(_NAME + page.wide(bold) + 0.12, 0.34, said, size=9, color=MUTED)
        _heads(page)
        height = _ROW * len(rows)
        for left, role in ((_VALUE, "value"), (_GRADIENT, "gradient")):
            _histograms(page.axes(left, _TOP, _HIST, height), rows, role)
        _norms(page.axes(_NORMS, _TOP, _NORMS_WIDE, height), rows, model.decades)
        for i, row in enumerate(rows):
            _words(page, row, _TOP + i * _ROW)
        if model.caption:
            caption = page.text(_NAME, _TOP + height + 0.42, model.caption, size=8, color=MUTED, style="italic")
            page.fit(caption, _PAGE - 2 * _NAME)

    return page_size(model), draw


def _heads(page: Page) -> None:
    for left, words in ((_VALUE, "value"), (_GRADIENT, "gradient"), (_COUNTS, "zeros · NaN")):
        page.text(left, _TOP - 0.14, words, size=9.5, color=INK)
    first = page.text(_NORMS, _TOP - 0.14, "norm of ", size=9.5, color=INK)
    left = _NORMS + page.wide(first) + 0.05
    for words, colour in (("value", VALUE), ("gradient", POSITIVE)):
        one = page.text(left, _TOP - 0.14, words, size=9.5, color=for_words(colour), weight="bold")
        left += page.wide(one) + 0.1
    page.text(_RATIO, _TOP - 0.14, "ratio", size=9.5, color=INK)


def _words(page: Page, row: FlowRow, top: float) -> None:
    """Write the name, what it is, the ratio and the counts of a row."""
    page.figure.add_artist(
        _rule(page, top)  # a hair line keeps the eye on the row
    )
    name = page.text(_NAME, top + 0.27, shorten(row.name, 28), size=10, weight="bold", color=INK)
    page.fit(name, _VALUE - _NAME - 0.15)
    words = page.text(_NAME, top + 0.45, row.words, size=7.5, color=MUTED)
    page.fit(words, _VALUE - _NAME - 0.15)
    if row.ratio is not None:
        page.text(_RATIO, top + 0.33, number(row.ratio, 2), size=8, color=INK, family=MONO)
    for side, down, colour in ((row.value, 0.25, VALUE), (row.gradient, 0.43, POSITIVE)):
        if side is None:
            continue
        zeros = page.text(_COUNTS, top + down, _short(side.stats.zeros), size=8, family=MONO, color=for_words(colour))
        bad = side.stats.nan
        page.text(
            _COUNTS + max(0.36, page.wide(zeros) + 0.08),
            top + down,
            _short(bad),
            size=8,
            family=MONO,
            color=MARK if bad else MUTED,
            weight="bold" if bad else "normal",
        )


def _rule(page: Page, top: float) -> LineCollection:
    at = 1 - top / page.height
    ends = [[(_NAME / page.width, at), (1 - _NAME / page.width, at)]]
    return LineCollection(ends, colors=GRID, linewidths=0.6, transform=page.figure.transFigure)


def _short(count: int) -> str:
    """Write a count in a few characters.

    Examples
    --------
    >>> _short(0), _short(9999), _short(1_500_000)
    ('0', '9999', '1.5M')
    """
    if count < 10_000:
        return str(count)
    for size, word in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.2g}{word}" if count / size < 99.5 else f"{count / size:.0f}{word}"
    return str(count)


def _span(side: FlowSide, role: str) -> tuple[float, float] | None:
    """Give the range of one small histogram; a gradient's is centred on zero."""
    low, high = side.stats.min, side.stats.max
    if low is None or high is None:
        return None
    low, high = (float(v) for v in clip(np.array([low, high])))
    if role == "gradient":
        reach = max(abs(low), abs(high)) or 1.0
        return -reach, reach
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        pad = 0.5 * abs(low) or 1.0
        return low - pad, high + pad
    return low, high


def _histograms(ax: Axes, rows: tuple[FlowRow, ...], role: str) -> None:
    """Draw a column of small histograms, each from its own smallest to its own largest element."""
    ax.axis("off")
    ax.set_xlim(0, 1)
    # In inches from the top: one axes for all rows, since many axes are slow.
    ax.set_ylim(_ROW * len(rows), 0)
    for i, row in enumerate(rows):
        side = row.value if role == "value" else row.gradient
        foot = i * _ROW + 0.1 + _TALL
        if side is None:
            ax.text(0, foot - 0.08, "none", size=7.5, color=MUTED)
            continue
        span = _span(side, role)
        if span is None:
            words = "empty" if side.stats.empty else side.stats.not_finite
            ax.text(0, foot - 0.08, words, size=8, color=MUTED if side.stats.empty else MARK, weight="bold")
            continue
        if role == "gradient" and side.stats.all_zero:
            ax.text(0.5, foot - 0.08, "0 everywhere", size=8, color=INK, weight="bold", ha="center")
            continue
        _one(ax, side, span, foot, role)
        if side.stats.nan and side.stats.not_finite:
            ax.text(1, foot - _TALL - 0.01, "NaN", size=8, color=MARK, weight="bold", ha="right")


def _one(ax: Axes, side: FlowSide, span: tuple[float, float], foot: float, role: str) -> None:
    lo, hi = span
    scaled = lambda x: (clip(np.asarray(x, np.float64)) / 2 - lo / 2) / (hi / 2 - lo / 2)  # noqa: E731
    ax.plot([0, 1], [foot, foot], color=GRID, lw=0.8, zorder=1)
    if lo < 0 < hi:
        zero = float(scaled(0.0))
        ax.plot([zero, zero], [foot - _TALL, foot], color=MUTED, lw=0.6, zorder=1)
    if side.histogram is not None:
        counts, edges = side.histogram.counts, scaled(side.histogram.edges)
        # One element must still be seen beside thousands.
        heights = np.where(counts > 0, 0.05 + 0.95 * counts / max(1, int(counts.max())), 0) * _TALL
        corners = [
            ((a, foot), (a, foot - h), (b, foot - h), (b, foot))
            for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
            if h
        ]
        middles = (side.histogram.edges[:-1] / 2 + side.histogram.edges[1:] / 2)[heights > 0]
        ax.add_collection(PolyCollection(corners, facecolors=_colours(middles, role), linewidths=0, zorder=2))
    elif side.points is not None:
        lines = [((x, foot), (x, foot - 0.7 * _TALL)) for x in scaled(side.points)]
        ax.add_collection(LineCollection(lines, colors=_colours(side.points, role), linewidths=1.2, zorder=2))
    elif side.stats.min is not None and side.stats.max is not None:
        a, b = scaled([side.stats.min, side.stats.max])
        ax.plot(
            [a, b], [foot - 0.4 * _TALL] * 2, color=VALUE if role == "value" else MUTED, lw=5, solid_capstyle="butt"
        )
    # What is drawn at the ends was cut to what can be drawn; the words are not.
    low, high = side.stats.min or 0.0, side.stats.max or 0.0
    if role == "gradient":
        low, high = -max(abs(low), abs(high)), max(abs(low), abs(high))
    elif low == high:
        low, high = lo, hi
    for x, value, align in ((0, low, "left"), (1, high, "right")):
        ax.text(x, foot + 0.12, number(value, 2), size=8, color=MUTED, ha=align)


def _colours(values: np.ndarray, role: str) -> list[str]:
    if role == "value":
        return [VALUE] * len(values)
    return [POSITIVE if v > 0 else NEGATIVE if v < 0 else MUTED for v in values]


def _norms(ax: Axes, rows: tuple[FlowRow, ...], decades: tuple[int, int]) -> None:
    """Draw two bars per row on one logarithmic scale."""
    low, high = decades
    plain_axes(ax)
    # The numbers stand after the bars, where they can be read in every theme.
    ax.set_xlim(low, high + _NORM_WORDS / (_NORMS_WIDE - _NORM_WORDS) * (high - low))
    ax.set_ylim(_ROW * len(rows), 0)
    ax.set_yticks([])
    step = max(1, math.ceil((high - low) / (_MOST_DECADES if high - low < 60 else 3)))
    ticks = [d for d in range(low, high + 1) if d % step == 0]
    ax.set_xticks(ticks, [_power(d) for d in ticks])
    ax.set_axisbelow(True)
    ax.grid(axis="x", color=GRID, lw=0.6)
    for i, row in enumerate(rows):
        for side, down, colour in ((row.value, 0.22, VALUE), (row.gradient, 0.40, POSITIVE)):
            if side is None:
                continue
            middle, norm = i * _ROW + down, side.stats.norm
            if norm is None:
                ax.text(low, middle + 0.035, " –", size=7, color=MUTED)
            elif not norm or not math.isfinite(norm):
                ax.text(low, middle + 0.035, " 0" if not norm else " overflow", size=7, color=INK, weight="bold")
            else:
                ax.barh(middle, math.log10(norm) - low, 0.11, left=low, color=colour, lw=0)
                ax.annotate(
                    number(norm, 3),
                    (math.log10(norm), middle),
                    (3, -0.5),
                    textcoords="offset points",
                    va="center",
                    size=8,
                    color=INK,
                    family=MONO,
                    # A number is not crossed by the lines of the scale.
                    bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
                )


def _power(decade: int) -> str:
    return str(10**decade) if 0 <= decade < 4 else f"{10.0**decade:g}" if -3 <= decade < 0 else f"1e{decade}"
