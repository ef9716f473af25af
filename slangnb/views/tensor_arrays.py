"""SlangPy tensors read whole: of numbers, and of structs field by field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import innermost_scalar, type_info
from slangnb.errors import CallError
from slangnb.runtime.struct_values import fields_of
from slangnb.runtime.tensors import SCALARS, check_extent, check_open, fits
from slangnb.views.adapters import Reading
from slangnb.views.device_source import gradient_of
from slangnb.views.measure import Array
from slangnb.views.source import LARGEST_READ, is_struct
from slangnb.views.text import device_words, dtype_words, elements

if TYPE_CHECKING:
    import slangpy


#: Elements that are written in a line of text.
_FEW = 12


@dataclass(frozen=True, eq=False)
class StructField:
    """One field of a tensor of structs; `field` as "inner.colour".

    `first` holds what was read of all fields at once, until each of them was asked for.
    """

    tensor: slangpy.Tensor
    field: str
    first: dict[str, Reading]

    def read(self, name: str = "tensor") -> Reading:
        """Give what was read of the field, and its gradient; after the first time read anew."""
        return self.first.pop(self.field, None) or struct_fields(self.tensor, name)[self.field]


def struct_rows(tensor: slangpy.Tensor, name: str) -> list[tuple[str, StructField]]:
    """Read a tensor of structs once, and name its fields in the order of the struct."""
    first = struct_fields(tensor, name)
    return [(f"{name}.{field}" if name else field, StructField(tensor, field, first)) for field in first]


def tensor_words(tensor: slangpy.Tensor) -> str:
    """Say what a tensor is in a few words, with its elements where they are few.

    Examples
    --------
    >>> import slangnb as sn
    >>> print(tensor_words(sn.tensor([1.0, 2.5])))
    <tensor float32 (2,) [1. 2.5]>
    """
    shape, dtype = tuple(tensor.shape.as_tuple()), tensor.dtype
    element = () if is_struct(tensor) else tuple(dtype.shape.as_tuple())
    scalar = SCALARS.get(innermost_scalar(dtype))
    said = [dtype.full_name if scalar is None else dtype_words(np.dtype(scalar), element), str(shape)]
    if tensor.device.slang_session is None:
        said.append("on a device that was closed")
    elif scalar is not None and math.prod(shape + element) <= _FEW and fits(tensor):
        said.append(elements(tensor.to_numpy()))
    if gradient_of(tensor) is not None:
        said.append("with a gradient")
    return f"<tensor {' '.join(said)}>"


def tensor_reading(tensor: slangpy.Tensor, name: str) -> Reading:
    """Read a tensor of numbers, vectors or matrices and its gradient.

    Raises
    ------
    CallError
        It is too large, of structs, or its device was closed.
    """
    _check(tensor, name)
    if is_struct(tensor):
        raise CallError(
            f"{name} is a tensor of the struct {tensor.dtype.full_name}",
            remedy=f"take one of its fields: {', '.join(_field_names(tensor))}",
        )
    kept = gradient_of(tensor)
    same = kept is not None and kept.shape.as_tuple() == tensor.shape.as_tuple()
    return Reading(
        tensor.to_numpy(),
        kept.to_numpy() if kept is not None and same else None,
        tuple(tensor.dtype.shape.as_tuple()),
        device_words(tensor.device),
        "" if kept is None or same else "gradient not shown: it is that of the whole tensor",
    )


def struct_fields(tensor: slangpy.Tensor, name: str = "tensor") -> dict[str, Reading]:
    """Read a tensor of structs: one value for each field, with its gradient where it has one.

    Parameters
    ----------
    tensor : slangpy.Tensor
    name : str
        For messages.

    Returns
    -------
    dict of str to Reading
        In the order of the struct; fields of inner structs as "inner.field". A field that numpy cannot hold is
        left out.

    Raises
    ------
    CallError
        The elements are no structs, no field can be read, it is too large, or its device was closed.
    """
    _check(tensor, name)
    if not is_struct(tensor):
        raise CallError(f"{name} is no tensor of structs")
    values = _read(tensor)
    kept = gradient_of(tensor)
    slopes: dict[str, Array] = {}
    remark = ""
    if kept is not None and kept.shape.as_tuple() == tensor.shape.as_tuple() and is_struct(kept):
        slopes = _read(kept)
    elif kept is not None:
        remark = "gradient not shown: it is that of the whole tensor"
    found: dict[str, Reading] = {}
    dimensions = len(tensor.shape.as_tuple())
    for field, array in values.items():
        slope = slopes.get(field)
        fits = slope is not None and slope.shape == array.shape and slope.dtype.kind == "f"
        found[field] = Reading(
            array, slope if fits else None, array.shape[dimensions:], device_words(tensor.device), remark
        )
    if not found:
        raise CallError(f"{name} is a tensor of the struct {tensor.dtype.full_name}, which has no fields of numbers")
    return found


def _check(tensor: slangpy.Tensor, name: str) -> None:
    check_open(tensor, name)
    check_extent(tensor, name)
    size = math.prod(tensor.shape.as_tuple()) * tensor.dtype.buffer_layout.stride
    if size > LARGEST_READ or (is_struct(tensor) and tensor.storage.size > LARGEST_READ):
        raise CallError(
            f"{name} has {size / 2**20:.0f} MiB; no more than {LARGEST_READ >> 20} MiB are read whole",
            remedy="show a part of it: show(x[:n])",
        )


def _field_names(tensor: slangpy.Tensor) -> list[str]:
    return [field.name for field in tensor.dtype.buffer_layout.reflection.fields]


def _read(tensor: slangpy.Tensor) -> dict[str, Array]:
    return _flat(fields_of(tensor, type_info(tensor.dtype)))


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        elif value is not None:
            found[prefix + name] = value
    return found
