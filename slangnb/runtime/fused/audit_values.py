"""The numbers of a call's arguments as the audit reads them: a few elements of each, wherever they lie."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangnb.compiler.reflection import REAL, TypeInfo, plain_name
from slangnb.runtime.fused.sums import storage
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.tensors import SCALARS

#: Tensors of more numbers are not read whole; of whole numbers each may matter.
#: Of larger arrays two numbers stand for all.
MOST_READ, MOST_READ_WHOLE, MOST_HASHED = 1 << 14, 1 << 20, 1 << 16


def whole_in(value: Any) -> Hashable:
    """Give the whole numbers in a value, or what stands for them: it is another one for other numbers. None if none.

    Examples
    --------
    >>> whole_in(3), whole_in(np.int32(12)), whole_in(True), whole_in({"n": 3, "x": 2.5})
    (3, 12, True, (3, None))
    >>> whole_in(2.5), whole_in(np.zeros(3)), whole_in(np.array([1, 2])) == whole_in(np.array([1, 3]))
    (None, None, False)
    """
    kind = type(value)
    if kind is float:
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind not in "iub":
            return None
        if not value.ndim:
            return int(value)
        if value.size > MOST_HASHED:
            return value.shape, int(value.min()), int(value.max())
        return value.shape, hash(value.tobytes())
    if isinstance(value, list | tuple):
        return tuple([whole_in(v) for v in value])
    if isinstance(value, dict):
        return tuple([whole_in(v) for v in value.values()])
    if hasattr(value, "storage"):
        return _whole_in_tensor(value)
    if kind.__module__ == "slangpy.math" and kind.__name__.startswith(("int", "uint", "bool")):
        return tuple([value[k] for k in range(int(kind.__name__[-1]))])
    return None


def _whole_in_tensor(tensor: Any) -> Hashable:
    """Read a small tensor of whole numbers."""
    name = plain_name(tensor.dtype.full_name)
    if tensor.element_count > MOST_READ or not name.startswith(("int", "uint")):
        return None
    return whole_in(tensor.to_numpy())


@dataclass(frozen=True)
class Values:
    """Numbers of a type for each element.

    Attributes
    ----------
    type : TypeInfo
        Its own dimensions come last.
    outer : tuple of int
    array : numpy.ndarray or None
        All of them.
    tensor : slangpy.Tensor or None
        Where they lie, if they are too many to be read.
    """

    type: TypeInfo
    outer: tuple[int, ...]
    array: np.ndarray | None = None
    tensor: Any = None

    def take(self, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
        """Give the numbers of some elements of a call of this shape: (elements, numbers).

        None for tensors that can only be read whole, and for numbers beyond float.
        """
        at = np.unravel_index(places, shape) if shape else ()
        own = at[len(at) - len(self.outer) :]
        index = tuple([np.where(n == 1, 0, i) for n, i in zip(self.outer, own, strict=True)])
        if self.array is None:
            found = _fetched(self.tensor, self.type, index)
            if found is None:
                return None
        else:
            found = self.array[index] if self.outer else self.array
        found = np.broadcast_to(found, (len(places), *self.type.shape)).reshape(len(places), -1).astype(np.float64)
        beyond = np.isfinite(found) & (np.abs(found) > np.finfo(np.float32).max)
        return None if beyond.any() else found

    def extremes(self, shape: tuple[int, ...]) -> list[int]:
        """Give the places of the smallest and the largest number in a call of this shape, where they are known."""
        if self.array is None or self.array.size < 2 or not self.outer:
            return []
        found = np.where(np.isnan(self.array), 0, self.array) if self.array.dtype.kind == "f" else self.array
        inner = tuple(range(len(self.outer), found.ndim))
        at = found.min(axis=inner).argmin(), found.max(axis=inner).argmax()
        # Of a value for several elements, the first of these.
        full = (*([1] * (len(shape) - len(self.outer))), *self.outer)
        return [int(np.ravel_multi_index(np.unravel_index(k, full), shape)) for k in at]


def values_of(t: TypeInfo, value: Any) -> Values | None:
    """Find the numbers of an argument of a plain type; None where Python does not see them."""
    if isinstance(value, Parameter):
        value = value.array
    elif hasattr(value, "storage"):
        if value.element_count > (MOST_READ if t.scalar in REAL else MOST_READ_WHOLE):
            return Values(t, value.shape.as_tuple(), tensor=value) if _can_fetch(t, value) else None
        value = value.to_numpy()
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif type(value).__module__ == "slangpy.math":
        value = [value[k] for k in range(math.prod(t.shape))]
    if value is None or isinstance(value, str | dict):
        return None
    array = np.asarray(value)
    outer = array.ndim - len(t.shape)
    if array.dtype.kind not in "biuf" or not array.size or array.shape[outer:] != t.shape:
        return None
    return Values(t, array.shape[:outer], array)


def _can_fetch(t: TypeInfo, tensor: Any) -> bool:
    """Tell whether single elements of a tensor can be read: they are of the type, and without gaps."""
    size = np.dtype(SCALARS[t.scalar]).itemsize * math.prod(t.shape)
    alike = plain_name(tensor.dtype.full_name) == plain_name(t.name)
    return alike and t.scalar != "bool" and tensor.dtype.buffer_layout.stride == size


def _fetched(tensor: Any, t: TypeInfo, index: tuple[np.ndarray, ...]) -> np.ndarray | None:
    """Copy some elements of a tensor to Python, without the others; None if they are many."""
    if len(index[0]) > MOST_READ:
        return None
    dtype = np.dtype(SCALARS[t.scalar])
    size, device = dtype.itemsize * math.prod(t.shape), tensor.storage.device
    places = tensor.offset + sum(i * s for i, s in zip(index, tensor.strides.as_tuple(), strict=True))
    held = storage(device, size * len(places))
    encoder = device.create_command_encoder()
    for k, place in enumerate(places):
        encoder.copy_buffer(held, k * size, tensor.storage, int(place) * size, size)
    device.submit_command_buffer(encoder.finish())
    return held.to_numpy()[: size * len(places)].view(dtype).reshape(len(places), *t.shape)
