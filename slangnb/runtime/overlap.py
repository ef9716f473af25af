"""Refuses results that lie over other elements of an argument: threads run in no order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import TypeInfo
from slangnb.errors import CallError
from slangnb.runtime.binding import Bound
from slangnb.runtime.checks import inner_sizes, leaves

if TYPE_CHECKING:
    import slangpy


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of a tensor lie in its storage, in bytes; the last `inner` dimensions belong to one thread."""

    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    inner: int = 0

    @classmethod
    def of(cls, t: TypeInfo, value: slangpy.Tensor) -> Layout:
        """Give the layout of a tensor that is passed for a type."""
        size = value.dtype.buffer_layout.stride
        strides = tuple(size * n for n in value.strides.as_tuple())
        inner = len(inner_sizes(t, value.dtype.shape.as_tuple()))
        return cls(size * value.offset, value.shape.as_tuple(), strides, size, inner)

    @property
    def threads(self) -> tuple[tuple[int, int], ...]:
        """The steps from thread to thread: (count, bytes)."""
        outer = len(self.shape) - self.inner
        steps = zip(self.shape[:outer], self.strides[:outer], strict=True)
        return tuple(step for step in steps if step[0] > 1)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """An array of this layout, for numpy's arithmetic of addresses: nothing reads it."""
        where = {"data": (1 + self.first, True), "shape": self.shape, "strides": self.strides}
        return {**where, "typestr": f"|V{self.size}", "version": 3}


def crosses(a: Layout, b: Layout) -> bool:
    """Tell whether one thread's place in `a` is another one's in `b`, where both are of one storage.

    Examples
    --------
    >>> whole, turned = Layout(0, (2, 2), (8, 4), 4), Layout(0, (2, 2), (4, 8), 4)
    >>> crosses(whole, whole), crosses(whole, turned)
    (False, True)
    >>> even, odd, shifted = Layout(0, (4,), (8,), 4), Layout(4, (4,), (8,), 4), Layout(8, (4,), (8,), 4)
    >>> crosses(even, odd), crosses(even, shifted)
    (False, True)
    """
    if a.threads == b.threads and abs(a.first - b.first) < min((step for _, step in a.threads), default=a.size):
        return False  # each thread keeps to its own place
    return np.shares_memory(np.asarray(a), np.asarray(b))


def check_overlap(bound: Bound) -> None:
    """Refuse a forward call whose result or output lies over other elements of an argument.

    Tensors that the function indexes itself are left alone: only it knows what it reads.

    Raises
    ------
    CallError
    """
    name, read = bound.signature.name, []
    written = [*_tensors("_result", bound.signature.returns, bound.result)]
    for slot in bound.slots:
        found = _tensors(slot.parameter.name, slot.parameter.type, slot.value)
        (read if slot.parameter.io == "in" else written).extend(found)
    for place, t, value in written:
        for argument, u, other in read:
            if value.storage is other.storage and crosses(Layout.of(t, value), Layout.of(u, other)):
                raise CallError(
                    f"{name}: {place!r} lies over other elements of {argument!r}: threads run in no order, so that "
                    "some would read what others have written",
                    function=name,
                    argument=place,
                    remedy="write to a new tensor"
                    + (f": y = {name}(..., _result='tensor')" if place == "_result" else ""),
                )


def _tensors(argument: str, t: TypeInfo, value: Any) -> Iterator[tuple[str, TypeInfo, slangpy.Tensor]]:
    import slangpy as spy

    for path, inner, leaf in leaves(argument, t, value):
        if isinstance(leaf, spy.Tensor) and inner.kind != "tensor":
            yield path, inner, leaf
