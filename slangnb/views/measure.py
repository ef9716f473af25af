"""Numbers measured on an array: statistics, limits, histogram, and where it is not finite.

Pure functions of numpy arrays. Everything is computed in float64 and in pieces, so that a large half or
float32 array is neither overflowed nor copied whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Largest numbers between these are held by single precision: it neither overflows nor loses its steps.
SINGLE = (1e-30, 1e30)
#: How far apart numbers that single precision holds must be, as a part of the largest.
_CLOSE = 1e-4
_PIECE = 1 << 20
_BIGGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Stats:
    """Statistics of an array, of its finite elements unless the name says otherwise.

    `min`, `max`, `mean`, `std` (population) and `norm` (L2) are None when no element is finite.
    """

    count: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    norm: float | None
    zeros: int
    nan: int
    pos_inf: int
    neg_inf: int

    @property
    def empty(self) -> bool:
        """Whether the array has no elements at all."""
        return self.count == 0

    @property
    def all_zero(self) -> bool:
        """Whether there are elements and every one of them is exactly zero."""
        return self.count > 0 and self.zeros == self.count

    @property
    def not_finite(self) -> str:
        """What is not finite, in words: "3 NaN, 1 +Inf"; an empty string when all is finite."""
        counts = ((self.nan, "NaN"), (self.pos_inf, "+Inf"), (self.neg_inf, "-Inf"))
        return ", ".join(f"{count} {word}" for count, word in counts if count)


@dataclass(frozen=True)
class Limits:
    """The range that a colour scale or an axis covers; `symmetric` ones are centred on zero."""

    lo: float
    hi: float
    symmetric: bool = False


@dataclass(frozen=True, eq=False)
class Marks:
    """Where the drawn elements are not finite: three masks of the shape of the drawn array."""

    nan: Mask
    pos_inf: Mask
    neg_inf: Mask

    def __iter__(self) -> Iterator[Mask]:
        """Go through the masks: NaN, +Inf, -Inf."""
        return iter((self.nan, self.pos_inf, self.neg_inf))

    def map(self, change: Callable[[Mask], Array]) -> Marks:
        """Change each mask in the same way.

        Examples
        --------
        >>> import numpy as np
        >>> marks(np.array([[1.0, np.inf]])).map(lambda mask: mask[0]).pos_inf
        array([False,  True])
        """
        return Marks(*map(change, self))

    @property
    def any(self) -> bool:
        """Whether anything is marked."""
        return any(mask.any() for mask in self)


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many finite elements fall between neighbouring `edges` (one more edge than counts)."""

    counts: NDArray[np.int64]
    edges: Floats


class Measured:
    """What is measured on a value or a gradient, each when it is first asked for, and once.

    Parameters
    ----------
    stats : callable
        Measures all elements.
    histogram : callable
        Counts them; it is given the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> measured = Measured.of(np.arange(64.0))
    >>> measured.taken, measured.stats.max, measured.taken
    (False, 63.0, True)
    """

    def __init__(self, stats: Callable[[], Stats], histogram: Callable[[Stats], Histogram | None]) -> None:
        self._measure, self._count = stats, histogram

    @classmethod
    def of(cls, array: Array) -> Measured:
        """Measure an array."""
        return cls(partial(measure, array), partial(histogram, array))

    @classmethod
    def known(cls, stats: Stats, histogram: Callable[[Stats], Histogram | None]) -> Measured:
        """Give what needs no measuring but for the histogram."""
        made = cls(lambda: stats, histogram)
        made.stats = stats
        return made

    @property
    def taken(self) -> bool:
        """Whether the statistics are known by now."""
        return "stats" in vars(self)

    @cached_property
    def stats(self) -> Stats:
        """Statistics of all elements."""
        return self._measure()

    @cached_property
    def histogram(self) -> Histogram | None:
        """How the elements are spread; None when there is nothing to see."""
        return self._count(self.stats)


def _pieces(array: Array) -> Iterator[Floats]:
    flat = array.reshape(-1)
    for start in range(0, flat.size, _PIECE):
        yield flat[start : start + _PIECE].astype(np.float64)


def _squares(numbers: Floats) -> float:
    # A product of vectors would start as many threads as there are cores, which others need.
    return float(np.add.reduce(np.square(numbers)))


def measure(array: Array) -> Stats:
    """Compute the statistics of an array in float64.

    Parameters
    ----------
    array : numpy array of any shape, boolean, integer or floating

    Returns
    -------
    Stats

    Examples
    --------
    >>> import numpy as np
    >>> stats = measure(np.array([3.0, 4.0, np.nan], np.float32))
    >>> stats.norm, stats.mean, stats.not_finite
    (5.0, 3.5, '1 NaN')
    """
    finite = zeros = nan = pos_inf = neg_inf = 0
    low, high = np.inf, -np.inf
    for piece in _pieces(array):
        good = piece[np.isfinite(piece)]
        missing = int(np.isnan(piece).sum())
        above = int((piece == np.inf).sum())
        nan, pos_inf = nan + missing, pos_inf + above
        neg_inf += piece.size - good.size - missing - above
        finite, zeros = finite + good.size, zeros + int((good == 0).sum())
        if good.size:
            low, high = min(low, float(good.min())), max(high, float(good.max()))
    if not finite:
        return Stats(array.size, None, None, None, None, None, zeros, nan, pos_inf, neg_inf)
    # Sums are taken of x / scale, so that squares of very large or very small numbers stay in range.
    # A power of two divides without rounding.
    scale = math.ldexp(1.0, math.frexp(max(abs(low), abs(high)))[1] - 1)
    total = squares = 0.0
    for piece in _pieces(array):
        good = piece[np.isfinite(piece)] / scale
        total, squares = total + float(good.sum()), squares + _squares(good)
    mean = total / finite
    spread = 0.0
    for piece in _pieces(array):
        away = piece[np.isfinite(piece)] / scale - mean
        spread += _squares(away)
    # The mean of equal numbers may round to just outside them.
    centre = min(max(mean * scale, low), high)
    deviation = 0.0 if low == high else float(np.sqrt(spread / finite)) * scale
    norm = float(np.sqrt(squares)) * scale
    return Stats(array.size, low, high, centre, deviation, norm, zeros, nan, pos_inf, neg_inf)


def limits(stats: Stats, *, symmetric: bool = False) -> Limits:
    """Choose the range of a scale so that it holds every finite element.

    Parameters
    ----------
    stats : Stats
    symmetric : bool
        Centre the range on zero, as gradients need.

    Returns
    -------
    Limits
        Never empty: equal elements get a range around them, no finite elements get 0 to 1 (or -1 to 1).

    Examples
    --------
    >>> import numpy as np
    >>> limits(measure(np.array([-1.0, 3.0])), symmetric=True)
    Limits(lo=-3.0, hi=3.0, symmetric=True)
    """
    if stats.min is None or stats.max is None:
        return Limits(-1.0 if symmetric else 0.0, 1.0, symmetric)
    largest = max(abs(stats.min), abs(stats.max))
    if symmetric:
        reach = largest or 1.0
        return Limits(-reach, reach, True)
    # Differences lost in rounding would make a scale with equal labels: treat them as equal elements.
    if stats.max - stats.min > 1e-12 * largest:
        return Limits(stats.min, stats.max)
    pad = 0.1 * largest or 0.5
    return Limits(max(stats.min - pad, -_BIGGEST), min(stats.max + pad, _BIGGEST))


def fits_single(low: float, high: float) -> bool:
    """Whether single precision holds numbers of this range: not too large, too small or too close for it.

    Examples
    --------
    >>> fits_single(-2.0, 3.0), fits_single(5.0, 5.0), fits_single(1e6, 1e6 + 1), fits_single(0.0, 1e-40)
    (True, True, False, False)
    """
    largest = max(abs(low), abs(high))
    return not largest or (SINGLE[0] < largest < SINGLE[1] and not 0 < high - low < _CLOSE * largest)


def marks(array: Array) -> Marks:
    """Find the elements that are not finite.

    Parameters
    ----------
    array : numpy array of any shape

    Returns
    -------
    Marks
        Three masks of the same shape.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        finite = array.dtype.kind != "f" or bool(np.isfinite(np.sum(array)))  # then all are: one look instead of three
    if finite:
        none = np.zeros(array.shape, np.bool_)
        return Marks(none, none, none)
    return Marks(np.isnan(array), np.isposinf(array), np.isneginf(array))


def histogram(array: Array, stats: Stats, *, bins: int = 64) -> Histogram | None:
    """Count the finite elements in equal steps from the smallest to the largest.

    Parameters
    ----------
    array : numpy array of any shape
    stats : Stats
        Those of the same array.
    bins : int

    Returns
    -------
    Histogram or None
        None when there is nothing to see: fewer elements than bins, all equal, or none finite.
    """
    edges = histogram_edges(stats, bins)
    if edges is None or stats.min is None or stats.max is None:
        return None
    counts = np.zeros(bins, np.int64)
    for piece in _pieces(array):
        counts += np.histogram(piece[np.isfinite(piece)], bins, (stats.min, stats.max))[0]
    return Histogram(counts, edges)


def histogram_edges(stats: Stats, bins: int = 64) -> Floats | None:
    """Give the edges of the bins of a histogram, or None when there is nothing to see.

    Examples
    --------
    >>> import numpy as np
    >>> histogram_edges(measure(np.arange(5.0)), 4), histogram_edges(measure(np.zeros(5)), 4)
    (array([0., 1., 2., 3., 4.]), None)
    """
    if stats.min is None or stats.max is None or stats.count < bins:
        return None
    span = stats.max - stats.min
    # Steps must be wide enough to have different edges; ranges past the largest float have no width at all.
    if not np.isfinite(span) or span <= 1e-12 * max(abs(stats.min), abs(stats.max)) or span < 1e-300:
        return None
    return np.linspace(stats.min, stats.max, bins + 1)
