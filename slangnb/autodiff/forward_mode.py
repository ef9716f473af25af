"""Forward mode of Slang gets some functions wrong without a word, or takes them as constants: refused here.

Reverse mode is audited against it in `slangnb.runtime.fused.audit`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from slangnb.autodiff.assemble import results
from slangnb.autodiff.callee import Callee
from slangnb.autodiff.transforms import prepare
from slangnb.compiler.reflection import PLAIN_KINDS, SCALARS
from slangnb.errors import GradientError
from slangnb.runtime.function import Function
from slangnb.runtime.fused.audit_judge import PART_FAULT, PART_REMEDY, POW_OF_NEGATIVE, POW_REMEDY
from slangnb.runtime.fused.audit_suspect import PART
from slangnb.runtime.fused.engine import Call, Wish
from slangnb.runtime.fused.job import outputs_of
from slangnb.runtime.known_faults import case_that_falls_through, lacks_forward_derivative

_GIVEN = re.compile(r"Derivative|TreatAsDifferentiable|^\s*#\s*(?:define|include)\b", re.MULTILINE)
_POW = re.compile(r"\bpow\b")
#: Texts without these have no derivatives of their own, and no `pow`.
_OWN = re.compile(f"{_GIVEN.pattern}|{_POW.pattern}", re.MULTILINE)
LACKS = (
    "it takes a function that is called as 0, since that has only a backward derivative",
    "write a [ForwardDerivative(...)] for it, too",
)


def refuse_by_text(function: Function, callee: Callee, transform: str) -> None:
    """Refuse forward mode through a function that has a backward derivative of its own alone, which Slang takes as 0.

    And through a ``switch`` in which a case runs on into the next.

    Raises
    ------
    GradientError
    """
    target = function.target
    checked, key = target.session.forward_checked, (target.require().name, callee.name)
    if key in checked:
        return
    texts = [*target.session.texts_of(target.owner)]
    if found := case_that_falls_through(callee.name, texts):
        name, case = found
        raise GradientError(
            f"{callee.name}: `{case}` of the switch in {name} falls through to the next case: {transform} would add "
            "derivatives of cases that do not run",
            function=callee.name,
            remedy="end each case with `break;`, or write it with `if`",
        )
    name = lacks_forward_derivative(callee.name, texts)
    if name:
        raise GradientError(
            f"{callee.name}: {name} has a [BackwardDerivative] but no [ForwardDerivative], so that {transform} would "
            "take it as a constant",
            function=callee.name,
            remedy=f"write [ForwardDerivative(...)] for {name}, too",
        )
    checked.add(key)


def check_forward(call: Call, y: Any, transform: str) -> None:
    """Refuse a call that forward mode gets wrong: looked at once, or at each call where its numbers decide.

    What it gives as the result is compared with the result. It takes functions that have only a backward derivative of
    their own as 0, and `lacks_forward_derivative` does not find all of these; and ``pow`` of the negative numbers that
    a call may have. And where nothing moves, the result must not: which branch is taken decides that, where it assigns
    to a part of a vector.

    Parameters
    ----------
    call : Call
        With tangents.
    y : array_like or Tensor or None
        The result by forward mode; None: it is computed here.

    Raises
    ------
    GradientError
    """
    signature = call.bound.signature
    key = (call.loaded.name, call.text, call.prelude, str(signature))
    if key in call.session.forward_checked:
        return
    texts = call.session.texts_of(call.owner)
    powers, parts = (any(map(pattern.search, texts)) for pattern in (_POW, PART))
    # Numpy cannot compare structs.
    if not any(o.type.kind == "struct" for o in outputs_of(signature.returns, signature.parameters)):
        if any(map(_OWN.search, texts)):
            _compare(call, y, transform, texts)
        if parts:
            _refuse_moving(call, transform)
    if not (powers or parts):
        call.session.forward_checked.add(key)


def _compare(call: Call, y: Any, transform: str, texts: Sequence[str]) -> None:
    name = call.bound.signature.name
    if y is None:
        prepared = prepare(call, Wish("tangent", stores=True), transform)
        y = results(prepared, call.run(prepared).outputs)
    plain = replace(call, tangents={})
    prepared = prepare(plain, Wish("forward", stores=True), transform)
    found, right = _numbers(y), _numbers(results(prepared, plain.run(prepared).outputs))
    if not np.allclose(found, right, 1e-2, 1e-5, equal_nan=True):
        why, remedy = LACKS
        if not any(_GIVEN.search(text) for text in texts):
            why, remedy = POW_OF_NEGATIVE, POW_REMEDY
        raise GradientError(
            f"{name}: forward mode gives another result than the function: {why}", function=name, remedy=remedy
        )


def _refuse_moving(call: Call, transform: str) -> None:
    signature = call.bound.signature
    p = next((p for p in signature.parameters if p.derivable and p.io == "in" and p.type.kind in PLAIN_KINDS), None)
    if p is None:
        return
    still = replace(call, tangents={p.name: np.zeros(p.type.shape, SCALARS[p.type.scalar]).tolist()})
    prepared = prepare(still, Wish("tangent", stores=True), transform)
    found = _numbers(results(prepared, still.run(prepared).tangents))
    wrong = found[np.isfinite(found) & (found != 0)]
    if wrong.size:
        raise GradientError(
            f"{signature.name}: forward mode is wrong: where nothing moves, it gives {wrong[0]:.6g}; {PART_FAULT}",
            function=signature.name,
            remedy=PART_REMEDY,
        )


def _numbers(results: Any) -> np.ndarray:
    """Give all numbers of results, of several one after the other."""
    if isinstance(results, dict):
        return np.concatenate([_numbers(one) for one in results.values()])
    return np.ravel(np.asarray(results.to_numpy() if hasattr(results, "to_numpy") else results, np.float64))
