"""The live widget of a function over two ranges: what its script paints."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import LogNorm

from slangnb.views.explore.live import LiveExplored, head
from slangnb.views.explore.plane import PlaneModel, lines, plain
from slangnb.views.field import captions
from slangnb.views.field_figure import box, ink, norm_of, placed
from slangnb.views.live_widget import script, style
from slangnb.views.measure import Floats, measure
from slangnb.views.style import INK, PAPER, colour_map
from slangnb.views.text import digits


class LivePlane(LiveExplored):
    """A function over two ranges with sliders, in a browser."""

    _esm = script("explored.js", "explore_plane.js")
    _css = style("pair.css", "explore.css")

    def _content(self) -> tuple[dict[str, Any], bytes]:
        model = self._view.model
        return about(model), numbers(model)


def about(model: PlaneModel) -> dict[str, Any]:
    """Give all that is written, and what the colours stand for."""
    field, cmap = model.field, colour_map("value")
    scale = None if field.scale is None else norm_of(field)
    return {
        **head(model, plain(model)),
        "what": f"{model.symbol}({', '.join(field.axes)})",
        "axes": list(field.axes),
        "slopes": list(model.slope_names),
        "grid": [len(field.x), len(field.y)],
        "points": model.count,
        "gradient": field.gradient is not None,
        "box": list(box(field)),
        "scale": scale and {"lo": scale.vmin, "hi": scale.vmax, "logarithmic": isinstance(scale, LogNorm)},
        "same": field.stats.min,
        "levels": []
        if scale is None
        else [[level, _which(ink(level, scale, cmap))] for level in field.contours.levels],
        "inks": [INK, PAPER],
        "colours": (cmap(np.arange(256), bytes=True)[:, :3]).tobytes().hex(),
        "digits": [digits(measure(along)) for along in (field.x, field.y)],
        "lines": [list(one) for one in lines(model)],
        "notes": "; ".join(captions(field)),
    }


def _which(colour: str) -> int:
    return (INK, PAPER).index(colour)


def numbers(model: PlaneModel) -> bytes:
    """Give the numbers of both axes, of the values and of their derivatives, and five for each arrow."""
    field = model.field
    parts = [field.x, field.y, field.values, *(field.gradient or ()), _arrows(model)]
    return np.concatenate([one.reshape(-1) for one in parts]).astype("<f8").tobytes()


def _arrows(model: PlaneModel) -> Floats:
    """Give where each arrow's middle is, in parts of the picture; its reach in inches; and which ink it has."""
    field = model.field
    if field.scale is None:
        return np.zeros((0, 5))
    found, blank, inks = placed(field, norm_of(field), colour_map("value"))
    ends = np.array([[field.x[0], field.y[0]], [field.x[-1], field.y[-1]]])
    which = np.where(blank, 2, [_which(one) for one in inks])
    return np.concatenate([(found.at - ends[0]) / (ends[1] - ends[0]), found.along, which[:, None]], axis=1)
