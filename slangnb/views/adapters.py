"""Reads what is no plain array and no SlangPy tensor of numbers: parameters, torch tensors, textures, structs.

Each is read as a value and, where there is one, its gradient. No optional library is imported: whatever could be
one of its objects has imported it before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangnb.errors import CallError
from slangnb.runtime.parameter import Parameter
from slangnb.views.array_source import ArraySource
from slangnb.views.measure import Array
from slangnb.views.source import LARGEST_READ
from slangnb.views.text import device_words
from slangnb.views.textures import is_texture, texture_array


@dataclass(frozen=True, eq=False)
class Reading:
    """A value and its gradient as arrays.

    Attributes
    ----------
    value : numpy array
        Of the tensor's axes followed by those of its elements.
    gradient : numpy array of the same shape, or None
    element : tuple of int
        Shape of one element, as `(3,)` of float3.
    device : str
        Where it lives, in words.
    remark : str
        What is left out.
    """

    value: Array
    gradient: Array | None = None
    element: tuple[int, ...] = ()
    device: str = ""
    remark: str = ""


def adapter(thing: Any, name: str) -> Callable[[], Reading] | None:
    """Give what reads a thing, as often as it is called; None for what needs no adapter.

    Examples
    --------
    >>> import slangnb as sn
    >>> read = adapter(sn.Parameter([1.0, 2.0]), "a")
    >>> read().value, read().gradient
    (array([1., 2.], dtype=float32), None)
    >>> adapter([1.0, 2.0], "x") is None
    True
    """
    if is_parameter(thing):
        return lambda: parameter_reading(thing)
    if is_torch(thing):
        return lambda: torch_reading(thing, name)
    if is_texture(thing):
        return lambda: texture_reading(thing, name)
    module = sys.modules.get("slangnb.views.tensor_arrays")
    if module is not None and isinstance(thing, module.StructField):
        return lambda: thing.read(name)
    return None


class AdaptedSource(ArraySource):
    """A source whose arrays are read anew when it is refreshed."""

    def __init__(self, read: Callable[[], Reading], name: str) -> None:
        self._read = read
        self._fill(name, read())

    def _fill(self, name: str, found: Reading) -> None:
        super().__init__(
            found.value,
            found.gradient,
            name=name,
            element=found.element,
            device=found.device,
            remark=found.remark,
        )

    def changed(self) -> bool:
        """Whether the numbers may be others."""
        return True

    def refresh(self) -> None:
        """Read the numbers again."""
        self._fill(self.name, self._read())


def is_parameter(thing: object) -> bool:
    """Whether something is a `sn.Parameter`."""
    return isinstance(thing, Parameter)


def parameter_reading(parameter: Parameter) -> Reading:
    """Read a `sn.Parameter`."""
    grad = parameter.grad
    array: Array = parameter.array
    return Reading(array, None if grad is None else np.asarray(grad, array.dtype))


def is_torch(thing: object) -> bool:
    """Whether something is a torch tensor; does not import torch."""
    module = sys.modules.get("torch")
    kind = getattr(module, "Tensor", None)
    return isinstance(kind, type) and isinstance(thing, kind)


def torch_reading(tensor: Any, name: str = "tensor") -> Reading:
    """Read a torch tensor and its `.grad`.

    Raises
    ------
    CallError
        It has no numbers (device "meta"), or too many of them.
    """
    device = str(tensor.device)
    if device == "meta":
        raise CallError(f"{name} is a tensor on torch's meta device, which holds no numbers")
    size = tensor.numel() * tensor.element_size()
    if size > LARGEST_READ:
        raise CallError(
            f"{name} has {size / 2**20:.0f} MiB; no more than {LARGEST_READ >> 20} MiB are read to draw a torch tensor",
            remedy="show a part of it: show(x[:n])",
        )
    # Asking a tensor that is no leaf for its gradient warns, unless it was told to retain it.
    held = tensor.is_leaf or getattr(tensor, "retains_grad", False)
    grad = tensor.grad if held else None
    remark = "" if held or not tensor.requires_grad else "no gradient: call x.retain_grad() before backward"
    return Reading(
        _torch_array(tensor),
        None if grad is None else _torch_array(grad),
        device="" if device == "cpu" else device,
        remark=remark,
    )


def _torch_array(tensor: Any) -> Array:
    plain = tensor.detach()
    if "strided" not in str(plain.layout):
        plain = plain.to_dense()
    plain = plain.cpu()
    # numpy has no bfloat16, and no 8-bit floats.
    if any(word in str(plain.dtype) for word in ("bfloat16", "float8")):
        plain = plain.float()
    if plain.is_complex():
        plain = plain.resolve_conj()
    return np.asarray(plain.numpy())


def texture_reading(texture: Any, name: str = "texture") -> Reading:
    """Read a SlangPy texture; components of a colour become those of its elements."""
    array, remark = texture_array(texture, name)
    channels = len(array.shape) and array.shape[-1]
    several = channels in (2, 3, 4) and texture.format.name[:2] in ("rg", "bg")
    return Reading(array, None, (channels,) if several else (), device_words(texture.device), remark)
