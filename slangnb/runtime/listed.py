"""Makes arrays of the lists and tuples of numbers that a person writes, before SlangPy sees them.

SlangPy 0.43 takes a list only if its numbers are of the parameter's own type, and runs a function that indexes a tensor
for the first of several ints alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from slangnb.compiler.reflection import PLAIN_KINDS, FunctionInfo, TypeInfo, plain_name
from slangnb.errors import CallError
from slangnb.runtime.binding import bind
from slangnb.runtime.checks import is_bools
from slangnb.runtime.tensors import SAME_LENGTHS, SCALARS

#: Scalars whose vectors and arrays SlangPy takes without a buffer.
_UNIFORM = ("float", "int", "uint")
_NARROWER = ("write numbers within these limits, or declare a wider type", "write True and False")
_NUMBERS = (bool, int, float, np.number, np.bool_, np.ndarray)


def has_lists(values: Iterable[Any]) -> bool:
    """Tell whether a list, a tuple, or an array of bool is among values, also inside dicts.

    Examples
    --------
    >>> has_lists([2.0, {"a": [1, 2]}]), has_lists([2.0, {"a": 1}])
    (True, False)
    """
    for value in values:
        kind = type(value)
        if kind is list or kind is tuple or (kind is dict and has_lists(value.values())):
            return True
        if kind is np.ndarray and value.dtype.kind == "b":
            return True  # SlangPy takes lists of bool, but no arrays
    return False


def with_arrays(
    info: FunctionInfo, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Replace lists of numbers among the arguments of a call by arrays of the parameters' types.

    Lists that are one vector or one array stay, since they need no buffer; so do those of other things than numbers.

    Raises
    ------
    CallError
        For arguments that do not bind, and for numbers that do not fit.
    """
    bound = bind(info, args, kwargs, need_outputs=False)
    positional, named = list(args), dict(kwargs)
    for slot in bound.slots if bound is not None else ():
        p, target = slot.parameter, positional if isinstance(slot.place, int) else named
        if p.io == "in":
            target[slot.place] = _with_arrays(info.name, p.name, p.type, slot.value)  # pyright: ignore[reportCallIssue,reportArgumentType]
    return tuple(positional), named


def _with_arrays(function: str, argument: str, t: TypeInfo, value: Any) -> Any:
    if is_bools(value, t):
        return value.tolist()
    if isinstance(value, dict) and t.kind == "struct":
        inner = t.fields
        return {
            k: _with_arrays(function, f"{argument}.{k}", inner[k], v) if k in inner else v for k, v in value.items()
        }
    if not isinstance(value, list | tuple) or t.kind not in PLAIN_KINDS:
        return value
    if not all(_is_number(v) or v is None or isinstance(v, str) for v in _flat(value)):
        return value
    array = from_list(value, t, argument, function)
    if t.scalar == "bool":
        return array.tolist()  # SlangPy takes no arrays of bool
    if array.shape == t.shape and t.kind in ("vector", "array") and t.scalar in _UNIFORM:
        return value if t.kind == "vector" else list(value)
    inner = t.shape
    if len(inner) == 1 and array.size and array.shape[-1] != inner[0]:
        of = "" if array.ndim == 1 else "a row of "
        raise CallError(
            f"{function}: {of}{argument!r} has {array.shape[-1]} elements, but {plain_name(t.name)} needs {inner[0]}",
            function=function,
            argument=argument,
            remedy=f"write np.stack({argument}, axis=-1)"
            if array.ndim > 1 and len(value) == inner[0]
            else f"write {'lists of ' * (array.ndim > 1)}{inner[0]} numbers",
        )
    return array


def from_list(value: Any, t: TypeInfo, argument: str = "", function: str = "") -> np.ndarray:
    """Give a list or tuple of numbers as an array of a type's scalars; the names are for messages.

    Raises
    ------
    CallError
        If it holds anything but numbers, or numbers that the type does not have.

    Examples
    --------
    >>> from_list([[1, 2.5], [3, 4]], TypeInfo("float", "scalar", "float"))
    array([[1. , 2.5],
           [3. , 4. ]], dtype=float32)
    """

    def refuse(message: str, remedy: str) -> CallError:
        who = f"{function}: " * bool(function) + f"{argument!r}" * bool(argument) or "the list"
        return CallError(f"{who} {message}", function=function, argument=argument, remedy=remedy)

    name, dtype = plain_name(t.name), np.dtype(SCALARS.get(t.scalar, "bool"))
    odd = [v for v in _flat(value) if not _is_number(v)]
    if odd:
        what = repr(odd[0]) if odd[0] is None or isinstance(odd[0], str) else f"a {type(odd[0]).__name__}"
        raise refuse(f"holds {what}, but the parameter is {name}", "write a list of numbers alone")
    try:
        found = np.asarray(value)
    except ValueError:
        raise refuse("holds lists of different lengths", SAME_LENGTHS) from None
    if found.dtype.kind not in "biufO":  # O: whole numbers beyond 64 bits
        raise refuse(f"holds {found.dtype}, but the parameter is {name}", "write a list of numbers alone")
    if dtype.kind != "f" and found.size:
        numbers = found.reshape(-1)
        if found.dtype.kind == "f":
            first = next((v for v in _flat(value) if isinstance(v, float | np.floating)), numbers[0])
            raise refuse(f"holds a float ({first}), but the parameter is {name}", "write whole numbers: 2, not 2.0")
        low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        wrong = numbers[(numbers < low) | (numbers > high)]
        if wrong.size:
            raise refuse(f"holds {wrong[0]}, but {name} holds {low} to {high}", _NARROWER[dtype.kind == "b"])
    return found.astype(dtype)


def _is_number(value: Any) -> bool:
    """Also several of them: an array, or a vector of SlangPy's."""
    return isinstance(value, _NUMBERS) or (type(value).__module__ == "slangpy.math" and hasattr(value, "x"))


def _flat(value: Any) -> Iterator[Any]:
    """Give what is in nested lists and tuples."""
    for v in value:
        if isinstance(v, list | tuple):
            yield from _flat(v)
        else:
            yield v
