"""What is checked before a backward launch: no gradient may come out wrong, or zero, without a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reflection import PLAIN_KINDS, FunctionInfo, Parameter, TypeInfo, plain_name
from slangnb.errors import GradientError
from slangnb.runtime.binding import EXTRAS, Bound, Slot, fitting
from slangnb.runtime.checks import batched, has_gradient, leaves
from slangnb.runtime.fused.access import broadcasts
from slangnb.runtime.takers import places, takers
from slangnb.runtime.tensors import fits

if TYPE_CHECKING:
    import slangpy

#: How a result gets a seed.
SEEDED = "y = y.with_grads(); y.grad.copy_from_numpy(np.ones(shape, np.float32)); then pass _result=y"


def check_generic_backward(info: FunctionInfo, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Check what can be checked of a backward call whose parameters only SlangPy can tell."""
    import slangpy as spy

    name = info.name
    if not info.differentiable:
        raise GradientError(f"{name} is not differentiable", function=name)

    def refuse(message: str, remedy: str) -> GradientError:
        return GradientError(f"{name}.bwds: {message}", function=name, remedy=remedy)

    result = kwargs.get("_result")
    if not isinstance(result, spy.Tensor) or result.grad_in is None:
        raise refuse(
            "_result must be a tensor whose gradient is the seed, by name, since the function is overloaded or generic",
            "y = f(..., _result='tensor').with_grads(); y.grad.copy_from_numpy(...); f.bwds(..., _result=y)",
        )
    inputs = [*args, *(v for k, v in kwargs.items() if k != "_result")]
    if not any(isinstance(v, spy.Tensor) and v.grad_out is not None for v in inputs):
        raise refuse("no argument can receive a gradient", "x = sn.tensor(data, grad=True)")
    for value in (*inputs, result):
        if isinstance(value, spy.Tensor):
            _check_gradients(refuse, "an argument" if value is not result else "_result", value)


def places_of_outputs(info: FunctionInfo, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> set[int | str]:
    """Tell which arguments of an overloaded or generic function are outputs, whose gradients are seeds.

    Raises
    ------
    GradientError
        If an argument is an output of one overload, and an input of another.
    """
    found: set[int | str] = set()
    for place in (*range(len(args)), *(k for k in kwargs if k not in EXTRAS)):
        kinds = {_is_output(names, place) for names in _written_parameters(info, args, kwargs)} - {None}
        if len(kinds) > 1:
            raise GradientError(
                f"{info.name}.bwds: argument {place!r} is an output of one overload and an input of another, so that "
                "its gradient could be a seed or a result",
                function=info.name,
                remedy="give the overloads names of their own",
            )
        if True in kinds:
            found.add(place)
    return found


def _is_output(parameters: Mapping[str, bool], place: int | str) -> bool | None:
    if isinstance(place, str):
        return parameters.get(place)
    return list(parameters.values())[place] if place < len(parameters) else None


def _written_parameters(info: FunctionInfo, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[dict[str, bool]]:
    """List the parameters of the overloads that may be meant, and whether they are outputs."""
    if info.overloads:
        signatures = [bound.signature for bound in fitting(info, args, kwargs)]
        return [{p.name: p.io != "in" or p.type.access == "write" for p in s.parameters} for s in signatures]
    return [
        {p.name: bool({"out", "inout"} & set(p.modifiers)) or p.type.startswith("WDiff") for p in d.parameters}
        for d in declarations(info.source)
        if d.kind == "function"
    ]


def check_seed_arrays(bound: Bound) -> None:
    """Refuse arrays in place of a seed; before their types are looked at, since no type would help.

    Raises
    ------
    GradientError
        Naming the array and the remedy.
    """
    name, returns = bound.signature.name, bound.signature.returns
    if not bound.signature.differentiable:
        return
    if isinstance(bound.result, np.ndarray) and returns.differentiable:
        raise _seedless(name, "_result is a numpy array, which carries no upstream gradient (seed)")
    for slot in bound.slots:
        for argument, _, value in leaves(slot.parameter.name, slot.parameter.type, slot.value):
            if isinstance(value, np.ndarray) and slot.parameter.io == "out":
                raise GradientError(
                    f"{name}.bwds: {argument!r} is a numpy array, which carries no upstream gradient",
                    function=name,
                    argument=slot.parameter.name,
                    remedy=f"pass a tensor with gradients: {argument} = sn.tensor({argument}, grad=True)",
                )


def _seedless(name: str, message: str) -> GradientError:
    return GradientError(f"{name}.bwds: {message}", function=name, argument="_result", remedy=SEEDED)


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
        _check_slot_backward(name, slot, any(batched(s) for s in bound.slots if s is not slot))
    _check_seed(bound)
    if not any(takers(bound, parameters=True)):
        raise GradientError(
            f"{name}.bwds: no argument can receive a gradient",
            function=name,
            remedy="make the tensor with one: x = sn.tensor(data, grad=True), or x = x.with_grads()",
        )


def _check_slot_backward(name: str, slot: Slot, batched: bool) -> None:
    import slangpy as spy

    p = slot.parameter

    def refuse(message: str, remedy: str) -> GradientError:
        return GradientError(f"{name}.bwds: {message}", function=name, argument=p.name, remedy=remedy)

    if p.io == "inout" and p.derivable:
        raise refuse(
            f"{p.name!r} is inout; SlangPy gives gradient 0 for every argument then",
            f"return the new value, or write it to an out parameter: `out {plain_name(p.type.name)} result`",
        )
    for argument, t, value in leaves(p.name, p.type, slot.value):
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
    if t.kind in PLAIN_KINDS and not t.differentiable:
        raise refuse(
            f"{argument!r} has a gradient, but a parameter of type {plain_name(t.name)} has no derivative",
            "make the parameter float, or pass the tensor without its gradient: x.detach()",
        )
    _check_gradients(refuse, argument, value)


def _check_gradients(refuse: Any, argument: str, value: slangpy.Tensor) -> None:
    """The gradients of a tensor must be its own: of its shape, and within their storage."""
    for gradient in (value.grad_in, value.grad_out):
        if gradient is None:
            continue
        if gradient.dtype.full_name != value.dtype.full_name:
            raise refuse(
                f"{argument!r} holds {plain_name(value.dtype.full_name)}, but its gradient "
                f"{plain_name(gradient.dtype.full_name)}",
                "give it a gradient of its own type: x.with_grads()",
            )
        repeated = 0 in value.strides.as_tuple() and broadcasts(gradient.shape.as_tuple(), value.shape.as_tuple())
        if (gradient.shape.as_tuple() != value.shape.as_tuple() and not repeated) or not fits(gradient):
            raise refuse(
                f"{argument!r} has shape {value.shape.as_tuple()}, but its gradient is of {gradient.shape.as_tuple()}, "
                "or reaches beyond its storage: a slice keeps the whole gradient, and results would land in "
                "the wrong elements",
                "pass the whole tensor, or a copy of the slice with a gradient of its own: sn.tensor(x[1], grad=True)",
            )


def _check_apart(bound: Bound, result: slangpy.Tensor) -> None:
    """The result and its gradient must not be an input's: the backward pass would overwrite what it reads."""
    import slangpy as spy

    name = bound.signature.name
    for place in places(bound):
        if not isinstance(place.value, spy.Tensor):
            continue
        gradient = place.value.grad_out
        own = gradient is not None and gradient.storage is result.grad_in.storage
        if own or place.value.storage is result.storage:
            raise GradientError(
                f"{name}.bwds: _result shares its memory with {place.name!r}, which would be overwritten",
                function=name,
                argument=place.name,
                remedy="compute the result into a tensor of its own: y = f(..., _result='tensor').with_grads()",
            )


def _check_seed(bound: Bound) -> None:
    """The result, or each output, must bring the gradient that flows backward."""
    import slangpy as spy

    name, returns, result = bound.signature.name, bound.signature.returns, bound.result
    if returns.name != "void":
        if not returns.differentiable:
            raise GradientError(
                f"{name} returns {plain_name(returns.name)}, which has no derivative",
                function=name,
                remedy="return a float type",
            )
        if result is None or isinstance(result, str | type):
            raise _seedless(name, "the result of the forward call is missing, and with it the upstream gradient (seed)")
        if isinstance(result, spy.Tensor):
            if result.grad_in is None:
                raise _seedless(name, "_result has no gradient, so there is no upstream gradient (seed) to start from")
            _check_gradients(
                lambda m, r: GradientError(f"{name}.bwds: {m}", function=name, remedy=r), "_result", result
            )
            _check_apart(bound, result)
        return
    outputs = [s for s in bound.slots if s.parameter.io == "out" or s.parameter.writes_by_index]
    for slot in outputs:
        value = slot.value
        if isinstance(value, spy.Tensor) and value.grad_in is None and not slot.parameter.no_diff:
            raise GradientError(
                f"{name}.bwds: output {slot.parameter.name!r} has no gradient, so there is no seed to start from",
                function=name,
                argument=slot.parameter.name,
                remedy=SEEDED.replace("_result", slot.parameter.name),
            )
