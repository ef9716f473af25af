"""Lays out pair views on a page and renders them to PNG with matplotlib's objects, never with pyplot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slangnb.views import curves, raster
from slangnb.views.model import PairModel, Panel, Role
from slangnb.views.page import DPI, Drawing, Page, render, shorten
from slangnb.views.style import CELLS, INK, MARK, MONO, MUTED, PAPER, SMALL
from slangnb.views.text import heading, statistics

# Inches.
_PAGE, _SINGLE = 9.4, 5.2
_LEFT, _RIGHT, _GAP = 0.52, 0.22, 0.62
_TITLE, _LABEL, _TICKS, _STATS, _CAPTION, _PAD = 0.44, 0.26, 0.24, 0.2, 0.2, 0.12


@dataclass(frozen=True)
class _Box:
    """A panel's place on the page: inches from the left and from the top of its row."""

    role: Role
    panel: Panel
    left: float
    top: float
    width: float
    height: float
    stacked: bool


@dataclass(frozen=True)
class _Row:
    """One tensor's place on the page."""

    model: PairModel
    boxes: tuple[_Box, ...]
    width: float
    height: float


def _is_long(panel: Panel) -> bool:
    return panel.kind == "line" and (panel.array.shape[0] > 1 or panel.array.shape[1] > SMALL)


def _plot_size(panel: Panel, width: float) -> tuple[float, float]:
    """Give the size of a panel that stands beside its gradient."""
    if panel.kind in ("scalar", "empty"):
        return width, 0.45
    if panel.kind == "line":
        return width, 1.35
    rows, columns = panel.array.shape[1:] if panel.kind == "facets" else panel.array.shape[:2]
    if panel.kind == "facets" and panel.array.shape[0] == 2:
        columns *= 2
    if panel.kind == "image" and max(rows, columns) <= CELLS:
        # Cells wide enough for the number in each.
        return min(width, 0.8 * columns), 0.42 * rows
    tall = width * (rows * panel.steps[0]) / (columns * panel.steps[1])
    # Square elements where the room allows; a strip or a column is stretched rather than lost.
    if tall > 3.5:
        return max(width * 3.5 / tall, min(width, 1.6)), 3.5
    return width, max(tall, min(1.3, 0.5 + 0.25 * rows))


def _plan(model: PairModel) -> _Row:
    panels = model.panels
    tail = (_CAPTION if model.caption else 0) + _PAD
    if _is_long(model.value):
        return _stacked(model, tail)
    page = _PAGE if len(panels) == 2 else _SINGLE
    width = (_PAGE - _LEFT - _GAP - _RIGHT) / 2 if len(panels) == 2 else _SINGLE - _LEFT - _RIGHT
    size = _plot_size(model.value, width)
    top = _TITLE + _LABEL
    boxes = tuple(
        _Box(role, panel, _LEFT + i * (width + _GAP), top, *size, stacked=False)
        for i, (role, panel) in enumerate(panels)
    )
    return _Row(model, boxes, page, top + size[1] + max(_foot(panel) for _, panel in panels) + tail)


def _strip_height(panel: Panel) -> float:
    """Give the height of the colour scale under a panel, with the histogram if there is one."""
    if panel.kind not in ("image", "facets"):
        return 0.0
    return 0.08 if panel.histogram is None else 0.36


def _foot(panel: Panel) -> float:
    """Give the height of all that stands under a panel's picture."""
    if panel.kind in ("scalar", "empty"):
        return 0.0
    strip = _strip_height(panel)
    return _TICKS + (strip + _TICKS if strip else 0.0) + _STATS


def _stacked(model: PairModel, tail: float) -> _Row:
    width = _PAGE - _LEFT - _RIGHT
    lines = model.value.array.shape[0]
    top = _TITLE + _LABEL
    heights = [1.35 if lines == 1 else 1.6, 0.95 if lines == 1 else 0.46 * lines]
    boxes: list[_Box] = []
    for (role, panel), height in zip(model.panels, heights, strict=False):
        boxes.append(_Box(role, panel, _LEFT, top, width, height, stacked=True))
        top += height + _LABEL + 0.06
    return _Row(model, tuple(boxes), _PAGE, top - _LABEL - 0.06 + _TICKS + tail)


def _draw_title(page: Page, row: _Row, top: float) -> None:
    bold = page.text(_LEFT, top + 0.3, shorten(row.model.name), weight="bold", size=12, color=INK)
    after = _LEFT + page.wide(bold) + 0.12
    info = page.text(after, top + 0.3, heading(row.model), size=9, color=MUTED)
    over = after + page.wide(info) - (row.width - 0.1)
    if over > 0:
        info.set_fontsize(max(5.0, 9 * (1 - over / page.wide(info))))


def _draw_label(page: Page, box: _Box, top: float) -> None:
    """Write what a panel is, what deserves attention in it, and its statistics."""
    line = top + box.top - 0.09
    page.text(box.left, line, box.role, size=9.5, color=INK)
    right = box.left + box.width
    edge = max(right, box.left + 2.4)
    if box.panel.remark:
        style = MARK if box.panel.stats.not_finite else INK
        remark = page.text(edge, line, box.panel.remark, size=8.5, color=style, ha="right", weight="bold")
        edge -= page.wide(remark) + 0.15
    if box.panel.kind in ("scalar", "empty"):
        return
    words = statistics(box.panel.stats)
    if box.stacked:
        page.text(edge, line, words, size=7.5, color=MUTED, family=MONO, ha="right")
        return
    below = top + box.top + box.height + _foot(box.panel) - 0.06
    page.text(box.left, below, words, size=7.5, color=MUTED, family=MONO)


def _draw_facets(page: Page, box: _Box, top: float) -> None:
    """Draw each component in its own cell of a grid."""
    count = box.panel.array.shape[0]
    down = 1 if count <= 2 else 2
    gap = 0.16
    across = -(-count // down)
    wide, tall = (box.width - gap * (across - 1)) / across, (box.height - gap * (down - 1)) / down
    for layer in range(count):
        i, j = divmod(layer, across)
        ax = page.axes(box.left + j * (wide + gap), top + box.top + i * (tall + gap), wide, tall)
        raster.image(ax, box.panel, box.role, layer, (wide, tall))
        if i < down - 1 and layer + across < count:
            ax.tick_params(labelbottom=False, bottom=False)
        if j:
            ax.tick_params(labelleft=False, left=False)
        name = box.panel.labels[layer]
        ax.text(
            0.03,
            0.95,
            name,
            transform=ax.transAxes,
            va="top",
            size=8,
            weight="bold",
            color=INK,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.8},
        )


def _draw_panel(page: Page, box: _Box, top: float) -> None:
    panel, role = box.panel, box.role
    if panel.kind == "facets":
        _draw_facets(page, box, top)
    elif panel.kind == "line" and box.stacked and role == "gradient":
        lines = panel.array.shape[0]
        tall = box.height / lines
        for row in range(lines):
            ax = page.axes(box.left, top + box.top + row * tall, box.width, tall * (0.9 if lines > 1 else 1))
            curves.area(ax, panel, row, box.width)
            ax.tick_params(labelbottom=row == lines - 1, bottom=False)
    else:
        ax = page.axes(box.left, top + box.top, box.width, box.height)
        if panel.kind == "scalar":
            curves.scalar(ax, panel, role)
        elif panel.kind == "empty":
            curves.empty(ax)
        elif panel.kind == "line" and box.stacked:
            curves.curve(ax, panel, box.width)
        elif panel.kind == "line":
            curves.stems(ax, panel, role, box.width)
        else:
            raster.image(ax, panel, role, None, (box.width, box.height))
    if panel.kind in ("image", "facets"):
        strip = page.axes(box.left, top + box.top + box.height + _TICKS, box.width, _strip_height(panel))
        raster.scale_strip(strip, panel, role, box.width)


def _draw_row(page: Page, row: _Row, top: float) -> None:
    _draw_title(page, row, top)
    for box in row.boxes:
        _draw_panel(page, box, top)
        _draw_label(page, box, top)
    first = row.boxes[0]
    if row.model.gradient is not None and first.stacked:
        # The gradient below shares the axis of the value above.
        page.figure.axes[-1 - row.model.gradient.array.shape[0]].tick_params(labelbottom=False, bottom=False)
    if row.model.caption:
        line = top + row.height - _PAD - 0.02
        caption = page.text(_LEFT, line, row.model.caption, size=8, color=MUTED, style="italic")
        page.fit(caption, row.width - _LEFT - 0.1)


def page_size(models: Sequence[PairModel], title: str = "") -> tuple[float, float]:
    """Give the width and height in inches of the picture that `to_png` makes."""
    return _size([_plan(model) for model in models], title)


def _size(rows: Sequence[_Row], title: str) -> tuple[float, float]:
    return max(row.width for row in rows), sum(row.height for row in rows) + (0.36 if title else 0.0)


def drawing(models: Sequence[PairModel], title: str = "") -> Drawing:
    """Give the size in inches of pair views under one another, and what draws them."""
    rows = [_plan(model) for model in models]

    def draw(page: Page) -> None:
        top = 0.0
        if title:
            page.text(_LEFT, 0.28, shorten(title), size=14, weight="bold", color=INK)
            top = 0.36
        for row in rows:
            _draw_row(page, row, top)
            top += row.height

    return _size(rows, title), draw


def to_png(models: PairModel | Sequence[PairModel], dpi: int = DPI, *, title: str = "") -> bytes:
    """Draw pair views under one another.

    Parameters
    ----------
    models : PairModel or sequence of them
    dpi : int
        Pixels per inch; a row with a gradient is 9.4 inches wide.
    title : str
        Written above all rows.

    Returns
    -------
    bytes
        A PNG file. The same models give the same bytes; the user's matplotlib settings have no part in it.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> to_png(pair_model(np.array([1.0, 2.0]), name="x"))[1:4]
    b'PNG'
    """
    models = [models] if isinstance(models, PairModel) else list(models)
    return render(*drawing(models, title), dpi)
