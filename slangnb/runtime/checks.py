"""What is checked before anything is launched: each refusal names the argument and says what to write."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import Parameter, TypeInfo, plain_name
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.tensors import SCALARS, SLANG_NAMES, check_extent

if TYPE_CHECKING:
    import slangpy


def check_call(bound: Bound, device: slangpy.Device, mapped: bool) -> None:
    """Check all arguments of a call, forward or backward.

    Parameters
    ----------
    bound : Bound
        The arguments with their parameters.
    device : slangpy.Device
        The device of the session.
    mapped : bool
        Whether ``.map`` changes which dimensions belong to the parameter; inner sizes are then left to SlangPy.

    Raises
    ------
    CallError
        For the first argument that cannot be right.
    """
    name = bound.signature.name
    for slot in bound.slots:
        check_value(name, slot.parameter.name, slot.parameter.type, slot.value, device, mapped, slot.parameter.io)
    if bound.result is not None and not isinstance(bound.result, str | type):
        _check_result(name, bound.signature.returns, bound.result, device, mapped)


def check_extents(values: Iterable[Any]) -> None:
    """Refuse views beyond their storage among arguments whose parameters are not known (generic functions)."""
    import slangpy as spy

    for value in values:
        if isinstance(value, spy.Tensor):
            check_extent(value, "an argument")


def check_value(
    function: str, argument: str, t: TypeInfo, value: Any, device: slangpy.Device, mapped: bool, io: str = "in"
) -> None:
    """Check one value against its parameter's type; structs given as dicts are checked field by field."""
    import slangpy as spy

    def refuse(message: str, remedy: str = "") -> CallError:
        return CallError(f"{function}: {message}", function=function, argument=argument, remedy=remedy)

    if isinstance(value, spy.Tensor):
        if value.device is not device:
            raise refuse(
                f"{argument!r} lives on another device ({value.device.info.adapter_name})",
                f"copy it to this session's device: {argument} = sn.tensor({argument})",
            )
        check_extent(value, f"{function}: {argument!r}")
        if t.carries_gradient and not t.name.startswith("I") and not has_gradient(value):
            # Vulkan and D3D12 must not bind the buffer that is not there, though some drivers let it pass.
            raise refuse(
                f"{argument!r} has no gradient, but the concrete type {t.name} binds one",
                f"pass {argument}.with_grads(), or declare the parameter as I{t.name}",
            )
        if not mapped:
            check_inner(function, argument, t, value)
    elif isinstance(value, np.ndarray):
        _check_numpy(refuse, argument, t, value, io)
    elif isinstance(value, dict) and t.kind == "struct" and "_type" not in value:
        _check_struct(refuse, argument, t, value)
        for key, field in t.fields.items():
            check_value(function, f"{argument}.{key}", field, value[key], device, mapped, io)
    elif isinstance(value, tuple) and t.kind == "struct":
        raise refuse(
            f"{argument!r} is a tuple, but {t.name} needs a dict",
            "write {" + ", ".join(f"{k!r}: ..." for k in t.fields) + "}",
        )
    elif isinstance(value, str):
        raise refuse(f"{argument!r} is a text ({value!r}), but the parameter is {plain_name(t.name)}")


def inner_sizes(t: TypeInfo, element_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Give the sizes that the last dimensions of a tensor must have to fit a parameter.

    Parameters
    ----------
    t : TypeInfo
        The parameter's type.
    element_shape : tuple of int
        Shape of the tensor's element type: ``()`` for float, ``(3,)`` for float3.

    Examples
    --------
    >>> inner_sizes(TypeInfo("vector<float,3>", "vector", "float", (3,)), ())
    (3,)
    """
    if t.kind not in ("vector", "matrix", "array"):
        return ()
    return t.shape[: len(t.shape) - len(element_shape)]


def _sizes(wanted: tuple[int, ...]) -> str:
    return str(wanted) if len(wanted) > 1 else str(*wanted)


def check_inner(function: str, argument: str, t: TypeInfo, value: slangpy.Tensor) -> None:
    """Refuse a tensor whose last dimensions do not fit the vector, matrix or array that it is bound to.

    SlangPy 0.43 reads overlapping elements in that case.
    """
    wanted = inner_sizes(t, value.dtype.shape.as_tuple())
    shape = value.shape.as_tuple()
    if wanted and len(shape) >= len(wanted) and shape[len(shape) - len(wanted) :] != wanted:
        raise CallError(
            f"{function}: {argument!r} has shape {shape}, but {plain_name(t.name)} needs its last "
            f"dimension{'s' * (len(wanted) > 1)} to be {_sizes(wanted)}",
            function=function,
            argument=argument,
        )


def _check_numpy(refuse: Any, argument: str, t: TypeInfo, value: np.ndarray, io: str) -> None:
    given = value.dtype.newbyteorder("=").name
    if given not in SLANG_NAMES:
        raise refuse(
            f"{argument!r} is an array of {value.dtype}, which Slang does not have",
            f"cast it: {argument}.astype(np.float32)",
        )
    if t.scalar in SCALARS and given != SCALARS[t.scalar]:
        raise refuse(
            f"{argument!r} is an array of {given}, but the parameter is {plain_name(t.name)}",
            f"cast it: {argument}.astype(np.{SCALARS[t.scalar]})",
        )
    if io != "in" and not value.flags.writeable:
        raise refuse(f"{argument!r} is read-only, but the function writes to it", "pass a copy: np.array(...)")
    wanted = inner_sizes(t, ())
    if wanted and value.shape[-len(wanted) :] != wanted:
        raise refuse(
            f"{argument!r} has shape {value.shape}, but {plain_name(t.name)} needs its last "
            f"dimension{'s' * (len(wanted) > 1)} to be {_sizes(wanted)}"
        )


def _check_struct(refuse: Any, argument: str, t: TypeInfo, value: dict[str, Any]) -> None:
    missing = [k for k in t.fields if k not in value]
    extra = [k for k in value if k not in t.fields and not k.startswith("_")]
    if extra:
        close = difflib.get_close_matches(extra[0], missing or list(t.fields), 1, 0.5)
        raise refuse(
            f"{argument!r} has a key {extra[0]!r}, but {t.name} has no such field",
            f"did you mean {close[0]!r}?" if close else f"its fields are {', '.join(t.fields)}",
        )
    if missing:
        raise refuse(
            f"{argument!r} lacks the field{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))} of {t.name}",
            f"add {', '.join(f'{k!r}: ...' for k in missing)}; a missing field would be 0 or anything",
        )


def _check_result(function: str, returns: TypeInfo, result: Any, device: slangpy.Device, mapped: bool) -> None:
    import slangpy as spy

    check_value(function, "_result", returns, result, device, mapped, "out")
    if returns.name == "void":
        raise CallError(f"{function} returns nothing, so it takes no _result", function=function, argument="_result")
    if isinstance(result, spy.Tensor) and returns.scalar:
        given = _scalar_of(result)
        if given in SCALARS and given != returns.scalar:
            raise CallError(
                f"{function}: _result holds {given}, but the function returns {plain_name(returns.name)}",
                function=function,
                argument="_result",
                remedy="SlangPy would convert each value silently; make the tensor with the function's type",
            )


def _scalar_of(t: slangpy.Tensor) -> str:
    element: Any = t.dtype
    while element.element_type is not None and element.element_type.full_name != element.full_name:
        element = element.element_type
    return element.full_name


def check_backward(bound: Bound) -> None:
    """Refuse a backward call that could only give a wrong or a silently zero gradient.

    Raises
    ------
    GradientError
        Naming the argument at fault and the remedy.
    """
    name = bound.signature.name
    if not bound.signature.differentiable:
        raise GradientError(
            f"{name} is not differentiable",
            function=name,
            remedy=f"write [Differentiable] above {name} and run its cell",
        )
    for slot in bound.slots:
        _check_slot_backward(name, slot, any(_batched(s) for s in bound.slots if s is not slot))
    _check_seed(bound)
    takers = [s.parameter.name for s in bound.slots if _takes_gradient(s.parameter, s.value)]
    if not takers:
        raise GradientError(
            f"{name}.bwds: no argument can receive a gradient",
            function=name,
            remedy="make the tensor with one: x = sn.tensor(data, grad=True), or x = x.with_grads()",
        )


def _batched(slot: Slot) -> bool:
    import slangpy as spy

    value = slot.value
    return isinstance(value, spy.Tensor | np.ndarray) or type(value).__name__ in ("GridArg", "CallIdArg")


def leaves(argument: str, t: TypeInfo, value: Any) -> list[tuple[str, TypeInfo, Any]]:
    """List the values inside a dict argument with the types of their fields; else the value itself."""
    if isinstance(value, dict):
        found = []
        for key, inner in value.items():
            if not key.startswith("_"):
                found += leaves(f"{argument}.{key}", t.fields.get(key, TypeInfo("", "other")), inner)
        return found
    return [(argument, t, value)]


def has_gradient(t: slangpy.Tensor) -> bool:
    """Tell whether a tensor carries a gradient of either direction; its ``.grad`` raises where there is none."""
    return t.grad_in is not None or t.grad_out is not None


def _check_slot_backward(name: str, slot: Slot, batched: bool) -> None:
    import slangpy as spy

    p = slot.parameter

    def refuse(message: str, remedy: str) -> GradientError:
        return GradientError(f"{name}.bwds: {message}", function=name, argument=p.name, remedy=remedy)

    if p.io == "inout" and p.type.differentiable and not p.no_diff:
        raise refuse(
            f"{p.name!r} is inout; SlangPy gives gradient 0 for every argument then",
            f"return the new value, or write it to an out parameter: `out {plain_name(p.type.name)} result`",
        )
    for argument, t, value in leaves(p.name, p.type, slot.value):
        if isinstance(value, np.ndarray) and p.io == "out":
            raise refuse(
                f"{argument!r} is a numpy array, which carries no upstream gradient",
                f"pass a tensor with gradients: {argument} = sn.tensor({argument}, grad=True)",
            )
        if type(value).__name__ == "DiffPair" and batched:
            raise refuse(
                f"{argument!r} is a diffPair shared by many threads: each would overwrite its gradient",
                f"pass a tensor of one element: {argument} = sn.tensor([value], grad=True)",
            )
        if not isinstance(value, spy.Tensor) or not has_gradient(value) or p.no_diff:
            continue
        _check_tensor_backward(refuse, p, argument, t, value)


def _check_tensor_backward(refuse: Any, p: Parameter, argument: str, t: TypeInfo, value: slangpy.Tensor) -> None:
    if t.kind == "tensor" and not t.carries_gradient:
        raise refuse(
            f"{argument!r} has a gradient, but the parameter is {t.name}, through which no gradient flows",
            f"declare it as DiffTensor: {t.name.replace('Tensor<', 'DiffTensor<')}",
        )
    if t.kind == "tensor" and t.access == "read_write" and value.grad_in is value.grad_out:
        raise refuse(
            f"{argument!r} is updated in place with one gradient buffer for reading and writing",
            "give it separate ones: x.with_grads(grad_in=..., grad_out=...), or read one tensor and write another",
        )
    if p.type.kind == "struct" and not p.type.differentiable:
        raise refuse(
            f"{argument!r} has a gradient, but struct {p.type.name} is not differentiable",
            f"declare it as `struct {p.type.name} : IDifferentiable`",
        )
    if t.kind in ("scalar", "vector", "matrix", "array") and not t.differentiable:
        raise refuse(
            f"{argument!r} has a gradient, but a parameter of type {plain_name(t.name)} has no derivative",
            "make the parameter float, or pass the tensor without its gradient: x.detach()",
        )
    for gradient in (value.grad_in, value.grad_out):
        if gradient is not None and gradient.shape.as_tuple() != value.shape.as_tuple():
            raise refuse(
                f"{argument!r} has shape {value.shape.as_tuple()}, but its gradient has {gradient.shape.as_tuple()}: "
                "a slice of a tensor keeps the whole gradient, and results would land in the wrong elements",
                "pass the whole tensor, or give the slice a gradient of its own: x[1].detach().with_grads()",
            )


def _takes_gradient(p: Parameter, value: Any) -> bool:
    import slangpy as spy

    if p.no_diff or p.io == "out":
        return False
    for _, t, leaf in leaves(p.name, p.type, value):
        if type(leaf).__name__ == "DiffPair":
            return True
        if isinstance(leaf, spy.Tensor) and leaf.grad_out is not None and t.access != "write":
            return True
    return False


def _check_seed(bound: Bound) -> None:
    """The result, or each output, must bring the gradient that flows backward."""
    import slangpy as spy

    name, returns, result = bound.signature.name, bound.signature.returns, bound.result
    how = "y = y.with_grads(); y.grad.copy_from_numpy(np.ones(shape, np.float32)); then pass _result=y"

    def refuse(message: str) -> GradientError:
        return GradientError(f"{name}.bwds: {message}", function=name, argument="_result", remedy=how)

    if returns.name != "void":
        if not returns.differentiable:
            raise GradientError(
                f"{name} returns {plain_name(returns.name)}, which has no derivative",
                function=name,
                remedy="return a float type",
            )
        if isinstance(result, np.ndarray):
            raise refuse("_result is a numpy array, which carries no upstream gradient (seed)")
        if result is None or isinstance(result, str | type):
            raise refuse("the result of the forward call is missing, and with it the upstream gradient (seed)")
        if isinstance(result, spy.Tensor) and result.grad_in is None:
            raise refuse("_result has no gradient, so there is no upstream gradient (seed) to start from")
        return
    outputs = [s for s in bound.slots if s.parameter.io == "out" or s.parameter.type.access in ("write", "read_write")]
    for slot in outputs:
        value = slot.value
        if isinstance(value, spy.Tensor) and value.grad_in is None and not slot.parameter.no_diff:
            raise GradientError(
                f"{name}.bwds: output {slot.parameter.name!r} has no gradient, so there is no seed to start from",
                function=name,
                argument=slot.parameter.name,
                remedy=how.replace("_result", slot.parameter.name),
            )
