"""Gives out device memory for results, and takes it back when nobody holds the result any more."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from slangnb.runtime.memory import allocated

if TYPE_CHECKING:
    import slangpy

#: Buffers of one size that are kept, in use or not.
MOST_KEPT = 4


class Pool:
    """Device memory by size.

    Fresh memory is dear: its pages are brought in at first use, which on software Vulkan takes as long as the kernel
    that writes it. SlangPy's objects share Python's reference counts, so the count of a buffer tells whether a tensor,
    a view or a person still holds it.
    """

    def __init__(self, device: slangpy.Device) -> None:
        import slangpy as spy
        from slangpy.slangpy import Shape

        self._tensor, self._shape = spy.Tensor, Shape
        self._device = device
        self._kept: dict[tuple[int, str], list[slangpy.Buffer]] = {}
        self._free_count = self._count_of_free()

    def _count_of_free(self) -> int:
        kept = [self._make(256, "device_local")]
        return next(sys.getrefcount(b) for b in kept)

    def _make(self, size: int, memory: str) -> slangpy.Buffer:
        import slangpy as spy

        usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
        if memory == "device_local":
            usage |= spy.BufferUsage.shared
        kind = getattr(spy.MemoryType, memory)
        return allocated(
            self._device,
            size,
            lambda: self._device.create_buffer(size=size, memory_type=kind, usage=usage),
            give_back=self.clear,
        )

    def buffer(self, size: int, memory: str = "device_local") -> slangpy.Buffer:
        """Give a buffer of so many bytes; its content is arbitrary. `memory` is as for `sums.storage`."""
        kept = self._kept.setdefault((size, memory), [])
        for b in kept:
            if sys.getrefcount(b) == self._free_count:
                return b
        made = self._make(size, memory)
        if len(kept) < MOST_KEPT:
            kept.append(made)
        if len(self._kept) > 4 * MOST_KEPT:
            self._drop_free()
        return made

    def tensor(self, dtype: Any, shape: Any, size: int, memory: str = "device_local") -> slangpy.Tensor:
        """Give a tensor of a SlangPy type in `size` bytes."""
        return self._tensor(self.buffer(size, memory), dtype, self._shape(shape) if isinstance(shape, tuple) else shape)

    def like(self, t: slangpy.Tensor) -> slangpy.Tensor:
        """Give a contiguous tensor of the same type and shape, without gradients."""
        return self.tensor(t.dtype, t.shape, t.element_count * t.dtype.buffer_layout.stride)

    def clear(self) -> None:
        """Forget all buffers; those in use live on with their users."""
        self._kept.clear()

    def _drop_free(self) -> None:
        for size, kept in list(self._kept.items()):
            held = [b for b in kept if sys.getrefcount(b) > self._free_count]
            if held:
                self._kept[size] = held
            else:
                del self._kept[size]
