"""What is checked before anything is launched: each refusal names the argument and says what to write."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import TypeInfo, innermost_scalar, plain_name
from slangnb.errors import CallError
from slangnb.runtime.binding import Bound, Slot
from slangnb.runtime.foreign import MASKED
from slangnb.runtime.tensors import SCALARS, SLANG_NAMES, check_device, check_extent

if TYPE_CHECKING:
    import slangpy

_POINTER = re.compile(r"Ptr<(.+?), Access\.")


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
    _check_bool(bound)
    if bound.result is not None and not isinstance(bound.result, str | type):
        _check_result(name, bound.signature.returns, bound.result, device, mapped)


def _check_bool(bound: Bound) -> None:
    """SlangPy 0.43 reads bool results back as False; on the device they are right."""
    name = bound.signature.name
    many = any(batched(s) for s in bound.slots)
    numpy_result = isinstance(bound.result, str) and bound.result == "numpy"
    if bound.signature.returns.scalar == "bool" and (numpy_result or (bound.result is None and not many)):
        raise CallError(
            f"{name} returns bool, which SlangPy 0.43 cannot read back",
            function=name,
            remedy="return int, as in `return x > 1.0 ? 1 : 0;`",
        )
    for slot in bound.slots:
        if slot.parameter.io != "in" and slot.parameter.type.scalar == "bool":
            p = slot.parameter.name
            raise CallError(
                f"{name}: {p!r} is a bool output, which SlangPy 0.43 cannot read back",
                function=name,
                argument=p,
                remedy="make it int",
            )


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

    if isinstance(value, np.generic):
        value = value.item()
    pointed = _POINTER.match(t.name)
    if pointed and isinstance(value, np.ndarray | list | tuple | float | spy.Tensor):
        to = plain_name(pointed.group(1))
        raise refuse(
            f"{argument!r} is {called(value)}, but the parameter is a pointer, {to}*",
            f"declare it as `Tensor<{to}, 1> {argument}`, with `import slangpy;`, and pass a tensor",
        )
    if io != "in" and isinstance(value, bool | int | float | list | tuple):
        raise refuse(
            f"{argument!r} is written to, but {value!r} cannot hold a result",
            "pass slangpy.ValueRef(value), an array, or a tensor",
        )
    if isinstance(value, spy.Tensor):
        check_device(value, device, function, argument)
        check_extent(value, f"{function}: {argument!r}")
        if t.carries_gradient and not t.name.startswith("I") and not has_gradient(value):
            # Vulkan and D3D12 must not bind the buffer that is not there, though some drivers let it pass.
            raise refuse(
                f"{argument!r} has no gradient, but the concrete type {t.name} binds one",
                f"pass {argument}.with_grads(), or declare the parameter as I{t.name}",
            )
        if not mapped:
            check_inner(function, argument, t, value)
            check_rank(function, argument, t, value)
    elif t.kind == "tensor" and isinstance(value, np.ndarray | list | tuple):
        raise refuse(f"{argument!r} is {called(value)}, but the parameter is {t.name}", retyped(argument, t))
    elif isinstance(value, np.ndarray):
        _check_numpy(refuse, argument, t, value, io)
    elif isinstance(value, bool | int | float) and t.kind == "scalar":
        _check_number(refuse, argument, t, value)
    elif value is None and io == "in":
        raise refuse(f"{argument!r} is None, but the parameter is {plain_name(t.name)}", what_fits(t))
    elif isinstance(value, dict) and t.kind == "scalar":
        raise refuse(f"{argument!r} is a dict, but the parameter is {plain_name(t.name)}", what_fits(t))
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
        raise refuse(f"{argument!r} is a text ({value!r}), but the parameter is {plain_name(t.name)}", what_fits(t))


def called(value: Any) -> str:
    """Say what a value is.

    Examples
    --------
    >>> called([1, 2]), called(3), called(np.zeros(2)), called(None)
    ('a list', 'an int', 'a numpy array', 'None')
    """
    if value is None or isinstance(value, np.ndarray):
        return "None" if value is None else "a numpy array"
    name = type(value).__name__
    return f"a{'n' * (name[0] in 'aeiou')} {name}"


def tensor_called(t: slangpy.Tensor) -> str:
    """Say what a tensor is, with its dimensions and elements."""
    return f"a {len(t.shape.as_tuple())}-dimensional tensor of {plain_name(t.dtype.full_name)}"


def retyped(argument: str, t: TypeInfo) -> str:
    """Say how to make a tensor with elements of the type that a parameter has.

    Examples
    --------
    >>> retyped("x", TypeInfo("float", "scalar", "float"))
    "cast it: x = sn.tensor(x, dtype='float')"
    """
    if t.scalar == "bool" and t.kind == "scalar":
        return f"pass an array of bool: {argument}.to_numpy().astype(bool)"
    element = plain_name(t.element) if t.kind == "tensor" else t.scalar
    return f"cast it: {argument} = sn.tensor({argument}, dtype={element!r})" if t.scalar else what_fits(t)


def what_fits(t: TypeInfo) -> str:
    """Say what may be passed for a type.

    Examples
    --------
    >>> what_fits(TypeInfo("vector<float,3>", "vector", "float", (3,)))
    'pass 3 numbers, or an array or a tensor whose last dimension is 3'
    """
    if t.kind == "scalar":
        return "pass a number, or for many a list, an array or a tensor"
    if t.kind == "struct":
        return "pass {" + ", ".join(f"{name!r}: ..." for name in t.fields) + "}"
    if t.kind == "tensor":
        return "pass a tensor, as sn.tensor(...) makes it"
    if len(t.shape) == 1:
        return f"pass {t.shape[0]} numbers, or an array or a tensor whose last dimension is {t.shape[0]}"
    return f"pass an array or a tensor whose last dimensions are {t.shape}" if t.shape else ""


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


def turned(array: str, shape: tuple[int, ...], wanted: tuple[int, ...], made: str = "{}") -> str:
    """Say how to give an array the last dimensions that a parameter needs; `made` writes what is made of it.

    Examples
    --------
    >>> turned("v", (3, 5), (3,)), turned("v", (6,), (3,)), turned("v", (5, 4), (3,))
    ('pass v.T', 'pass v.reshape(-1, 3)', 'give it a shape that ends with (3,)')
    >>> turned("v", (2, 8, 8), (2,), "sn.tensor({})")
    'pass sn.tensor(np.moveaxis(v, 0, -1))'
    """
    if len(shape) > 1 and len(wanted) == 1 and shape[0] == wanted[0]:
        return "pass " + made.format(f"{array}.T" if len(shape) == 2 else f"np.moveaxis({array}, 0, -1)")
    if len(shape) == 1 and shape[0] and shape[0] % math.prod(wanted) == 0:
        return "pass " + made.format(f"{array}.reshape(-1, {', '.join(map(str, wanted))})")
    return f"give it a shape that ends with {wanted}"


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
            remedy=turned(f"{argument}.to_numpy()", shape, wanted, "sn.tensor({})"),
        )


def check_rank(function: str, argument: str, t: TypeInfo, value: slangpy.Tensor, exactly: bool = False) -> None:
    """Refuse a tensor with fewer dimensions than the tensor parameter that it is bound to, or with more.

    Raises
    ------
    CallError
    """
    dims = len(value.shape.as_tuple())
    if t.kind != "tensor" or value.dtype.full_name != t.element or dims == t.dims or (dims > t.dims and not exactly):
        return
    raise CallError(
        f"{function}: {argument!r} is {tensor_called(value)}, but the parameter is {t.name}",
        function=function,
        argument=argument,
        remedy=f"pass a tensor of {t.dims} dimension{'s' * (t.dims != 1)}",
    )


def _check_number(refuse: Any, argument: str, t: TypeInfo, value: float) -> None:
    dtype = SCALARS.get(t.scalar, "")
    if t.scalar != "bool" and np.dtype(dtype or "float32").kind not in "iu":
        return
    if isinstance(value, float):
        remedy = f"pass {round(value)}" if math.isfinite(value) else "pass a whole number"
        if t.scalar == "bool":
            remedy = "pass True or False"
        elif math.isfinite(value) and not value.is_integer():
            remedy += ", or declare the parameter as float"
        raise refuse(f"{argument!r} is a float ({value!r}), but the parameter is {t.name}", remedy)
    low, high = (0, 1) if t.scalar == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if not low <= value <= high:
        raise refuse(f"{argument!r} is {value}, but {t.name} holds {low} to {high}")


def is_bools(value: Any, t: TypeInfo) -> bool:
    """Tell whether a value is an array of bool for a bool parameter."""
    return type(value) is np.ndarray and value.dtype.kind == "b" and t.kind == "scalar" and t.scalar == "bool"


def bool_remedy(argument: str, t: TypeInfo) -> str:
    """Say how to pass many bools; SlangPy takes none for vectors and arrays of bool."""
    return (
        f"cast it: {argument}.astype(bool)" if t.kind == "scalar" else "make the parameter int, and pass whole numbers"
    )


def _check_numpy(refuse: Any, argument: str, t: TypeInfo, value: np.ndarray, io: str) -> None:
    given = value.dtype.newbyteorder("=").name
    if is_bools(value, t):
        return
    if t.scalar == "bool":
        fault = f"{argument!r} is an array of {given}, but the parameter is {plain_name(t.name)}"
        raise refuse(fault, bool_remedy(argument, t))
    if isinstance(value, np.ma.MaskedArray):
        raise refuse(f"{argument!r} {MASKED}", f"pass {argument}.filled(0)")
    if io != "in" and value.ndim == 0:
        raise refuse(f"{argument!r} is a 0-dimensional array, which cannot be written to", "give it the shape (1,)")
    if given not in SLANG_NAMES and not (given == "bool" and t.scalar in SCALARS):
        raise refuse(
            f"{argument!r} is an array of {value.dtype}, which Slang does not have",
            f"cast it: {argument}.astype(np.float32)",
        )
    if t.scalar in SCALARS and given != SCALARS[t.scalar]:
        needs = "the function returns" if argument == "_result" else "the parameter is"
        raise refuse(
            f"{argument!r} is an array of {given}, but {needs} {plain_name(t.name)}",
            _recast(argument, value.shape, SCALARS[t.scalar], io),
        )
    if io != "in" and not value.flags.writeable:
        raise refuse(f"{argument!r} is read-only, but the function writes to it", "pass a copy: np.array(...)")
    wanted = inner_sizes(t, ())
    if wanted and value.shape[-len(wanted) :] != wanted:
        raise refuse(
            f"{argument!r} has shape {value.shape}, but {plain_name(t.name)} needs its last "
            f"dimension{'s' * (len(wanted) > 1)} to be {_sizes(wanted)}",
            turned(argument, value.shape, wanted),
        )


def _recast(argument: str, shape: tuple[int, ...], dtype: str, io: str) -> str:
    """Say how to get the right dtype; a result must not be written to a copy that nobody holds."""
    if io == "in":
        return f"cast it: {argument}.astype(np.{dtype})"
    if io == "inout":
        return f"cast it before the call, which writes to it: {argument} = {argument}.astype(np.{dtype})"
    return f"make it of that type: np.zeros({shape[0] if len(shape) == 1 else shape}, np.{dtype})"


def _check_struct(refuse: Any, argument: str, t: TypeInfo, value: dict[str, Any]) -> None:
    missing = [k for k in t.fields if k not in value]
    extra = [str(k) for k in value if k not in t.fields and not str(k).startswith("_")]
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
        given = innermost_scalar(result.dtype)
        if given in SCALARS and given != returns.scalar:
            raise CallError(
                f"{function}: _result holds {given}, but the function returns {plain_name(returns.name)}",
                function=function,
                argument="_result",
                remedy="SlangPy would convert each value silently; make the tensor with the function's type",
            )


def batched(slot: Slot) -> bool:
    """Tell whether an argument makes a call run once per element."""
    import slangpy as spy

    value = slot.value
    return isinstance(value, spy.Tensor | np.ndarray) or type(value).__name__ in ("GridArg", "CallIdArg")


def leaves(argument: str, t: TypeInfo, value: Any) -> list[tuple[str, TypeInfo, Any]]:
    """List the values inside a dict argument with the types of their fields; else the value itself."""
    if isinstance(value, dict):
        found = []
        for key, inner in value.items():
            if key in t.fields or not str(key).startswith("_"):  # others, such as `_type`, are for SlangPy
                found += leaves(f"{argument}.{key}", t.fields.get(key, TypeInfo("", "other")), inner)
        return found
    return [(argument, t, value)]


def has_gradient(t: slangpy.Tensor) -> bool:
    """Tell whether a tensor carries a gradient of either direction; its ``.grad`` raises where there is none."""
    return t.grad_in is not None or t.grad_out is not None
