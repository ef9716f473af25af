"""Sorts the arguments of a transformed call: one value for each element, one for all, and which kind goes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.autodiff.kernels import Operand, components
from slangnb.compiler.reflection import innermost_scalar, plain_name
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.tensors import SCALARS, check_extent, tidy

if TYPE_CHECKING:
    import slangpy

PLAIN_KINDS = ("scalar", "vector", "matrix", "array")
GRADIENT_SCALARS = ("float", "half", "double")


@dataclass(frozen=True, slots=True)
class Given:
    """An argument with what the kernel needs to know about it.

    Attributes
    ----------
    operand : Operand
        Its part in the kernel.
    value : object
        As it was passed.
    kind : {"number", "numpy", "tensor"}
        What was passed, and so what the gradient comes back as.
    shape : tuple of int
        Its shape without the parameter's own dimensions.
    """

    operand: Operand
    value: Any
    kind: str
    shape: tuple[int, ...]


def sort_arguments(
    bound: Bound, wrt: tuple[str, ...] | None, device: slangpy.Device
) -> tuple[list[Given], tuple[int, ...]]:
    """Give the arguments in the order of the parameters, and the shape over which the function is mapped.

    Parameters
    ----------
    bound : Bound
        The call.
    wrt : tuple of str or None
        Names of the arguments whose gradients are wanted; None: all that have a derivative.
    device : slangpy.Device
        Where tensors must live.

    Raises
    ------
    CallError, GradientError
        For arguments that cannot be taken.
    """
    signature = bound.signature
    name = signature.name
    if not signature.differentiable:
        raise GradientError(
            f"{name} is not differentiable", function=name, remedy=f"write [Differentiable] above {name}"
        )
    names = [p.name for p in signature.parameters]
    unknown = [w for w in wrt or () if w not in names]
    if unknown:
        raise CallError(
            f"{name} has no parameter {unknown[0]!r}",
            function=name,
            argument=unknown[0],
            remedy=f"its signature is {signature}",
        )
    if signature.returns.kind not in PLAIN_KINDS or not signature.returns.differentiable:
        raise GradientError(
            f"{name} returns {plain_name(signature.returns.name)}, which has no derivative", function=name
        )
    read = [_read(name, slot, device) for slot in bound.slots]
    shape = _call_shape(name, [(s.parameter.name, found) for s, (_, found) in zip(bound.slots, read, strict=True)])
    given = []
    for slot, (kind, found) in zip(bound.slots, read, strict=True):
        p = slot.parameter
        derivable = p.type.differentiable and not p.no_diff
        if wrt is not None and p.name in wrt and not derivable:
            why = "is no_diff" if p.no_diff else f"has type {plain_name(p.type.name)}, which has no derivative"
            raise GradientError(f"{name}: no gradient for {p.name!r}: it {why}", function=name, argument=p.name)
        each = int(np.prod(found)) > 1
        if each and found != shape:
            raise CallError(
                f"{name}: {p.name!r} has shape {found}, the other arguments {shape}; give equal shapes, or one value",
                function=name,
                argument=p.name,
                remedy=f"pass np.broadcast_to({p.name}, {shape}) to have a gradient for each element",
            )
        wanted = derivable and (p.name in wrt if wrt is not None else _carries(slot))
        given.append(Given(Operand(p.name, p.type, each, derivable, wanted), slot.value, kind, found))
    if not any(g.operand.wanted for g in given):
        raise GradientError(f"{name}: there is no argument to take a gradient of", function=name)
    return given, shape


def _carries(slot: Slot) -> bool:
    return slot.parameter.type.scalar in GRADIENT_SCALARS


def _read(name: str, slot: Slot, device: slangpy.Device) -> tuple[str, tuple[int, ...]]:
    import slangpy as spy

    p, value = slot.parameter, slot.value
    if p.type.kind not in PLAIN_KINDS or p.io != "in":
        what = f"{p.io} parameter" if p.io != "in" else f"parameter of type {plain_name(p.type.name)}"
        raise GradientError(
            f"{name} has a {what} {p.name!r}, which value_and_grad does not take yet",
            function=name,
            argument=p.name,
            remedy="call the function and its .bwds yourself, or write it for single elements and return the result",
        )
    inner = p.type.shape
    if isinstance(value, spy.Tensor):
        if value.device is not device:
            raise CallError(
                f"{name}: {p.name!r} lives on another device",
                function=name,
                argument=p.name,
                remedy=f"{p.name} = sn.tensor({p.name})",
            )
        check_extent(value, f"{name}: {p.name!r}")
        shape = (*value.shape.as_tuple(), *value.dtype.shape.as_tuple())
        kind, scalar = "tensor", innermost_scalar(value.dtype)
    else:
        array = np.asarray(value)
        kind = "numpy" if isinstance(value, np.ndarray) else "number"
        shape = array.shape
        scalar = (
            next((s for s, n in SCALARS.items() if n == array.dtype.newbyteorder("=").name), "")
            if kind == "numpy"
            else p.type.scalar
        )
    if scalar != p.type.scalar:
        raise CallError(
            f"{name}: {p.name!r} holds {scalar or np.asarray(value).dtype}, not {plain_name(p.type.name)}",
            function=name,
            argument=p.name,
            remedy=f"cast it: {p.name} = sn.tensor({p.name}, dtype={p.type.scalar!r})",
        )
    if len(shape) < len(inner) or shape[len(shape) - len(inner) :] != inner:
        raise CallError(
            f"{name}: {p.name!r} has shape {shape}, but {plain_name(p.type.name)} needs it to end with {inner}",
            function=name,
            argument=p.name,
        )
    outer = shape[: len(shape) - len(inner)]
    if 0 in outer:
        raise CallError(
            f"{name}: {p.name!r} is empty", function=name, argument=p.name, remedy="a sum over nothing is 0"
        )
    return kind, outer


def _call_shape(name: str, shapes: list[tuple[str, tuple[int, ...]]]) -> tuple[int, ...]:
    large = [s for _, s in shapes if int(np.prod(s)) > 1]
    return large[0] if large else ()


def flat(given: Given) -> np.ndarray:
    """Give a number or an array as contiguous scalars of the parameter's type."""
    dtype = SCALARS[given.operand.type.scalar]
    return tidy(np.asarray(given.value, dtype=dtype)).reshape(-1)


def size(given: Given, count: int) -> int:
    """Give the number of scalars in the buffer of this argument."""
    return len(components(given.operand.type)) * (count if given.operand.each else 1)
