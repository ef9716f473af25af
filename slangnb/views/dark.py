"""The same picture for dark themes: a figure that was drawn on white paper gets other inks, not another layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import Collection
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from slangnb.views.style import (
    COMPONENTS,
    DENSITY,
    GRID,
    INK,
    KEPT,
    MARK,
    MUTED,
    NEGATIVE,
    NEGATIVE_SOFT,
    PAPER,
    POSITIVE,
    POSITIVE_SOFT,
    VALUE,
    VALUE_SOFT,
    for_words,
)

#: The paper of JupyterLab's dark theme, and of those that derive from it.
DARK_PAPER = "#111111"

_COMPONENTS = ("#9a8ee6", "#3f9fc4", "#2fa37c", "#9fbf2f")
_PLAIN = {
    PAPER: DARK_PAPER,
    INK: "#e6e8eb",
    MUTED: "#a3abb7",
    GRID: "#343a43",
    VALUE: "#5fb0cf",
    VALUE_SOFT: "#24505f",
    NEGATIVE: "#6aa9dc",
    NEGATIVE_SOFT: "#255a85",
    POSITIVE: "#e8935c",
    POSITIVE_SOFT: "#86502a",
    MARK: "#e06bf0",
}
#: From below zero to above it: the farther from zero, the lighter.
DARK_BALANCE = ("#b9def7", "#4f98d3", "#245781", "#363b43", "#7d4520", "#de7f3f", "#fcd5b5")
_DENSITY = ("#1d4250", "#5fb0cf", "#e3f5fc")


def dark_ink(colour: str) -> str:
    """Give the colour that has the same meaning on dark paper; others, as those of colour maps, stay.

    Examples
    --------
    >>> dark_ink("#1b1f24"), dark_ink("#123456")
    ('#e6e8eb', '#123456')
    """
    return _table().get(colour, colour)


def _table() -> dict[str, str]:
    # A component that has the colour of values keeps that meaning.
    found = {**dict(zip(COMPONENTS, _COMPONENTS, strict=True)), **_PLAIN}
    return {**{for_words(colour): dark for colour, dark in found.items()}, **found}


def darken(figure: Figure) -> None:
    """Give all that is drawn in a figure the inks for dark paper; pictures of numbers keep their colours."""
    figure.set_facecolor(DARK_PAPER)
    for ax in figure.axes:
        # Ticks are made when they are drawn.
        ax.tick_params(colors=dark_ink(MUTED), grid_color=dark_ink(GRID))
    for artist in figure.findobj():
        # What stands on a colour that stays, stays.
        if artist.get_gid() != KEPT:
            _darken(artist)


def _darken(artist: Any) -> None:
    if isinstance(artist, Text):
        artist.set_color(_dark(artist.get_color()))
        box = artist.get_bbox_patch()
        if box is not None:
            box.set_facecolor(_dark(box.get_facecolor()))
    elif isinstance(artist, Line2D):
        artist.set_color(_dark(artist.get_color()))
        artist.set_markerfacecolor(_dark(artist.get_markerfacecolor()))
        artist.set_markeredgecolor(_dark(artist.get_markeredgecolor()))
    elif isinstance(artist, Patch):
        artist.set_facecolor(_dark(artist.get_facecolor()))
        artist.set_edgecolor(_dark(artist.get_edgecolor()))
    elif isinstance(artist, Collection):
        artist.set_facecolor(_all_dark(artist.get_facecolor()))
        artist.set_edgecolor(_all_dark(artist.get_edgecolor()))
    elif isinstance(artist, AxesImage) and artist.get_cmap().name == DENSITY:
        artist.set_cmap(LinearSegmentedColormap.from_list(DENSITY, _DENSITY))


def _dark(colour: Any) -> Any:
    if isinstance(colour, str) and colour in ("none", "auto"):
        return colour
    alpha = to_rgba(colour)[3]
    return to_rgba(dark_ink(to_hex(colour)), alpha)


def _all_dark(colours: Any) -> Any:
    if isinstance(colours, str):
        return colours
    return np.array([_dark(tuple(one)) for one in to_rgba_array(colours)]).reshape(-1, 4)
