"""Draws a value against its gradient: points where they are few, density where they are many."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm

from slangnb.views.page import Drawing, Page, shorten
from slangnb.views.scatter import ScatterModel
from slangnb.views.style import (
    DENSITY,
    GRID,
    INK,
    MUTED,
    NEGATIVE,
    NEGATIVE_SOFT,
    POSITIVE,
    POSITIVE_SOFT,
    VALUE,
    VALUE_SOFT,
    clip,
    plain_axes,
    value_ticks,
)
from slangnb.views.text import number

#: Inches.
SIZE = (6.2, 5.0)
_LEFT, _TOP, _WIDE, _TALL = 0.85, 0.62, 4.55, 3.3
_SIDE = 0.5


def drawing(model: ScatterModel) -> Drawing:
    """Give the size of the picture, and what draws it."""

    def draw(page: Page) -> None:
        bold = page.text(0.3, 0.34, shorten(model.name, 32), size=12, weight="bold", color=INK)
        left = 0.42 + page.wide(bold)
        words = page.text(left, 0.34, model.words, size=9, color=MUTED)
        page.fit(words, SIZE[0] - left - 0.1)
        ax = page.axes(_LEFT, _TOP, _WIDE, _TALL)
        _field(ax, model)
        page.text(_LEFT + _WIDE / 2, _TOP + _TALL + 0.42, "value", size=9.5, color=INK, ha="center")
        page.text(0.28, _TOP + _TALL / 2, "gradient", size=9.5, color=INK, rotation=90, va="center", ha="center")
        if not model.shown:
            words = "empty" if model.caption.startswith("empty") else "nothing finite"
            middle = (_LEFT + _WIDE / 2, _TOP + _TALL / 2 - 0.12)
            page.text(*middle, words, size=10, color=MUTED, ha="center")
        else:
            _margin(page.axes(_LEFT + _WIDE + 0.06, _TOP, _SIDE, _TALL), model)
        if model.correlation is not None:
            said = f"correlation {number(model.correlation, 2)}"
            page.text(_LEFT + _WIDE - 0.08, _TOP + _TALL - 0.1, said, size=8.5, color=INK, ha="right")
        caption = page.text(0.3, SIZE[1] - 0.22, model.caption, size=8, color=MUTED, style="italic")
        page.fit(caption, SIZE[0] - 0.5)

    return SIZE, draw


def _field(ax: Axes, model: ScatterModel) -> None:
    plain_axes(ax)
    lo, hi, down, up = _bounds(model)
    wide, tall = (hi - lo) * 0.03, (up - down) * 0.03
    ax.set_xlim(lo - wide, hi + wide)
    ax.set_ylim(down - tall, up + tall)
    ax.set_axisbelow(True)
    ax.grid(color=GRID, lw=0.6)
    ax.axhline(0, color=MUTED, lw=0.8, zorder=3)
    if lo < 0 < hi:
        ax.axvline(0, color=MUTED, lw=0.8, zorder=1)
    if model.points is not None:
        x, y = clip(model.points[:, 0]), clip(model.points[:, 1])
        size, see = (26, 0.9) if len(x) <= 60 else (12, 0.6) if len(x) <= 500 else (7, 0.45)
        ax.scatter(x, y, s=size, color=VALUE, alpha=see, lw=0, zorder=4, clip_on=False)
    elif model.counts is not None and model.shown:
        ramp = LinearSegmentedColormap.from_list(DENSITY, (VALUE_SOFT, VALUE, "#0d2d3d"))
        shown = np.ma.masked_equal(model.counts, 0)
        most = max(2, int(model.counts.max()))
        ax.imshow(
            shown,
            extent=(lo, hi, down, up),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            cmap=ramp,
            norm=LogNorm(1, most),
            zorder=2,
        )
        ax.set_xlim(lo - wide, hi + wide)
        ax.set_ylim(down - tall, up + tall)
    value_ticks(ax.xaxis, 6)
    value_ticks(ax.yaxis, 6)


def _bounds(model: ScatterModel) -> tuple[float, float, float, float]:
    lo, hi, down, up = (
        float(v) for v in clip(np.array([model.across.lo, model.across.hi, model.down.lo, model.down.hi]))
    )
    # Numbers too small for a scale were brought to zero.
    return (lo, hi, down, up) if hi > lo and up > down else (lo - 1, lo + 1, min(down, -1.0), max(up, 1.0))


def _margin(ax: Axes, model: ScatterModel) -> None:
    """Draw how many elements have each gradient, in the colours of its sign."""
    ax.axis("off")
    if model.gradient.all_zero:
        # Zero is neither above nor below: there is no sign to colour.
        return
    _, _, down, up = _bounds(model)
    tall = (up - down) * 0.03
    ax.set_ylim(down - tall, up + tall)
    if model.counts is not None:
        counts = model.counts.sum(axis=1)
        edges = np.linspace(down, up, len(counts) + 1)
    elif model.points is not None:
        bins = min(40, max(8, 2 * int(len(model.points) ** 0.5) // 2 * 2))
        counts, edges = np.histogram(clip(model.points[:, 1]) / up, bins, (-1, 1))
        edges = edges * up
    else:
        return
    middles = edges[:-1] / 2 + edges[1:] / 2
    share = np.where(counts > 0, 0.04 + 0.96 * counts / max(1, int(counts.max())), 0)
    for colour, side in ((POSITIVE_SOFT, middles > 0), (NEGATIVE_SOFT, middles <= 0)):
        # One outline: bars side by side would show seams.
        ax.stairs(np.where(side, share, 0), edges, orientation="horizontal", fill=True, color=colour, lw=0)
    ax.plot([0, 0], [0, up], color=POSITIVE, lw=1)
    ax.plot([0, 0], [down, 0], color=NEGATIVE, lw=1)
    ax.set_xlim(0, 1)
