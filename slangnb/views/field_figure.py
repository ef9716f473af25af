"""Draws a function of two variables: colours, contours, arrows, and a path over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from slangnb.views.field import FieldModel, captions, dots
from slangnb.views.field_arrows import Arrows, arrows, beside_blank
from slangnb.views.labels import along, place
from slangnb.views.measure import Floats
from slangnb.views.page import Drawing, Page, shorten
from slangnb.views.style import INK, KEPT, MARK, MUTED, PAPER, colour_map, finite, plain_axes, value_ticks
from slangnb.views.text import number

# Inches.
LEFT = 0.85
_TOP, _WIDE, _TALL = 0.6, 5.0, 4.0
_GAP, _BAR, _RIGHT = 0.14, 0.13, 0.75
_FOOT, _LINE = 0.55, 0.2
#: Axes whose spans differ by no more than this factor have the same scale: arrows then cross contours at right angles.
_ALIKE = 1.5
#: Of one letter of a caption.
_LETTER = 0.0545
_CELLS = 0.31
_MARKERS = {"start": ("o", 44, PAPER, INK), "end": ("o", 44, INK, PAPER), "lowest": ("X", 52, PAPER, INK)}
_MOST_LINE = 4000
_ARROW: dict[str, Any] = {
    "units": "inches",
    "scale_units": "inches",
    "scale": 1,
    "pivot": "mid",
    "width": 0.013,
    "headwidth": 4.2,
    "headlength": 4.6,
    "headaxislength": 4.0,
    "minlength": 0,
    "alpha": 0.85,
    "zorder": 3,
}


def box(model: FieldModel) -> tuple[float, float]:
    """Give the width and height of the picture without what is around it."""
    ratio = (model.x[-1] - model.x[0]) / (model.y[-1] - model.y[0])
    if not 1 / _ALIKE <= ratio <= _ALIKE:
        return _WIDE, _TALL
    return min(_WIDE, _TALL * ratio), min(_TALL, _WIDE / ratio)


def drawing(model: FieldModel, title: str) -> Drawing:
    """Give the size of the picture, and what draws it."""
    wide, below = room(model)
    size = (wide, _TOP + below)

    def draw(page: Page) -> None:
        bold = page.text(0.3, 0.33, shorten(title, 40), size=12, weight="bold", color=INK)
        left = 0.42 + page.wide(bold)
        if model.stats.not_finite:
            words = page.text(
                size[0] - 0.25, 0.33, model.stats.not_finite, size=8.5, color=MARK, weight="bold", ha="right"
            )
            right = size[0] - 0.35 - page.wide(words)
        else:
            right = size[0] - 0.2
        page.fit(page.text(left, 0.33, model.fixed, size=9, color=MUTED), right - left)
        plot(page, model, _TOP)

    return size, draw


def room(model: FieldModel) -> tuple[float, float]:
    """Give the width of the page, and the height from the upper edge of the axes to the end of the captions."""
    return _across(model), box(model)[1] + _FOOT + _LINE * len(_said(model)) + 0.08


def _across(model: FieldModel) -> float:
    return LEFT + box(model)[0] + _GAP + _BAR + _RIGHT


def _said(model: FieldModel) -> list[str]:
    return captions(model, int((_across(model) - 0.5) / _LETTER))


def plot(page: Page, model: FieldModel, top: float) -> Axes:
    """Draw all but the title, with the upper edge of the axes there."""
    wide, tall = box(model)
    ax = page.axes(LEFT, top, wide, tall)
    _axes(ax, model, wide, tall)
    words = [shorten(name, 32) for name in model.axes]
    page.text(LEFT + wide / 2, top + tall + 0.39, words[0], size=9.5, color=INK, ha="center")
    page.text(
        0.34,
        top + tall / 2,
        words[1],
        size=9.5,
        color=INK,
        rotation=90 * (len(words[1]) > 2),
        va="center",
        ha="center",
    )
    if model.scale is None:
        page.text(LEFT + wide / 2, top + tall / 2, "nothing finite", size=10, color=MUTED, ha="center")
    else:
        scale, cmap = norm_of(model), colour_map("value")
        _values(ax, model, scale, cmap)
        _arrows(ax, model, scale, cmap)
        page.text(LEFT + wide + _GAP, top - 0.08, "value", size=7.5, color=MUTED)
        _bar(page.axes(LEFT + wide + _GAP, top, _BAR, tall), model, scale, cmap)
    _path(ax, model)
    _marks(page, ax, model, (LEFT, top), (wide, tall))
    for i, line in enumerate(_said(model)):
        words = page.text(0.3, top + tall + _FOOT + 0.14 + _LINE * i, line, size=8, color=MUTED, style="italic")
        page.fit(words, page.width - 0.5)

    return ax


def _axes(ax: Axes, model: FieldModel, wide: float, tall: float) -> None:
    plain_axes(ax)
    ax.set_xlim(model.x[0], model.x[-1])
    ax.set_ylim(model.y[0], model.y[-1])
    value_ticks(ax.xaxis, max(3, int(wide / 0.7)))
    value_ticks(ax.yaxis, max(3, int(tall / 0.55)))


def norm_of(model: FieldModel) -> Normalize:
    """Give the map from values, some of which are finite, to the colour scale."""
    assert model.scale is not None
    lo, hi = model.scale.lo, model.scale.hi
    if not model.contours.words:
        pad = 0.1 * abs(lo) or 0.5
        return Normalize(lo - pad, hi + pad)
    return LogNorm(lo, hi) if model.scale.logarithmic else Normalize(lo, hi)


def _values(ax: Axes, model: FieldModel, scale: Normalize, cmap: Colormap) -> None:
    shown = np.ma.masked_invalid(np.clip(finite(model.values), scale.vmin, scale.vmax))
    # Each number is the value in the middle of its cell: the outer cells are cut in half by the axes.
    half = [(c[-1] - c[0]) / (len(c) - 1) / 2 for c in (model.x, model.y)]
    extent = (model.x[0] - half[0], model.x[-1] + half[0], model.y[0] - half[1], model.y[-1] + half[1])
    limits = ax.get_xlim(), ax.get_ylim()
    ax.imshow(shown, extent=extent, origin="lower", aspect="auto", interpolation="bilinear", cmap=cmap, norm=scale)
    if model.contours.levels:
        inks = [ink(level, scale, cmap) for level in model.contours.levels]
        # As even as the colours are: between two points of the grid a line is where its share of the colours is.
        lines = ax.contour(
            model.x,
            model.y,
            scale(shown),
            levels=[float(scale(level)) for level in model.contours.levels],
            colors=inks,
            linewidths=0.6,
            alpha=0.5,
            linestyles="-",
        )
        lines.set_gid(KEPT)
    ax.set_xlim(limits[0])
    ax.set_ylim(limits[1])


def ink(value: float, scale: Normalize, cmap: Colormap) -> str:
    """Give the ink that is seen on the colour of a value."""
    red, green, blue, _ = cmap(float(scale(value)))
    return PAPER if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else INK


def _arrows(ax: Axes, model: FieldModel, scale: Normalize, cmap: Colormap) -> None:
    found, blank, inks = placed(model, scale, cmap)
    for kept, colours, gid in ((~blank, inks[~blank], KEPT), (blank, MUTED, None)):
        # What reaches over paper has an ink that is seen on both, and that follows the theme.
        if kept.any():
            ax.quiver(*found.at[kept].T, *found.along[kept].T, color=colours, gid=gid, **_ARROW)


def placed(model: FieldModel, scale: Normalize, cmap: Colormap) -> tuple[Arrows, NDArray[np.bool_], NDArray[np.str_]]:
    """Give the arrows, which of them reach over paper, and the ink that each of them has elsewhere."""
    inches = box(model)
    found = arrows(model, inches, (round(inches[0] / _CELLS), round(inches[1] / _CELLS)))
    values = np.clip(found.values, scale.vmin, scale.vmax)
    return found, beside_blank(model, found, inches), np.array([ink(float(v), scale, cmap) for v in values], np.str_)


def _bar(ax: Axes, model: FieldModel, scale: Normalize, cmap: Colormap) -> None:
    """Draw the colour scale, with a line and a number at contours."""
    lo, hi = float(scale.vmin or 0.0), float(scale.vmax or 0.0)
    logarithmic = isinstance(scale, LogNorm)
    steps = np.geomspace(lo, hi, 257) if logarithmic else np.linspace(lo, hi, 257)
    ax.set_yscale("log" if logarithmic else "linear")
    ax.pcolormesh(
        [0, 1], steps, scale((steps[:-1] + steps[1:])[:, None] / 2), cmap=cmap, vmin=0, vmax=1, shading="flat"
    )
    plain_axes(ax)
    ax.set_xticks([])
    ax.set_ylim(lo, hi)
    ax.yaxis.tick_right()
    levels = model.contours.levels
    for level in levels:
        ax.axhline(level, color=ink(level, scale, cmap), lw=0.6, alpha=0.6, gid=KEPT)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_formatter(NullFormatter())
    if levels:
        value_ticks(ax.yaxis, 8)
        ax.yaxis.set_major_locator(FixedLocator(list(levels)))
    elif not model.contours.words:
        value_ticks(ax.yaxis, 3)
        ax.yaxis.set_major_locator(FixedLocator([(lo + hi) / 2]))


def _path(ax: Axes, model: FieldModel) -> None:
    if model.path is None or not len(model.path):
        return
    x, y = finite(model.path).T
    # All steps that a page can show; matplotlib cannot draw a path of any length.
    thin = max(1, -(-len(x) // _MOST_LINE))
    casing = [withStroke(linewidth=3.2, foreground=INK, alpha=0.75)]
    ax.plot(x[::thin], y[::thin], color=PAPER, lw=1.5, zorder=5, path_effects=casing, gid=KEPT, solid_joinstyle="round")
    every = dots(len(x))
    ax.scatter(x[::every], y[::every], s=11, color=PAPER, edgecolors=INK, lw=0.7, zorder=6, gid=KEPT)


def _marks(page: Page, ax: Axes, model: FieldModel, corner: tuple[float, float], room: tuple[float, float]) -> None:
    marks = model.drawn_marks
    if not marks:
        return
    words = [m.word if m.value is None else f"{m.word} {number(m.value, 3)}" for m in marks]
    labels = []
    for mark, said in zip(marks, words, strict=True):
        shape, size, face, edge = _MARKERS.get(mark.word, _MARKERS["end"])
        ax.scatter(
            mark.x, mark.y, s=size, marker=shape, color=face, edgecolors=edge, lw=1.1, zorder=8, gid=KEPT, clip_on=False
        )
        label = page.text(0, 0, said, size=8, color=INK, ha="center", va="center", zorder=9)
        label.set_bbox({"boxstyle": "round,pad=0.22", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.88})
        labels.append(label)
    at = [_inches(model, np.array([[m.x, m.y]]), room)[0] for m in marks]
    sizes = [(page.wide(label) + 0.08, 0.19) for label in labels]
    drawn = along(_inches(model, model.path, room)) if model.path is not None else np.zeros((0, 2))
    for label, (x, y) in zip(labels, place([(p[0], p[1]) for p in at], sizes, room, drawn), strict=True):
        label.set_position(((corner[0] + x) / page.width, 1 - (corner[1] + room[1] - y) / page.height))


def _inches(model: FieldModel, points: Floats, room: tuple[float, float]) -> Floats:
    """Give points in inches from the lower left corner of the axes."""
    low, high = np.array([model.x[0], model.y[0]]), np.array([model.x[-1], model.y[-1]])
    return (points - low) / (high - low) * room
