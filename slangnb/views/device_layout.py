"""How the numbers of a tensor lie in its buffer. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """Sizes and strides of axes, and where the first number lies; all counted in scalars."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return math.prod(self.sizes)

    def transposed(self, order: tuple[int, ...]) -> View:
        """Give the axes in another order.

        Examples
        --------
        >>> View((2, 3), (3, 1)).transposed((1, 0))
        View(sizes=(3, 2), strides=(1, 3), offset=0)
        """
        return View(tuple(self.sizes[i] for i in order), tuple(self.strides[i] for i in order), self.offset)

    def taken(self, index: tuple[int | slice, ...]) -> View:
        """Give a part, as indexing a numpy array does; slices have no negative numbers.

        Examples
        --------
        >>> View((4, 6), (6, 1), 2).taken((1, slice(2, 6, 2)))
        View(sizes=(2,), strides=(2,), offset=10)
        """
        sizes: list[int] = []
        strides: list[int] = []
        offset = self.offset
        parts = (*index, *(slice(None),) * (len(self.sizes) - len(index)))
        for part, size, stride in zip(parts, self.sizes, self.strides, strict=True):
            if isinstance(part, slice):
                start, stop, step = part.indices(size)
                sizes.append(len(range(start, stop, step)))
                strides.append(stride * step)
                offset += start * stride
            else:
                offset += part * stride
        return View(tuple(sizes), tuple(strides), offset)

    def joined(self) -> View:
        """Give the same numbers, in any order, with as few axes as possible; there is always one.

        Examples
        --------
        >>> View((2, 3, 4), (12, 4, 1)).joined(), View((4, 2), (1, 8)).joined()
        (View(sizes=(24,), strides=(1,), offset=0), View(sizes=(2, 4), strides=(8, 1), offset=0))
        """
        axes = sorted(
            ((stride, size) for size, stride in zip(self.sizes, self.strides, strict=True) if size != 1), reverse=True
        )
        found: list[tuple[int, int]] = []
        for stride, size in axes:
            if found and found[-1][0] == stride * size:
                found[-1] = stride, size * found[-1][1]
            else:
                found.append((stride, size))
        found = found or [(1, 1)]
        return View(tuple(size for _, size in found), tuple(stride for stride, _ in found), self.offset)
