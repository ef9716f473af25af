"""What colours and contours of a function of two variables stand for. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from slangnb.views.measure import Array
from slangnb.views.text import number

#: Positive values over more than this ratio are better told apart on a logarithm.
_DECADES = 100.0
#: The part of all values that may be outliers, how far from the others those are, and how far below on a logarithm.
_TAIL, _FAR, _DEEP = 0.01, 3.0, 10.0
_CONTOURS = 12
#: Numbers between powers of ten that have a contour, the most powers that there may be, and how to say it.
_BETWEEN = (
    ((1, 2, 5), 4, "contours at 1, 2 and 5 times powers of ten"),
    ((1, 3), 7, "contours at 1 and 3 times powers of ten"),
    ((1,), 12, "contours at powers of ten"),
)


@dataclass(frozen=True)
class Scale:
    """What colours stand for: `lo` to `hi`; `beyond` finite values are outside and have the colours of the ends."""

    lo: float
    hi: float
    logarithmic: bool = False
    beyond: int = 0


@dataclass(frozen=True)
class Contours:
    """At which values there are lines, and that in words."""

    levels: tuple[float, ...]
    words: str


def scale_of(values: Array) -> Scale | None:
    """Choose what colours stand for: all values but for outliers, on a logarithm where they are positive and far apart.

    Examples
    --------
    >>> scale_of(np.array([0.0, 1.0, 3.0])), scale_of(np.array([1.0, 10.0, 1e4])).logarithmic
    (Scale(lo=0.0, hi=3.0, logarithmic=False, beyond=0), True)
    """
    found = values[np.isfinite(values)]
    if not found.size:
        return None
    least, most = float(found.min()), float(found.max())
    low = float(np.quantile(found, _TAIL, method="lower"))
    high = float(np.quantile(found, 1 - _TAIL, method="higher"))
    logarithmic = least >= 0 and low > 0 and most > _DECADES * low
    if logarithmic:
        # A single value close to zero would take the colours from all others.
        lo, hi = max(least, low / _DEEP), min(most, high * _DECADES)
    else:
        reach = _FAR * (high - low)
        lo = low if reach and low - least > reach else least
        hi = high if reach and most - high > reach else most
    return Scale(lo, hi, logarithmic, int(((found < lo) | (found > hi)).sum()))


def contours_of(scale: Scale | None) -> Contours:
    """Choose the values that have a line: round numbers, as many as one can tell apart.

    Examples
    --------
    >>> contours_of(Scale(0.0, 1.0)).levels[:3], contours_of(Scale(0.5, 100.0, True)).levels
    ((0.1, 0.2, 0.3), (1.0, 2.0, 5.0, 10.0, 20.0, 50.0))
    """
    if scale is None or not scale.hi - scale.lo > 1e-12 * max(abs(scale.lo), abs(scale.hi)):
        return Contours((), "")
    if scale.logarithmic:
        return _between_powers(scale)
    step = round_up((scale.hi - scale.lo) / _CONTOURS)
    first, last = math.floor(scale.lo / step) + 1, math.ceil(scale.hi / step) - 1
    # Written and read, 3 * 0.1 is 0.3.
    levels = tuple(float(f"{k * step:.12g}") for k in range(first, last + 1))
    return Contours(levels, f"contours every {number(step)}")


def _between_powers(scale: Scale) -> Contours:
    first, last = math.floor(math.log10(scale.lo)), math.ceil(math.log10(scale.hi))
    powers = math.log10(scale.hi / scale.lo)
    between, _, words = next((b for b in _BETWEEN if powers <= b[1]), _BETWEEN[-1])
    every = max(1, math.ceil(powers / _BETWEEN[-1][1]))
    if every > 1:
        words = f"contours at powers of ten, every {every} of them"
    levels = (float(f"{n}e{p}") for p in range(first, last + 1) if p % every == 0 for n in between)
    return Contours(tuple(v for v in levels if scale.lo < v < scale.hi), words)


def round_up(step: float) -> float:
    """Give the next of 1, 2, 2.5, 5 times a power of ten.

    Examples
    --------
    >>> round_up(0.13), round_up(0.21), round_up(6.0)
    (0.2, 0.25, 10.0)
    """
    power = math.floor(math.log10(step))
    for n in (1, 2, 2.5, 5, 10):
        rounded = float(f"{n}e{power}")
        if rounded >= step * (1 - 1e-9):
            return rounded
    return float(f"1e{power + 1}")
