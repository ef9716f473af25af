"""The shape of a call, and how its arguments line up with it: outputs that are too small, structs given as dicts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from slangnb.compiler.reflection import TypeInfo
from slangnb.errors import CallError
from slangnb.runtime.binding import Bound
from slangnb.runtime.checks import inner_sizes, leaves

_UNKNOWN = TypeInfo("", "other")


def outer_shape(t: TypeInfo, value: Any) -> tuple[int, ...]:
    """Give the dimensions that a value adds to a call: those that its parameter does not take for itself.

    Examples
    --------
    >>> float3 = TypeInfo("vector<float,3>", "vector", "float", (3,))
    >>> outer_shape(float3, np.zeros((5, 3), np.float32)), outer_shape(float3, [1.0, 2.0, 3.0])
    ((5,), ())
    """
    import slangpy as spy

    if isinstance(value, dict):
        return _broadcast(outer_shape(t.fields.get(k, _UNKNOWN), v) for k, v in value.items())
    if isinstance(value, spy.Tensor):
        full, element = value.shape.as_tuple(), value.dtype.shape.as_tuple()
    elif isinstance(value, np.ndarray):
        full, element = value.shape, ()
    elif type(value).__name__ == "GridArg":
        return value.shape.as_tuple()
    else:
        return ()
    own = t.dims if t.kind == "tensor" else len(inner_sizes(t, element))
    return full[: max(0, len(full) - own)]


def call_shape(bound: Bound) -> tuple[int, ...]:
    """Give the shape of a call: that of all its arguments, broadcast."""
    shapes = [outer_shape(s.parameter.type, s.value) for s in bound.slots]
    return _broadcast([*shapes, outer_shape(bound.signature.returns, bound.result)])


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Broadcast shapes; those that do not fit each other are left to SlangPy to refuse."""
    found: tuple[int, ...] = ()
    for shape in shapes:
        longest = max(len(found), len(shape))
        pairs = zip(_padded(found, longest), _padded(shape, longest), strict=True)
        found = tuple(b if a == 1 else a for a, b in pairs)
    return found


def _padded(shape: tuple[int, ...], dimensions: int) -> tuple[int, ...]:
    return (1,) * (dimensions - len(shape)) + shape


def unequal(function: str, argument: str, own: tuple[int, ...], others: tuple[int, ...]) -> CallError:
    """Say that a value's shape does not go with that of the other arguments.

    Examples
    --------
    >>> print(unequal("f", "b", (4,), (4, 2)))
    f: 'b' has shape (4,), the other arguments (4, 2)
    remedy: sizes are compared from the last dimension on: give 'b' the shape (4, 1)
    """
    remedy = "give equal shapes, or 1 in a dimension that is repeated"
    if 0 < len(own) < len(others) and own == others[: len(own)]:
        meant = own + (1,) * (len(others) - len(own))
        remedy = f"sizes are compared from the last dimension on: give {argument!r} the shape {meant}"
    return CallError(
        f"{function}: {argument!r} has shape {own}, the other arguments {others}",
        function=function,
        argument=argument,
        remedy=remedy,
    )


def check_outputs(bound: Bound) -> None:
    """Refuse an output with fewer elements than the call: many threads would write to one, and the last one wins.

    Raises
    ------
    CallError
    """
    name, shape = bound.signature.name, call_shape(bound)
    written = [(s.parameter.name, s.parameter.type, s.value) for s in bound.slots if s.parameter.io != "in"]
    result = None if isinstance(bound.result, type) else bound.result  # a kind of result is not one
    for argument, of, given in [*written, ("_result", bound.signature.returns, result)]:
        for path, t, value in leaves(argument, of, given):
            what = _too_small(outer_shape(t, value), value, shape)
            if what:
                raise CallError(
                    f"{name}: {path!r} {what}, but the call has shape {shape}: several elements would write to one "
                    "place, and the last one would win",
                    function=name,
                    argument=path,
                    remedy="pass an array or tensor with a place for each element, and sum it afterwards if need be",
                )


def _too_small(own: tuple[int, ...], value: Any, shape: tuple[int, ...]) -> str:
    if type(value).__name__ == "ValueRef":
        return "holds one value" if math.prod(shape) > 1 else ""
    if not hasattr(value, "strides"):
        return ""
    if any(have == 1 and want > 1 for have, want in zip(_padded(own, len(shape)), shape, strict=True)):
        return f"has room for a call of shape {own}"
    repeated = any(n > 1 and s == 0 for n, s in zip(own, tuple(value.strides), strict=False))
    return "repeats its elements" if repeated else ""


def lifted(t: TypeInfo, value: Any, dimensions: int) -> Any:
    """Give the fields of a struct as many dimensions as the call has, with sizes of 1 in front.

    SlangPy 0.43 lines a struct all of whose fields have fewer dimensions up with the call's first dimension; all other
    arguments go with the last.
    """
    if isinstance(value, dict):
        return {k: lifted(t.fields.get(k, _UNKNOWN), v, dimensions) for k, v in value.items()}
    own = outer_shape(t, value)
    more = dimensions - len(own)
    if not own or more <= 0 or not hasattr(value, "strides"):
        return value
    if isinstance(value, np.ndarray):
        return value.reshape((1,) * more + value.shape)  # not value[None]: SlangPy refuses its strides of 0
    return _with_more(value, more)


def _with_more(t: Any, more: int) -> Any:
    """Give a view of a tensor, and of its gradients, with dimensions of size 1 in front."""
    grad_in, grad_out = t.grad_in, t.grad_out
    front = t.strides.as_tuple()[0] * t.shape.as_tuple()[0]
    view = t.detach().view((*[1] * more, *t.shape.as_tuple()), (*[front] * more, *t.strides.as_tuple()))
    if grad_in is None and grad_out is None:
        return view
    first = None if grad_in is None else _with_more(grad_in, more)
    second = first if grad_out is grad_in else None if grad_out is None else _with_more(grad_out, more)
    return view.with_grads(first, second, zero=False)


def check_lined_up(function: str, values: Iterable[Any]) -> None:
    """Refuse dicts that `lifted` cannot mend, since the parameters are not known (overloaded and generic functions).

    Raises
    ------
    CallError
    """
    given = tuple(values)
    most = max((len(outer_shape(_UNKNOWN, v)) for v in given), default=0)
    for value in given:
        for inner in _dicts(value):
            own = len(outer_shape(_UNKNOWN, inner))
            if 0 < own < most:
                raise CallError(
                    f"{function}: the fields of a dict have {own} dimension{'s' * (own > 1)}, the call {most}; "
                    "SlangPy 0.43 would line them up with the wrong one",
                    function=function,
                    remedy="give the fields dimensions of size 1 in front, as in data[None]",
                )


def _dicts(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [value, *(d for inner in value.values() for d in _dicts(inner))]
