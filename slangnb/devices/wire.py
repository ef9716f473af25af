"""Describes the arguments of a call so that another process can build the same kernel without their data.

A kernel depends on the types, the number of dimensions and the gradient slots of its arguments, never on their
values or on large shapes. So a tensor of gigabytes travels as its type and a small shape, a texture as its format.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import slangpy

    from slangnb.compiler.loading import Loaded

Described = tuple[Any, ...]

#: Value generators of SlangPy and the attributes that its constructors take, in order.
_GENERATORS = {
    "ThreadIdArg": ("slangpy.types.threadidarg", ("dims",)),
    "CallIdArg": ("slangpy.types.callidarg", ("dims",)),
    "RandFloatArg": ("slangpy.types.randfloatarg", ("min", "max", "dims", "seed", "warmup", "hash_seed")),
    "WangHashArg": ("slangpy.types.wanghasharg", ("dims", "seed", "warmup", "hash_seed")),
}
_LARGEST_INNER = 64
#: Of a stand-in for a buffer without a struct size: one element of the largest format.
_BUFFER_BYTES = 16


class UndescribableError(Exception):
    """A value that cannot be rebuilt in another process, such as an acceleration structure; the call goes unguarded."""


def small_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shrink a shape to one that costs nothing but has the same number of dimensions and small inner sizes.

    Examples
    --------
    >>> small_shape((1_000_000, 512, 3))
    (1, 1, 3)
    """
    return tuple(n if n <= _LARGEST_INNER and i >= len(shape) - 3 else 1 for i, n in enumerate(shape))


def describe(value: Any, exact: bool = False) -> Described:
    """Turn an argument into plain tuples.

    Parameters
    ----------
    value : object
        The argument.
    exact : bool
        Keep the values of numbers, since they decide what is compiled, as link-time constants do.

    Raises
    ------
    UndescribableError
        For kinds of values that are not supported.

    Examples
    --------
    >>> describe({"k": 2.0}) == describe({"k": 3.0}), describe(2.0, exact=True)
    (True, ('plain', 2.0))
    """
    import slangpy as spy

    again = partial(describe, exact=exact)
    if type(value) in (int, float) and not exact:
        return ("plain", type(value)())
    if value is None or isinstance(value, bool | int | float | str):
        return ("plain", value)
    if isinstance(value, np.ndarray):
        return ("numpy", value.dtype.str, small_shape(value.shape))
    if isinstance(value, spy.Tensor):
        return _describe_tensor(value)
    if isinstance(value, spy.Texture):
        desc = value.desc
        return ("texture", desc.type.name, desc.format.name, int(desc.usage), desc.sample_count)
    if isinstance(value, spy.TextureView):
        return ("view", again(value.texture))
    if isinstance(value, spy.Buffer):
        return ("buffer", int(value.desc.usage), value.desc.struct_size, value.desc.format.name)
    if isinstance(value, spy.Sampler):
        return ("sampler",)
    if isinstance(value, range):
        return ("range",)
    if isinstance(value, dict):
        return ("dict", tuple((k, again(v)) for k, v in value.items()))
    if isinstance(value, list | tuple):
        return (type(value).__name__, tuple(again(v) for v in value))
    name = type(value).__name__
    if name in _GENERATORS:
        return ("generator", name, tuple(getattr(value, a) for a in _GENERATORS[name][1]))
    if name == "GridArg":
        parts = (value.shape, value.offset, value.stride)
        return ("grid", *(small_shape(p.as_tuple()) if i == 0 else p.as_tuple() for i, p in enumerate(parts)))
    if name == "DiffPair":
        return ("pair", again(value.primal), again(value.grad), value.needs_grad)
    if name == "ValueRef":
        return ("ref", again(value.value))
    if name == "Struct":
        return ("struct", value.struct.full_name)
    if type(value).__module__ == "slangpy.math":
        numbers = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else list(value))
        return ("math", name, (numbers if exact else np.zeros_like(numbers)).tolist())
    if isinstance(value, type):
        return ("class", value.__module__, value.__qualname__)
    raise UndescribableError(name)


def _describe_tensor(t: slangpy.Tensor) -> Described:
    shared = t.grad_in is not None and t.grad_in is t.grad_out
    return (
        "tensor",
        t.dtype.full_name,
        small_shape(t.shape.as_tuple()),
        int(t.usage),
        "shared" if shared else (t.grad_in is not None, t.grad_out is not None),
    )


def rebuild(described: Described, device: slangpy.Device, loaded: Loaded) -> Any:
    """Make a small value of the described kind on `device`."""
    import slangpy as spy

    kind, *rest = described

    def again(d: Described) -> Any:
        return rebuild(d, device, loaded)

    builders: dict[str, Callable[..., Any]] = {
        "plain": lambda v: v,
        "numpy": lambda dtype, shape: np.zeros(shape, dtype),
        "tensor": lambda *a: _rebuild_tensor(device, loaded, *a),
        "texture": lambda *a: _rebuild_texture(device, *a),
        "view": lambda texture: again(texture).create_view(),
        "buffer": lambda *a: _rebuild_buffer(device, *a),
        "sampler": device.create_sampler,
        "range": lambda: range(1),
        "dict": lambda items: {k: again(v) for k, v in items},
        "list": lambda items: [again(v) for v in items],
        "tuple": lambda items: tuple(again(v) for v in items),
        "generator": _rebuild_generator,
        "grid": spy.grid,
        "pair": lambda p, d, needs: spy.types.diffpair.DiffPair(again(p), again(d), needs),
        "ref": lambda v: spy.types.valueref.ValueRef(again(v)),
        "struct": lambda name: loaded.module.require_struct(name),
        "math": lambda name, v: getattr(spy, name)(np.array(v, np.float32) if isinstance(v[0], list) else v),
        "class": _rebuild_class,
    }
    return builders[kind](*rest)


def _rebuild_generator(name: str, values: tuple[Any, ...]) -> Any:
    import importlib

    return getattr(importlib.import_module(_GENERATORS[name][0]), name)(*values)


def _rebuild_class(module: str, name: str) -> Any:
    import importlib

    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _rebuild_texture(device: slangpy.Device, kind: str, format_name: str, usage: int, samples: int) -> slangpy.Texture:
    import slangpy as spy

    texels = spy.Format[format_name]
    block = spy.get_format_info(texels)  # a compressed format has no texture smaller than its blocks
    return device.create_texture(
        type=spy.TextureType[kind],
        format=texels,
        width=block.block_width,
        height=1 if kind.startswith("texture_1d") else block.block_height,
        sample_count=samples,
        usage=spy.TextureUsage(usage),
    )


def _rebuild_buffer(device: slangpy.Device, usage: int, struct_size: int, format_name: str) -> slangpy.Buffer:
    import slangpy as spy

    return device.create_buffer(
        size=struct_size or _BUFFER_BYTES,
        struct_size=struct_size,
        format=spy.Format[format_name],
        usage=spy.BufferUsage(usage),
    )


def _rebuild_tensor(
    device: slangpy.Device,
    loaded: Loaded,
    dtype: str,
    shape: tuple[int, ...],
    usage: int,
    grads: str | tuple[bool, bool],
) -> slangpy.Tensor:
    import slangpy as spy

    element = loaded.module.layout.require_type_by_name(dtype)

    def make() -> slangpy.Tensor:
        return spy.Tensor.empty(device, shape=shape, dtype=element, usage=spy.BufferUsage(usage))  # pyright: ignore[reportArgumentType]

    t = make()
    if grads == "shared":
        g = make()
        return t.with_grads(g, g, zero=False)
    if grads != (False, False):
        grad_in, grad_out = (make() if g else None for g in grads)
        return t.with_grads(grad_in, grad_out, zero=False)
    return t
