"""Tensors that SlangPy cannot read back: of structs, field by field, and of bools."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import PLAIN_KINDS, TypeInfo
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    import slangpy

Array = np.ndarray[Any, Any]


def fields_of(tensor: slangpy.Tensor, t: TypeInfo) -> dict[str, Any]:
    """Read a tensor of structs.

    Parameters
    ----------
    tensor : slangpy.Tensor
        Of structs.
    t : TypeInfo
        Its element type, with the fields that are wanted.

    Returns
    -------
    dict of str to ndarray, dict or None
        Each field of the tensor's shape and then its own; an inner struct is a dict; None for a field that numpy
        cannot hold.
    """
    stride = tensor.dtype.buffer_layout.stride
    data = tensor.storage.to_numpy().view(np.uint8).reshape(-1)
    data = data[: data.size // stride * stride].reshape(-1, stride)
    places = np.indices(tensor.shape.as_tuple(), sparse=True)
    at: Any = tensor.offset + sum(i * s for i, s in zip(places, tensor.strides.as_tuple(), strict=True))
    return _cut(data[at], tensor.dtype.buffer_layout.reflection, t)


def bools_of(tensor: slangpy.Tensor) -> Array:
    """Read a whole tensor of bools: SlangPy 0.43 takes each byte for one, also where they have four."""
    shape, stride = tensor.shape.as_tuple(), tensor.dtype.buffer_layout.stride
    data = tensor.storage.to_numpy().view(np.uint8).reshape(-1)[: math.prod(shape) * stride]
    return (data.view(f"u{stride}") != 0).reshape(shape)


def _cut(data: Array, layout: Any, t: TypeInfo) -> dict[str, Any]:
    """Cut the bytes of structs, (elements..., stride), into arrays."""
    places = {field.name: field for field in layout.fields}
    found: dict[str, Any] = {}
    for name, inner in t.fields.items():
        place = places[name].type_layout
        own = data[..., places[name].offset : places[name].offset + place.size]
        found[name] = _cut(own, place, inner) if inner.kind == "struct" else _numbers(own, place.size, inner)
    return found


def _numbers(data: Array, size: int, t: TypeInfo) -> Array | None:
    # bool takes four bytes in buffers, and one on CUDA.
    stored = SCALARS.get(t.scalar, "" if t.scalar != "bool" else "uint8" if size == math.prod(t.shape) else "int32")
    if t.kind not in PLAIN_KINDS or not stored or size != np.dtype(stored).itemsize * math.prod(t.shape):
        return None
    array = np.ascontiguousarray(data).view(stored).reshape((*data.shape[:-1], *t.shape))
    return array if t.scalar != "bool" else array != 0
