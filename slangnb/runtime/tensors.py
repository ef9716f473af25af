"""Makes SlangPy tensors from anything a person has, without the traps of `slangpy.Tensor.from_numpy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.devices.backend import is_software
from slangnb.errors import CallError, GradientError
from slangnb.runtime import foreign

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session

#: Slang's scalar types and the numpy types that have the same bytes.
SCALARS = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int8_t": "int8",
    "int16_t": "int16",
    "int": "int32",
    "int64_t": "int64",
    "uint8_t": "uint8",
    "uint16_t": "uint16",
    "uint": "uint32",
    "uint64_t": "uint64",
}
SLANG_NAMES = {n: s for s, n in SCALARS.items()}
#: A buffer of software Vulkan is smaller than this; SlangPy 0.43 refuses larger ones, or crashes.
MOST_BYTES_SOFTWARE = 1 << 31


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


def as_array(data: Any, grad: bool = False) -> np.ndarray:
    """Turn Python data into an array of a type that Slang has.

    Python numbers become ``float32`` and ``int32`` (``float32`` too when a gradient is asked for); arrays keep
    their type.
    """
    data = foreign.array(data)
    if isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
    else:
        array = np.asarray(data)
        if array.dtype.kind == "f" or (grad and array.dtype.kind in "iu"):
            array = array.astype(np.float32)
        elif array.dtype.kind in "iu" and -(2**31) <= array.min(initial=0) <= array.max(initial=0) < 2**31:
            array = array.astype(np.int32)
    if array.dtype.newbyteorder("=").name not in SLANG_NAMES:
        raise CallError(
            f"an array of {array.dtype} has no counterpart in Slang", remedy="cast it first, as in x.astype(np.float32)"
        )
    return tidy(array)


def _check_cast(array: np.ndarray, dtype: str) -> None:
    """Refuse a cast to integers that would wrap around, or that has no value for NaN."""
    if np.dtype(dtype).kind not in "iu" or array.size == 0:
        return
    limits = np.iinfo(dtype)
    if not (limits.min <= array.min() and array.max() <= limits.max):
        raise CallError(
            f"{dtype} holds {limits.min} to {limits.max}; the data goes from {array.min()} to {array.max()}"
        )


def tensor(data: Any, *, grad: bool = False, dtype: Any = None, session: Session | None = None) -> slangpy.Tensor:
    """Copy data to the device of the current session as a SlangPy tensor.

    Parameters
    ----------
    data : array_like or slangpy.Tensor
        numpy array of any layout (strided, reversed, transposed, read-only, big-endian), nested lists, numbers, a
        SlangPy tensor, also one of another device, a torch tensor, or what else has ``__dlpack__``, such as a JAX
        array. It is a copy: no gradient flows to a torch tensor from here. Pass that itself to a function for that.
    grad : bool
        Attach a gradient of the same shape, zeroed.
    dtype : str, type or numpy.dtype, optional
        Element type to cast to: ``"float"``, ``"half"``, ``np.float32``, ``"float3"`` (the last axis becomes the
        vector), ... By default that of the data; Python numbers become ``float`` or ``int``.
    session : Session, optional
        By default the current one.

    Returns
    -------
    slangpy.Tensor
        With ``.grad`` when `grad` is true.

    Raises
    ------
    CallError
        If the data is empty, ragged, or of a type that Slang does not have.
    GradientError
        If `grad` is asked for elements that have no derivative.

    Examples
    --------
    >>> x = tensor([1, 2, 3, 4], grad=True)
    >>> x.to_numpy(), x.grad.to_numpy()
    (array([1., 2., 3., 4.], dtype=float32), array([0., 0., 0., 0.], dtype=float32))
    """
    from slangnb.runtime.session import session as current

    session = session or current()
    device = session.device  # first, since it brings the driver that `import slangpy` needs
    import slangpy as spy

    if isinstance(data, spy.Tensor):
        check_extent(data, "the tensor")
        if dtype is None and data.dtype.full_name not in SCALARS:
            dtype = data.dtype.full_name if data.dtype.shape.as_tuple() == () else dtype_name(data.dtype)
        data = data.to_numpy()
    try:
        array = as_array(data, grad and dtype is None)
    except ValueError as error:
        raise CallError(f"this is not an array: {error}") from error
    scalar, inner = split_dtype(dtype_name(dtype)) if dtype is not None else (SLANG_NAMES[array.dtype.name], ())
    _check_cast(array, SCALARS[scalar])
    array = tidy(array.astype(SCALARS[scalar], copy=False))
    if array.size == 0:
        raise CallError(
            f"a tensor cannot be empty; the data has shape {array.shape}",
            remedy="SlangPy has no empty tensors: pass the numpy array itself, with _result='numpy'",
        )
    if inner and array.shape[-1:] != inner:
        raise CallError(
            f"data of shape {array.shape} does not fit {scalar}{inner[0]}: its last dimension must be {inner[0]}",
            remedy=f"give each {inner[0]} numbers, as data.reshape(-1, {inner[0]}) does, or write dtype={scalar!r}",
        )
    if grad and scalar not in ("float", "half", "double"):
        raise GradientError(f"elements of type {scalar} carry no gradient", remedy="pass dtype='float', or grad=False")
    check_bytes(device, array.nbytes)
    if inner:
        t = spy.Tensor.empty(device, shape=array.shape[:-1], dtype=f"{scalar}{inner[0]}")  # pyright: ignore[reportArgumentType]
        t.copy_from_numpy(array)
    else:
        t = spy.Tensor.from_numpy(device, array)
    session.writes.forget(t)
    return t.with_grads(zero=True) if grad else t


def check_bytes(device: slangpy.Device, size: int) -> None:
    """Refuse a buffer that software Vulkan cannot have.

    Raises
    ------
    CallError
    """
    if size >= MOST_BYTES_SOFTWARE and is_software(device.info.adapter_name):
        raise CallError(
            f"this needs {size / 1e9:.1f} GB in one piece; software Vulkan has less than 2.1 GB for each tensor",
            remedy="take the data in parts, or use a machine with a graphics card",
        )


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


def check_device(t: slangpy.Tensor, device: slangpy.Device, function: str, name: str) -> None:
    """Refuse a tensor of another device than the session's.

    Raises
    ------
    CallError
        Naming the argument.
    """
    if t.device is not device:
        raise CallError(
            f"{function}: {name!r} lives on another device ({t.device.info.adapter_name})",
            function=function,
            argument=name,
            remedy=f"copy it to this session's device: {name} = sn.tensor({name})",
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
