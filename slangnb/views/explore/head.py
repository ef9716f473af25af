"""Draws what stands above the picture of an explored function: its title, its sliders, what the probe reads."""

from __future__ import annotations

from collections.abc import Sequence

from slangnb.views.explore.model import Slider
from slangnb.views.page import Page, shorten
from slangnb.views.style import GRID, INK, MONO, MUTED, PAPER, VALUE
from slangnb.views.text import number

# Inches.
TITLE, CALL, _SLIDER, _BETWEEN = 0.5, 0.22, 0.3, 0.35
#: Of one letter of a call, in the smallest size that is read.
_LETTER = 0.049
#: The least width of a slider.
_LEAST = 2.0


def title(page: Page, said: str, call: str, left: float, *, below: bool = False) -> None:
    """Write the title, and the call that the picture is of: beside it, or on a line of its own."""
    bold = page.text(left, 0.34, shorten(said), size=13, weight="bold", color=INK)
    page.fit(bold, page.width - left - 0.1)
    at = left if below else left + page.wide(bold) + 0.14
    room = page.width - at - 0.1
    words = page.text(at, 0.34 + CALL * below, shorten(call, int(room / _LETTER)), size=8.5, color=MUTED, family=MONO)
    page.fit(words, room)


def tall(count: int, wide: float) -> float:
    """Give the height of so many sliders."""
    return -(-count // _across(wide)) * _SLIDER + 0.06 if count else 0.0


def _across(wide: float) -> int:
    return 2 if wide >= 2 * _LEAST + _BETWEEN else 1


def sliders(page: Page, all_: Sequence[Slider], left: float, top: float, wide: float) -> None:
    """Draw all sliders, from there down."""
    across = _across(wide)
    each = (wide - _BETWEEN * (across - 1)) / across
    for i, slider in enumerate(all_):
        row, column = divmod(i, across)
        _slider(page, slider, left + column * (each + _BETWEEN), top + row * _SLIDER + 0.14, each)


def _slider(page: Page, slider: Slider, left: float, middle: float, wide: float) -> None:
    """Draw where a slider stands, with its number."""
    name = page.text(left, middle + 0.045, shorten(slider.range.name, 14), size=9, weight="bold", color=INK)
    page.text(left + wide - 0.5, middle + 0.045, number(slider.value), size=9, family=MONO, color=INK)
    begin = left + max(0.2, page.wide(name) + 0.12)
    ax = page.axes(begin, middle - 0.1, left + wide - 0.64 - begin, 0.2)
    ax.axis("off")
    ax.set_xlim(0, 1)
    ax.set_ylim(-1, 1)
    ax.plot([0, 1], [0, 0], color=GRID, lw=3.2, solid_capstyle="round", clip_on=False)
    ax.plot([0, slider.share], [0, 0], color=VALUE, lw=3.2, solid_capstyle="round", clip_on=False)
    ax.plot(
        [slider.share], [0], "o", ms=9, markerfacecolor=PAPER, markeredgecolor=VALUE, mew=2, clip_on=False, zorder=3
    )


def readout(page: Page, words: Sequence[tuple[str, str]], right: float, line: float, most: float) -> None:
    """Write words in their colours on a line that ends at `right`, smaller where they are wider than `most`."""
    size = 8.8
    trial = page.text(0, 0, "   ".join(said for said, _ in words), size=size, family=MONO)
    page.fit(trial, most)
    size = float(trial.get_fontsize())
    trial.remove()
    for said, colour in reversed(words):
        drawn = page.text(right, line, said, size=size, family=MONO, color=colour, ha="right")
        right -= page.wide(drawn) + 0.022 * size
