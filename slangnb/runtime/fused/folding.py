"""How the gradient for each element of a call lies over the elements of the value that it belongs to. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slangnb.runtime.tensors import packed_strides

if TYPE_CHECKING:
    import slangpy


def is_plain(t: slangpy.Tensor) -> bool:
    """Tell whether a tensor's elements lie in order from the start of its storage."""
    return t.offset == 0 and t.strides.as_tuple() == packed_strides(t.shape.as_tuple())


def scalar_offset(t: slangpy.Tensor) -> int:
    """Give the place of a tensor's first number in its storage."""
    return t.offset * math.prod(t.dtype.shape.as_tuple())


def scalar_strides(t: slangpy.Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Give the strides of a gradient over the shape of its tensor, which may repeat it: 0 there."""
    step = math.prod(t.dtype.shape.as_tuple())
    own = t.shape.as_tuple()
    outer = len(shape) if len(own) >= len(shape) else len(own)
    strides = tuple(0 if n == 1 else s * step for n, s in zip(own[:outer], t.strides.as_tuple(), strict=False))
    return (0,) * (len(shape) - outer) + strides


def takes_all(t: slangpy.Tensor, shape: tuple[int, ...]) -> bool:
    """Tell whether a gradient has a number for each element of its tensor, in their order."""
    return is_plain(t) and t.shape.as_tuple()[: len(shape)] == shape


def fold_dimensions(
    shape: tuple[int, ...], own: tuple[int, ...], parts: int, to: tuple[int, ...]
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Say which dimensions of a gradient for each element stay, and which are summed over.

    Parameters
    ----------
    shape, own : tuple of int
        Of the call, and of the value that was repeated.
    parts : int
        Scalars of an element.
    to : tuple of int
        Strides of the result, in scalars; a stride of 0 means that these elements are one in memory.

    Examples
    --------
    >>> fold_dimensions((5, 3), (3,), 2, (2,))
    ([(3, 2, 2), (2, 1, 1)], [(5, 6)])
    """
    steps = packed_strides(shape, parts)
    sizes = (1,) * (len(shape) - len(own)) + own
    targets = (0,) * (len(shape) - len(own)) + to
    kept, folded = [], []
    for n, size, step, target in zip(shape, sizes, steps, targets, strict=True):
        if size == 1 or target == 0:
            folded.append((n, step))
        else:
            kept.append((n, step, target))
    return [*kept, (parts, 1, 1)], folded or [(1, 0)]
