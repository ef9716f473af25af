"""Plain calls and backward calls by our own kernels, where that is more right or faster than SlangPy's.

SlangPy's kernels add the gradient of a value that elements share with float atomics into one address, and launch groups
of 32 threads. Ours sum accurately, and come close to the speed of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import PLAIN_KINDS
from slangnb.errors import GradientError
from slangnb.runtime.binding import Bound
from slangnb.runtime.checks import leaves
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Call, Wish
from slangnb.runtime.fused.folding import is_plain
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.health import look
from slangnb.runtime.nesting import follow, values_in
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.seeds import is_zero_seed
from slangnb.runtime.stale import tensors_in
from slangnb.runtime.struct_values import bools_of
from slangnb.runtime.takers import places, takers

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.target import Maker, Target

#: Elements from which our kernel is faster than SlangPy's, launch and all; measured, see tests/benchmarks.
LARGE = 1 << 17
SUBCLASSED = (Parameter, np.ndarray, np.floating, np.integer)


def can_be_own(bound: Bound | None, chain: tuple[Any, ...]) -> bool:
    """Tell whether calls of this kind may be ours: plain types, given as tensors, arrays, numbers and Parameters."""
    import slangpy as spy

    if bound is None or chain or not isinstance(bound.result, spy.Tensor | str | None):
        return False
    if bound.result not in (None, "tensor", "numpy") and isinstance(bound.result, str):
        return False
    if bound.signature.returns.kind not in ("scalar", "vector") or bound.signature.returns.name == "void":
        return False
    if len(bound.slots) != len(bound.signature.parameters):
        return False
    for slot in bound.slots:
        if slot.parameter.io != "in":
            return False
        for _, t, value in leaves(slot.parameter.name, slot.parameter.type, slot.value):
            if t.kind not in PLAIN_KINDS or t.scalar == "bool" or (t.shape and type(value) in (float, int)):
                return False  # SlangPy makes a vector of a number
            if type(value) not in (float, int, spy.Tensor) and not isinstance(value, SUBCLASSED):
                return False
    return True


def wants_own(values: tuple[Any, ...], backward: bool) -> bool:
    """Tell whether this call should be ours.

    It should if it is large, or a gradient is a sum over elements. Without any tensor SlangPy would wait for the device
    inside of the call, where the stop button does not reach.
    """
    import slangpy as spy

    largest, sizes, shared, waits = 1, set(), False, not backward
    for value in values_in(values):
        if isinstance(value, Parameter):
            shared = True
        elif isinstance(value, np.ndarray):
            if not value.size:
                return False
            largest = max(largest, value.size)
        elif type(value) is spy.Tensor:
            n, waits = value.element_count, False
            largest = max(largest, n)
            if backward and value.grad_out is not None:
                sizes.add(n)
                shared = shared or value.grad_out.element_count < n
    return (
        waits or largest >= LARGE or (backward and (shared or (len(sizes) > 1) or bool(sizes and min(sizes) < largest)))
    )


def refuse_lost_gradients(bound: Bound, reason: str) -> None:
    """Refuse a backward call of SlangPy's kernel with a Parameter, or a tensor that repeats its elements.

    The gradient of the first would be lost, and that of the second lands beyond its memory.

    Raises
    ------
    GradientError
    """
    import slangpy as spy

    name = bound.signature.name
    for place in places(bound):
        value = place.value
        what = "the Parameter" if isinstance(value, Parameter) else ""
        if isinstance(value, spy.Tensor) and value.grad_out is not None:
            what = "the repeated tensor" if value.grad_out.element_count < value.element_count else ""
        if what:
            raise GradientError(
                f"{name}.bwds: no gradient for {what} {place.name!r}: {reason}",
                function=name,
                argument=place.slot.parameter.name,
                remedy=f"use sn.value_and_grad({name})(...), or pass a tensor: sn.tensor(..., grad=True)",
            )


Launch = Callable[[Mapping[Any, Any]], Any]


def own_launch(target: Target, bound: Bound, accumulate: bool, backward: bool) -> Launch:
    """Prepare a call by our own kernel.

    Returns
    -------
    callable
        Takes the arguments by position and name, and launches; the same again for calls with the same tensors.

    Raises
    ------
    NotFusedError
        If only SlangPy can make the call.
    """
    seeds = {"result": bound.result.grad_in} if backward else {}
    call = Call.of(target, bound, seeds=seeds)
    return _backward(target, call, accumulate) if backward else _forward(call, target.maker)


def _forward(call: Call, maker: Maker) -> Launch:
    bound, session = call.bound, call.session
    as_numpy = isinstance(bound.result, str) and bound.result == "numpy"
    values = list(values_in(s.value for s in bound.slots))
    tensors = any(hasattr(v, "storage") for v in values)
    numbers = not tensors and not any(isinstance(v, np.ndarray) for v in values)
    # SlangPy reads its tensors of bool back wrong: only who passes tensors, for another kernel to read, gets one.
    as_bools = bound.signature.returns.name == "bool" and bound.result is None and not tensors
    prepared = call.prepare(Wish("forward", stores=True, tensors=not (as_numpy or numbers)))
    given = None if isinstance(bound.result, str) else bound.result
    results: Mapping[str, slangpy.Tensor] = {}
    if given is not None:
        if not is_plain(given) or given.shape.as_tuple() != prepared.shape:
            raise NotFusedError("the result is a view")
        if given.dtype.full_name != bound.signature.returns.name:
            raise NotFusedError("the result has elements of another type")
        if any(t.storage is given.storage and t is not given for t in tensors_in(s.value for s in bound.slots)):
            raise NotFusedError("the result may overlap an argument")
        results = {"result": given}
    single = None if prepared.shape else _single(bound)

    def launch(values: Mapping[Any, Any]) -> Any:
        made = prepared.run({"value": values}, read=False, results=results).outputs["result"]
        if not prepared.waits and (as_numpy or as_bools or single is not None or not prepared.looked):
            session.wait()  # an endless kernel shows itself here, where it can be interrupted
            prepared.looked = True
        if single is not None:
            return single((made if isinstance(made, np.ndarray) else made.to_numpy()).ravel().tolist())
        if isinstance(made, np.ndarray):
            return made
        if as_numpy or as_bools:
            return bools_of(made) if as_bools else made.to_numpy()
        session.writes.wrote(made, values.values(), maker)
        return made if given is None else None

    return launch


def _single(bound: Bound) -> Callable[[list[Any]], Any]:
    """Give what makes the numbers of a single call's result the number or vector that SlangPy gives."""
    import slangpy as spy

    returns = bound.signature.returns
    if bound.result is not None:
        raise NotFusedError("a single call with a kind of result")
    if returns.kind == "scalar":
        return lambda found: found[0]
    made = getattr(spy, f"{returns.scalar}{returns.shape[0]}", None) if returns.scalar in ("float", "int") else None
    if made is None:
        raise NotFusedError(f"a single {returns.name}")
    return lambda found: made(*found)


def _backward(target: Target, call: Call, accumulate: bool) -> Launch:
    session, name = call.session, call.bound.signature.name
    found = [place for place in takers(call.bound, parameters=True) if place.slot.parameter.derivable]
    targets_of = {place.name: getattr(place.value, "grad_out", None) for place in found}  # None for a Parameter
    wanted = tuple(dict.fromkeys(place.slot.parameter.name for place in found))
    prepared = call.prepare(Wish("reverse", wanted, accumulate=accumulate))
    audit(call)
    if prepared.shape != call.bound.result.shape.as_tuple():
        raise NotFusedError("the result has another shape")
    targets = {}
    for out in prepared.gradients:
        place = ".".join(map(str, (out.given.argument, *out.given.route[1:])))
        if place not in targets_of:
            raise NotFusedError(f"{place} has no gradient to write to")
        if targets_of[place] is not None:
            targets[out.given.leaf.id] = targets_of[place]
    places = [id(t.storage) for t in targets.values()]
    if len(set(places)) < len(places):
        raise NotFusedError("two arguments have one gradient")
    parameters = [out for out in prepared.gradients if out.given.held.kind == "parameter"]

    def launch(values: Mapping[Any, Any]) -> None:
        read = bool(parameters) or not prepared.looked
        ran = prepared.run({"value": values, "seed": call.seeds}, read=read, targets=targets)
        seen: list[Parameter] = []
        for out in parameters:
            found = [ran.sums[r.id] for r in prepared.sums.rows.gradients_of(out.given.leaf.id)]
            parameter = follow(values, out.given.route)
            # One Parameter may stand for several arguments: its gradient is the sum of theirs.
            parameter.set_grad(np.array(found), accumulate or any(parameter is p for p in seen))
            seen.append(parameter)
        for t in targets.values():
            session.writes.wrote(t)
        if read:
            prepared.looked = True
            if any(ran.sums[row.id] for row in prepared.sizes) or not is_zero_seed(target, call.bound):
                look(target, name, prepared, ran)

    return launch
