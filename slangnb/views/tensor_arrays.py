"""SlangPy tensors read whole: of numbers, and of structs field by field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import TypeInfo, innermost_scalar, type_info
from slangnb.errors import CallError
from slangnb.runtime.tensors import SCALARS, check_extent, fits
from slangnb.views.adapters import Reading
from slangnb.views.device_source import check_open
from slangnb.views.measure import Array
from slangnb.views.source import LARGEST_READ, is_struct
from slangnb.views.text import device_words, dtype_words, elements

if TYPE_CHECKING:
    import slangpy


#: Elements that are written in a line of text.
_FEW = 12


@dataclass(frozen=True, eq=False)
class StructField:
    """One field of a tensor of structs; `field` as "inner.colour"."""

    tensor: slangpy.Tensor
    field: str

    def read(self, name: str = "tensor") -> Reading:
        """Read the field of all elements, and its gradient."""
        return struct_fields(self.tensor, name)[self.field]


def struct_rows(tensor: slangpy.Tensor, name: str) -> list[tuple[str, StructField]]:
    """Name the fields of a tensor of structs, in the order of the struct."""
    return [(f"{name}.{field}" if name else field, StructField(tensor, field)) for field in struct_fields(tensor, name)]


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
    if _gradient(tensor) is not None:
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
    kept = _gradient(tensor)
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
    kept = _gradient(tensor)
    slopes: dict[str, tuple[Array, tuple[int, ...]]] = {}
    remark = ""
    if kept is not None and kept.shape.as_tuple() == tensor.shape.as_tuple() and is_struct(kept):
        slopes = _read(kept)
    elif kept is not None:
        remark = "gradient not shown: it is that of the whole tensor"
    found: dict[str, Reading] = {}
    for field, (array, element) in values.items():
        slope = slopes.get(field)
        fits = slope is not None and slope[0].shape == array.shape and slope[0].dtype.kind == "f"
        found[field] = Reading(
            array, slope[0] if slope is not None and fits else None, element, device_words(tensor.device), remark
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


def _gradient(tensor: slangpy.Tensor) -> slangpy.Tensor | None:
    # `.grad` raises where there is none; these two are None.
    return tensor.grad_out if tensor.grad_out is not None else tensor.grad_in


def _field_names(tensor: slangpy.Tensor) -> list[str]:
    return [field.name for field in tensor.dtype.buffer_layout.reflection.fields]


def _bytes(tensor: slangpy.Tensor) -> Array:
    """Give the bytes of the elements: (*shape, stride)."""
    stride = tensor.dtype.buffer_layout.stride
    data = tensor.storage.to_numpy().view(np.uint8).reshape(-1)
    data = data[: data.size // stride * stride].reshape(-1, stride)
    places = np.indices(tensor.shape.as_tuple(), sparse=True)
    at: Any = tensor.offset + sum(i * s for i, s in zip(places, tensor.strides.as_tuple(), strict=True))
    return data[at]


def _read(tensor: slangpy.Tensor) -> dict[str, tuple[Array, tuple[int, ...]]]:
    return _unpack(_bytes(tensor), tensor.dtype.buffer_layout.reflection, type_info(tensor.dtype))


def _unpack(data: Array, layout: Any, t: TypeInfo, prefix: str = "") -> dict[str, tuple[Array, tuple[int, ...]]]:
    """Cut the bytes of structs into arrays, each with the shape of its elements."""
    found: dict[str, tuple[Array, tuple[int, ...]]] = {}
    places = {field.name: field for field in layout.fields}
    for name, inner in t.fields.items():
        place = places[name]
        own = data[..., place.offset : place.offset + place.type_layout.size]
        if inner.kind == "struct":
            found |= _unpack(own, place.type_layout, inner, f"{prefix}{name}.")
            continue
        # bool takes four bytes in buffers.
        stored = SCALARS.get(inner.scalar, "int32" if inner.scalar == "bool" else "")
        if not stored or place.type_layout.size != np.dtype(stored).itemsize * math.prod(inner.shape):
            continue
        array = np.ascontiguousarray(own).view(stored).reshape((*data.shape[:-1], *inner.shape))
        found[prefix + name] = array if inner.scalar != "bool" else array != 0, inner.shape
    return found
