"""Which arrows show a gradient: a thinned grid, all long enough to be seen, none reaching the next. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slangnb.views.field import FieldModel
from slangnb.views.measure import Array, Floats

#: Arrows across and up, about.
ARROWS = (16, 12)
#: Length of the shortest arrow, of that of the longest.
SHORTEST = 0.22


@dataclass(frozen=True, eq=False)
class Arrows:
    """Where arrows are, in units of the axes; where they point and how far, in inches; the value below each."""

    at: Floats
    along: Floats
    values: Floats


def arrows(model: FieldModel, inches: tuple[float, float], most: tuple[int, int] = ARROWS) -> Arrows:
    """Choose which arrows are drawn in a box of that size, about `most` across and up.

    They point along the gradient, or against it where `model.downhill`, as one walks through the picture in steps
    along the axes. The longest spans one cell of the arrows' grid; others are shorter by the cube root of the
    gradient's length, and none is shorter than `SHORTEST` of it. There is none where the gradient is 0,
    or where it or the value is not finite.
    """
    if model.gradient is None:
        return Arrows(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))
    (i, tall), (j, wide) = _thin(len(model.y), most[1], inches[1]), _thin(len(model.x), most[0], inches[0])
    rows, columns = (found.reshape(-1) for found in np.meshgrid(i, j, indexing="ij"))
    at = np.stack([model.x[columns], model.y[rows]], axis=1)
    slopes = np.stack([part[rows, columns] for part in model.gradient], axis=1)
    values = model.values[rows, columns]
    kept = np.isfinite(values) & np.isfinite(slopes).all(axis=1) & slopes.any(axis=1)
    at, slopes, values = at[kept], slopes[kept], values[kept]
    if not len(at):
        return Arrows(at, slopes, values)
    # Scaled first: squares of very large or very small numbers are out of range.
    slopes = slopes / np.abs(slopes).max()
    length = np.hypot(*slopes.T)
    share = np.maximum(np.cbrt(length / length.max()), SHORTEST)
    per_unit = np.array(inches) / (model.x[-1] - model.x[0], model.y[-1] - model.y[0])
    along = slopes / np.abs(slopes).max(axis=1, keepdims=True) * (per_unit / per_unit.max())
    along = along / np.maximum(np.hypot(*along.T), 1e-300)[:, None]
    sign = -1.0 if model.downhill else 1.0
    return Arrows(at, sign * along * share[:, None] * min(tall, wide), values)


def beside_blank(model: FieldModel, found: Arrows, inches: tuple[float, float]) -> NDArray[np.bool_]:
    """Tell which arrows begin or end where there is no value."""
    size = np.array([model.x[-1] - model.x[0], model.y[-1] - model.y[0]])
    last = np.array([len(model.x), len(model.y)]) - 1
    blank = np.zeros(len(found.at), np.bool_)
    for side in (-0.5, 0.5):
        end = (found.at - (model.x[0], model.y[0])) / size + side * found.along / inches
        column, row = np.clip(np.rint(end * last).astype(np.int64), 0, last).T
        blank |= ~np.isfinite(model.values[row, column])
    return blank


def _thin(count: int, most: int, inches: float) -> tuple[Array, float]:
    """Give evenly spaced indices, as far from one end as from the other, and the inches between them."""
    step = max(1, round(count / most))
    kept = count if step == 1 else (count - 1) // step
    first = (count - 1 - (kept - 1) * step) // 2
    return first + step * np.arange(kept), inches * step / max(1, count - 1)
