"""Torch's tensors on a card for a session that reaches the same card by Vulkan or Direct3D 12: copies on the card.

The two have different memory, but for buffers that are made for both. One such buffer is the bridge: torch copies into
it and the device copies out of it, or the other way round, and each waits for the other on the card, not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.compiler.reflection import innermost_scalar
from slangnb.devices.cuda import ordinal_of
from slangnb.interop.torch_memory import DTYPES, SCALARS_OF, follow_stream

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session

#: Tensors of fewer bytes go through host memory: that takes less time than two waits on the card.
LEAST_BYTES = 1 << 16


class Bridge:
    """The way between a card's torch tensors and a session's.

    Parameters
    ----------
    session : Session
        Its device has CUDA's interoperability, and lives on the same card.
    device : torch.device
        The card.
    """

    def __init__(self, session: Session, device: Any) -> None:
        self._session, self._torch_device = session, device
        self._buffer: slangpy.Buffer | None = None
        self._view: Any = None  # the buffer as a torch tensor of bytes
        self._stream: int | None = None

    @property
    def bytes(self) -> int:
        """How much memory it keeps."""
        return self._buffer.size if self._buffer is not None else 0

    def carries(self, t: Any) -> bool:
        """Tell whether a torch tensor goes this way."""
        large = t.dim() > 0 and t.numel() * t.element_size() >= LEAST_BYTES
        return large and t.device == self._torch_device and t.dtype in SCALARS_OF and t.untyped_storage().nbytes() > 0

    def brings_back(self, found: Any) -> bool:
        """Tell whether a result goes this way: a large SlangPy tensor of numbers, without gaps."""
        if not hasattr(found, "storage") or innermost_scalar(found.dtype) not in DTYPES:
            return False
        return found.is_contiguous() and found.element_count * found.dtype.buffer_layout.stride >= LEAST_BYTES

    def to_session(self, t: Any) -> slangpy.Tensor:
        """Copy a torch tensor to the session's device, as a tensor of scalars."""
        import slangpy as spy

        t = t.detach().resolve_neg().contiguous()
        device, size = self._session.device, t.numel() * t.element_size()
        made = spy.Tensor.empty(device, shape=tuple(t.shape), dtype=SCALARS_OF[t.dtype])  # pyright: ignore[reportArgumentType]
        with self._session.entry.lock:
            stream = self._reserve(size)
            self._view[:size].copy_(t.view(-1).view(torch.uint8))
            self._copy(made.storage, 0, self._buffer, 0, size, stream)
        return made

    def to_torch(self, found: slangpy.Tensor) -> Any:
        """Copy a tensor of the session's to torch; the numbers of a vector become the last dimension."""
        stride = found.dtype.buffer_layout.stride
        size = found.element_count * stride
        shape = (*found.shape.as_tuple(), *found.dtype.shape.as_tuple())
        made = torch.empty(shape, dtype=DTYPES[innermost_scalar(found.dtype)], device=self._torch_device)
        with self._session.entry.lock:
            stream = self._reserve(size)
            self._copy(self._buffer, 0, found.storage, found.offset * stride, size, stream)
            made.view(-1).view(torch.uint8).copy_(self._view[:size])
        return made

    def _reserve(self, size: int) -> int:
        """Make the buffer large enough, and give torch's current stream, where its last use is over."""
        import slangpy as spy

        device = self._session.device
        if self.bytes < size:
            usage = spy.BufferUsage.copy_source | spy.BufferUsage.copy_destination | spy.BufferUsage.shared
            self._view = self._buffer = None
            self._buffer = device.create_buffer(size=size, usage=usage)
            self._view = self._buffer.to_torch(spy.DataType.uint8, [size])
        self._stream = follow_stream(self._stream, self._torch_device)
        return self._stream

    def _copy(self, to: Any, to_offset: int, source: Any, offset: int, size: int, stream: int) -> None:
        """Let the device copy, after what torch was given before and before what it is given after."""
        device = self._session.device
        device.sync_to_cuda(stream)
        encoder = device.create_command_encoder()
        encoder.copy_buffer(to, to_offset, source, offset, size)
        device.submit_command_buffer(encoder.finish())
        device.sync_to_device(stream)


def bridge_of(session: Session, device: Any) -> Bridge | None:
    """Find a session's bridge to a torch device; None if there is none, or none is needed."""
    if device.type != "cuda" or session.backend.name == "cuda" or not session.device.supports_cuda_interop:
        return None
    if ordinal_of(session.backend.luid) != device.index:
        return None
    return session.plans.get(("torch bridge", device.index), lambda: Bridge(session, device))
