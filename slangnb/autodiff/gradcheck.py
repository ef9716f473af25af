"""`gradcheck`: compares gradients with central differences that are computed on the device."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.autodiff.callee import Callee, check_function, find
from slangnb.autodiff.gradcheck_differences import PRECISIONS, Estimate, Precision, differentiate
from slangnb.autodiff.gradcheck_report import (
    WORST_ROWS,
    GradcheckReport,
    GradcheckRow,
    GradcheckVerdict,
    make_report,
    rank,
)
from slangnb.autodiff.gradcheck_values import Checked, Values, checked_numbers, unpacked
from slangnb.autodiff.transforms import Transform
from slangnb.compiler.reading.calls import reached
from slangnb.errors import CallError
from slangnb.runtime.foreign import library_of
from slangnb.runtime.saying import unsaid

if TYPE_CHECKING:
    from slangnb.runtime.function import Function

__all__ = ["GradcheckReport", "GradcheckRow", "GradcheckVerdict", "gradcheck"]

#: Attributes that say how a function is derived, and what takes a gradient away.
_OWN = re.compile(r"\b(?:Backward|Forward)Derivative\b")
_DETACH = re.compile(r"\bdetach\s*\(")
#: Where the backward pass is not finite, it is enough that the difference is this good, relative to the values.
FINITE = 1e-2
#: Factors on the steps of further tries, for functions of a finer scale than their arguments.
SHRINKS = 2.0**-5, 2.0**-10


def gradcheck(function: Function, /, *args: Any, _samples: int = 24, _seed: int = 0, **kwargs: Any) -> GradcheckReport:
    """Check the gradients of a Slang function against central differences, and say which are wrong.

    The differences are computed on the device by the function itself: in double for functions of double, else in the
    function's own precision, with Richardson's correction at several step widths and an honest bound of the error. An
    entry is wrong if backward pass and differences disagree by more than 0.2 % (in float) and more than that bound.
    Close to a kink or a jump, or where rounding drowns the difference, it is unsure, never wrong. Values that pass
    through ``no_diff`` or ``detach`` inside the function count as wrong: differences do see them move.

    What belongs to an element is shifted for all elements at once: a check takes twelve calls for each component,
    whatever the number of elements. Tensors that the function indexes itself, and all arguments of functions that
    write to tensors, are checked at `_samples` entries: those of the largest gradients, and random ones.

    Parameters
    ----------
    function : Function
        A differentiable function; all that `value_and_grad` takes.
    *args, **kwargs
        Its arguments, as for `value_and_grad`. Integers, bools and ``no_diff`` arguments are left alone.
    _samples : int
        Entries, and components, that are checked where each has differences of its own.
    _seed : int
        Of the random choice. The underscores keep both apart from the function's parameters.

    Returns
    -------
    GradcheckReport
        ``.ok``, ``.max_rel_error``, ``.verdicts`` by argument, and ``.rows``, the worst entries; shown as a table.

    Raises
    ------
    CallError, GradientError
        For arguments that do not fit.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float wrap(float x, float y) { return fmod(x, y); }")
    >>> print(sn.gradcheck(m.wrap, x=7.5, y=3.0))
    gradcheck of wrap: WRONG
      x: right, 1 of 1 entries checked
      y: WRONG in 1 of 1 entries checked
      argument  index      backward   differences         error
      y         -                 0            -2       1.0e+00  <- wrong
      x         -                 1             1   below noise
    """
    function = check_function(function, "gradcheck")
    if _samples < 1:
        raise CallError(f"gradcheck cannot check {_samples} entries", remedy="_samples=24")
    library = library_of((*args, *kwargs.values()))
    if library is not None:
        args, kwargs = (), dict(library.given(function, args, kwargs).named)
    callee = find(function, args, kwargs, "gradcheck")
    analytic = _gradients(function, args, kwargs)
    slots = {s.parameter.name: s for s in callee.bound.slots}
    values = Values(function, callee, {n: unpacked(s.parameter.type, s.value) for n, s in slots.items()})
    values.base()
    checked: list[Checked] = []
    for name, gradient in analytic.items():
        t, value = slots[name].parameter.type, values.arguments[name]
        checked += checked_numbers((name,), t, value, gradient, values.mapped, function.session)
    for s in checked:  # now all calls are of one kind, and of one kernel
        values.arguments = values.replaced(s.path, s.put(s.base))
    base = values.base()
    rng = np.random.default_rng(_seed)
    report = make_report(callee.name, [_check(s, values, base, callee, _samples, rng) for s in checked])
    return report if report.ok else replace(report, note=_on_purpose(function, callee.name))


def _on_purpose(function: Function, name: str) -> str:
    """Say what the function has that makes its gradient another one than differences show; "" if there is nothing."""
    target = function.target
    found = reached(name, target.session.texts_of(target.owner))
    own = next((r.declaration.name for r in found if _OWN.search(" ".join(r.declaration.attributes))), "")
    if any(_DETACH.search(r.text) for r in found):
        return "differences go through detach(...), so that the two may differ on purpose"
    return f"{own} has a derivative of its own, which may differ on purpose" if own else ""


def _gradients(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Differentiate without the warnings, which the report makes up for; they stay unsaid for later calls."""
    with unsaid(function.session):
        return Transform(function, None, "sum", None, False, "gradcheck", audited=False)(*args, **kwargs)


def _check(
    s: Checked, values: Values, base: np.ndarray, callee: Callee, samples: int, rng: np.random.Generator
) -> tuple[str, GradcheckVerdict, list[GradcheckRow]]:
    """Compare one source's gradient with differences."""
    precision = max((PRECISIONS[k] for k in {s.scalar, *values.scalars}), key=lambda p: p.eps)
    indexed = any(p.name == s.path[0] and p.type.kind == "tensor" for p in callee.bound.signature.parameters)
    # A column is what is shifted at once: a component of all elements, or a single entry.
    outer = s.base.shape[: s.base.ndim - s.inner] if values.mapped and not indexed else ()
    flat = s.base.reshape(math.prod(outer), -1)
    gradient = s.analytic.reshape(flat.shape)
    found: list[tuple[np.ndarray, Estimate]] = []
    for c in choose(gradient, samples, rng):
        x = flat[:, c].reshape(outer)

        def moved(new: np.ndarray, c: int = c) -> np.ndarray:
            shifted = flat.copy()
            shifted[:, c] = new.reshape(-1)
            return values.at(s.path, s.put(shifted.reshape(s.base.shape)))

        a = gradient[:, c].reshape(outer)
        estimate = differentiate(moved, base, x, precision)
        for shrink in SHRINKS:
            settled = _agrees(a, estimate, precision)
            if settled.all():
                break
            finer = differentiate(moved, base, x, precision, shrink)
            # Fine steps acquit, but convict only of what larger numbers inside the function cannot have swallowed.
            plain = ~_unsure(a, finer, precision) & ~(np.abs(a - finer.value) <= finer.swallowed)
            estimate = estimate.refined(finer, settled, _agrees(a, finer, precision) | plain)
        found.append((np.arange(len(flat)) * flat.shape[1] + c, estimate))
    s.put(s.base)  # a tensor of ours that the shifts were written to holds the argument again
    return s.name, *_judge(s, found, precision)


def choose(gradient: np.ndarray, samples: int, rng: np.random.Generator) -> list[int]:
    """Choose columns to check: all if they are few, else those of the largest gradients and random ones.

    Examples
    --------
    >>> choose(np.array([[0.0, 5.0, 1.0, -9.0]]), 2, np.random.default_rng(0))[0]
    3
    """
    count = gradient.shape[1]
    if count <= samples:
        return list(range(count))
    sizes = np.nan_to_num(np.abs(gradient), nan=np.inf).max(axis=0)
    order = np.argsort(-sizes, kind="stable")
    first = (samples + 1) // 2
    rest = rng.choice(order[first:], samples - first, replace=False)
    return [int(c) for c in (*order[:first], *rest)]


def _unsure(a: np.ndarray, e: Estimate, precision: Precision, typical: float = 0.0) -> np.ndarray:
    """Tell where differences say nothing of gradients `a`, whose usual size is `typical`."""
    finite = np.isfinite(a)
    size = np.maximum(np.where(finite, np.abs(a), 0.0), np.abs(np.nan_to_num(e.value)))
    size = np.maximum(size, np.where(e.flat, 0.0, typical))
    vague = ~(e.error <= precision.vague * size)
    fine = np.where(finite, e.flat & (a == 0), e.error <= FINITE * e.size)
    return vague & ~fine


def _agrees(a: np.ndarray, e: Estimate, precision: Precision) -> np.ndarray:
    """Tell where differences confirm a gradient."""
    return ~_unsure(a, e, precision) & ~_off(a, e, precision)


def _off(a: np.ndarray, e: Estimate, precision: Precision) -> np.ndarray:
    """Tell where a gradient differs from differences by more than these may be off."""
    with np.errstate(invalid="ignore"):
        return ~(np.abs(a - e.value) <= precision.tolerance * np.fmax(np.abs(a), np.abs(e.value)) + e.error)


def _judge(
    s: Checked, found: list[tuple[np.ndarray, Estimate]], precision: Precision
) -> tuple[GradcheckVerdict, list[GradcheckRow]]:
    """Judge all entries at once; make rows of the worst."""
    places = np.concatenate([p for p, _ in found])
    parts = [(e.value, e.error, e.size, e.swallowed, e.flat) for _, e in found]
    joined = Estimate(*(np.concatenate([part[k].reshape(-1) for part in parts]) for k in range(5)))
    a, n = s.analytic.reshape(-1)[places], joined.value
    with np.errstate(all="ignore"):
        larger = np.fmax(np.abs(a), np.abs(n))
        finite = np.isfinite(larger)
        typical = float(np.median(larger[finite])) if finite.any() else 0.0
        # Where a function saturates, its gradient is a product of tiny numbers: less than a float holds on the way.
        lost = precision.eps**2 * float(larger[finite].max()) if finite.any() else 0.0
        unsure = _unsure(a, joined, precision, typical) | ~np.isfinite(n)
        off = np.abs(a - n)
        wrong = ~unsure & _off(a, joined, precision) & ~(off <= lost)
        error = np.where(np.isfinite(a), off / np.maximum(larger, 1e-30), np.inf)
        error = np.where(unsure | (off <= np.maximum(joined.error, lost)), 0.0, error)
    verdict = "wrong" if wrong.any() else "unsure" if unsure.all() else "ok"
    still = bool(joined.flat.all() and not a.any() and len(places) == s.base.size)
    count = GradcheckVerdict(verdict, s.base.size, int((~unsure).sum()), int(wrong.sum()), still)
    worst = np.lexsort((places, -error, unsure, ~wrong))[:WORST_ROWS]
    rows = []
    for k in worst:
        index = tuple(int(i) for i in np.unravel_index(places[k], s.base.shape))
        said = "wrong" if wrong[k] else "unsure" if unsure[k] else "ok"
        rows.append(GradcheckRow(s.name, index, float(a[k]), float(n[k]), float(error[k]), said))
    return count, sorted(rows, key=rank)
