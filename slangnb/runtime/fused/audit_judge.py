"""Judges what the audit's kernel found. Pure: numbers and text in, an error or nothing out."""

from __future__ import annotations

import numpy as np

from slangnb.compiler.reflection import Parameter, Signature, declare, plain_name
from slangnb.errors import GradientError
from slangnb.runtime.fused.audit_samples import Samples
from slangnb.runtime.fused.audit_suspect import Suspect
from slangnb.runtime.fused.audit_text import NUMBERS, asked_of

#: Share of the samples that must disagree: roundings and kinks spoil a few, a fault spoils all. Among arguments of the
#: call it may be there for some of them.
MOST_DISAGREEING, MOST_DISAGREEING_NEAR = 0.3, 0.15
#: Of many elements so few may disagree by a share of both, for few may take a branch, whose share may be large. Those
#: count whose derivatives roundings of the arguments change by no more than a share of the difference: at a kink, as at
#: the bounds of ``saturate``, the modes may stand on different sides.
MOST_RARE, RARE_TOLERANCE, STEADY = 2, 0.05, 0.1
#: Fewer finite samples tell nothing.
LEAST_FINITE = 4
#: Share of the terms of a sum that roundings may leave.
ROUNDING = 1e-5
#: How much of the changes by roundings of the arguments counts.
NOISE = 10.0
#: The share of both derivatives that noise is, at most, where it is not forward mode's own: twice this, for a sample's
#: and the usual one, does not excuse a derivative that is half of the other.
MOST_NOISE = 0.12
#: Derivatives of this size may be what is left of others that were rounded.
SMALLEST = 1e-11
#: On the way to derivatives of this size, one mode alone may overflow.
LARGEST = 1e15
#: What forward mode says where nothing moves.
STILL = NUMBERS - 1
POW_OF_NEGATIVE = "Slang 2026.12 takes pow of a negative number, and of one below 1e-6, as 0 in derivatives"
POW_REMEDY = (
    "write `x * x` for `pow(x, 2)`, `x * x * x` for `pow(x, 3)`; for other powers keep its first argument positive"
)


def judge_random(numbers: np.ndarray, given: Samples, signature: Signature, suspect: Suspect) -> GradientError | None:
    """Judge by the random samples: what they show holds for all calls.

    `numbers` are those of the kernel, of shape (samples, arguments, NUMBERS), their noise, and what roundings change
    forward and reverse mode; so also below.
    """
    if suspect.is_bound and given.reals_seen:
        return None  # there are none
    return _judged(numbers, given, given.random, MOST_DISAGREEING, LEAST_FINITE, signature, suspect)


def judge_near(numbers: np.ndarray, given: Samples, signature: Signature, suspect: Suspect) -> GradientError | None:
    """Judge by elements of the call, by its extremes, and by each combination of its whole numbers."""
    found = _judged(numbers, given, given.near, MOST_DISAGREEING_NEAR, LEAST_FINITE, signature, suspect)
    for part in () if found else given.combinations:
        found = found or _judged(numbers, given, part, 0.99, 1, signature, suspect)
    more = given.many.stop - given.many.start
    if found is None and given.reals_seen and more:
        found = _judged(numbers, given, given.many, MOST_RARE / more, MOST_RARE + 1, signature, suspect, rare=True)
    if found is None and suspect.powers and given.reals_seen:
        found = _judged_values(numbers[given.near.start : given.many.stop], signature, suspect)
    return found


def _judged(
    numbers: np.ndarray,
    given: Samples,
    part: slice,
    most: float,
    least: int,
    signature: Signature,
    suspect: Suspect,
    rare: bool = False,
) -> GradientError | None:
    tolerance = max(RARE_TOLERANCE, suspect.tolerance) if rare else suspect.tolerance
    others = np.delete(numbers, given.many, axis=0)  # so that the many do not say alone what is usual
    for k, p in enumerate(asked_of(signature)):
        found = numbers[part, k]
        found = found[~(np.abs(found[:, STILL]) > 0)]  # there forward mode itself is wrong
        if rare:
            found = found[_steady(found, suspect)]
        if suspect.powers:  # where both derivatives belong to another value, they tell nothing of each other
            found = found[~_differ(found[:, 3], found[:, 4], suspect.tolerance)]
        terms, rounded = (found[:, c] + usual(others[:, k, c]) for c in (2, NUMBERS))
        allowed = ROUNDING * terms + rounded + SMALLEST
        shares = (tolerance, most, least)
        wrong = disagreeing(found[:, 0], found[:, 1], allowed, *shares, any_reverse=suspect.limits or suspect.nested)
        if wrong is not None:
            return _fault(signature.name, p, wrong, suspect)
    return None


def noise(derivatives: np.ndarray) -> np.ndarray:
    """Give by how much roundings may change derivatives, for each sample and argument.

    What forward mode shows counts in full. Reverse mode may be what is wrong, and roundings of 1 are large for small
    arguments: they count up to a share that does not excuse a derivative that is half of the other, unless forward mode
    gives a 0 or nothing but noise.

    Parameters
    ----------
    derivatives : numpy.ndarray
        Of shape (copies, samples, arguments, 2): by forward and reverse mode, as they are; then with the arguments
        moved by roundings, in four copies; then by roundings of 1 at least, as they come about within a function.

    Examples
    --------
    >>> as_it_is, moved = [[[4.0, 2.0]]], [[[4.0, 90.0]]]  # reverse mode gives anything
    >>> noise(np.array([as_it_is, *[moved] * 8])).tolist()
    [[0.72]]
    """
    changes, sizes = (np.where(np.isfinite(n), n, 0.0) for n in (_changes(derivatives), np.abs(derivatives[0])))
    own, absolute = NOISE * _to_one_side(changes[:4]), NOISE * _to_one_side(changes[4:]).sum(axis=-1)
    forward, reverse = own[..., 0], own[..., 1]
    most = MOST_NOISE * sizes.sum(axis=-1)
    told = sizes[..., 0] > NOISE * forward
    other = np.where(told, np.minimum(reverse + absolute, most), reverse + np.minimum(absolute, most))
    return forward + other


def shaken(derivatives: np.ndarray) -> np.ndarray:
    """Give by how much roundings change each derivative at most; `derivatives` are as for `noise`."""
    changes = _changes(derivatives).max(axis=0)
    return np.where(np.isfinite(changes), changes, np.inf)


def _changes(derivatives: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.abs(derivatives[1:] - derivatives[0])


def _steady(found: np.ndarray, suspect: Suspect) -> np.ndarray:
    """Tell for which samples the two derivatives are what they are, and of a size that both modes reach."""
    with np.errstate(invalid="ignore"):
        most = STEADY * np.abs(found[:, 0] - found[:, 1])
    by_forward, by_reverse = found[:, NUMBERS + 1], found[:, NUMBERS + 2]
    anything = suspect.limits or suspect.nested  # what reverse mode gives past the bound of a loop
    return (by_forward <= most) & (anything | (by_reverse <= most)) & (np.abs(found[:, 0]) < LARGEST)


def _to_one_side(changes: np.ndarray) -> np.ndarray:
    """Where a step of the function lies to one side, the change to the other counts."""
    return np.minimum(np.maximum(changes[0], changes[1]), np.maximum(changes[2], changes[3]))


def usual(terms: np.ndarray) -> float:
    """Give the size of the terms of most samples; 0 if they have none."""
    found = terms[np.isfinite(terms) & (terms > 0)]
    return float(np.median(found)) if found.size else 0.0


def disagreeing(
    forward: np.ndarray,
    reverse: np.ndarray,
    allowed: np.ndarray,
    tolerance: float,
    most: float,
    least: int = LEAST_FINITE,
    *,
    any_reverse: bool = False,
) -> tuple[float, float] | None:
    """Give the worst pair of derivatives if more than a share `most` of them disagree, else None.

    They may differ by `allowed`, and by a share of both. Where both are 0, there is nothing to compare. `any_reverse`
    counts inf and NaN of reverse mode alone, too: past its bound, a loop gives anything.

    Examples
    --------
    >>> disagreeing(np.array([6.0, 2.0, 3.0, 4.0]), np.zeros(4), np.full(4, 1e-4), 1e-3, 0.3)
    (6.0, 0.0)
    >>> disagreeing(np.array([6.0, 2.0, 3.0, 4.0]), np.array([6.0, 2.0001, 3.0, 4.0]), np.full(4, 1e-4), 1e-3, 0.3)
    """
    finite = np.isfinite(reverse)
    told = np.isfinite(forward) & (finite | (any_reverse & (np.abs(forward) < LARGEST)))
    told &= (forward != 0) | (reverse != 0)
    f, r = forward[told], reverse[told]
    if f.size < least:
        return None
    off = np.abs(f - r) > tolerance * (np.abs(f) + np.abs(r)) + allowed[told]
    off |= ~finite[told]
    if off.mean() <= most:
        return None
    worst = int(np.argmax(np.abs(f - r)))
    return float(f[worst]), float(r[worst])


def _judged_values(numbers: np.ndarray, signature: Signature, suspect: Suspect) -> GradientError | None:
    """Compare the results that forward mode gives along with those of the function."""
    plain, primal = numbers[:, 0, 3:5].T
    off = _differ(plain, primal, suspect.tolerance)
    if not off.any():
        return None
    k = int(off.argmax())
    return GradientError(
        f"{signature.name}: the gradient is wrong for some arguments: where the function gives {plain[k]:.6g}, its "
        f"derivative belongs to {primal[k]:.6g}; {POW_OF_NEGATIVE}",
        function=signature.name,
        remedy=POW_REMEDY,
    )


def _differ(plain: np.ndarray, primal: np.ndarray, tolerance: float) -> np.ndarray:
    """Tell where two results differ by more than roundings, or the first alone is no number."""
    told = np.isfinite(plain) & np.isfinite(primal)
    a, b = np.where(told, plain, 0), np.where(told, primal, 0)
    off = np.abs(a - b) > tolerance * np.abs(a) + ROUNDING * usual(np.abs(a))
    return off | (np.isnan(plain) & np.isfinite(primal))


def _fault(name: str, p: Parameter, wrong: tuple[float, float], suspect: Suspect) -> GradientError:
    kind, causes = plain_name(p.type.name), []
    if suspect.vectors and p.type.kind == "scalar":
        why = "Slang 2026.12 loses the gradient of a scalar that meets a vector on its right, or in a sum"
        causes.append((why, _LOST_REMEDY.format(p=p.name, kind=kind)))
    if suspect.vectors and suspect.loops and np.isnan(wrong[1]):
        causes.append(_SPLAT)
    causes += [_TOO_LONG] * suspect.limits + [_MIXED_UP] * suspect.nested
    causes += [(_ALIKE, _read_by_function(p))] * suspect.indexes + [(PART_FAULT, PART_REMEDY)] * suspect.parts
    causes = causes or [("a fault of the Slang compiler", "write the expression in another way")]
    why, remedy = ("; or ".join(texts) for texts in zip(*causes, strict=True))
    return GradientError(
        f"{name}: reverse mode is wrong for {p.name!r}: for some arguments it gives {wrong[1]:.6g} where forward "
        f"mode gives {wrong[0]:.6g}; {why}",
        function=name,
        argument=p.name,
        remedy=remedy,
    )


def _read_by_function(p: Parameter) -> str:
    numbers = p.type.kind == "vector" or (p.type.kind == "array" and len(p.type.shape) == 1)
    one, z = (p.type.scalar, declare(p.type, "z")) if numbers else ("float", "float z[3]")
    return (
        f"read its numbers through a function, as in `[Differentiable] {one} at({z}, int k) {{ return z[k]; }}`, and "
        "write `at(z, k)` for `z[k]`"
    )


#: In forward mode, and with vectors that were computed in reverse mode as well.
PART_FAULT = "Slang 2026.12 mixes up derivatives where a part of a vector is assigned in a branch, as in c.x = v.y"
PART_REMEDY = "assign the whole vector: `c = float3(v.y, c.y, c.z)`"
_LOST_REMEDY = "write `vector * {p}` for `{p} * vector`; in a sum write `{kind}3({p})` for `{p}`"
_TOO_LONG = (
    "a loop seems to run more often than its [MaxIters(n)] says",
    "raise the number in `[MaxIters(...)]` to the most rounds of any call",
)
_SPLAT = (
    "Slang 2026.12 loses a scalar that a loop assigned to where it multiplies or divides a vector",
    "write `float3(t) * v` for `t * v`, and so on, where t comes out of a loop and v is a vector",
)
_MIXED_UP = (
    "of loops inside each other whose counts of rounds differ by more than 2, Slang 2026.12 mixes up what they keep",
    "move the inner loop into a [Differentiable] function of its own, or write the larger `[MaxIters(n)]` before both",
)
_ALIKE = (
    "where two indices into one array, vector or matrix are equal, as in z[0] * z[k] for k = 0, Slang 2026.12 keeps "
    "one of the two gradients"
)
