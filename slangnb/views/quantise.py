"""Numbers as bytes: what a canvas needs of an array, in a quarter of the room. Pure functions of arrays.

Codes 0 to 252 are equal steps of a scale; three codes stand for what is not finite. The number of steps is odd, so that
zero of a symmetric scale is a code of its own, the one in the middle.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from slangnb.views.measure import SINGLE, Array, Limits

Codes = NDArray[np.uint8]

STEPS = 252
NAN, POS_INF, NEG_INF = CODES = 253, 254, 255
#: Of the largest number: what lies below this share is drawn linearly on a symmetric logarithmic scale.
LINEAR_SHARE = 1e-3
#: Of the scale on which a sign is -1, 0 or 1.
SIGN_LIMITS = Limits(-1.5, 1.5, True)


def softness(limits: Limits, scale: str) -> float:
    """Give the size below which a scale is linear; 0 for one that is linear everywhere.

    Examples
    --------
    >>> softness(Limits(-10.0, 1000.0), "symlog"), softness(Limits(0.0, 1.0), "linear")
    (1.0, 0.0)
    """
    return LINEAR_SHARE * max(abs(limits.lo), abs(limits.hi)) if scale == "symlog" else 0.0


def quantise(values: Array, limits: Limits, soft: float = 0.0) -> Codes:
    """Give the code of each number.

    Parameters
    ----------
    values : numpy array of any shape
    limits : Limits
        Numbers outside of them get the first or the last step.
    soft : float
        From `softness`; 0 for equal steps of the numbers, otherwise of asinh(number / soft).

    Returns
    -------
    uint8 array of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> quantise(np.array([-2.0, -1.0, 0.0, 1.0, np.nan, np.inf, -np.inf]), Limits(-1.0, 1.0)).tolist()
    [0, 0, 126, 252, 253, 254, 255]
    """
    lo, hi = limits.lo, limits.hi
    largest = max(abs(lo), abs(hi))
    single = values.dtype == np.float32 and SINGLE[0] < hi - lo and largest < SINGLE[1]
    numbers = values if single else values.astype(np.float64)
    if soft:
        lo, hi = math.asinh(lo / soft), math.asinh(hi / soft)
        numbers = np.arcsinh(numbers / numbers.dtype.type(soft))
    # Halves, so that the width of the widest range is finite. A range without width has all its numbers in the middle.
    half = hi / 2 - lo / 2
    factor = STEPS / 2 / half if half > 0 and math.isfinite(1 / half) else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        place = (numbers - numbers.dtype.type(lo)) * numbers.dtype.type(factor) if single else None
        if place is None:
            place = (numbers / 2 - lo / 2) * (2 * factor)
        if not factor:
            place = np.where(np.isfinite(numbers), STEPS / 2, numbers)
        place += 0.5
        # The sum is finite only if all are: one look instead of three.
        codes = np.clip(place, 0, STEPS).astype(np.uint8)
        if not np.isfinite(np.sum(place)):
            codes[np.isnan(values)] = NAN
            codes[np.isposinf(values)] = POS_INF
            codes[np.isneginf(values)] = NEG_INF
    return codes


def signs(values: Array) -> Codes:
    """Give the code of the sign of each number: steps that are clearly coloured on a map centred on zero, not its ends.

    Examples
    --------
    >>> import numpy as np
    >>> signs(np.array([-1e-9, 0.0, 5.0, np.nan])).tolist()
    [42, 126, 210, 253]
    """
    finite = np.where(np.isfinite(values), np.sign(values), values)
    return quantise(finite, SIGN_LIMITS)


def robust(values: Array, *, symmetric: bool = False) -> Limits | None:
    """Give limits that leave out the outermost hundredth at each end; None where nothing is finite.

    Examples
    --------
    >>> import numpy as np
    >>> robust(np.arange(101.0)), robust(np.array([np.nan]))
    (Limits(lo=1.0, hi=99.0, symmetric=False), None)
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    if symmetric:
        reach = float(np.percentile(np.abs(finite), 99))
        return Limits(-reach, reach, True) if reach > 0 else None
    lo, hi = (float(v) for v in np.percentile(finite, (1, 99)))
    return Limits(lo, hi) if hi > lo else None


def centred(limits: Limits) -> Limits:
    """Widen limits until zero is in their middle.

    Examples
    --------
    >>> centred(Limits(-1.0, 3.0))
    Limits(lo=-3.0, hi=3.0, symmetric=True)
    """
    reach = max(abs(limits.lo), abs(limits.hi))
    return replace(limits, lo=-reach, hi=reach, symmetric=True)
