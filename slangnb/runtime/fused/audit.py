"""Compares reverse mode with forward mode once for each function: two ways of the compiler to the same derivative.

Slang 2026.12 has faults that make reverse mode alone wrong, without a word. Measured:

- A scalar that meets a vector on its right, as in ``p * x``, ``p + x`` or ``x + p``, gets no gradient from it.
- A loop that runs more often than its ``[MaxIters(n)]`` gives the derivative of another loop.

The audit calls the function for 64 arguments, in one launch: half of them random, half near those of the call.
Functions of scalars without a loop are passed over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from slangnb.compiler.reading.calls import LOOPS, reached
from slangnb.compiler.reflection import Parameter, Signature, plain_name
from slangnb.errors import CompileError, GradientError
from slangnb.runtime.fused.audit_samples import RANDOM, rounds_in, samples
from slangnb.runtime.fused.audit_text import ENTRY, SAMPLES, asked_of, audit_text, numbers_of
from slangnb.runtime.fused.imports import modules_for
from slangnb.runtime.fused.job import derivative_components, outputs_of
from slangnb.runtime.fused.stage import Stage, submit
from slangnb.runtime.fused.sums import storage
from slangnb.runtime.known_faults import treated_as_differentiable

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.fused.engine import Call

#: Share of the finite samples that must disagree: roundings and kinks spoil a few, a fault spoils all. Near the
#: arguments of the call it may be a loop that is too long for some of them.
MOST_DISAGREEING, MOST_DISAGREEING_NEAR = 0.3, 0.15
#: Fewer finite samples tell nothing.
LEAST_FINITE = 4
_VECTORS = re.compile(r"\b(?:float|half|double)[234](?:x[234])?\b|\b(?:vector|matrix)\s*<")
_OWN_DERIVATIVE = re.compile(r"\b(?:Backward|Forward|Primal)\w*(?:Derivative|Substitute)\w*\b|\bDifferential\s*=")
#: What hides types, loops and whole functions from a look at the text.
_HIDING = re.compile(r"^\s*#\s*(?:define|include)\b|\b(?:typedef|typealias|using)\b", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*#\s*include\b", re.MULTILINE)


def audit(call: Call) -> None:
    """Compare the derivatives of a function with each other, if it is of the kinds that Slang gets wrong.

    Nothing is said of functions with derivatives of their own, and with tensors that they index.

    Raises
    ------
    GradientError
        If reverse mode is wrong for an argument.
    """
    signature = call.bound.signature
    rounds = tuple((s.place, rounds_in(s.value)) for s in call.bound.slots)
    key = ("audit", call.loaded.name, call.text, call.prelude, str(signature), rounds)
    if key not in call.session.audits:
        call.session.audits[key] = _audited(call)
    fault = call.session.audits[key]
    if fault is not None:
        raise GradientError(fault.message, function=fault.function, argument=fault.argument, remedy=fault.remedy)


def _audited(call: Call) -> GradientError | None:
    """Give what is wrong with the function of a call, or None."""
    signature, device, texts = call.bound.signature, call.session.device, call.session.texts_of(call.owner)
    zero = treated_as_differentiable(signature.name, texts)
    if zero:
        return GradientError(
            f"{signature.name}: {zero} is marked [TreatAsDifferentiable]; Slang 2026.12 takes it as 0 in derivatives",
            function=signature.name,
            remedy=f"write no_diff({zero}(...)) where it is called, and take the mark away",
        )
    text = text_to_judge(signature.name, texts)
    if not is_worth_it(signature, text) or not can_audit(signature):
        return None
    sources = call.session.sources_of(call.owner)
    modules = modules_for(signature, {n: s.text for n, s in sources.items()}, call.loaded.name)
    try:
        kernel = call.session.kernel(audit_text(call.text, modules, call.prelude, signature), ENTRY, call.owner)
    except CompileError:
        return None  # no forward mode: nothing to compare with
    stage, asked = Stage(device, kernel), asked_of(signature)
    reals, whole = samples(signature, call.bound)
    stage.put("sn_reals", _buffer(device, reals))
    stage.put("sn_whole", _buffer(device, whole))
    found = storage(device, SAMPLES * len(asked) * 8)
    stage.put("sn_found", found)
    stage.threads = SAMPLES
    call.session.wait(submit(device, [stage]))
    pairs = found.to_numpy().view(np.float32)[: SAMPLES * len(asked) * 2].reshape(SAMPLES, len(asked), 2)
    pairs = pairs.astype(np.float64)
    tolerance = 5e-2 if "half" in text else 1e-3
    for k, p in enumerate(asked):
        forward, reverse = pairs[:, k, 0], pairs[:, k, 1]
        wrong = disagreeing(forward[:RANDOM], reverse[:RANDOM], tolerance, MOST_DISAGREEING)
        wrong = wrong or disagreeing(forward[RANDOM:], reverse[RANDOM:], tolerance, MOST_DISAGREEING_NEAR)
        if wrong is not None:
            return _fault(signature.name, p, wrong, text)
    return None


def _buffer(device: slangpy.Device, numbers: np.ndarray) -> slangpy.Buffer:
    made = storage(device, numbers.nbytes)
    if numbers.size:
        made.copy_from_numpy(numbers)
    return made


def text_to_judge(name: str, texts: list[str]) -> str:
    """Give the text of a function and of what it calls; all of it where that cannot be told."""
    found = [one.text for one in reached(name, texts)]
    whole = "\n".join(texts)
    return whole if not found or _HIDING.search(whole) else "\n".join(found)


def is_worth_it(signature: Signature, text: str) -> bool:
    """Tell whether a function is of the kinds that Slang gets wrong."""
    types = (signature.returns, *(p.type for p in signature.parameters))
    if _OWN_DERIVATIVE.search(text):
        return False
    shown = (_VECTORS.search(text), LOOPS.search(text), _INCLUDE.search(text))
    return any(t.kind in ("vector", "matrix") for t in types) or any(shown)


def can_audit(signature: Signature) -> bool:
    """Tell whether the audit's kernel can call a function."""
    types = [p.type for p in signature.parameters]
    outputs = outputs_of(signature.returns, signature.parameters)
    if any(numbers_of(t) is None for t in types) or not asked_of(signature):
        return False
    return any(o.derivable and derivative_components(o.type) for o in outputs)


def disagreeing(forward: np.ndarray, reverse: np.ndarray, tolerance: float, most: float) -> tuple[float, float] | None:
    """Give the worst pair of derivatives if more than a share `most` of them disagree, else None.

    Examples
    --------
    >>> disagreeing(np.array([6.0, 2.0, 3.0, 4.0]), np.zeros(4), 1e-3, 0.3)
    (6.0, 0.0)
    >>> disagreeing(np.array([6.0, 2.0, 3.0, 4.0]), np.array([6.0, 2.0001, 3.0, 4.0]), 1e-3, 0.3)
    """
    finite = np.isfinite(forward) & np.isfinite(reverse)
    f, r = forward[finite], reverse[finite]
    if f.size < LEAST_FINITE:
        return None
    off = np.abs(f - r) > tolerance * (np.abs(f) + np.abs(r)) + 1e-5
    if off.mean() <= most:
        return None
    worst = int(np.argmax(np.abs(f - r)))
    return float(f[worst]), float(r[worst])


def _fault(name: str, p: Parameter, wrong: tuple[float, float], text: str) -> GradientError:
    if _VECTORS.search(text) and p.type.kind == "scalar":
        kind = plain_name(p.type.name)
        why = "Slang 2026.12 loses the gradient of a scalar that meets a vector on its right, or in a sum"
        remedy = f"write `vector * {p.name}` for `{p.name} * vector`, and add `{kind}3({p.name})` for `{p.name}`"
    elif LOOPS.search(text):
        why = "a loop seems to run more often than its [MaxIters(n)] says"
        remedy = "raise n to the largest number of rounds"
    else:
        why = "a fault of the Slang compiler, perhaps with a loop that runs more often than its [MaxIters(n)] says"
        remedy = "write the expression in another way, or raise n"
    return GradientError(
        f"{name}: reverse mode is wrong for {p.name!r}: for some arguments it gives {wrong[1]:.6g} where forward "
        f"mode gives {wrong[0]:.6g}; {why}",
        function=name,
        argument=p.name,
        remedy=remedy,
    )
