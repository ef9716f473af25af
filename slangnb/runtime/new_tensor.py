"""Makes SlangPy tensors from anything a person has, without the traps of `slangpy.Tensor.from_numpy`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import REAL
from slangnb.errors import CallError, GradientError
from slangnb.runtime import foreign
from slangnb.runtime.checks import called
from slangnb.runtime.current import session as current
from slangnb.runtime.memory import allocated
from slangnb.runtime.teaching import teaches
from slangnb.runtime.tensors import (
    SAME_LENGTHS,
    SCALARS,
    SLANG_NAMES,
    check_extent,
    check_open,
    dtype_name,
    split_dtype,
    tidy,
)

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session


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
    if array.dtype.kind in "OSU":
        what, remedy = _no_numbers(data)
        raise CallError(f"a tensor holds numbers, not {what}", remedy=remedy)
    if array.dtype.kind == "b":
        raise CallError(
            "SlangPy 0.43 has no tensors of bool",
            remedy="pass the numpy array itself to a bool parameter; for a tensor of int np.asarray(data, np.int32)",
        )
    if array.dtype.newbyteorder("=").name not in SLANG_NAMES:
        raise CallError(
            f"an array of {array.dtype} has no counterpart in Slang", remedy="cast it first, as in x.astype(np.float32)"
        )
    return tidy(array)


def _no_numbers(data: Any) -> tuple[str, str]:
    """Say what data without numbers is, and what to write."""
    what, remedy = called(data), "pass numbers, lists of numbers, or an array"
    if isinstance(data, np.ndarray):
        what = f"{what} of {data.dtype}"
    elif isinstance(data, list | tuple):
        wrong = next((one for one in data if not isinstance(one, int | float | list | tuple)), None)
        what = f"{what} with {called(wrong)} in it"
    elif isinstance(data, Mapping):
        remedy = "make one of each value; a function takes the dict itself for a struct"
    elif isinstance(data, Iterator):
        remedy = "write sn.tensor(list(...))"
    elif callable(data):
        remedy = "call it first: sn.tensor(f(...))"
    return what, remedy


def _check_cast(array: np.ndarray, dtype: str) -> None:
    """Refuse a cast to integers that would wrap around, or that has no value for NaN."""
    if np.dtype(dtype).kind not in "iu" or array.size == 0:
        return
    limits = np.iinfo(dtype)
    if not (limits.min <= array.min() and array.max() <= limits.max):
        raise CallError(
            f"{dtype} holds {limits.min} to {limits.max}; the data goes from {array.min()} to {array.max()}"
        )


def _tensor_remedy(_: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Say what to write for other libraries' arguments of `tensor`."""
    if "requires_grad" in kwargs:
        return "write grad=True"
    if "device" in kwargs:
        return "leave it out: the tensor goes to the session's device, which `%slang use` chooses"
    return "write sn.tensor(data), with grad=True for a gradient and dtype='float' to cast"


@teaches(_tensor_remedy)
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
        If the data is empty, ragged, masked, or of a type that Slang does not have.
    GradientError
        If `grad` is asked for elements that have no derivative.

    Examples
    --------
    >>> x = tensor([1, 2, 3, 4], grad=True)
    >>> x.to_numpy(), x.grad.to_numpy()
    (array([1., 2., 3., 4.], dtype=float32), array([0., 0., 0., 0.], dtype=float32))
    """
    session = session or current()
    device = session.device  # first, since it brings the driver that `import slangpy` needs
    import slangpy as spy

    if isinstance(data, spy.Tensor):
        check_open(data)
        check_extent(data, "the tensor")
        if dtype is None and data.dtype.full_name not in SCALARS:
            dtype = data.dtype.full_name if data.dtype.shape.as_tuple() == () else dtype_name(data.dtype)
        data = data.to_numpy()
    try:
        array = as_array(data, grad and dtype is None)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise CallError("the data holds lists of different lengths", remedy=SAME_LENGTHS) from None
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
    if grad and scalar not in REAL:
        raise GradientError(f"elements of type {scalar} carry no gradient", remedy="pass dtype='float', or grad=False")

    def made() -> slangpy.Tensor:
        if not inner:
            return spy.Tensor.from_numpy(device, array)
        t = spy.Tensor.empty(device, shape=array.shape[:-1], dtype=f"{scalar}{inner[0]}")  # pyright: ignore[reportArgumentType]
        t.copy_from_numpy(array)
        return t

    t = allocated(device, array.nbytes, made, session.pool.clear)
    session.writes.forget(t)
    return allocated(device, array.nbytes, lambda: t.with_grads(zero=True), session.pool.clear) if grad else t
