"""Draws a history: a few steps side by side on one scale, or each on its own, the curves over all steps beneath."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slangnb.views import curves, history_curves, raster
from slangnb.views.model import Panel, Role
from slangnb.views.page import Drawing, Page, shorten
from slangnb.views.snapshots import Frame, Norms
from slangnb.views.style import INK, MARK, MUTED, SMALL
from slangnb.views.text import heading, number

# Inches.
_PAGE, _LEFT, _RIGHT, _GAP = 9.4, 1.1, 0.25, 0.25
_TOP, _STEP, _ROW_GAP, _STRIP, _TICKS = 0.56, 0.4, 0.26, 0.09, 0.24
_CAPTION = 0.34
_MOST_ROWS = 4
# Pictures of one or two steps are as wide as those of three.
_WIDE = (_PAGE - _LEFT - _RIGHT - 2 * _GAP) / 3


def page_size(frames: Sequence[Frame], norms: Sequence[Norms]) -> tuple[float, float]:
    """Give the width and height of the picture in inches."""
    if not frames:
        return _PAGE, 1.0
    tall = _TOP + _STEP + sum(_band(frames, i, role) for i, role in _bands(frames))
    beneath = history_curves.tall(history_curves.curves(frames, norms)) if len(norms) > 1 else 0.0
    return _PAGE, tall + beneath + _CAPTION


def _bands(frames: Sequence[Frame]) -> list[tuple[int, Role]]:
    """Give the rows of pictures: each tensor's value, then its gradient."""
    models = frames[-1].models[:_MOST_ROWS]
    roles: list[tuple[int, Role]] = []
    for i, model in enumerate(models):
        roles.append((i, "value"))
        if any(frame.models[i].gradient is not None for frame in frames) and model is not None:
            roles.append((i, "gradient"))
    return roles


def _panel(frame: Frame, place: int, role: Role) -> Panel | None:
    model = frame.models[place]
    return model.value if role == "value" else model.gradient


def _picture(panel: Panel | None, width: float) -> tuple[float, float]:
    """Give the size of one picture."""
    if panel is None or panel.kind in ("scalar", "empty"):
        return width, 0.5
    if panel.kind == "line":
        return width, 1.15
    rows, columns = panel.array.shape[1:3] if panel.kind == "facets" else panel.array.shape[:2]
    if panel.kind == "facets":
        columns *= panel.array.shape[0]
    tall = width * rows * panel.steps[0] / (columns * panel.steps[1])
    if tall > 2.4:
        return max(width * 2.4 / tall, 1.2), 2.4
    return width, max(tall, 0.5)


def _scaled(panel: Panel | None) -> bool:
    return panel is not None and panel.kind in ("image", "facets")


def _band(frames: Sequence[Frame], place: int, role: Role) -> float:
    """Give the height of one row of pictures with what is under it."""
    panels = [_panel(frame, place, role) for frame in frames]
    tall = max(_picture(panel, _WIDE)[1] for panel in panels)
    drawn = any(panel is not None and panel.kind not in ("scalar", "empty") for panel in panels)
    return tall + (_TICKS if drawn else 0) + (_STRIP + _TICKS if any(map(_scaled, panels)) else 0) + _ROW_GAP


def drawing(frames: Sequence[Frame], norms: Sequence[Norms], title: str = "history", caption: str = "") -> Drawing:
    """Give the size of a picture of steps side by side, and what draws it.

    Parameters
    ----------
    frames : sequence of Frame
        At most three, with limits that all share.
    norms : sequence of Norms
        Over the steps.
    title, caption
    """

    def draw(page: Page) -> None:
        bold = page.text(0.3, 0.33, shorten(title), size=12, weight="bold", color=INK)
        if frames:
            models = frames[-1].models
            said = heading(models[0]) if len(models) == 1 else f"{len(models)} tensors"
            if len(models) > _MOST_ROWS:
                said += f", pictures of the first {_MOST_ROWS}"
            left = 0.42 + page.wide(bold)
            page.fit(page.text(left, 0.33, said, size=9, color=MUTED), _PAGE - left - 0.2)
            top = _steps(page, frames)
            if len(norms) > 1:
                found = history_curves.curves(frames, norms)
                wide = _PAGE - _LEFT - _RIGHT
                history_curves.draw(page, frames, [n.step for n in norms], found, (_LEFT, top), wide)
        page.fit(page.text(0.3, page.height - 0.16, caption, size=8, color=MUTED, style="italic"), _PAGE - 0.6)

    return page_size(frames, norms), draw


def _steps(page: Page, frames: Sequence[Frame]) -> float:
    """Draw the steps as columns; give where they end."""
    for column, frame in enumerate(frames):
        left = _LEFT + column * (_WIDE + _GAP)
        page.text(left, _TOP + 0.18, f"step {frame.step}", size=9.5, weight="bold", color=INK)
    top = _TOP + _STEP
    for place, role in _bands(frames):
        many = len(frames[-1].models) > 1
        label = f"{shorten(frames[-1].models[place].name, 12)}\n{role}" if many else role
        page.text(0.3, top + 0.14, label, size=9, color=INK, va="center" if many else "baseline")
        scale: tuple[Panel, float] | None = None
        panels = [_panel(frame, place, role) for frame in frames]
        own = len({panel.limits for panel in panels if panel is not None}) > 1
        for column, panel in enumerate(panels):
            left = _LEFT + column * (_WIDE + _GAP)
            if panel is None:
                page.text(left, top + 0.2, "none", size=8.5, color=MUTED)
                continue
            size = _picture(panel, _WIDE)
            _draw(page, panel, role, (left, top), size, first=column == 0)
            _said(page, panel, left + _WIDE, top - 0.05, own=own)
            if _scaled(panel) and own:
                _scale(page, panel, role, (left, top + size[1]), size[0])
            elif _scaled(panel):
                scale = panel, size[1]
        if scale is not None:
            across = _WIDE * len(frames) + _GAP * (len(frames) - 1)
            _scale(page, scale[0], role, (_LEFT, top + scale[1]), across)
        top += _band(frames, place, role)
    return top


def _scale(page: Page, panel: Panel, role: Role, place: tuple[float, float], across: float) -> None:
    """Draw the colour scale of a picture that ends at that place."""
    strip = page.axes(place[0], place[1] + _TICKS, across, _STRIP)
    raster.scale_strip(strip, replace(panel, histogram=None), role, across)


def _said(page: Page, panel: Panel, right: float, line: float, *, own: bool) -> None:
    """Write the norm over the right end of a picture, and what deserves attention before it.

    A line on its own scale says which: only the first has numbers at its axis.
    """
    if panel.kind in ("scalar", "empty"):
        return
    stats = panel.stats
    if stats.norm is not None:
        said = f"norm {number(stats.norm, 3)}"
        if own and panel.kind == "line" and stats.min is not None and stats.max is not None:
            said = f"{number(stats.min, 3)} to {number(stats.max, 3)}  {said}"
        words = page.text(right, line, said, size=7.5, color=MUTED, ha="right")
        right -= page.wide(words) + 0.1
    if panel.remark:
        style = MARK if panel.stats.not_finite else INK
        page.text(right, line, panel.remark, size=7.5, color=style, weight="bold", ha="right")


def _draw(
    page: Page, panel: Panel, role: Role, place: tuple[float, float], size: tuple[float, float], *, first: bool
) -> None:
    """Draw one panel at a place; the axis that goes down is numbered at the first one alone."""
    left, top = place
    wide, tall = size
    if panel.kind == "facets":
        count = panel.array.shape[0]
        each = (wide - 0.06 * (count - 1)) / count
        for layer in range(count):
            ax = page.axes(left + layer * (each + 0.06), top, each, tall)
            raster.image(ax, panel, role, layer, (each, tall))
            ax.tick_params(labelleft=first and layer == 0, left=first and layer == 0)
        return
    ax = page.axes(left, top, wide, tall)
    if panel.kind == "scalar":
        curves.scalar(ax, panel, role)
    elif panel.kind == "empty":
        curves.empty(ax)
    elif panel.kind == "line":
        several = panel.array.shape[0] > 1
        if (panel.array.shape[1] > SMALL or several) and panel.positions is not None:
            if role == "gradient" and not several:
                curves.area(ax, panel, 0, wide)
            else:
                curves.curve(ax, panel, wide)
        else:
            curves.stems(ax, panel, role, wide)
    else:
        raster.image(ax, panel, role, None, size)
    if not first:
        ax.tick_params(labelleft=False, left=False)
