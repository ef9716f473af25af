"""Compares reverse mode with forward mode once for each function: two ways of the compiler to the same derivative.

Slang 2026.12 has faults that make reverse mode alone wrong, without a word. Measured:

- A scalar that meets a vector on its right, as in ``p * x``, ``p + x`` or ``x + p``, gets no gradient from it.
- A loop that runs more often than its ``[MaxIters(n)]`` gives the derivative of another loop.

One fault is in both modes, and shows in the result that forward mode gives along:

- ``pow`` of a negative number is 0 in derivatives, also where it has a value, as ``pow(x, 2)`` has.

The audit calls the function for 64 arguments, in one launch: half of them random, half those of the call, which tell
how often a loop runs, and what is negative. Functions of scalars without a loop or ``pow`` are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reading.calls import LOOPS, reached
from slangnb.compiler.reflection import Parameter, Signature, plain_name
from slangnb.errors import CompileError, GradientError
from slangnb.runtime.fused.audit_samples import RANDOM, rounds_in, samples
from slangnb.runtime.fused.audit_text import ENTRY, NUMBERS, SAMPLES, asked_of, audit_text, numbers_of
from slangnb.runtime.fused.job import derivative_components, outputs_of
from slangnb.runtime.fused.stage import Stage, submit
from slangnb.runtime.fused.sums import storage
from slangnb.runtime.known_faults import derivatives_given, treated_as_differentiable

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.fused.engine import Call

#: Share of the finite samples that must disagree: roundings and kinks spoil a few, a fault spoils all. Among arguments
#: of the call it may be a loop that is too long for some of them.
MOST_DISAGREEING, MOST_DISAGREEING_NEAR = 0.3, 0.15
#: Fewer finite samples tell nothing.
LEAST_FINITE = 4
#: Share of the terms of a sum that roundings may leave.
ROUNDING = 1e-5
_POW = re.compile(r"\bpow\s*\(")
POW_OF_NEGATIVE = "Slang 2026.12 takes pow of a negative number as 0 in derivatives"
POW_REMEDY = "write `x * x` for `pow(x, 2)`, or make its first argument positive, as in `pow(abs(x), n)`"
_VECTORS = re.compile(r"\b(?:float|half|double)[234](?:x[234])?\b|\b(?:vector|matrix)\s*<")
_OWN_DERIVATIVE = re.compile(r"\b(?:Backward|Forward|Primal)\w*(?:Derivative|Substitute)\w*\b|\bDifferential\s*=")
#: What hides types, loops and whole functions from a look at the text.
_HIDING = re.compile(r"^\s*#\s*(?:define|include)\b|\b(?:typedef|typealias|using)\b", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*#\s*include\b", re.MULTILINE)


@dataclass
class Audit:
    """What is known of a function.

    Attributes
    ----------
    fault : GradientError or None
        Found with random arguments: it holds for all calls.
    loops : bool
        Whether the function may have loops: then each call with larger whole numbers is looked at.
    passed : dict
        By place, the largest whole numbers with which it was right.
    powers : bool
        Whether the function calls ``pow``, so that the arguments of later calls may have no derivative: those of the
        second, fourth, eighth call that comes here, and so on, are looked at.
    doubtful : bool
        Whether there was such a call: then all are.
    calls : int
    """

    fault: GradientError | None
    loops: bool
    passed: dict[Any, int] = field(default_factory=dict)
    powers: bool = False
    doubtful: bool = False
    calls: int = 1

    def is_due(self) -> bool:
        """Count a call; tell whether its arguments shall be looked at for ``pow``."""
        self.calls += 1
        return self.powers and (self.doubtful or self.calls & (self.calls - 1) == 0)


def audit(call: Call) -> bool:
    """Compare the derivatives of a function with each other, if it is of the kinds that Slang gets wrong.

    Nothing is said of functions with derivatives of their own, and with tensors that they index. It is True for those
    whose every call must come here, whatever its arguments.

    Raises
    ------
    GradientError
        If reverse mode is wrong for an argument.
    """
    key = (call.loaded.name, call.text, call.prelude, str(call.bound.signature))
    found = call.session.audits.get(key)
    if found is None:
        found, fault = _first(call)
        call.session.audits[key] = found
    else:
        fault = found.fault
        if fault is None and found.loops and any(n > found.passed.get(p, -1) for p, n in _rounds(call)):
            fault = _in_loops(call)
        if fault is None and found.is_due():
            fault = _in_powers(call)
            found.doubtful = found.doubtful or fault is not None
    if fault is not None:
        raise GradientError(fault.message, function=fault.function, argument=fault.argument, remedy=fault.remedy)
    if found.loops:
        found.passed |= {p: max(n, found.passed.get(p, n)) for p, n in _rounds(call)}
    return found.doubtful


def _rounds(call: Call) -> list[tuple[Any, int]]:
    """List the whole numbers of a call, which may say how often a loop runs."""
    found = ((s.place, rounds_in(s.value)) for s in call.bound.slots)
    return [(place, n) for place, n in found if isinstance(n, int)]


def _first(call: Call) -> tuple[Audit, GradientError | None]:
    """Look at a function for the first time; give what holds for all calls, and what is wrong with this one."""
    signature, texts = call.bound.signature, call.session.texts_of(call.owner)
    zero = treated_as_differentiable(signature.name, texts)
    if zero:
        fault = GradientError(
            f"{signature.name}: {zero} is marked [TreatAsDifferentiable]; Slang 2026.12 takes it as 0 in derivatives",
            function=signature.name,
            remedy=f"write no_diff({zero}(...)) where it is called, and take the mark away",
        )
        return Audit(fault, False), fault
    text = text_to_judge(signature.name, texts)
    own = _OWN_DERIVATIVE.search(text) or has_own_derivative(signature.name, texts)
    if own or not is_worth_it(signature, text) or not can_audit(signature):
        return Audit(None, False), None
    compared = _compared(call)
    if compared is None:
        return Audit(None, False), None
    loops = bool(LOOPS.search(text) or _HIDING.search(text))
    always = _judged(compared, signature, text, near=False)
    here = _judged(compared, signature, text, near=True) if loops else None
    powers = bool(_POW.search(text))
    of_power = _judged_values(compared, signature, text) if powers else None
    # Random arguments may run a loop more often than any call does; where the call's own are right, these count.
    if loops and compared.near and here is None and not _has_vectors(signature, text):
        always = None
    found = Audit(always, loops, powers=powers, doubtful=of_power is not None)
    return found, always or here or of_power


def _in_loops(call: Call) -> GradientError | None:
    """Look at a function with loops again, with the numbers of this call."""
    signature = call.bound.signature
    compared = _compared(call)
    text = text_to_judge(signature.name, call.session.texts_of(call.owner))
    return None if compared is None else _judged(compared, signature, text, near=True)


def _in_powers(call: Call) -> GradientError | None:
    """Look at a function with ``pow`` again, with the numbers of this call."""
    signature, compared = call.bound.signature, _compared(call)
    text = text_to_judge(signature.name, call.session.texts_of(call.owner))
    return None if compared is None else _judged_values(compared, signature, text)


@dataclass(frozen=True)
class Compared:
    """Derivatives by both modes: of shape (SAMPLES, arguments, NUMBERS); and `Samples.near`."""

    numbers: np.ndarray
    near: bool


def _compared(call: Call) -> Compared | None:
    """Run the kernel; None if the compiler has no forward mode of the function: there is nothing to compare with."""
    signature, device = call.bound.signature, call.session.device
    text = audit_text(call.text, call.modules(), call.prelude, signature)
    try:
        kernel = call.session.kernel(text, ENTRY, call.owner)
    except CompileError:
        return None
    stage, asked, given = Stage(device, kernel), asked_of(signature), samples(signature, call.bound)
    stage.put("sn_reals", _buffer(device, given.reals))
    stage.put("sn_whole", _buffer(device, given.whole))
    count = SAMPLES * len(asked) * NUMBERS
    found = storage(device, count * 4)
    stage.put("sn_found", found)
    stage.threads = SAMPLES
    call.session.wait(submit(device, [stage]))
    numbers = found.to_numpy().view(np.float32)[:count].reshape(SAMPLES, len(asked), NUMBERS)
    return Compared(numbers.astype(np.float64), given.near)


def _judged(compared: Compared, signature: Signature, text: str, near: bool) -> GradientError | None:
    part = compared.numbers[RANDOM:] if near else compared.numbers[:RANDOM]
    tolerance = 5e-2 if "half" in text else 1e-3
    for k, p in enumerate(asked_of(signature)):
        forward, reverse, terms, _, _ = part[:, k].T
        most = MOST_DISAGREEING_NEAR if near else MOST_DISAGREEING
        wrong = disagreeing(forward, reverse, terms, tolerance, most)
        if wrong is not None:
            return _fault(signature.name, p, wrong, text)
    return None


def _judged_values(compared: Compared, signature: Signature, text: str) -> GradientError | None:
    """Compare the results that forward mode gives along, for the call's own arguments, with those of the function."""
    if not compared.near:
        return None
    plain, primal = compared.numbers[RANDOM:, 0, 3:].T
    tolerance = 5e-2 if "half" in text else 1e-3
    off = np.abs(plain - primal) > tolerance * np.abs(plain) + ROUNDING  # False for what is not finite
    if not off.any():
        return None
    k = int(off.argmax())
    return GradientError(
        f"{signature.name}: the gradient is wrong for some arguments: where the function gives "
        f"{plain[k]:.6g}, its derivative belongs to {primal[k]:.6g}; {POW_OF_NEGATIVE}",
        function=signature.name,
        remedy=POW_REMEDY,
    )


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


def has_own_derivative(name: str, texts: list[str]) -> bool:
    """Tell whether another function is the derivative of one that is called, as ``[BackwardDerivativeOf(f)]`` says.

    Derivatives that somebody wrote may differ from the function's on purpose.
    """
    given = set().union(*(derivatives_given(texts, which) for which in ("Backward", "Forward")))
    return any(one.declaration.name in given for one in reached(name, texts))


def is_worth_it(signature: Signature, text: str) -> bool:
    """Tell whether a function is of the kinds that Slang gets wrong."""
    return _has_vectors(signature, text) or any(p.search(text) for p in (LOOPS, _INCLUDE, _POW))


def _has_vectors(signature: Signature, text: str) -> bool:
    types = (signature.returns, *(p.type for p in signature.parameters))
    return any(t.kind in ("vector", "matrix") for t in types) or bool(_VECTORS.search(text))


def can_audit(signature: Signature) -> bool:
    """Tell whether the audit's kernel can call a function."""
    types = [p.type for p in signature.parameters]
    outputs = outputs_of(signature.returns, signature.parameters)
    if any(numbers_of(t) is None for t in types) or not asked_of(signature):
        return False
    return any(o.derivable and derivative_components(o.type) for o in outputs)


def disagreeing(
    forward: np.ndarray, reverse: np.ndarray, terms: np.ndarray, tolerance: float, most: float
) -> tuple[float, float] | None:
    """Give the worst pair of derivatives if more than a share `most` of them disagree, else None.

    `terms` are the sums of the magnitudes of what both were added from: their roundings are no fault.

    Examples
    --------
    >>> terms = np.full(4, 10.0)
    >>> disagreeing(np.array([6.0, 2.0, 3.0, 4.0]), np.zeros(4), terms, 1e-3, 0.3)
    (6.0, 0.0)
    >>> disagreeing(np.array([6.0, 2.0, 3.0, 4.0]), np.array([6.0, 2.0001, 3.0, 4.0]), terms, 1e-3, 0.3)
    """
    finite = np.isfinite(forward) & np.isfinite(reverse)
    f, r, size = forward[finite], reverse[finite], terms[finite]
    if f.size < LEAST_FINITE:
        return None
    off = np.abs(f - r) > tolerance * (np.abs(f) + np.abs(r)) + ROUNDING * size + ROUNDING
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
