"""Decides how each value of a call is read: as a uniform, for each element, or by strides. Pure."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from slangnb.errors import GradientError
from slangnb.runtime.extents import unequal
from slangnb.runtime.fused.given import Given
from slangnb.runtime.fused.values import Held
from slangnb.runtime.tensors import packed_strides

#: Numbers passed as uniforms, in words of four bytes: with the kernel's own they must fit 128 bytes.
UNIFORM_WORDS = 20
#: Shared numbers of an argument whose gradients one thread keeps: 128 take 3 s to compile, 256 take 11 s.
MOST_SHARED = 128


def broadcasts(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether a value of shape `own` can be repeated to `shape`.

    Examples
    --------
    >>> broadcasts((4, 1), (3, 4, 5)), broadcasts((2, 3), (3,)), broadcasts((2,), (3,))
    (True, False, False)
    """
    return len(own) <= len(shape) and all(n in (1, m) for n, m in zip(own[::-1], shape[::-1], strict=False))


def broadcast_shape(function: str, given: list[Given]) -> tuple[int, ...]:
    """Broadcast the shapes of all values: sizes must be equal or 1, aligned at the last dimension."""
    shape: tuple[int, ...] = ()
    for g in given:
        try:
            shape = np.broadcast_shapes(shape, g.held.shape)
        except ValueError:
            raise unequal(function, f"{g.argument}{g.leaf.suffix}", g.held.shape, shape) from None
    return shape


def with_access(given: list[Given], shape: tuple[int, ...]) -> list[Given]:
    """Decide how each leaf is read."""
    words = UNIFORM_WORDS
    found = []
    for g in given:
        access = "strided"
        h = g.held
        if math.prod(h.shape) == 1:
            size = len(g.leaf.parts) * (2 if g.leaf.type.scalar in ("double", "int64_t", "uint64_t") else 1)
            from_host = h.kind not in ("tensor", "array")
            access = "uniform" if from_host and not g.leaf.whole and size <= words else "one"
            if g.leaf.whole and shape == h.shape and not h.offset:
                access = "each"
            words -= size if access == "uniform" else 0
            if access == "one" and h.offset:
                access = "strided"
        elif h.shape == shape:
            step = 1 if g.leaf.whole else len(g.leaf.parts)
            if reads_copy(h) or (h.offset == 0 and h.strides == packed_strides(shape, step)):
                access = "each"
        found.append(replace(g, leaf=replace(g.leaf, access=access)))
    return found


def reads_copy(h: Held) -> bool:
    """Tell whether a value is read from a contiguous copy."""
    return h.kind not in ("tensor", "array") or h.copied


def strides_in(g: Given, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Give the strides of a value over the call's shape, 0 where it is repeated.

    Examples
    --------
    >>> from slangnb.compiler.reflection import TypeInfo
    >>> from slangnb.runtime.fused.job import Leaf
    >>> from slangnb.runtime.fused.values import Held
    >>> t = TypeInfo("vector<float,3>", "vector", "float", (3,))
    >>> strides_in(Given(Leaf("v", "", t, "strided"), Held("numpy", (4, 1)), ("v",)), (2, 4, 5))
    (0, 3, 0)
    """
    h = g.held
    own = h.strides
    if reads_copy(h):
        own = packed_strides(h.shape, 1 if g.leaf.whole else len(g.leaf.parts))
    padded = (0,) * (len(shape) - len(own)) + own
    sizes = (1,) * (len(shape) - len(own)) + h.shape
    return tuple(0 if n == 1 else s for n, s in zip(sizes, padded, strict=True))


def numbered(given: list[Given]) -> list[Given]:
    """Give each leaf an id of its own: ``p_x`` may be a parameter, and a field of ``p``."""
    return [replace(g, leaf=replace(g.leaf, id=f"{k}_{g.leaf.id}")) for k, g in enumerate(given)]


def check_shared(function: str, given: list[Given], shape: tuple[int, ...]) -> None:
    """Refuse to sum more gradients in the registers of a thread than it has."""
    for g in given:
        if g.leaf.wanted and g.leaf.whole and g.held.shape != shape:
            raise GradientError(
                f"{function}: {g.argument!r} is a tensor of {g.leaf.type.name} that elements share; its gradient "
                "cannot be summed",
                function=function,
                argument=g.argument,
                remedy="pass a dict with a value for each field",
            )
        if g.leaf.wanted and g.leaf.shared and len(g.leaf.parts) > MOST_SHARED:
            raise GradientError(
                f"{function}: {g.argument!r} has {len(g.leaf.parts)} numbers, each with a gradient summed over all "
                f"elements; at most {MOST_SHARED} fit",
                function=function,
                argument=g.argument,
                remedy="declare the parameter as IDiffTensor<float, n>, and pass a tensor",
            )
