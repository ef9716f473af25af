"""Colours, scales and ticks that all pictures share: calm paper, one ink, one map per meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.ticker import FixedLocator, Formatter, FuncFormatter, MaxNLocator

from slangnb.views.measure import Array
from slangnb.views.model import Panel, Role
from slangnb.views.text import number

INK, MUTED, GRID, PAPER = "#1b1f24", "#6b7280", "#e5e7eb", "#ffffff"
VALUE, VALUE_SOFT = "#2c718e", "#b7d3de"
NEGATIVE, NEGATIVE_SOFT, POSITIVE, POSITIVE_SOFT = "#3f7fb5", "#a8cbe2", "#d9763a", "#f3c29b"
MARK = "#c026d3"
MONO = "DejaVu Sans Mono"

FEW, SMALL, CELLS = 8, 64, 8
# At least 3 to 1 against the paper.
COMPONENTS = ("#3b2f73", "#2c718e", "#2a9a75", "#7f9a1f")
# Words need 4.5 to 1, so those in the colour of what they name are darker.
_WORDS = {POSITIVE: "#b4541a", NEGATIVE: "#2f6da3", COMPONENTS[2]: "#1c7a5b", COMPONENTS[3]: "#5f7414"}
#: The colour map of counts, and the mark (matplotlib's gid) of words whose colour is chosen for what is under them.
DENSITY, KEPT = "density", "kept"
_BALANCE = ("#0b3c6f", "#3f7fb5", "#a8cbe2", "#f7f7f7", "#f3c29b", "#d9763a", "#8a3008")
# Differences of larger numbers overflow inside matplotlib.
DRAWABLE = 1e300


def for_words(colour: str) -> str:
    """Give the shade of a colour that is read as well as seen, on white.

    Examples
    --------
    >>> for_words(POSITIVE), for_words(INK)
    ('#b4541a', '#1b1f24')
    """
    return _WORDS.get(colour, colour)


def colour_map(role: Role) -> Colormap:
    """Give the one map that means value, or the one that means gradient."""
    if role == "gradient":
        return LinearSegmentedColormap.from_list("balance", _BALANCE)
    return colormaps["viridis"]


def norm(panel: Panel) -> Normalize:
    """Give the map from numbers to the colour scale."""
    lo, hi = clip(np.array([panel.limits.lo, panel.limits.hi]))
    return Normalize(float(lo), float(hi)) if lo < hi else Normalize(-1.0, 1.0)


def clip(values: Array) -> Array:
    """Bring finite numbers into the range that matplotlib can subtract and divide."""
    kept = values.astype(np.float64)
    # Numbers too small for a scale to tell apart are drawn as zero; the statistics still hold them.
    kept = np.where(np.abs(kept) < 1e-290, 0.0, kept)
    return np.clip(kept, -DRAWABLE, DRAWABLE)


def finite(values: Array) -> Array:
    """Give the drawable numbers in float64, NaN (a gap) for what is not finite."""
    kept = values.astype(np.float64)
    return np.where(np.isfinite(kept), clip(kept), np.nan)


def plain_axes(ax: Axes) -> None:
    """Take away the frame; leave small muted ticks."""
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_facecolor("none")
    ax.tick_params(colors=MUTED, labelsize=7.5, length=2.5, width=0.6, pad=2)


def index_ticks(axis: Any, extent: float, last: float) -> None:
    """Number the elements of an axis `extent` inches long, whole numbers from 0 to `last`."""
    if last < 16 and extent / (last + 1) > 0.16:
        axis.set_major_locator(FixedLocator(list(range(int(last) + 1))))
    else:
        axis.set_major_locator(MaxNLocator(nbins=max(2, int(extent / 0.55)), integer=True, steps=[1, 2, 2.5, 5, 10]))
    # Only numbers of elements that exist.
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}" if 0 <= value <= last else ""))


class _Numbers(Formatter):
    """Writes each tick in full: matplotlib's own offset ("1e-5" in a corner) is easily missed or covered."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return number(x)

    def format_ticks(self, values: Any) -> list[str]:
        seen = [float(v) for v in values]
        digits = next((d for d in range(3, 17) if len({number(v, d) for v in seen}) == len(set(seen))), 17)
        return [number(v, digits) for v in seen]


def value_ticks(axis: Any, bins: int) -> None:
    """Number an axis of values in at most `bins` steps."""
    axis.set_major_locator(MaxNLocator(nbins=bins, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(_Numbers())
