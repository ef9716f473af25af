"""A function of two variables: its values on a grid, where it rises or falls, contours, and a path over it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

import numpy as np

from slangnb.errors import CallError
from slangnb.views.field_scale import Contours, Scale, contours_of, round_up, scale_of
from slangnb.views.measure import Array, Floats, Stats, measure
from slangnb.views.text import digits, number

MOST_DOTS = 40
_MOST = 1e300


@dataclass(frozen=True)
class Mark:
    """A point that is marked: "start", "end" or "lowest", and the value there, where it is known."""

    word: str
    x: float
    y: float
    value: float | None = None


@dataclass(frozen=True, eq=False)
class FieldModel:
    """A function of two variables on a grid. Make it with `field_model`.

    Attributes
    ----------
    name : str
        The function's.
    axes : tuple of str
        Names of what goes across and of what goes up.
    x, y : float64 arrays (nx,) and (ny,)
        Coordinates, increasing.
    values : float64 array (ny, nx)
    gradient : tuple of two float64 arrays (ny, nx), or None
        The partial derivatives across and up.
    fixed : str
        What is the same at all points, in words.
    downhill : bool
        Whether arrows point to where the value falls, as for losses.
    path : float64 array (n, 2) or None
    marks : tuple of Mark
    remarks : tuple of str
        What else is to be said.
    """

    name: str
    axes: tuple[str, str]
    x: Floats
    y: Floats
    values: Floats
    gradient: tuple[Floats, Floats] | None
    fixed: str
    downhill: bool
    path: Floats | None
    marks: tuple[Mark, ...]
    remarks: tuple[str, ...]

    @cached_property
    def stats(self) -> Stats:
        """Of the values."""
        return measure(self.values)

    @cached_property
    def scale(self) -> Scale | None:
        """What the colours stand for; None when nothing is finite."""
        return scale_of(self.values)

    @cached_property
    def contours(self) -> Contours:
        """Where the lines are."""
        return contours_of(self.scale)

    @cached_property
    def outside(self) -> int:
        """How many points of the path are not within the axes."""
        if self.path is None:
            return 0
        return int((~_inside(self, self.path)).sum())

    @property
    def drawn_marks(self) -> tuple[Mark, ...]:
        """The marks within the axes."""
        return tuple(m for m in self.marks if _inside(self, np.array([[m.x, m.y]]))[0])


def field_model(
    name: str,
    axes: tuple[str, str],
    x: Array,
    y: Array,
    values: Array,
    *,
    gradient: tuple[Array, Array] | None = None,
    fixed: str = "",
    downhill: bool = False,
    path: Array | None = None,
    marks: Sequence[Mark] = (),
    remarks: Sequence[str] = (),
) -> FieldModel:
    """Make the model of a picture of a function of two variables; see `FieldModel`.

    Raises
    ------
    CallError
        The shapes do not fit.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 5)
    >>> model = field_model("bowl", ("a", "b"), x, x, x**2 + x[:, None] ** 2)
    >>> model.scale
    Scale(lo=0.0, hi=2.0, logarithmic=False, beyond=0)
    """
    grid = np.shape(y) + np.shape(x)
    parts = {"values": values, **({} if gradient is None else dict(zip(("d/dx", "d/dy"), gradient, strict=True)))}
    for word, part in parts.items():
        if np.shape(part) != grid:
            raise CallError(f"the {word} of a field have shape {np.shape(part)}, and its axes {grid}")
    if path is not None and (np.ndim(path) != 2 or np.shape(path)[1] != 2):
        raise CallError(f"a path has shape (n, 2), not {np.shape(path)}")
    return FieldModel(
        name,
        axes,
        _floats(x),
        _floats(y),
        _floats(values),
        None if gradient is None else (_floats(gradient[0]), _floats(gradient[1])),
        fixed,
        downhill,
        None if path is None else _floats(path),
        tuple(marks),
        tuple(remarks),
    )


def _floats(array: Array) -> Floats:
    kept = np.asarray(array, dtype=np.float64)
    # Differences of larger numbers overflow; what is infinite stays so, to be counted.
    return np.where(np.isfinite(kept), np.clip(kept, -_MOST, _MOST), kept)


def _inside(model: FieldModel, points: Floats) -> Array:
    x, y = points[:, 0], points[:, 1]
    # False for NaN.
    return (x >= model.x[0]) & (x <= model.x[-1]) & (y >= model.y[0]) & (y <= model.y[-1])


def lowest(x: Array, y: Array, values: Array) -> Mark | None:
    """Mark the lowest value; None when nothing is finite.

    Examples
    --------
    >>> lowest(np.array([0.0, 1.0]), np.array([5.0, 6.0]), np.array([[3.0, np.nan], [2.0, 4.0]]))
    Mark(word='lowest', x=0.0, y=6.0, value=2.0)
    """
    finite = np.isfinite(values)
    if not finite.any():
        return None
    row, column = np.unravel_index(np.argmin(np.where(finite, values, np.inf)), values.shape)
    return Mark("lowest", float(x[column]), float(y[row]), float(values[row, column]))


def dots(count: int) -> int:
    """Give every how many steps of a path there is a dot.

    Examples
    --------
    >>> dots(30), dots(200), dots(1000)
    (1, 5, 25)
    """
    return 1 if count <= MOST_DOTS else math.ceil(round_up(count / MOST_DOTS))


def captions(model: FieldModel, letters: int = 100) -> list[str]:
    """Say how to read the picture, and what is not in it, on lines of so many letters.

    Examples
    --------
    >>> x = np.linspace(0, 1, 3)
    >>> captions(field_model("f", ("a", "b"), x, x, x + x[:, None], remarks=["no arrows: f is not differentiable"]), 40)
    ['contours every 0.2', 'no arrows: f is not differentiable']
    """
    lines: list[str] = []
    for words in [*_reading(model), *_missing(model), *model.remarks]:
        if lines and len(lines[-1]) + len(words) + 2 <= letters:
            lines[-1] += f"; {words}"
        else:
            lines += wrap(words, letters)
    return lines


def _reading(model: FieldModel) -> Iterator[str]:
    if model.scale is not None:
        if model.scale.logarithmic:
            yield "logarithmic colours"
        yield model.contours.words or "the same value everywhere"
    steep = steepest(model)
    if steep:
        where = "downhill" if model.downhill else "uphill, along the gradient"
        yield f"arrows point {where}; longer is steeper, compressed"
    elif model.gradient is not None:
        yield "no arrows: the gradient is " + ("0 everywhere" if steep == 0 else "nowhere finite")
    if model.path is not None:
        every = dots(len(model.path))
        yield "path: a dot " + (f"every {every} steps" if every > 1 else "at each step")
    values = {mark.word: mark.value for mark in model.marks if mark.value is not None}
    if "lowest" in values and min(values.values()) < values["lowest"]:
        yield "lowest: of the grid's points, not of the path's"


def _missing(model: FieldModel) -> Iterator[str]:
    if model.outside and model.path is not None:
        yield f"outside the picture: {model.outside} of {len(model.path)} points of the path"
    if model.scale is not None and model.scale.beyond:
        yield f"beyond the ends of the colours: {model.scale.beyond} of {model.values.size} values"
    if model.stats.not_finite:
        yield f"left blank: {model.stats.not_finite}"


def steepest(model: FieldModel) -> float | None:
    """Give the length of the longest finite gradient."""
    if model.gradient is None:
        return None
    lengths = np.hypot(*model.gradient)
    finite = lengths[np.isfinite(lengths)]
    return float(finite.max()) if finite.size else None


def plain(model: FieldModel) -> str:
    """Write the model as a few lines of plain text.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 3)
    >>> print(plain(field_model("bowl", ("a", "b"), x, x, x**2 + x[:, None] ** 2, gradient=np.broadcast_arrays(
    ...     2 * x, 2 * x[:, None]), downhill=True, fixed="c = 2")))
    bowl over a and b  c = 2
      a         from -1 to 1
      b         from -1 to 1
      value     from 0 to 2
      gradient  up to 2.828
      contours every 0.2; arrows point downhill; longer is steeper, compressed
    """
    lines = [f"{model.name} over {model.axes[0]} and {model.axes[1]}" + (f"  {model.fixed}" if model.fixed else "")]
    along = zip(model.axes, (model.x, model.y), strict=True)
    rows = [(name, _span(float(c[0]), float(c[-1]), digits(measure(c)))) for name, c in along]
    least, most = model.stats.min, model.stats.max
    rows.append(("value", "nothing finite" if least is None or most is None else _span(least, most)))
    steep = steepest(model)
    if steep is not None:
        rows.append(("gradient", f"up to {number(steep)}"))
    rows += [(mark.word, place(model, mark)) for mark in model.marks]
    wide = max(8, *(len(word) for word, _ in rows))
    lines += [f"  {word:<{wide}}  {words}" for word, words in rows]
    return "\n".join([*lines, *(f"  {line}" for line in captions(model))])


def place(model: FieldModel, mark: Mark) -> str:
    """Say where a mark is, and the value there."""
    where = ", ".join(f"{n} = {number(v)}" for n, v in zip(model.axes, (mark.x, mark.y), strict=True))
    if mark.value is None:
        return where
    return f"{number(mark.value) if math.isfinite(mark.value) else 'not finite'} at {where}"


def _span(lo: float, hi: float, most: int = 4) -> str:
    return f"from {number(lo, most)} to {number(hi, most)}" if lo < hi else number(lo, most)
