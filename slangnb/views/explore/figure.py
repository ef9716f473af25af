"""Draws a function over its range: sliders, the curve with its tangent, and the derivative below it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from slangnb.views.curves import end_labels
from slangnb.views.explore import head
from slangnb.views.explore.model import ExploreModel, notes, readout, spans, tangent, text_lines
from slangnb.views.measure import Floats, Limits
from slangnb.views.page import Drawing, Page
from slangnb.views.style import (
    COMPONENTS,
    GRID,
    INK,
    MARK,
    MONO,
    MUTED,
    NEGATIVE,
    NEGATIVE_SOFT,
    PAPER,
    POSITIVE,
    POSITIVE_SOFT,
    VALUE,
    clip,
    finite,
    for_words,
    plain_axes,
    value_ticks,
)

# Inches.
WIDTH = 7.6
_LEFT, _RIGHT = 0.72, 0.34
_PLOT = WIDTH - _LEFT - _RIGHT
_LABEL, _CURVE, _SLOPE, _ROW, _TICKS, _LINE = 0.36, 2.35, 1.05, 0.52, 0.42, 0.17
#: How far a tangent reaches from its point.
_REACH = 0.75


@dataclass(frozen=True)
class _Layout:
    """Where the parts begin: inches from the top."""

    curve: float
    slope: float
    row: float
    words: float
    height: float


def _plan(model: ExploreModel) -> _Layout:
    curve = head.TITLE + head.tall(len(model.sliders), _PLOT) + _LABEL
    slope = curve + _CURVE + 0.3
    count = 0 if model.slopes is None else len(model.slopes)
    row = _SLOPE if count == 1 else _ROW
    bottom = slope + count * row if count else curve + _CURVE
    words = bottom + _TICKS + 0.1
    lines = len(text_lines(model)) + bool(notes(model))
    return _Layout(curve, slope, row, words, words + lines * _LINE + 0.02)


def drawing(model: ExploreModel, title: str = "") -> Drawing:
    """Give the size of the picture, and what draws it."""
    layout = _plan(model)

    def draw(page: Page) -> None:
        head.title(page, title or model.name, model.call, _LEFT)
        head.sliders(page, model.sliders, _LEFT, head.TITLE, _PLOT)
        _readout(page, model, layout.curve - 0.1)
        ax = page.axes(_LEFT, layout.curve, _PLOT, _CURVE)
        _curve(ax, model)
        if model.slopes is not None:
            ax.tick_params(labelbottom=False, bottom=False)
            page.text(_LEFT, layout.slope - 0.08, model.slope_name, size=9.5, color=INK)
            for row in range(len(model.slopes)):
                tall = layout.row * (0.88 if len(model.slopes) > 1 else 1)
                ax = page.axes(_LEFT, layout.slope + row * layout.row, _PLOT, tall)
                _slope(ax, model, row)
                if row < len(model.slopes) - 1:
                    ax.tick_params(labelbottom=False, bottom=False)
        page.text(_LEFT + _PLOT / 2, layout.words - 0.16, model.axis, size=9.5, color=INK, ha="center")
        _words(page, model, layout.words + 0.08)

    return (WIDTH, layout.height), draw


def _readout(page: Page, model: ExploreModel, line: float) -> None:
    """Write what the probe reads, above the curve: over it, it would cover it."""
    name = page.text(_LEFT, line, f"{model.symbol}({model.axis})", size=9.5, color=INK)
    said = [f"{word} = {numbers}" for word, numbers in readout(model)]
    words = list(zip(said, [INK, INK, _sign_colour(model)], strict=False))
    head.readout(page, words, _LEFT + _PLOT, line, _PLOT - page.wide(name) - 0.3)


def _sign_colour(model: ExploreModel) -> str:
    """Give the colour of the sign of the derivative at the probe."""
    if model.slopes is None or len(model.slopes) > 1:
        return INK
    return for_words(_of_sign(float(model.slopes[0, model.probe])))


def _of_sign(slope: float) -> str:
    return POSITIVE if slope > 0 else NEGATIVE if slope < 0 else MUTED


def _tints(model: ExploreModel) -> tuple[str, ...]:
    return COMPONENTS if model.labels and len(model.labels) > 1 else (VALUE,)


def _bare(ax: Axes, model: ExploreModel, limits: Limits) -> tuple[float, float]:
    """Prepare axes over the range, and give their lower and upper end."""
    lo, hi = float(model.x[0]), float(model.x[-1])
    pad = 0.012 * (hi - lo)
    ax.set_xlim(lo - pad, hi + pad)
    down, up = (float(v) for v in clip(np.array([limits.lo, limits.hi])))
    down, up = (down, up) if down < up else (-1.0, 1.0)
    ax.set_ylim(down, up)
    plain_axes(ax)
    ax.set_axisbelow(True)
    ax.grid(color=GRID, lw=0.6)
    value_ticks(ax.xaxis, 8)
    if down < 0 < up:
        ax.axhline(0, color=MUTED, lw=0.7, zorder=1.5)
    ax.axvline(model.x[model.probe], color=MUTED, lw=0.7, ls=(0, (2, 3)), zorder=1.6)
    return down, up


def _curve(ax: Axes, model: ExploreModel) -> None:
    down, up = _bare(ax, model, spans(model)[0])
    if not np.isfinite(model.values).any():
        ax.text(0.5, 0.5, "nothing finite", transform=ax.transAxes, size=10, color=MUTED, ha="center")
    left, right = ax.get_xlim()
    unit = _PLOT / (right - left), _CURVE / (up - down)
    tints = _tints(model)
    for row, values in enumerate(model.values):
        y = finite(values)
        ax.plot(model.x, y, color=tints[row], lw=1.9, solid_joinstyle="round", zorder=3)
        at, value = float(model.x[model.probe]), float(y[model.probe])
        colour = tints[row]
        if model.slopes is not None and np.isfinite(slope := finite(model.slopes[row])[model.probe]):
            colour = _of_sign(float(slope)) if len(model.values) == 1 else tints[row]
            ends = tangent(at, value, float(slope), unit, _REACH)
            ax.plot(*ends, color=colour, lw=1.5, zorder=4, alpha=1.0 if len(model.values) == 1 else 0.75)
        ax.plot([at], [value], "o", ms=6.5, mfc=colour, mec=PAPER, mew=1.2, zorder=5)
    value_ticks(ax.yaxis, 6)
    if len(model.values) > 1:
        end_labels(ax, model.values, model.labels, (down, up))


def _slope(ax: Axes, model: ExploreModel, row: int) -> None:
    """Draw a derivative as an area about zero: orange above, blue below."""
    assert model.slopes is not None
    several = len(model.slopes) > 1
    _bare(ax, model, spans(model)[1][row])
    y: Floats = finite(model.slopes[row])
    # "interpolate" ends each colour where the line crosses zero, between two points.
    ax.fill_between(model.x, 0, y, where=y >= 0, interpolate=True, color=POSITIVE_SOFT, lw=0, zorder=2)
    ax.fill_between(model.x, 0, y, where=y <= 0, interpolate=True, color=NEGATIVE_SOFT, lw=0, zorder=2)
    ax.plot(model.x, y, color=INK, lw=1, zorder=3)
    at = float(y[model.probe])
    ax.plot([model.x[model.probe]], [at], "o", ms=5.5, mfc=_of_sign(at), mec=PAPER, mew=1.1, zorder=5)
    value_ticks(ax.yaxis, 2 if several else 4)
    if several:
        style = {"va": "center", "size": 8, "weight": "bold", "color": for_words(COMPONENTS[row])}
        ax.text(1.008, 0.5, model.labels[row], transform=ax.transAxes, **style)


def _words(page: Page, model: ExploreModel, line: float) -> None:
    """Write the statistics, one line for the curve and one for its derivative, and what else is to be known."""
    for name, said in text_lines(model):
        first = page.text(_LEFT, line, f"{name:<{len(model.slope_name)}}  ", size=7.5, family=MONO, color=INK)
        *calm, last = said.split("  ")
        marked = any(word in last for word in ("NaN", "Inf", "nothing"))
        left = _LEFT + page.wide(first) + 0.12
        drawn = page.text(left, line, "  ".join(calm if marked else [*calm, last]), size=7.5, family=MONO, color=MUTED)
        if marked:
            left += page.wide(drawn) + (0.12 if calm else 0)
            page.text(left, line, last, size=7.5, family=MONO, color=MARK, weight="bold")
        line += _LINE
    page.text(_LEFT + _PLOT, line - _LINE, model.words, size=7.5, family=MONO, color=MUTED, ha="right")
    if notes(model):
        note = page.text(_LEFT, line, notes(model), size=8, color=MUTED, style="italic")
        page.fit(note, _PLOT)
