"""Reads one value of a call: what it holds, of which shape, and how it lies in memory."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import PLAIN_KINDS, TypeInfo, innermost_scalar, plain_name
from slangnb.errors import CallError
from slangnb.runtime.checks import is_bools, turned
from slangnb.runtime.listed import from_list
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.tensors import SCALARS, SLANG_NAMES, check_device, check_extent, packed_strides, tidy

if TYPE_CHECKING:
    import slangpy


#: Bytes at whose multiples numbers can be read in pairs.
ALIGNED = 8


class NotFusedError(Exception):
    """The call cannot be one of our own kernels; SlangPy's functional path may still take it."""


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """Memory of another library on the session's device.

    Attributes
    ----------
    address : int
        Of its first number.
    shape, strides : tuple of int
        With the dimensions of vectors and matrices; strides count numbers.
    scalar : str
        Slang's name of the type of its numbers.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    scalar: str

    @property
    def aligned(self) -> bool:
        """Whether it begins at a multiple of eight bytes."""
        return not self.address % ALIGNED


@dataclass(frozen=True, slots=True)
class Held:
    """A value for a plain type or a whole struct.

    Attributes
    ----------
    kind : {"number", "numpy", "tensor", "parameter", "array"}
        What was passed, and so what a gradient comes back as; ``"array"`` is a `DeviceArray`.
    shape : tuple of int
        Its shape without the type's own dimensions.
    strides : tuple of int
        Of these dimensions, counted in scalars (in structs for a tensor of structs); of a tensor or `DeviceArray` only.
    offset : int
        Likewise.
    copied : bool
        A tensor whose own dimensions are not packed: it is read through a contiguous copy.
    in_place : bool
        Whether a kernel that takes addresses of this process could read it where it lies.
    aligned : bool
        Whether it begins at a multiple of eight bytes.
    """

    kind: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    offset: int = 0
    copied: bool = False
    in_place: bool = False
    aligned: bool = False


def hold(function: str, name: str, t: TypeInfo, value: Any, device: slangpy.Device) -> Held:
    """Read a value that is passed for a parameter or field of type `t`.

    Raises
    ------
    CallError
        If it has another scalar type, or its last dimensions are not those of `t`, or it is empty.
    NotFusedError
        For kinds of values that only SlangPy takes.
    """
    import slangpy as spy

    if isinstance(value, spy.Tensor):
        return _hold_tensor(function, name, t, value, device)
    if t.kind not in PLAIN_KINDS:
        raise NotFusedError(f"{name!r} is a {type(value).__name__}, its parameter {plain_name(t.name)}")
    if isinstance(value, DeviceArray):
        return _hold_array(function, name, t, value)
    if isinstance(value, Parameter):
        kind, array = "parameter", value.array
    elif isinstance(value, np.ndarray) and not is_bools(value, t):
        kind, array = "numpy", value
    elif (
        isinstance(value, bool | int | float | np.generic | list | tuple | np.ndarray)
        or type(value).__module__ == "slangpy.math"
    ):
        kind, array = "number", numbers(value, t, name, function)
    else:
        raise NotFusedError(f"{name!r} is a {type(value).__name__}")
    if t.scalar == "bool" and (kind != "number" or t.kind != "scalar"):
        raise NotFusedError(f"{name!r} is an array of bool")
    given = SLANG_NAMES.get(array.dtype.newbyteorder("=").name, "")
    if kind != "number" and given != t.scalar:
        raise _wrong_type(function, name, t, given or str(array.dtype))
    in_place, aligned = placement(array) if kind == "numpy" else (False, False)
    return Held(kind, _outer(function, name, t, array.shape), in_place=in_place, aligned=aligned)


def placement(array: np.ndarray) -> tuple[bool, bool]:
    """Tell whether an array's numbers follow each other as the processor reads them, and begin at eight bytes.

    Examples
    --------
    >>> placement(np.zeros((2, 3)))[0], placement(np.zeros((2, 3)).T)[0]
    (True, False)
    """
    flags = array.flags
    return flags.c_contiguous and flags.aligned and array.dtype.isnative, not address_of(array) % ALIGNED


def address_of(array: np.ndarray) -> int:
    """Give where an array lies in this process's memory; it must live as long as the address is in use."""
    return array.__array_interface__["data"][0]


def numbers(value: Any, t: TypeInfo, name: str = "", function: str = "") -> np.ndarray:
    """Give numbers that a person wrote as an array of the type's scalars; the names are for messages."""
    if isinstance(value, list | tuple):
        return from_list(value, t, name, function)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()  # SlangPy's matrices
    elif type(value).__module__ == "slangpy.math":
        value = list(value) if hasattr(value, "__getitem__") else float(value)  # a vector, or float16_t
    dtype, found = np.dtype(SCALARS.get(t.scalar, "bool")), np.asarray(value)
    if found.dtype == dtype:
        return found
    if isinstance(value, int) and found.dtype.kind == "O":  # beyond 64 bits
        with suppress(OverflowError):
            found = np.array(float(value))
    if found.dtype.kind in "biuf":
        if dtype.kind == "f":
            return found.astype(dtype)
        with np.errstate(invalid="ignore"):
            cast = found.astype(dtype)
        if cast.tolist() == found.tolist():  # numpy cuts off, and wraps around
            return cast
    who = (f"{function}: " if function else "") + (f"{name!r}: " if name else "")
    fault, remedy = f"{value!r} does not fit {plain_name(t.name)}", "pass numbers"
    if dtype.kind != "f":
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        fault, remedy = f"{fault}; {t.scalar} holds {low} to {high}", "pass whole numbers of this range"
    raise CallError(who + fault, function=function, argument=name, remedy=remedy)


def scalars(value: Any, kind: str, t: TypeInfo, name: str = "") -> np.ndarray:
    """Give a value as contiguous scalars of the type, in one dimension."""
    if kind == "number":
        return numbers(value, t, name).reshape(-1)
    if kind == "parameter":
        return tidy(value.array).reshape(-1)
    array = value.to_numpy() if kind == "tensor" else value
    return tidy(np.asarray(array)).reshape(-1)


def _hold_tensor(function: str, name: str, t: TypeInfo, value: slangpy.Tensor, device: slangpy.Device) -> Held:
    check_device(value, device, function, name)
    check_extent(value, f"{function}: {name!r}")
    if t.kind == "struct":
        if value.dtype.full_name != t.name:
            raise NotFusedError(f"{name!r} holds {value.dtype.full_name}")
        return Held("tensor", value.shape.as_tuple(), value.strides.as_tuple(), value.offset)
    scalar = innermost_scalar(value.dtype)
    if t.kind not in PLAIN_KINDS or t.scalar not in SCALARS:
        raise NotFusedError(f"{name!r} has a parameter of type {plain_name(t.name)}")
    if scalar != t.scalar:
        raise _wrong_type(function, name, t, scalar)
    inner = value.dtype.shape.as_tuple()
    full = (*value.shape.as_tuple(), *inner)
    outer = _outer(function, name, t, full)
    step = math.prod(inner)
    strides = (*(s * step for s in value.strides.as_tuple()), *packed_strides(inner))
    gapless = value.dtype.buffer_layout.stride == np.dtype(SCALARS[scalar]).itemsize * step
    if not gapless or strides[len(outer) :] != packed_strides(t.shape):
        return Held("tensor", outer, copied=True)
    return Held("tensor", outer, strides[: len(outer)], value.offset * step, in_place=True, aligned=True)


def _hold_array(function: str, name: str, t: TypeInfo, value: DeviceArray) -> Held:
    if value.scalar != t.scalar or t.scalar == "bool":
        raise _wrong_type(function, name, t, value.scalar)
    outer = _outer(function, name, t, value.shape)
    if value.strides[len(outer) :] != packed_strides(t.shape):
        raise NotFusedError(f"{name!r} has gaps between the numbers of an element")
    return Held("array", outer, value.strides[: len(outer)], aligned=value.aligned)


def _outer(function: str, name: str, t: TypeInfo, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Split off the type's own dimensions."""
    inner = t.shape
    if len(shape) < len(inner) or shape[len(shape) - len(inner) :] != inner:
        raise CallError(
            f"{function}: {name!r} has shape {shape}, but {plain_name(t.name)} needs it to end with {inner}",
            function=function,
            argument=name,
            remedy=turned(name, shape, inner),
        )
    outer = shape[: len(shape) - len(inner)]
    if 0 in outer:
        raise CallError(
            f"{function}: {name!r} is empty", function=function, argument=name, remedy="a sum over nothing is 0"
        )
    return outer


def _wrong_type(function: str, name: str, t: TypeInfo, given: str) -> CallError:
    return CallError(
        f"{function}: {name!r} holds {given}, not {plain_name(t.name)}",
        function=function,
        argument=name,
        remedy=f"cast it: {name} = sn.tensor({name}, dtype={t.scalar!r})",
    )
