"""Value and gradients through SlangPy's own calls, for arguments that our kernels do not take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.autodiff.callee import Callee
from slangnb.compiler.reflection import PLAIN_KINDS, REAL, TypeInfo
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import Slot
from slangnb.runtime.function import Function
from slangnb.runtime.fused.values import numbers
from slangnb.runtime.new_tensor import tensor
from slangnb.runtime.parameter import Parameter

if TYPE_CHECKING:
    from slangnb.runtime.session import Session


def value_and_grad_by_slangpy(
    function: Function,
    callee: Callee,
    wrt: tuple[str, ...] | None,
    reduce: str,
    seed: Any,
    reason: str,
    audited: bool = True,
) -> tuple[float, dict[str, Any]]:
    """Give value and gradients by a forward and a backward call of SlangPy.

    Parameters
    ----------
    function, callee : Function, Callee
    wrt : tuple of str or None
    reduce : {"sum", "mean"}
    seed : array_like or number or None
    reason : str
        Why our own kernels do not take the call.
    audited : bool
        Whether wrong gradients are refused.

    Raises
    ------
    GradientError
        If SlangPy cannot take it either.
    """
    bound, session = callee.bound, function.session
    inputs, outputs = {}, {}
    for slot in bound.slots:
        p = slot.parameter
        if p.io == "out" or p.writes_by_index:
            outputs[p.name] = _fresh(callee.name, slot, session)
        else:
            wanted = p.name in wrt if wrt is not None else True
            inputs[p.name] = _input(p.type, slot.value, wanted and not p.no_diff, session)
    named = {**inputs, **outputs}
    if bound.signature.returns.name != "void":
        y = function(**named, _result="tensor")
        if not hasattr(y, "with_grads"):
            raise GradientError(f"{callee.name}: {reason}, and SlangPy gives no tensor to start from")
        outputs["_result"] = named["_result"] = y.with_grads(zero=True)
    else:
        function(**named)
    if not outputs:
        raise GradientError(f"{callee.name} has no result to start from: {reason}", function=callee.name)
    value = 0.0
    for name, y in outputs.items():
        found = y.to_numpy()
        weights = np.asarray(_weights(seed, name, len(outputs)))
        if weights.dtype.kind not in "biuf":
            raise CallError(f"{callee.name}: the seed holds no numbers, but {weights.dtype}", function=callee.name)
        weights = np.broadcast_to(weights, found.shape).astype(found.dtype)
        if reduce == "mean":
            weights = weights / max(1, y.element_count)
        y.grad_in.copy_from_numpy(np.ascontiguousarray(weights, found.dtype))
        value += float((found.astype(np.float64) * weights).sum())
    backward = function.bwds if audited else Function(function.target, function.steps, True, audited=False)
    backward(**named)
    wanted_names = wrt if wrt is not None else tuple(inputs)
    slots = {s.parameter.name: s for s in bound.slots}
    grads = {n: _out(slots[n].value, inputs[n], slots[n].parameter.type) for n in wanted_names if n in inputs}
    grads = {n: g for n, g in grads.items() if g is not None}
    missing = [n for n in wrt or () if n not in grads]
    if missing or not grads:
        raise GradientError(
            f"{callee.name}: no gradient for {missing[0] if missing else 'any argument'!r}: {reason}",
            function=callee.name,
        )
    return value, grads


def _weights(seed: Any, name: str, outputs: int) -> Any:
    if seed is None:
        return 1.0
    if isinstance(seed, Mapping):
        return seed.get("result" if name == "_result" else name, 0.0)
    if outputs > 1:
        raise GradientError("give the seed as a dict by output name")
    return seed.to_numpy() if hasattr(seed, "to_numpy") else seed


def _fresh(function: str, slot: Slot, session: Session) -> Any:
    """Give an output tensor a gradient of its own, so that the caller's is left alone."""
    if not hasattr(slot.value, "with_grads"):
        raise GradientError(
            f"{function}: output {slot.parameter.name!r} must be a tensor, since it carries the upstream gradient",
            function=function,
            argument=slot.parameter.name,
        )
    if slot.parameter.io == "inout" or slot.parameter.type.access == "read_write":
        # What is read and written is the caller's: leave it as it is.
        return tensor(slot.value, session=session).with_grads(zero=True)
    return slot.value.detach().with_grads(zero=True)


def _input(t: TypeInfo, value: Any, wanted: bool, session: Session) -> Any:
    import slangpy as spy

    if isinstance(value, dict):
        inner = {k: t.fields[k] for k in value if k in t.fields}
        return {
            k: _input(inner[k], v, wanted and k in t.carries, session) if k in inner else v for k, v in value.items()
        }
    if isinstance(value, spy.Tensor):
        return value.detach().with_grads(zero=True) if wanted and _real(t) else value.detach()
    if not (wanted and _real(t)):
        if t.kind == "tensor" and isinstance(value, np.ndarray | Parameter):
            # A backward call wants a gradient for each IDiffTensor, asked for or not.
            return tensor(value if isinstance(value, np.ndarray) else value.array, grad=_real(t), session=session)
        return value.value if isinstance(value, Parameter) else value
    if isinstance(value, Parameter):
        value = value.array
    elif t.kind in PLAIN_KINDS and isinstance(value, bool | int | float | np.generic | list | tuple):
        value = numbers(value, t)
    if isinstance(value, np.ndarray):
        outer = t.kind == "tensor" or value.ndim > len(t.shape)
        return tensor(value if outer else value[None], grad=True, session=session)
    return value


def _real(t: TypeInfo) -> bool:
    if t.kind == "tensor":
        return t.carries_gradient and t.scalar in REAL
    return t.differentiable and (t.kind == "struct" or t.scalar in REAL)


def _out(value: Any, made: Any, t: TypeInfo) -> Any:
    """Read the gradient of an input back as the kind of value that came in; None if it has none."""
    import slangpy as spy

    if isinstance(value, dict):
        found = {k: _out(v, made[k], t.fields[k]) for k, v in value.items() if k in t.fields}
        return {k: g for k, g in found.items() if g is not None} or None
    if not isinstance(made, spy.Tensor) or made.grad_out is None:
        return None
    if isinstance(value, spy.Tensor):
        return made.grad_out
    found = made.grad_out.to_numpy()
    shape = np.shape(value)
    return found.reshape(shape) if shape or isinstance(value, np.ndarray) else found.item()
