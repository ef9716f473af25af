"""What is drawn of a function over a range, decided as pure data: limits, probe, tangent, and all that is written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangnb.views.measure import Floats, Limits, Stats, limits, measure
from slangnb.views.text import digits, number

#: Room above and below what is drawn, as a part of its height.
_ROOM = 0.1
#: What share of the numbers is usual, and how many times as far the others must reach to be left out of the picture.
_MOST, _FAR = (0.02, 0.98), 8
_BIGGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Range:
    """Where a parameter goes: from `lo` to `hi`, beginning at `start`, in whole steps or not."""

    name: str
    lo: float
    hi: float
    start: float
    whole: bool = False

    @property
    def steps(self) -> int:
        """Into how many steps a slider divides it: 100 to 250 of a round size, or whole numbers.

        Examples
        --------
        >>> Range("a", 0, 5, 2.5).steps, Range("b", 0, 2, 1).steps, Range("n", 1, 8, 4, whole=True).steps
        (100, 100, 7)
        """
        span = self.hi - self.lo
        if self.whole:
            return round(span)
        power = 10.0 ** math.floor(math.log10(span / 100))
        return round(span / next(s * power for s in (5, 2, 1) if span / (s * power) > 99.99))


@dataclass(frozen=True, slots=True)
class Slider:
    """A range, and where its slider stands."""

    range: Range
    value: float

    @property
    def share(self) -> float:
        """How far along it stands, from 0 to 1."""
        return (self.value - self.range.lo) / (self.range.hi - self.range.lo)


@dataclass(frozen=True, eq=False)
class ExploreModel:
    """A function over a range.

    Attributes
    ----------
    name, call, words : str
        "wavelet"; "explore(wavelet, x=(-3, 3), a=(0, 5))"; "float on llvmpipe".
    axis : str
        The parameter that the range is of.
    sliders : tuple of Slider
    fixed : mapping of str to str
        What else the function was given, in words.
    x : float64 array (n,)
    values : float64 array (components, n)
    slopes : float64 array (components, n) or None
        The derivative of each component with respect to the axis.
    why : str
        Why there is no derivative.
    labels : tuple of str
        Names of the components; none for a function that gives one number.
    probe : int
        Which of the points is looked at.
    note : str
        What else is to be known.
    """

    name: str
    call: str
    words: str
    axis: str
    sliders: tuple[Slider, ...]
    fixed: Mapping[str, str]
    x: Floats
    values: Floats
    slopes: Floats | None
    why: str
    labels: tuple[str, ...]
    probe: int
    note: str = ""

    @property
    def symbol(self) -> str:
        """What the value is called."""
        return symbol(self.name, (self.axis,), self.sliders, self.fixed)

    @property
    def slope_name(self) -> str:
        """What the derivative is called."""
        return derivative(self.symbol, self.axis)

    @property
    def digits(self) -> int:
        """How many digits tell the numbers of the axis apart."""
        return digits(measure(self.x))

    @property
    def count(self) -> int:
        """The number of points."""
        return len(self.x)


def symbol(function: str, axes: Sequence[str], sliders: Sequence[Slider], fixed: Mapping[str, str]) -> str:
    """Give what a value is called: "f", or by the function's own name where a parameter has that one.

    Examples
    --------
    >>> symbol("wave", ("x",), (), {"a": "2"}), symbol("wave", ("x",), (), {"f": "2"})
    ('f', 'wave')
    """
    parameters = {*(axis.partition(".")[0] for axis in axes), *(s.range.name for s in sliders), *fixed}
    return function if "f" in parameters else "f"


def derivative(symbol: str, axis: str) -> str:
    """Give what a derivative is called.

    Examples
    --------
    >>> derivative("f", "x"), derivative("wave", "x")
    ('df/dx', 'd wave/dx')
    """
    return f"d{symbol if symbol == 'f' else f' {symbol}'}/d{axis}"


def settings(sliders: Sequence[Slider], fixed: Mapping[str, str]) -> str:
    """Say where the other parameters stand: "a = 2.2, b = 0.7"."""
    moved = [f"{s.range.name} = {number(s.value)}" for s in sliders]
    return ", ".join([*moved, *(f"{name} = {said}" for name, said in fixed.items())])


def points(axis: Range, count: int, dtype: np.dtype[Any]) -> tuple[np.ndarray, int]:
    """Give evenly spaced numbers of a range, and which of them is its start.

    The one next to the start is moved onto it, so that the numbers of the probe are exact.

    Examples
    --------
    >>> points(Range("x", 0.0, 4.0, 2.9), 5, np.dtype("f8"))
    (array([0. , 1. , 2. , 2.9, 4. ]), 3)
    """
    x = np.linspace(axis.lo, axis.hi, count).astype(dtype)
    probe = int(np.abs(x.astype(np.float64) - axis.start).argmin())
    x[probe] = axis.start
    return x, probe


def span(rows: Floats, *, zero: bool = False) -> Limits:
    """Give the limits of an axis: all finite numbers, with some room; with `zero`, that, too.

    Where a few numbers are far beyond all others, as next to a pole, they are left out: the rest would be flat.

    Examples
    --------
    >>> span(np.array([[0.0, 100.0, np.nan]])), span(np.array([[2.0, 4.0]]), zero=True).lo < 0
    (Limits(lo=-10.0, hi=110.0, symmetric=False), True)
    >>> span(np.array([[*range(101), 1e6]])).hi < 300
    True
    """
    found = limits(measure(rows))
    lo, hi = (min(found.lo, 0.0), max(found.hi, 0.0)) if zero else (found.lo, found.hi)
    # Halved: the distance of the largest numbers is past the largest float.
    half = hi / 2 - lo / 2
    kept = rows[np.isfinite(rows)]
    if kept.size:
        least, most = (float(v) for v in np.quantile(kept, _MOST, method="nearest"))
        usual = max(most / 2 - least / 2, max(most, 0) / 2 if zero else 0, max(-least, 0) / 2 if zero else 0)
        if 0 < usual < half / _FAR:
            lo, hi = max(lo, least - 2 * usual), min(hi, most + 2 * usual)
            half = hi / 2 - lo / 2
    room = _ROOM * 2 * half
    return Limits(max(lo - room, -_BIGGEST), min(hi + room, _BIGGEST))


def spans(model: ExploreModel) -> tuple[Limits, tuple[Limits, ...]]:
    """Give the limits of the curve, and those of each derivative."""
    slopes = () if model.slopes is None else model.slopes
    return span(model.values), tuple(span(row[None], zero=True) for row in slopes)


def beyond(model: ExploreModel) -> str:
    """Say how many points are outside of the picture."""
    curve, slopes = spans(model)
    counts = [(model.symbol, _outside(model.values, curve))]
    if model.slopes is not None:
        counts.append((model.slope_name, sum(_outside(*one) for one in zip(model.slopes, slopes, strict=True))))
    said = [f"{count} of {name}" for name, count in counts if count]
    return f"points beyond the picture: {', '.join(said)}" if said else ""


def _outside(rows: Floats, of: Limits) -> int:
    return int((np.isfinite(rows) & ((rows < of.lo) | (rows > of.hi))).sum())


def tangent(x: float, y: float, slope: float, unit: tuple[float, float], reach: float) -> tuple[Floats, Floats]:
    """Give both ends of a tangent that reaches equally far on the page, however steep it is.

    Parameters
    ----------
    x, y, slope : float
    unit : (float, float)
        How long one unit is on the page, across and down.
    reach : float
        How far each end is from the middle, on the page.

    Examples
    --------
    >>> tangent(0.0, 1.0, 0.75, (1.0, 1.0), 5.0)
    (array([-4.,  4.]), array([-2.,  4.]))
    """
    across = reach / math.hypot(unit[0], slope * unit[1])
    ends = np.array([-across, across])
    return x + ends, y + slope * ends


def vector(numbers: Floats) -> str:
    """Write a number, or the components of a vector."""
    said = [written(float(v)) for v in numbers]
    return said[0] if len(said) == 1 else f"({', '.join(said)})"


def written(value: float) -> str:
    """Write a number, or that it is none.

    Examples
    --------
    >>> written(1.36941), written(float("nan")), written(float("-inf"))
    ('1.369', 'NaN', '-Inf')
    """
    return number(value) if math.isfinite(value) else "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def readout(model: ExploreModel) -> tuple[tuple[str, str], ...]:
    """Give what the probe reads, as names and numbers: x, f, and the derivative."""
    at = model.probe
    said = [(model.axis, number(float(model.x[at]), model.digits)), (model.symbol, vector(model.values[:, at]))]
    if model.slopes is not None:
        said.append((model.slope_name, vector(model.slopes[:, at])))
    return tuple(said)


def text_lines(model: ExploreModel) -> tuple[tuple[str, str], ...]:
    """Give the statistics of the curve and of its derivative, each with its name."""
    parts = [(model.symbol, model.values), *([] if model.slopes is None else [(model.slope_name, model.slopes)])]
    return tuple((name, extent(model.x, rows, model.axis, model.digits - 1)) for name, rows in parts)


def extent(x: Floats, rows: Floats, axis: str, places: int = 3) -> str:
    """Write the least and the greatest number with their places, and how many are not finite.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> extent(x, np.array([[5.0, 4.0, np.nan]]), "x"), extent(x, np.array([[3.0, 3.0, 3.0]]), "x")
    ('min 4 at x = 1  max 5 at x = 0  1 NaN', '3 everywhere')
    """
    stats = measure(rows)
    said = _ends(stats, x, rows, axis, places)
    return "  ".join([*said, *([stats.not_finite] if stats.not_finite else [])])


def _ends(stats: Stats, x: Floats, rows: Floats, axis: str, places: int) -> list[str]:
    if stats.min is None or stats.max is None:
        return ["nothing finite"]
    if stats.min == stats.max:
        return [f"{number(stats.min)} {'where finite' if stats.not_finite else 'everywhere'}"]
    said, most = [], digits(stats)
    for word, value in (("min", stats.min), ("max", stats.max)):
        at = float(x[np.argwhere(rows == value)[0][-1]])
        said.append(f"{word} {number(value, most)} at {axis} = {number(at, places)}")
    return said


def notes(model: ExploreModel) -> str:
    """Write what is to be known beside the numbers, in one line."""
    why = f"no derivative: {model.why}" if model.slopes is None else ""
    return "; ".join(said for said in (why, model.note, beyond(model)) if said)


def plain(model: ExploreModel) -> str:
    """Write the model as a few lines of plain text."""
    others = settings(model.sliders, model.fixed)
    lo, hi = (number(float(end), model.digits) for end in model.x[[0, -1]])
    lines = [f"{model.name}  {model.words}, {model.axis} from {lo} to {hi}{others and f', {others}'}"]
    lines += [f"  {name:<{len(model.slope_name)}}  {said}" for name, said in text_lines(model)]
    lines.append("  at " + "  ".join(f"{name} = {said}" for name, said in readout(model)))
    return "\n".join([*lines, *([f"  note: {notes(model)}"] if notes(model) else [])])
