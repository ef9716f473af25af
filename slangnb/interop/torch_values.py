"""Torch tensors to numpy arrays or numbers, and back. Nothing here knows of functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from slangnb.compiler.reflection import TypeInfo, plain_name
from slangnb.errors import CallError
from slangnb.runtime.checks import is_bools
from slangnb.runtime.tensors import SCALARS, SLANG_NAMES

#: How to cast to a Slang type in torch.
CASTS = {"float": ".float()", "half": ".half()", "double": ".double()", "int": ".int()", "int64_t": ".long()"}


def check_readable(t: Any, name: str) -> None:
    """Refuse tensors that have no plain numbers in memory.

    Raises
    ------
    CallError
    """
    if t.is_nested:
        remedy = f"pass one tensor: torch.cat({name}.unbind()), or {name}.to_padded_tensor(0.0)"
        raise CallError(f"{name!r} is a nested tensor", argument=name, remedy=remedy)
    if t.layout is not torch.strided:
        raise CallError(f"{name!r} is a {t.layout} tensor", argument=name, remedy=f"pass {name}.to_dense()")
    if t.device.type == "meta":
        raise CallError(f"{name!r} is on torch's meta device, which holds no numbers", argument=name)
    if t.is_complex():
        raise CallError(
            f"{name!r} is complex, and Slang has no complex numbers",
            argument=name,
            remedy=f"pass torch.view_as_real({name}) for a float2",
        )
    if t.is_quantized:
        raise CallError(f"{name!r} is quantized", argument=name, remedy=f"pass {name}.dequantize()")


def to_array(t: Any, name: str, of: TypeInfo | None = None) -> np.ndarray:
    """Give a tensor as a numpy array of the same type.

    Raises
    ------
    CallError
        If it has no plain numbers in memory, or numpy has no such type.

    Examples
    --------
    >>> to_array(torch.ones(2, requires_grad=True), "x")
    array([1., 1.], dtype=float32)
    """
    check_readable(t, name)
    if t.dtype is torch.bfloat16 or (t.is_floating_point() and t.element_size() == 1):  # there are many of float8
        kind = str(t.dtype).removeprefix("torch.")
        raise CallError(f"{name!r} holds {kind}, which Slang does not have", argument=name, remedy=_cast(name, of))
    if t.numel() and not t.untyped_storage().nbytes():  # reading it gives foreign memory, or a crash
        raise CallError(f"{name!r} has no memory any more: its storage was freed", argument=name)
    return t.detach().resolve_neg().cpu().contiguous().numpy()


def to_host(t: Any, name: str, of: TypeInfo | None = None) -> Any:
    """Give a tensor as a number, if it has no dimensions, or as a numpy array.

    Integers are cast to the integer type of the parameter, if all fit. Other types must be the parameter's: torch's
    float64 is not rounded to float behind anybody's back. Tensors without dimensions count as numbers of any type, as
    they do in torch.

    Parameters
    ----------
    t : torch.Tensor
    name : str
        The argument's, for messages.
    of : TypeInfo, optional
        The type of its parameter.

    Raises
    ------
    CallError
        If it does not fit.
    """
    check_readable(t, name)
    indexed = of is not None and of.kind == "tensor"
    if t.dim() == 0 and not indexed:
        return t.detach().item()
    if of is not None and of.kind == "struct":
        raise CallError(
            f"{name!r} is a torch tensor, but the parameter is the struct {plain_name(of.name)}",
            argument=name,
            remedy="pass a dict with a tensor for each field",
        )
    array = to_array(t, name, of)
    scalar = of.scalar if of is not None else ""
    given = SLANG_NAMES.get(array.dtype.name, "")
    if not scalar or given == scalar or (of is not None and is_bools(array, of)):
        return array
    if given and array.dtype.kind in "iu" and np.dtype(SCALARS.get(scalar, "bool")).kind in "iu":
        limits = np.iinfo(SCALARS[scalar])
        if array.size and not (limits.min <= array.min() and array.max() <= limits.max):
            raise CallError(f"{name!r} goes from {array.min()} to {array.max()}, which {scalar} cannot hold")
        return array.astype(SCALARS[scalar])
    assert of is not None
    written = of.element if indexed else of.name
    raise CallError(
        f"{name!r} holds {str(t.dtype).removeprefix('torch.')}, but the parameter is {plain_name(written)}",
        argument=name,
        remedy=_cast(name, of),
    )


def _cast(name: str, of: TypeInfo | None) -> str:
    scalar = of.scalar if of is not None else "float"
    if scalar == "bool":
        one = of is not None and of.kind == "scalar"
        return f"cast it: {name}.bool()" if one else f"make the parameter int, and pass {name}.int()"
    return f"cast it: {name}{CASTS.get(scalar, f'.to(torch.{SCALARS.get(scalar, scalar)})')}"


def from_host(found: Any, device: Any, dtype: Any = None) -> Any:
    """Give a number, an array or a SlangPy tensor of numbers as a torch tensor on a device.

    Examples
    --------
    >>> from_host(2.0, "cpu")
    tensor(2.)
    """
    array = found.to_numpy() if hasattr(found, "to_numpy") else found
    if isinstance(array, float):
        array = np.asarray(array, np.float32) if dtype is None else np.asarray(array)
    elif isinstance(array, int):
        array = np.asarray(array, np.int32)
    array = np.ascontiguousarray(array).reshape(np.shape(array))  # the first alone makes 0 dimensions 1
    if not array.flags.writeable:
        array = array.copy()
    return torch.from_numpy(array).to(device=device, dtype=dtype)
