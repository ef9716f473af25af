"""Draws images and their colour scales into matplotlib axes that the caller has placed."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from slangnb.views.measure import Mask
from slangnb.views.model import Panel, Role
from slangnb.views.reduce import unit
from slangnb.views.style import (
    CELLS,
    DRAWABLE,
    INK,
    KEPT,
    MARK,
    MONO,
    MUTED,
    PAPER,
    colour_map,
    finite,
    index_ticks,
    norm,
    plain_axes,
    value_ticks,
)
from slangnb.views.text import number


def image(ax: Axes, panel: Panel, role: Role, layer: int | None, size: tuple[float, float]) -> None:
    """Draw an image (or one component of it) through the colour map of its role."""
    drawn = panel.array if layer is None else panel.array[layer]
    masks = [mask if layer is None else mask[layer] for mask in panel.marks]
    rows, columns = drawn.shape[:2]
    extent = (-0.5, columns * panel.steps[1] - 0.5, rows * panel.steps[0] - 0.5, -0.5)
    if panel.kind == "rgb":
        pixels = np.nan_to_num(np.clip(unit(drawn).astype(np.float64), 0, 1), nan=1.0)
        ax.imshow(pixels, extent=extent, aspect="auto", interpolation="nearest", origin="upper")
    else:
        ax.imshow(
            np.ma.masked_invalid(finite(drawn)),
            extent=extent,
            aspect="auto",
            interpolation="nearest",
            origin="upper",
            cmap=colour_map(role),
            norm=norm(panel),
        )
    _mark_image(ax, masks, extent, panel.steps)
    plain_axes(ax)
    index_ticks(ax.xaxis, size[0], extent[1] - 0.5)
    index_ticks(ax.yaxis, size[1], extent[2] - 0.5)
    if layer is not None or panel.kind == "rgb":
        return
    if max(rows, columns) <= CELLS and panel.steps == (1, 1):
        _cell_numbers(ax, panel, role, size)


def _mark_image(ax: Axes, masks: list[Mask], extent: tuple[float, ...], steps: tuple[int, int]) -> None:
    together = masks[0] | masks[1] | masks[2]
    count = int(together.sum())
    if not count:
        return
    overlay = np.zeros((*together.shape, 4))
    overlay[together] = (0xC0 / 255, 0x26 / 255, 0xD3 / 255, 1.0)
    left, right, bottom, top = extent
    ax.imshow(overlay, extent=(left, right, bottom, top), aspect="auto", interpolation="nearest", origin="upper")
    # A single element can be smaller than a pixel of the screen: marks keep it visible.
    if count <= 400:
        for mask, shape, area_ in zip(masks, "s^v", (7, 20, 20), strict=True):
            at = np.argwhere(mask)
            x, y = (at[:, 1] + 0.5) * steps[1] - 0.5, (at[:, 0] + 0.5) * steps[0] - 0.5
            edge = 0.5 if shape != "s" else 0
            # On a picture of numbers, which is the same in every theme.
            ax.scatter(x, y, s=area_, c=MARK, marker=shape, lw=edge, edgecolors=PAPER, zorder=4, gid=KEPT)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)


def _cell_numbers(ax: Axes, panel: Panel, role: Role, size: tuple[float, float]) -> None:
    scale, cmap = norm(panel), colour_map(role)
    values = finite(panel.array)
    labels = [number(float(v), 3) if np.isfinite(v) else "" for v in panel.array.ravel()]
    room = 72 * size[0] / (panel.array.shape[1] * 0.66 * max(1, *map(len, labels)))
    for (row, column), label in zip(np.ndindex(values.shape), labels, strict=True):
        if label:
            red, green, blue, _ = cmap(float(scale(float(values[row, column]))))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
            ax.text(
                column,
                row,
                label,
                ha="center",
                va="center",
                family=MONO,
                size=min(8.5, room),
                color=PAPER if dark else INK,
                gid=KEPT,
            )


def scale_strip(ax: Axes, panel: Panel, role: Role, width: float) -> None:
    """Draw the colour scale with the histogram standing on it, in the same colours (log counts)."""
    scale, cmap = norm(panel), colour_map(role)
    lo, hi = float(scale.vmin or 0.0), float(scale.vmax or 0.0)
    bar = 0.2 if panel.histogram is not None else 1.0
    ramp = np.linspace(0, 1, 256)[None]
    ax.imshow(
        ramp,
        extent=(lo, hi, 0, bar),
        aspect="auto",
        cmap=cmap,
        vmin=0,
        vmax=1,
        interpolation="bilinear",
        origin="lower",
    )
    if panel.histogram is not None and np.abs(panel.histogram.edges).max() < DRAWABLE:
        counts, edges = panel.histogram.counts, panel.histogram.edges
        # On a logarithm, from the smallest count there is: one element must still be seen beside a million.
        logs = np.log(np.maximum(counts, 1))
        least, most = logs[counts > 0].min(), logs.max()
        share = 0.12 + 0.88 * (logs - least) / (most - least) if most > least else np.ones(logs.shape)
        heights = np.where(counts > 0, share, 0) * (1 - bar - 0.06)
        middles = (edges[:-1] + edges[1:]) / 2
        words = {"ha": "right", "va": "center", "size": 6.5, "color": MUTED, "linespacing": 1.0}
        ax.text(-0.05 / width, (1 + bar) / 2, "log\ncount", transform=ax.transAxes, **words)
        # One collection: a patch per bar would take a third of the time of the whole picture.
        foot = bar + 0.06
        corners = [
            ((left, foot), (left, foot + height), (right, foot + height), (right, foot))
            for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True)
            if height
        ]
        colours = cmap(scale(middles[heights > 0]))
        # A bar's colour may be that of an ink by chance; it stands for a number.
        ax.add_collection(PolyCollection(corners, facecolors=colours, linewidths=0, gid=KEPT), autolim=False)
    ax.set_xlim(lo, hi)
    ax.set_ylim(0, 1)
    if lo < 0 < hi:
        ax.plot([0, 0], [0, 1], color=INK, lw=0.8)
    plain_axes(ax)
    ax.set_yticks([])
    value_ticks(ax.xaxis, max(3, int(width / 0.6)))
