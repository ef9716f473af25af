"""Compares reverse mode with forward mode: two ways of the compiler to the same derivative.

Slang 2026.12 has faults that make reverse mode alone wrong, without a word. Measured:

- A scalar that meets a vector on its right, as in ``p * x``, ``p + x`` or ``x + p``, gets no gradient from it.
- A loop that runs more often than its ``[MaxIters(n)]`` gives the derivative of another loop.
- Of loops inside each other, of different counts, what they keep of their rounds is mixed up.
- Of two equal indices into one array, vector or matrix, as in ``z[0] * z[k]`` for k = 0, one gets the gradient of both.
- A part of a vector that a branch assigns from a part of a computed one, as ``c.x = w.y``, gets another's derivative.

One fault is in both modes, and shows in the result that forward mode gives along:

- ``pow`` of a negative number is 0 in derivatives, also where it has a value, as ``pow(x, 2)`` has.

One is in forward mode alone, and shows where nothing moves; there it cannot judge reverse mode:

- A part of a constant vector that a branch assigns to has the value for its derivative.

The audit calls the function in one launch for random arguments, for elements of the call, many of them, since few may
take a branch, and for each combination of the call's whole numbers; and again with all arguments moved by about a
rounding: by how much the derivatives change then, so much they may differ. Since all of this depends on the arguments,
later calls are looked at, too: those with new whole numbers, and the second, fourth, eighth and so on. Functions of
scalars without any of these are passed over.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.loading import slangpy_errors
from slangnb.compiler.reflection import Signature, TypeInfo
from slangnb.errors import CompileError, GradientError
from slangnb.runtime.fused.audit_doubt import is_doubtful
from slangnb.runtime.fused.audit_judge import judge_near, judge_random, noise, shaken
from slangnb.runtime.fused.audit_reach import has_own_derivative, is_hidden, text_reached
from slangnb.runtime.fused.audit_samples import Samples, moved, samples
from slangnb.runtime.fused.audit_suspect import Suspect
from slangnb.runtime.fused.audit_text import ENTRY, NUMBERS, asked_of, audit_text, numbers_of, uniform_of
from slangnb.runtime.fused.audit_values import whole_in
from slangnb.runtime.fused.job import derivative_components, outputs_of
from slangnb.runtime.fused.launch import NOTHING
from slangnb.runtime.fused.stage import Stage, submit
from slangnb.runtime.fused.sums import storage, table
from slangnb.runtime.known_faults import treated_as_differentiable
from slangnb.runtime.saying import warn

if TYPE_CHECKING:
    from slangnb.runtime.fused.engine import Call

#: Calls that need no look, of a function that is never looked at again.
NEVER = 1 << 62
#: The shares by which copies of the arguments are moved.
ROUNDED, ROUNDED_HALF = 2.0**-22, 2.0**-10
#: New combinations of whole numbers that are looked at one by one, and those that are remembered.
MOST_ONE_BY_ONE, MOST_REMEMBERED = 64, 4096


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
    unseen : str
        What to say of a function that is likely wrong, and cannot be looked at.
    """

    fault: GradientError | None = None
    suspect: Suspect | None = None
    known: set[Hashable] = field(default_factory=set)
    doubtful: bool = False
    wait: int = 1
    left: int = 1
    unseen: str = ""

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


def audit(call: Call, skipped: int = 0, uniforms: Mapping[str, Any] | None = NOTHING) -> int:
    """Compare the derivatives of a function with each other, if it is of the kinds that Slang gets wrong.

    Functions with derivatives of their own cannot be judged, nor those that may choose an index by a real number, since
    what moves the arguments might move that, too: if they are likely wrong, that is said once. Nothing is said of the
    gradients of tensors that are indexed.

    Parameters
    ----------
    call : Call
    skipped : int
        Calls of the same kind since the last one that came here.
    uniforms : mapping or None
        Values of global uniforms in this call; None if they are not known.

    Returns
    -------
    int
        Calls of the same kind, with the same whole numbers, that need not come here.

    Raises
    ------
    GradientError
        If reverse mode is wrong for an argument.
    """
    whole_uniforms = tuple([(name, whole_in(value)) for name, value in (uniforms or {}).items()])
    key = (call.loaded.name, call.text, call.prelude, str(call.bound.signature), whole_uniforms, uniforms is None)
    known = call.session.audits.get(key)
    found, fault = (known, known.fault) if known is not None else _first(call, uniforms)
    call.session.audits[key] = found
    if found.unseen and (about := (call.loaded.name, found.unseen)) not in call.session.said:
        call.session.said.add(about)
        warn(found.unseen)
    if found.suspect is not None:
        whole = tuple([whole_in(s.value) for s in call.bound.slots])  # it may read tensors
        if known is not None and fault is None and found.is_due(whole, skipped):
            fault = _again(call, found.suspect, uniforms)
        if fault is None:
            found.passed(whole)
    if fault is not None:
        found.doubtful = found.doubtful or fault is not found.fault
        raise GradientError(fault.message, function=fault.function, argument=fault.argument, remedy=fault.remedy)
    return found.spared


def _first(call: Call, uniforms: Mapping[str, Any] | None) -> tuple[Audit, GradientError | None]:
    """Look at a function for the first time; give what holds for all calls, and what is wrong with this one."""
    signature = call.bound.signature
    texts = [unit.text for unit in call.session.units_of(call.owner)]  # with included files
    zero = treated_as_differentiable(signature.name, texts)
    if zero:
        fault = GradientError(
            f"{signature.name}: {zero} is marked [TreatAsDifferentiable]; Slang 2026.12 takes it as 0 in derivatives",
            function=signature.name,
            remedy=f"write no_diff({zero}(...)) where it is called, and take the mark away",
        )
        return Audit(fault), fault
    hidden = is_hidden(texts)
    suspect = Suspect.of(signature, text_to_judge(signature.name, texts), hidden)
    if not suspect.is_worth_it or not _is_comparable(signature):
        return Audit(), None
    if reason := _hindrance(signature, suspect, texts, uniforms):
        return _unseen(signature.name, texts, reason, uniforms != NOTHING), None
    found, given = Audit(suspect=suspect), samples(signature, call.bound, own=suspect.is_bound)
    if not suspect.may_try(given):
        return found, None
    try:
        numbers = _compared(call, suspect, given, uniforms)
    except CompileError:
        return Audit(), None  # there is no forward mode, or no reverse mode either
    if isinstance(numbers, str):
        found.unseen = _unseen(signature.name, texts, numbers, uniforms != NOTHING).unseen
        return found, None  # it may take what comes with other calls
    here = judge_near(numbers, given, signature, suspect)
    found.fault = judge_random(numbers, given, signature, suspect)
    if found.fault is not None and here is not None:
        found.fault = here  # that of the call tells more
    return found, here or found.fault


def _hindrance(signature: Signature, suspect: Suspect, texts: list[str], uniforms: Mapping[str, Any] | None) -> str:
    """Say what keeps the audit from judging a function; empty if nothing does."""
    if has_own_derivative(signature.name, texts):
        return "somebody wrote a derivative of it, or of what it calls"
    for p in signature.parameters:
        if numbers_of(p.type) is None and not uniform_of(p.type):
            return f"a copy of the call cannot take {p.name!r}"
    if suspect.tensors and suspect.places:
        return "real numbers may choose what it reads"
    return "the values of `.set` are known to SlangPy alone" if uniforms is None else ""


def _unseen(name: str, texts: list[str], reason: str, is_set: bool) -> Audit:
    """Describe a function that cannot be looked at; `is_set` says that it has values of uniforms."""
    if not is_doubtful(name, texts):
        return Audit()
    return Audit(
        unseen=f"{name}: its gradients were not compared with forward mode, since {reason}; Slang 2026.12 gets some of "
        f"its kind wrong: compare them with sn.gradcheck({name}, ...)"
        + ", which takes the values of `.set` as arguments"
        * is_set
    )


def _again(call: Call, suspect: Suspect, uniforms: Mapping[str, Any] | None) -> GradientError | None:
    """Look at the numbers of another call."""
    signature = call.bound.signature
    given = samples(signature, call.bound, own=suspect.is_bound)
    if not suspect.may_try(given):
        return None
    try:
        numbers = _compared(call, suspect, given, uniforms)
    except CompileError:
        return None
    return None if isinstance(numbers, str) else judge_near(numbers, given, signature, suspect)


def _compared(call: Call, suspect: Suspect, given: Samples, uniforms: Mapping[str, Any] | None) -> np.ndarray | str:
    """Run the kernel: give its numbers, their noise, and how far they are shaken: (samples, arguments, NUMBERS + 3).

    Or say which values it does not take.

    Raises
    ------
    CompileError
        If the compiler has no forward mode of the function.
    """
    signature, device = call.bound.signature, call.session.device
    text = audit_text(call.text, call.modules(), call.prelude, signature)
    kernel = call.session.kernel(text, ENTRY, call.owner)
    share = ROUNDED_HALF if suspect.half else ROUNDED
    copies = [given.reals, *moved(given.reals, share, 0.0), *moved(given.reals, share, 1.0)]
    stage, asked, count = Stage(device, kernel), asked_of(signature), len(copies) * len(given.reals)
    stage.put("sn_reals", table(device, np.concatenate(copies)))
    stage.put("sn_whole", table(device, np.concatenate([given.whole] * len(copies))))
    found = storage(device, count * len(asked) * NUMBERS * 4)
    stage.put("sn_found", found)
    what = ".set"
    try:
        stage.put_globals(uniforms or {})
        for slot in call.bound.slots:
            if uniform_of(slot.parameter.type):
                what = repr(slot.parameter.name)
                stage.put(f"sn_v_{slot.parameter.name}", _written(slot.parameter.type, slot.value))
    except slangpy_errors():
        return f"a copy of the call cannot take what was given to {what}"
    stage.threads = count
    call.session.wait(submit(device, [stage]))
    numbers = found.to_numpy().view(np.float32)[: count * len(asked) * NUMBERS].astype(np.float64)
    numbers = numbers.reshape(len(copies), len(given.reals), len(asked), NUMBERS)
    derivatives = numbers[..., :2]
    return np.concatenate([numbers[0], noise(derivatives)[..., None], shaken(derivatives)], axis=-1)


def _written(t: TypeInfo, value: Any) -> Any:
    """Give a tensor, buffer or texture as a kernel takes it."""
    return value.uniforms() if t.kind == "tensor" else getattr(value, "storage", value)


def text_to_judge(name: str, texts: list[str]) -> str:
    """Give the text of a function and of what it calls; all of it where that cannot be told."""
    found = text_reached(name, texts)
    return "\n".join(texts) if not found or is_hidden(texts) else found


def _is_comparable(signature: Signature) -> bool:
    """Tell whether there are derivatives to compare."""
    outputs = outputs_of(signature.returns, signature.parameters)
    return bool(asked_of(signature)) and any(o.derivable and derivative_components(o.type) for o in outputs)
