"""Compares reverse mode with forward mode: two ways of the compiler to the same derivative.

Slang 2026.12 has faults that make reverse mode alone wrong, without a word. Measured:

- A scalar that meets a vector on its right, as in ``p * x``, ``p + x`` or ``x + p``, gets no gradient from it.
- A loop that runs more often than its ``[MaxIters(n)]`` gives the derivative of another loop.
- Of loops inside each other, of different counts, what they keep of their rounds is mixed up.
- Of two equal indices into one array, vector or matrix, as in ``z[0] * z[k]`` for k = 0, one gets the gradient of both.

One fault is in both modes, and shows in the result that forward mode gives along:

- ``pow`` of a negative number is 0 in derivatives, also where it has a value, as ``pow(x, 2)`` has.

The audit calls the function in one launch for random arguments, for elements of the call, and for each combination of
the call's whole numbers, and again with all arguments moved by about a rounding: by how much the derivatives change
then, so much they may differ. Since all of this depends on the arguments, later calls are looked at, too: those with
new whole numbers, and the second, fourth, eighth and so on. Functions of scalars without any of these are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slangnb.compiler.reading.calls import reached
from slangnb.compiler.reflection import Signature
from slangnb.errors import CompileError, GradientError
from slangnb.runtime.fused.audit_judge import judge_near, judge_random, noise
from slangnb.runtime.fused.audit_samples import Samples, moved, samples
from slangnb.runtime.fused.audit_suspect import Suspect
from slangnb.runtime.fused.audit_text import ENTRY, NUMBERS, asked_of, audit_text, numbers_of, tensor_of
from slangnb.runtime.fused.audit_values import whole_in
from slangnb.runtime.fused.job import derivative_components, outputs_of
from slangnb.runtime.fused.stage import Stage, submit
from slangnb.runtime.fused.sums import storage, table
from slangnb.runtime.known_faults import derivatives_given, treated_as_differentiable

if TYPE_CHECKING:
    from slangnb.runtime.fused.engine import Call

#: Calls that need no look, of a function that is never looked at again.
NEVER = 1 << 62
#: The shares by which copies of the arguments are moved.
ROUNDED, ROUNDED_HALF = 2.0**-22, 2.0**-10
#: New combinations of whole numbers that are looked at one by one, and those that are remembered.
MOST_ONE_BY_ONE, MOST_REMEMBERED = 64, 4096
_OWN_DERIVATIVE = re.compile(r"\b(?:Backward|Forward|Primal)\w*(?:Derivative|Substitute)\w*\b|\bDifferential\s*=")
#: What hides types, loops and whole functions from a look at the text.
_HIDING = re.compile(r"^\s*#\s*(?:define|include)\b|\b(?:typedef|typealias|using)\b", re.MULTILINE)


@dataclass
class Audit:
    """What is known of a function.

    Attributes
    ----------
    fault : GradientError or None
        Found with random arguments: it holds for all calls.
    suspect : Suspect or None
        Set for functions that must be looked at again.
    known : set
        The whole numbers of calls that were looked at.
    doubtful : bool
        Whether a call was found wrong: then every one is looked at.
    wait, left : int
        Calls until the next look, from the last one and from now.
    """

    fault: GradientError | None = None
    suspect: Suspect | None = None
    known: set[Hashable] = field(default_factory=set)
    doubtful: bool = False
    wait: int = 1
    left: int = 1

    def is_due(self, whole: Hashable, skipped: int) -> bool:
        """Count a call with these whole numbers, and those before it that did not come here; tell whether to look."""
        self.left -= 1 + skipped
        new = whole not in self.known and len(self.known) < MOST_ONE_BY_ONE
        return self.doubtful or self.left <= 0 or new

    def passed(self, whole: Hashable) -> None:
        """Take note of a call that was found right."""
        if len(self.known) < MOST_REMEMBERED:
            self.known.add(whole)
        if self.left <= 0:
            self.wait *= 2
            self.left = self.wait

    @property
    def spared(self) -> int:
        """Calls of the same kind that need no look from now on."""
        return NEVER if self.suspect is None else 0 if self.doubtful else self.left - 1


def audit(call: Call, skipped: int = 0) -> int:
    """Compare the derivatives of a function with each other, if it is of the kinds that Slang gets wrong.

    Nothing is said of functions with derivatives of their own, of the gradients of tensors that are indexed, and of
    functions that may choose an index by a real number: what moves the arguments might move that, too.

    Parameters
    ----------
    call : Call
    skipped : int
        Calls of the same kind since the last one that came here.

    Returns
    -------
    int
        Calls of the same kind, with the same whole numbers, that need not come here.

    Raises
    ------
    GradientError
        If reverse mode is wrong for an argument.
    """
    key = (call.loaded.name, call.text, call.prelude, str(call.bound.signature))
    known = call.session.audits.get(key)
    found, fault = (known, known.fault) if known is not None else _first(call)
    call.session.audits[key] = found
    if found.suspect is not None:
        whole = tuple([whole_in(s.value) for s in call.bound.slots])  # it may read tensors
        if known is not None and fault is None and found.is_due(whole, skipped):
            fault = _again(call, found.suspect)
        if fault is None:
            found.passed(whole)
    if fault is not None:
        found.doubtful = found.doubtful or fault is not found.fault
        raise GradientError(fault.message, function=fault.function, argument=fault.argument, remedy=fault.remedy)
    return found.spared


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
        return Audit(fault), fault
    text = text_to_judge(signature.name, texts)
    own = _OWN_DERIVATIVE.search(text) or has_own_derivative(signature.name, texts)
    suspect = Suspect.of(signature, text, hidden=bool(_HIDING.search(text)))
    if own or not suspect.is_worth_it or not can_audit(signature) or (suspect.tensors and suspect.places):
        return Audit(), None
    found, given = Audit(suspect=suspect), samples(signature, call.bound, own=suspect.is_bound)
    if not suspect.may_try(given):
        return found, None
    numbers = _compared(call, suspect, given)
    if numbers is None:
        return Audit(), None
    here = judge_near(numbers, given, signature, suspect)
    found.fault = judge_random(numbers, given, signature, suspect)
    if found.fault is not None and here is not None:
        found.fault = here  # that of the call tells more
    return found, here or found.fault


def _again(call: Call, suspect: Suspect) -> GradientError | None:
    """Look at the numbers of another call."""
    signature = call.bound.signature
    given = samples(signature, call.bound, own=suspect.is_bound)
    numbers = _compared(call, suspect, given) if suspect.may_try(given) else None
    return None if numbers is None else judge_near(numbers, given, signature, suspect)


def _compared(call: Call, suspect: Suspect, given: Samples) -> np.ndarray | None:
    """Run the kernel: give its numbers and their noise, of shape (samples, arguments, NUMBERS + 1).

    None if there is nothing to compare: the compiler has no forward mode of the function.
    """
    signature, device = call.bound.signature, call.session.device
    text = audit_text(call.text, call.modules(), call.prelude, signature)
    try:
        kernel = call.session.kernel(text, ENTRY, call.owner)
    except CompileError:
        return None
    share = ROUNDED_HALF if suspect.half else ROUNDED
    copies = [given.reals, *moved(given.reals, share, 0.0), *moved(given.reals, share, 1.0)]
    stage, asked, count = Stage(device, kernel), asked_of(signature), len(copies) * len(given.reals)
    stage.put("sn_reals", table(device, np.concatenate(copies)))
    stage.put("sn_whole", table(device, np.concatenate([given.whole] * len(copies))))
    found = storage(device, count * len(asked) * NUMBERS * 4)
    stage.put("sn_found", found)
    for slot in call.bound.slots:
        if tensor_of(slot.parameter.type):
            stage.put_dict(f"sn_v_{slot.parameter.name}", slot.value.uniforms())
    stage.threads = count
    call.session.wait(submit(device, [stage]))
    numbers = found.to_numpy().view(np.float32)[: count * len(asked) * NUMBERS].astype(np.float64)
    numbers = numbers.reshape(len(copies), len(given.reals), len(asked), NUMBERS)
    return np.concatenate([numbers[0], noise(numbers[..., :2])[..., None]], axis=-1)


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


def can_audit(signature: Signature) -> bool:
    """Tell whether the audit's kernel can call a function."""
    types = [p.type for p in signature.parameters]
    outputs = outputs_of(signature.returns, signature.parameters)
    if any(numbers_of(t) is None and not tensor_of(t) for t in types) or not asked_of(signature):
        return False
    return any(o.derivable and derivative_components(o.type) for o in outputs)
