"""What tensors are made of and where they lie: element types, layouts, views, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import SCALARS, SLANG_NAMES
from slangnb.errors import CallError

if TYPE_CHECKING:
    import slangpy

SAME_LENGTHS = "give each of its lists as many numbers"


def split_dtype(name: str) -> tuple[str, tuple[int, ...]]:
    """Split a Slang type's short name into scalar type and element shape.

    Raises
    ------
    CallError
        If the name is not that of a scalar or a vector.

    Examples
    --------
    >>> split_dtype("float3"), split_dtype("half"), split_dtype("float16")
    (('float', (3,)), ('half', ()), ('half', ()))
    """
    if name in SLANG_NAMES:  # numpy's names mean numpy's types: "float16" is no vector of sixteen
        return SLANG_NAMES[name], ()
    if name in SCALARS:
        return name, ()
    if name[:-1] in SCALARS and name[-1] in "234":
        return name[:-1], (int(name[-1]),)
    raise CallError(f"there is no element type {name!r}", remedy="write for example 'float', 'half', 'int' or 'float3'")


def dtype_name(dtype: Any) -> str:
    """Give the Slang name of what a person passes as ``dtype``."""
    if isinstance(dtype, str):
        return dtype
    if dtype is float:
        return "float"
    if dtype is int:
        return "int"
    full = getattr(dtype, "full_name", None)  # a slangpy.Struct such as module.float3
    if isinstance(full, str):
        from slangnb.compiler.reflection import plain_name

        return plain_name(full)
    name = np.dtype(dtype).newbyteorder("=").name
    if name not in SLANG_NAMES:
        raise CallError(
            f"elements of type {name} have no counterpart in Slang", remedy="cast first: x.astype(np.float32)"
        )
    return SLANG_NAMES[name]


def tidy(array: np.ndarray) -> np.ndarray:
    """Give the same numbers in the one layout that SlangPy reads right: contiguous, native, writable.

    ``slangpy.Tensor.from_numpy`` (0.43) reads foreign memory for strided views, and raises ``std::bad_cast`` for
    read-only and big-endian arrays. It looks at strides that numpy does not: those of dimensions of one. An array that
    is tidy already is returned itself.

    Examples
    --------
    >>> tidy(np.arange(6.0).reshape(2, 3)[:, ::2]).flags.c_contiguous
    True
    """
    flags = array.flags
    if flags.c_contiguous and flags.writeable and array.dtype.isnative and type(array) is np.ndarray:
        shape = array.shape
        if 1 not in shape or array.strides == packed_strides(shape, array.itemsize):
            return array
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True, subok=False)


def packed_strides(shape: tuple[int, ...], step: int = 1) -> tuple[int, ...]:
    """Give the strides of an array without gaps.

    Examples
    --------
    >>> packed_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = [step]
    for n in shape[:0:-1]:
        strides.append(strides[-1] * n)
    return tuple(reversed(strides)) if shape else ()


def extent(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> int:
    """Give one more than the largest element index that a view touches.

    Examples
    --------
    >>> extent((2, 3), (3, 1), 4)
    10
    """
    return offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if n > 0 and s > 0)


def fits(t: slangpy.Tensor) -> bool:
    """Tell whether all elements of a view lie within its storage."""
    return extent(t.shape.as_tuple(), t.strides.as_tuple(), t.offset) * t.dtype.buffer_layout.stride <= t.storage.size


def check_open(t: slangpy.Tensor, name: str = "") -> None:
    """Refuse a tensor whose device was closed: reading it would end the process.

    Raises
    ------
    CallError
    """
    if t.device.slang_session is None:
        raise CallError(
            f"{name and f'{name} is '}a tensor of a device that was closed: its numbers are gone",
            remedy="run the cells that make it again",
        )


def check_device(t: slangpy.Tensor, device: slangpy.Device, function: str, name: str) -> None:
    """Refuse a tensor of another device than the session's, or of one that was closed.

    Raises
    ------
    CallError
        Naming the argument.
    """
    if t.device is not device:
        check_open(t, repr(name))
        raise CallError(
            f"{function}: {name!r} lives on another device ({t.device.info.adapter_name})",
            function=function,
            argument=name,
            remedy=f"copy it to this session's device: sn.tensor({name}); for another session s than the current one "
            f"sn.tensor({name}, session=s)",
        )


def check_extent(t: slangpy.Tensor, name: str) -> None:
    """Refuse a view that reaches beyond its storage; reading it would be foreign memory or a crash.

    Raises
    ------
    CallError
        Naming both sizes.
    """
    if not fits(t):
        needed = extent(t.shape.as_tuple(), t.strides.as_tuple(), t.offset) * t.dtype.buffer_layout.stride
        raise CallError(
            f"{name} is a view of shape {t.shape.as_tuple()} that needs {needed} bytes, but its storage has "
            f"{t.storage.size}",
            remedy="give the view a shape with as many elements as the tensor it was made from",
        )
