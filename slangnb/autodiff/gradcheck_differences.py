"""Central differences of a function that is computed in few digits, and how far each may be off. Pure numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: Step widths, each half of the one before. Two neighbours give one estimate, three a judged one.
LEVELS = 6
#: Units of rounding that a value may be off: a few for the built-ins, and some since neighbours' errors agree.
ROUNDINGS = 8.0
#: What a fourth difference of values adds up to, in units of one value's rounding: the root of 1+16+36+16+1.
FOURTH = 70.0**0.5
#: Values on a grid coarser than this part of their size are steps, as those of `floor`, not lost digits.
COARSEST = 2.0**-6
#: How much larger than its values the numbers inside a function may be.
SWALLOWED = 1024.0


@dataclass(frozen=True, slots=True)
class Precision:
    """What the digits of a scalar type allow.

    Attributes
    ----------
    eps : float
        Its unit of rounding; for half, whose built-ins are computed in float, less.
    widest : float
        The widest step, relative to max(1, |x|): truncation and rounding are about equal two or three levels below.
    tolerance : float
        Relative error that a right gradient may have.
    vague : float
        A difference that may be off by more than this part of the gradient says nothing.
    """

    eps: float
    widest: float
    tolerance: float
    vague: float = 0.1


PRECISIONS = {
    "half": Precision(2.0**-12, 2.0**-1, 3e-2, 0.3),
    "float": Precision(2.0**-23, 2.0**-4, 2e-3),
    "double": Precision(2.0**-52, 2.0**-5, 1e-7),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """Derivatives of the sum of a function's values, one for each entry.

    Attributes
    ----------
    value, error : np.ndarray
        The derivative, and how far it may be off: infinite where nothing can be said.
    size : np.ndarray
        Magnitude of the values over the entry's scale: what a derivative may be compared with.
    swallowed : np.ndarray
        A derivative that may go unseen, if numbers inside the function are far larger than its values: they are
        rounded in steps of their own, and between two of these the function is smooth, with a wrong slope.
    flat : np.ndarray
        Where no step changed any value.
    """

    value: np.ndarray
    error: np.ndarray
    size: np.ndarray
    swallowed: np.ndarray
    flat: np.ndarray

    def refined(self, finer: Estimate, settled: np.ndarray, trusted: np.ndarray) -> Estimate:
        """Take estimates of finer steps into account.

        They replace the wider ones where these said nothing at all, and where they are trusted. Elsewhere, where they
        contradict the wider ones, nothing can be said: the function varies so fast that the wider ones had agreed
        among themselves by chance.

        Parameters
        ----------
        finer : Estimate
        settled, trusted : np.ndarray
            Entries that are to stay; entries whose finer estimate is trusted.
        """
        with np.errstate(invalid="ignore"):
            against = np.abs(self.value - finer.value) > self.error + finer.error
        take = ~settled & (trusted | ~np.isfinite(self.error))
        doubt = ~settled & ~take & against
        return Estimate(
            np.where(take, finer.value, self.value),
            np.where(take, finer.error, np.where(doubt, np.inf, self.error)),
            self.size,
            np.where(take, finer.swallowed, self.swallowed),
            np.where(take, finer.flat, self.flat & ~doubt),
        )


@dataclass(slots=True)
class _Level:
    """What one step width gives: central slope, second difference, and the step."""

    slope: np.ndarray
    bend: np.ndarray
    step: np.ndarray
    size: np.ndarray
    moved: np.ndarray
    grid: float


def differentiate(
    values: Callable[[np.ndarray], np.ndarray],
    base: np.ndarray,
    x: np.ndarray,
    precision: Precision,
    shrink: float = 1.0,
) -> Estimate:
    """Differentiate the sum of all values by each entry of `x`, all entries shifted at once.

    Six step widths give five central differences with Richardson's correction, of fourth order. For each value the
    pair of neighbours is taken that promises the smallest error: what the two differ by, what the one-sided slopes
    differ by beyond curvature (a kink), and the rounding of values, which is measured from fourth differences too,
    since a function may lose digits inside. At a kink or jump within the finest steps all pairs promise a large error.

    Parameters
    ----------
    values : callable
        Gives the function's values for entries: an array of shape (elements..., components), in float64.
    base : np.ndarray
        Its values at `x`.
    x : np.ndarray
        The entries, of the type the function reads; its shape broadcasts to that of the elements.
    precision : Precision
    shrink : float
        Factor on all step widths.

    Returns
    -------
    Estimate
        Of the shape of `x`.

    Examples
    --------
    >>> x = np.array([1.0, 2.0])
    >>> found = differentiate(lambda x: (x**3)[:, None], (x**3)[:, None], x, PRECISIONS["double"])
    >>> found.value.round(6).tolist(), bool(found.error.max() < 1e-8)
    ([3.0, 12.0], True)
    """
    scale = scale_of(x)
    steps = scale * (shrink * precision.widest)
    with np.errstate(all="ignore"):  # functions may leave their domain: such steps count for nothing
        levels = [_level(values, base, x, steps * 0.5**k) for k in range(LEVELS)]
        fine, level = levels[-1], levels[-2]
        size, moved = np.fmax(fine.size, level.size), fine.moved | level.moved
        # Exact values, as of 2 x at x = 1, lie on a grid too, but on one that follows the step.
        stays = 4 * fine.grid > levels[0].grid
        lost = fine.grid if stays and fine.grid < COARSEST * np.nanmedian(size) else 0.0
        noise = np.maximum(_noise(level.bend - 4 * fine.bend, size, precision.eps), lost / 2)
        slope = (4 * fine.slope - level.slope) / 3
        best, error = np.full(base.shape, np.nan), np.full(base.shape, np.inf)
        for k in reversed(range(LEVELS - 2)):
            wide = levels[k]
            wider = (4 * level.slope - wide.slope) / 3
            rounding = noise / fine.step
            kink = np.abs(2 * fine.bend / fine.step - level.bend / level.step)
            promised = 2 * np.abs(slope - wider) + np.maximum(0, kink - 20 * rounding) + 1.5 * ROUNDINGS * rounding
            better = promised < error  # not where it is NaN
            best, error = np.where(better, slope, best), np.where(better, promised, error)
            moved |= wide.moved
            fine, level, slope = level, wide, wider
        flat = ~moved & np.isfinite(base)
        # A change that rounding swallows at the widest step is smaller than this.
        error = np.where(flat, np.maximum(precision.eps * np.abs(base), lost) / level.step, error)
        total = fold(error.sum(axis=-1), x.shape)
        sizes = fold(np.nan_to_num(size).sum(axis=-1), x.shape)
        unmoved = fold((~flat).sum(axis=-1), x.shape) == 0
        swallowed = SWALLOWED * precision.eps * (sizes + 1) / steps
        return Estimate(
            fold(np.where(flat, 0.0, best).sum(axis=-1), x.shape),
            np.where(unmoved, np.maximum(total, swallowed), total),
            sizes / scale,
            swallowed,
            unmoved,
        )


def scale_of(x: np.ndarray) -> np.ndarray:
    """Give a power of two near max(1, |x|): steps of such a width are exact.

    Examples
    --------
    >>> scale_of(np.array([0.1, -9.0, np.nan])).tolist()
    [1.0, 8.0, 1.0]
    """
    size = np.where(np.isfinite(x), np.abs(x).astype(np.float64), 1.0)
    return 2.0 ** np.floor(np.log2(np.maximum(1.0, size)))


def _level(values: Callable[[np.ndarray], np.ndarray], base: np.ndarray, x: np.ndarray, step: np.ndarray) -> _Level:
    h = step.astype(x.dtype)
    up, down = np.asarray(x + h), np.asarray(x - h)
    plus, minus = values(up), values(down)
    half = ((up.astype(np.float64) - down.astype(np.float64)) / 2)[..., None]
    size = np.fmax(np.fmax(np.abs(plus), np.abs(minus)), np.abs(base))
    moved = (plus != base) | (minus != base)
    grid = min(grid_of(plus), grid_of(minus))
    return _Level((plus - minus) / (2 * half), plus + minus - 2 * base, half, size, moved, grid)


def grid_of(values: np.ndarray) -> float:
    """Give the largest power of two that all values are multiples of; infinity if all are zero or not finite.

    A function that loses digits inside, as in ``x + 30000 - 30000``, gives multiples of what 30000 is rounded to. Where
    no step leaves such a value, differences are zero, and neither they nor their scatter tell that digits are missing.

    Examples
    --------
    >>> grid_of(np.array([0.75, 6.0, 0.0])), grid_of(np.array([0.1]))
    (0.25, 2.7755575615628914e-17)
    """
    mantissa, exponent = np.frexp(values[np.isfinite(values) & (values != 0)])
    if not mantissa.size:
        return float("inf")
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), exponent - 53).min())


def _noise(fourth: np.ndarray, size: np.ndarray, eps: float) -> np.ndarray:
    """Judge the rounding of each value: its type's, the median's that was measured, or its own if that is larger."""
    own = np.nan_to_num(np.abs(fourth) / FOURTH, nan=0.0, posinf=0.0)
    typical = np.median(np.where(size > 0, own / size, 0.0), axis=tuple(range(size.ndim - 1)))
    return np.maximum(np.maximum(eps, typical) * size, own)


def fold(found: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum over the dimensions along which entries of a shape are repeated.

    Examples
    --------
    >>> fold(np.ones((2, 3, 4)), (3, 1)).tolist()
    [[8.0], [8.0], [8.0]]
    """
    found = found.sum(axis=tuple(range(found.ndim - len(shape))))
    repeated = tuple(d for d, n in enumerate(shape) if n == 1)
    return np.asarray(found.sum(axis=repeated, keepdims=True))
