"""Colour maps as tables of bytes, from the maps that the static pictures use."""

from __future__ import annotations

import numpy as np

from slangnb.views.quantise import STEPS

#: Perceptually uniform maps that may mean value; the first is that of the static pictures.
VALUE_MAPS = ("viridis", "cividis", "magma", "gray")
#: The one map that means gradient, and the one that means its magnitude.
GRADIENT_MAP, MAGNITUDE_MAP = "balance", "magnitude"
#: Ends the names of those that a live view has for dark paper, where a light zero would glare.
DARK = "-dark"


def palette(name: str) -> bytes:
    """Give red, green and blue of each step of a scale.

    Examples
    --------
    >>> table = palette("viridis")
    >>> len(table), tuple(table[:3])
    (759, (68, 1, 84))
    """
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    from slangnb.views.dark import DARK_BALANCE
    from slangnb.views.style import colour_map

    if name == GRADIENT_MAP:
        cmap, end = colour_map("gradient"), 1.0
    elif name == MAGNITUDE_MAP:
        # White is zero, as on the map of the gradient; neither end looks like a sign.
        cmap, end = colormaps["magma_r"], 0.92
    elif name == GRADIENT_MAP + DARK:
        cmap, end = LinearSegmentedColormap.from_list(name, DARK_BALANCE), 1.0
    elif name == MAGNITUDE_MAP + DARK:
        cmap, end = (
            LinearSegmentedColormap.from_list(name, [DARK_BALANCE[3], *colormaps["magma"]([0.4, 0.7, 1.0])]),
            1.0,
        )
    else:
        cmap, end = colormaps[name], 1.0
    colours = np.asarray(cmap(np.linspace(0, end, STEPS + 1)))[:, :3]
    return (colours * 255 + 0.5).astype(np.uint8).tobytes()


def palettes() -> dict[str, bytes]:
    """Give all tables by name."""
    gradients = (GRADIENT_MAP, MAGNITUDE_MAP)
    return {name: palette(name) for name in (*VALUE_MAPS, *gradients, *(one + DARK for one in gradients))}
