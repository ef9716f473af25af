"""Value against gradient, element by element: where a function is steep, flat or saturated. Pure, but for the view."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slangnb.errors import CallError
from slangnb.views.measure import Array, Floats, Limits, Stats, limits, measure
from slangnb.views.model import check_pair
from slangnb.views.still import StillView, table
from slangnb.views.text import dtype_words, mean, number

if TYPE_CHECKING:
    from slangnb.views.page import Drawing

#: More elements than this are counted in cells.
MOST_POINTS = 2000
CELLS_ACROSS, CELLS_DOWN = 96, 64
_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class ScatterModel:
    """What the scatter shows.

    Attributes
    ----------
    words : str
        "float32 (64, 64) on llvmpipe".
    value, gradient : Stats
    across, down : Limits
        Of the value, and of the gradient (symmetric about zero).
    points : float64 array (n, 2) or None
        Value and gradient of each element; None when there are too many.
    counts : int64 array (down, across) or None
        Elements in each cell, the smallest gradient first; None when they are few.
    shown, left_out : int
        Elements that are drawn, and those of which the value or the gradient is not finite.
    correlation : float or None
        Pearson's; None where one of the two does not vary.
    """

    name: str
    words: str
    value: Stats
    gradient: Stats
    across: Limits
    down: Limits
    points: Floats | None
    counts: NDArray[np.int64] | None
    shown: int
    left_out: int
    correlation: float | None
    caption: str


def scatter_model(
    value: Array,
    gradient: Array | None,
    *,
    name: str,
    element: tuple[int, ...] = (),
    device: str = "",
    remark: str = "",
) -> ScatterModel:
    """Decide what is drawn of a value against its gradient.

    Parameters
    ----------
    value, gradient : numpy arrays of one shape
        Of the tensor's axes followed by those of its elements.
    name, element, device, remark
        As of `slangnb.views.array_source.pair_model`.

    Raises
    ------
    CallError
        There is no gradient, it has another shape, or the numbers are not real.

    Examples
    --------
    >>> import numpy as np
    >>> model = scatter_model(np.array([1.0, 2.0, np.nan]), np.array([2.0, 4.0, 6.0]), name="x")
    >>> model.shown, model.left_out, model.correlation
    (2, 1, 1.0)
    """
    check_pair(value, gradient, name)
    if gradient is None:
        raise CallError(
            f"{name} has no gradient to draw its value against",
            remedy="make it with sn.tensor(x, grad=True) and call f.bwds first; sn.show(x) shows the value alone",
        )
    of_value, of_gradient = measure(value), measure(gradient)
    across, down = limits(of_value), limits(of_gradient, symmetric=True)
    flat, slope = value.reshape(-1), gradient.reshape(-1)
    shape = value.shape[: value.ndim - len(element)]
    shown, points, counts = _place(flat, slope, across, down)
    words = dtype_words(value.dtype, element) + (f" {shape}" if shape else "") + (f" on {device}" if device else "")
    left_out = value.size - shown
    said = _said(shown, left_out, counts, of_gradient, bool(element), remark)
    correlation = _correlation(flat, slope, of_value, of_gradient)
    return ScatterModel(
        name, words, of_value, of_gradient, across, down, points, counts, shown, left_out, correlation, said
    )


def _place(
    value: Array, gradient: Array, across: Limits, down: Limits
) -> tuple[int, Floats | None, NDArray[np.int64] | None]:
    """Give the finite points, or count them in cells."""
    if value.size <= MOST_POINTS:
        both = np.stack([value.astype(np.float64), gradient.astype(np.float64)], axis=1)
        points = both[np.isfinite(both).all(axis=1)]
        return len(points), points, None
    counts = np.zeros((CELLS_DOWN, CELLS_ACROSS), np.int64)
    shown = 0
    for start in range(0, value.size, _PIECE):
        x = value[start : start + _PIECE].astype(np.float64)
        y = gradient[start : start + _PIECE].astype(np.float64)
        kept = np.isfinite(x) & np.isfinite(y)
        i, j = _cells(y[kept], down, CELLS_DOWN), _cells(x[kept], across, CELLS_ACROSS)
        found = np.bincount(i * CELLS_ACROSS + j, minlength=counts.size)
        counts += found.reshape(counts.shape)
        shown += int(kept.sum())
    return shown, None, counts


def _cells(values: Floats, span: Limits, count: int) -> NDArray[np.int64]:
    # Halved: the distance of the largest numbers is past the largest float.
    share = (values / 2 - span.lo / 2) / (span.hi / 2 - span.lo / 2)
    return np.clip((share * count).astype(np.int64), 0, count - 1)


def _correlation(value: Array, gradient: Array, of_value: Stats, of_gradient: Stats) -> float | None:
    """Give Pearson's correlation of the elements that are finite in both."""
    scales: list[float] = []
    for stats in (of_value, of_gradient):
        if stats.min is None or stats.max is None or stats.max - stats.min <= 0:
            return None
        # A power of two near the largest number keeps the squares in range.
        scales.append(math.ldexp(1.0, math.frexp(max(abs(stats.min), abs(stats.max)))[1] - 1))
    count, sums = 0, np.zeros(5)
    shift = [(stats.mean or 0.0) / scale for stats, scale in zip((of_value, of_gradient), scales, strict=True)]
    for start in range(0, value.size, _PIECE):
        x = value[start : start + _PIECE].astype(np.float64)
        y = gradient[start : start + _PIECE].astype(np.float64)
        kept = np.isfinite(x) & np.isfinite(y)
        x, y = x[kept] / scales[0] - shift[0], y[kept] / scales[1] - shift[1]
        count += x.size
        sums += (x.sum(), y.sum(), np.dot(x, x), np.dot(y, y), np.dot(x, y))
    if count < 2:
        return None
    sx, sy, xx, yy, xy = (float(s) for s in sums)
    spread = (xx - sx * sx / count) * (yy - sy * sy / count)
    # Rounding makes a correlation of numbers that hardly vary meaningless.
    if spread <= 1e-24 * count * count * max(xx, 1e-12) * max(yy, 1e-12):
        return None
    return round(min(1.0, max(-1.0, (xy - sx * sy / count) / math.sqrt(spread))), 6)


def _said(
    shown: int, left_out: int, counts: NDArray[np.int64] | None, gradient: Stats, vectors: bool, remark: str
) -> str:
    what = "component of an element" if vectors else "element"
    said = [f"one point per {what}"]
    if counts is not None:
        said = [f"{shown} {what}s, stronger where more lie: up to {int(counts.max())} in a cell (logarithmic)"]
    elif not shown:
        said = ["no element is finite in both value and gradient" if left_out else "empty: no elements"]
    if left_out and shown:
        said.append(f"{left_out} left out: value or gradient not finite")
    if gradient.all_zero:
        said.append("gradient is 0 everywhere")
    return "; ".join([*said, *([remark] if remark else [])])


def plain(model: ScatterModel) -> str:
    """Write the model as a few lines of plain text.

    Examples
    --------
    >>> import numpy as np
    >>> print(plain(scatter_model(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), name="x")))
    x  float64 (3,), value against gradient
      value     from 1 to 3
      gradient  from 2 to 6
      correlation 1
      one point per element
    """
    lines = [f"{model.name}  {model.words}, value against gradient"]
    for role, stats in (("value", model.value), ("gradient", model.gradient)):
        lines.append(f"  {role:<8}  {_range(stats)}")
    if model.correlation is not None:
        lines.append(f"  correlation {number(model.correlation, 3)}")
    return "\n".join([*lines, f"  {model.caption}"])


def _range(stats: Stats) -> str:
    if stats.min is None or stats.max is None:
        return "no finite elements"
    return f"from {number(stats.min)} to {number(stats.max)}" if stats.min < stats.max else number(stats.min)


class ScatterView(StillView):
    """A value against its gradient.

    Parameters
    ----------
    model : ScatterModel
    """

    def __init__(self, model: ScatterModel) -> None:
        self.model = model
        self.title = f"{model.name}: value against gradient"

    def __repr__(self) -> str:
        return plain(self.model)

    def _drawing(self) -> Drawing:
        from slangnb.views.scatter_figure import drawing

        return drawing(self.model)

    def _alternative(self) -> str:
        return "; ".join(line.strip() for line in plain(self.model).splitlines())

    def _table(self) -> str:
        rows: list[tuple[str, ...]] = []
        for role, stats in (("value", self.model.value), ("gradient", self.model.gradient)):
            cells = [number(v) if v is not None else "–" for v in (stats.min, stats.max, stats.norm)]
            rows.append((role, *cells[:2], mean(stats), cells[2], str(stats.zeros), str(stats.nan)))
        return table(("", "min", "max", "mean", "norm", "zeros", "NaN"), rows)


def scatter_view(thing: Any, name: str) -> ScatterView:
    """Read a tensor and its gradient whole, and draw one against the other.

    Examples
    --------
    >>> import slangnb as sn
    >>> a = sn.Parameter([1.0, 2.0])
    >>> a.set_grad(np.array([3.0, 4.0]))
    >>> scatter_view(a, "a").model.correlation
    1.0
    """
    from slangnb.views.sources import pair_arrays

    found = pair_arrays(thing, name)
    return ScatterView(
        scatter_model(
            found.value, found.gradient, name=name, element=found.element, device=found.device, remark=found.remark
        )
    )
