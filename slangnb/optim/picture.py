"""Draws a descent: the loss over the steps, and below it the parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from slangnb.optim.optimizers import Floats
from slangnb.views.history_curves import names_at_ends, over_steps
from slangnb.views.page import Drawing, Page, shorten
from slangnb.views.style import COMPONENTS, INK, MUTED, VALUE, finite

#: Inches.
WIDE = 6.4
_LEFT, _RIGHT, _TOP, _LOSS, _GAP, _PARAMS, _FOOT = 0.75, 1.15, 0.85, 1.7, 0.62, 1.25, 0.75
#: Parameters of more numbers than this have no lines.
MOST_LINES = 8
#: From so many times the smallest loss on, the axis is logarithmic.
_DECADES = 30.0
_DASHES = ("-", (0, (4, 1.5)))


def drawing(name: str, optimizer: str, losses: Floats, parameters: Sequence[tuple[str, Floats]], said: str) -> Drawing:
    """Give the size of the picture, and what draws it.

    Parameters
    ----------
    losses : float64 array (steps,)
    parameters : sequence of (name, float64 array (steps,))
        One for each number.
    said : str
        The line below.
    """
    lines = parameters[:MOST_LINES]
    tall = _TOP + _LOSS + (_GAP + _PARAMS if lines else 0.0) + _FOOT

    def draw(page: Page) -> None:
        bold = page.text(0.3, 0.34, shorten(name, 32), size=12, weight="bold", color=INK)
        left = 0.42 + page.wide(bold)
        page.fit(page.text(left, 0.34, f"by {optimizer}", size=9, color=MUTED), WIDE - left - 0.1)
        wide = WIDE - _LEFT - _RIGHT
        log = _is_log(losses)
        page.text(_LEFT, _TOP - 0.12, "loss" + (", logarithmic axis" if log else ""), size=9.5, color=INK)
        ax = _chart(page, _TOP, _LOSS, wide, losses[None, :], log=log)
        _line(ax, losses, INK, "-")
        if lines:
            top = _TOP + _LOSS + _GAP
            more = f", {MOST_LINES} of {len(parameters)} numbers" if len(parameters) > MOST_LINES else ""
            page.text(_LEFT, top - 0.12, f"parameters{more}", size=9.5, color=INK)
            below = _chart(page, top, _PARAMS, wide, np.array([v for _, v in lines]), log=False)
            _named(below, lines, wide)
        page.text(_LEFT + wide, tall - _FOOT + 0.32, "step", size=9.5, color=MUTED, ha="right")
        page.fit(page.text(0.3, tall - 0.18, said, size=8, color=MUTED, style="italic"), WIDE - 0.5)

    return (WIDE, tall), draw


def _is_log(losses: Floats) -> bool:
    there = losses[np.isfinite(losses)]
    return bool(there.size and there.min() > 0 and there.max() > _DECADES * there.min())


def _chart(page: Page, top: float, tall: float, wide: float, heights: Floats, *, log: bool) -> Axes:
    ax = page.axes(_LEFT, top, wide, tall)
    over_steps(ax, wide, (0, max(heights.shape[1] - 1, 1)), heights, log=log)
    return ax


def _line(ax: Axes, heights: Floats, colour: str, dash: object) -> None:
    dots = "o" if heights.size <= 40 else None
    ax.plot(finite(heights), color=colour, lw=1.5, ls=dash, marker=dots, ms=2.6, clip_on=False)  # pyright: ignore[reportArgumentType]


def _named(ax: Axes, lines: Sequence[tuple[str, Floats]], wide: float) -> None:
    """Draw the lines, with their names at their ends."""
    ends: list[tuple[float, str, str]] = []
    for k, (name, heights) in enumerate(lines):
        colour = VALUE if len(lines) == 1 else COMPONENTS[k % len(COMPONENTS)]
        _line(ax, heights, colour, _DASHES[k // len(COMPONENTS) % 2])
        there = heights[np.isfinite(heights)]
        if there.size:
            ends.append((float(there[-1]), shorten(name, 14), colour))
    names_at_ends(ax, ends, wide, size=8)
