"""Compares gradients with central differences, for functions of single elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from slangnb.autodiff.transforms import grad
from slangnb.errors import GradientError
from slangnb.runtime.binding import bind
from slangnb.runtime.function import Function
from slangnb.runtime.fused.gather import Given
from slangnb.runtime.fused.job import components
from slangnb.runtime.tensors import SCALARS

#: Relative step: the fourth-order formula's truncation and float32's rounding are about equal there.
STEP = 2.0**-5
RELATIVE_TOLERANCE = 2e-3
#: How many units of rounding of the function's values the differences may be off.
ROUNDINGS = 8.0
WORST_ROWS = 10


@dataclass(frozen=True, slots=True)
class GradcheckRow:
    """One entry: the gradient that the backward pass gives, and the one from differences."""

    argument: str
    index: tuple[int, ...]
    analytic: float
    numeric: float
    relative_error: float
    ok: bool


@dataclass(frozen=True, slots=True)
class GradcheckReport:
    """What `gradcheck` found.

    Attributes
    ----------
    function : str
        Name of the function.
    ok : bool
        Whether every entry agrees within the error that float32 differences can have.
    max_rel_error : float
        The largest relative error, infinite where a gradient is not finite.
    rows : tuple of GradcheckRow
        The worst entries of each argument, worst first.
    """

    function: str
    ok: bool
    max_rel_error: float
    rows: tuple[GradcheckRow, ...]

    def __str__(self) -> str:
        head = f"gradcheck of {self.function}: {'right' if self.ok else 'WRONG'}, {len(self.rows)} worst entries"
        lines = [head, f"  {'argument':<12}{'index':<14}{'backward':>14}{'differences':>14}{'error':>10}"]
        for r in self.rows:
            index = ", ".join(map(str, r.index)) or "-"
            error = f"{r.relative_error:10.1e}"
            mark = "" if r.ok else "  <- wrong"
            lines.append(f"  {r.argument:<12}{index:<14}{r.analytic:14.6g}{r.numeric:14.6g}{error}{mark}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        verdict = "right" if self.ok else "wrong"
        cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in _cells(r)) + "</tr>" for r in self.rows)
        head = "".join(f"<th>{h}</th>" for h in ("argument", "index", "backward", "differences", "error", ""))
        caption = f"gradcheck of {escape(self.function)}: {verdict}"
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>"


def _cells(r: GradcheckRow) -> tuple[str, ...]:
    index = ", ".join(map(str, r.index)) or "-"
    numbers = f"{r.analytic:.6g}", f"{r.numeric:.6g}", f"{r.relative_error:.1e}"
    return r.argument, index, *numbers, "" if r.ok else "wrong"


def gradcheck(function: Function, /, *args: Any, **kwargs: Any) -> GradcheckReport:
    """Check the gradients of a Slang function of single elements against central differences.

    Each element's value depends on that element's arguments alone, so all elements are shifted at once: a check takes
    twelve calls for each scalar component of each argument, whatever the number of elements. The derivative is the
    fourth-order central difference (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h in float32, with h about
    |x| / 128; wider and finer steps judge it. An entry is wrong if it is off by more than 0.2 %, more than the
    rounding of such a difference, and more than the steps differ: close to a kink or a jump nothing can be said.

    Parameters
    ----------
    function : Function
        A differentiable function with plain parameters.
    *args, **kwargs
        Its arguments, as for `value_and_grad`.

    Returns
    -------
    GradcheckReport

    Raises
    ------
    CallError, GradientError
        For arguments that do not fit.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float wrap(float x, float y) { return fmod(x, y); }")
    >>> sn.gradcheck(m.wrap, x=7.5, y=3.0).ok
    False
    """
    target = function._target
    bound = bind(target.info, args, kwargs)
    if bound is None:
        raise GradientError(f"{target.info.name} is overloaded or generic; gradcheck cannot tell which is meant")
    given, shape = sort_arguments(bound, None, target.session.device)
    arrays = {g.operand.name: _array(g, shape) for g in given}
    analytic = grad(function)(**{n: a if a.ndim else a[()] for n, a in arrays.items()})
    rows: list[GradcheckRow] = []
    for g in given:
        if g.operand.wanted:
            rows += _check_argument(function, g, arrays, np.asarray(analytic[g.operand.name], np.float64))
    worst = sorted(rows, key=lambda r: (r.ok, -r.relative_error))
    errors = [r.relative_error for r in rows]
    return GradcheckReport(target.info.name, all(r.ok for r in rows), max(errors), tuple(worst[:WORST_ROWS]))


def _array(g: Given, shape: tuple[int, ...]) -> np.ndarray:
    """Give the argument as an array: (elements..., own dimensions...), elements only where there is one for each."""
    value = g.value.to_numpy() if g.kind == "tensor" else g.value
    outer = shape if g.operand.each else ()
    return flat(Given(g.operand, value, "numpy", g.shape)).reshape((*outer, *g.operand.type.shape)).copy()


def _check_argument(
    function: Function, g: Given, arrays: dict[str, np.ndarray], analytic: np.ndarray
) -> list[GradcheckRow]:
    o = g.operand
    base = arrays[o.name]
    rows = []
    analytic = analytic.reshape(base.shape)
    for c in np.ndindex(o.type.shape) if components(o.type) else [()]:
        at = (..., *c)

        def total(shift: np.ndarray, at: tuple[Any, ...] = at) -> np.ndarray:
            moved = base.copy()
            moved[at] = moved[at] + shift
            return np.asarray(_call(function, {**arrays, o.name: moved}), np.float64)

        x = base[at].astype(np.float64)
        h = (STEP * np.maximum(1.0, np.abs(x))).astype(SCALARS[o.type.scalar]).astype(np.float64)
        numeric, noise = _difference(total, h, o.each, np.ndim(x))
        found = analytic[at]
        for index in np.ndindex(np.shape(found)):
            a, n, e = float(found[index]), float(numeric[index]), float(noise[index])
            error = abs(a - n) / max(abs(a), abs(n), 1e-30) if np.isfinite(a) and np.isfinite(n) else np.inf
            ok = bool(np.isfinite(a)) and (abs(a - n) <= RELATIVE_TOLERANCE * max(abs(a), abs(n)) + e)
            rows.append(GradcheckRow(o.name, (*index, *c), a, n, 0.0 if abs(a - n) <= e else error, ok))
    return rows


def _call(function: Function, arrays: dict[str, np.ndarray]) -> Any:
    return function(**{n: a if a.ndim else a[()] for n, a in arrays.items()}, _result="numpy")


def _difference(
    total: Callable[[np.ndarray], np.ndarray], h: np.ndarray, each: bool, dims: int
) -> tuple[np.ndarray, np.ndarray]:
    """Give the derivative of the sum of all result components, and how far it may be off.

    That is its rounding, and what other step widths say: at a kink or a jump of the function they disagree, and no
    verdict is possible there.
    """
    eps = np.finfo(np.float32).eps

    def slope(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        far, near = (total(2 * h), total(-2 * h)), (total(h), total(-h))
        rise = 8 * (near[0] - near[1]) - (far[0] - far[1])
        size = np.abs(near[0]) + np.abs(far[0])
        axes = tuple(range(dims, rise.ndim)) if each else tuple(range(rise.ndim))
        return rise.sum(axis=axes) / (12 * h), ROUNDINGS * eps * size.sum(axis=axes) / h

    wide, _ = slope(h)
    narrow, rounding = slope(h / 4)
    finest, coarse = slope(h / 16)
    # Across a jump the slopes themselves differ fourfold; a kink may lie so that two of the three agree by chance.
    kink = np.abs(narrow - finest) > 2 * coarse + 0.01 * np.abs(narrow)
    return narrow, np.where(kink, np.inf, rounding + 4 * np.abs(wide - narrow))
