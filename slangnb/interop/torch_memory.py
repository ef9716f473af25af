"""Torch's memory as a kernel sees it, and launches on torch's current stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.compiler.reflection import SCALARS
from slangnb.devices.cuda import shared_ordinal
from slangnb.runtime.fused.addressed import AddressedLaunch
from slangnb.runtime.fused.values import ALIGNED, DeviceArray, NotFusedError
from slangnb.runtime.nesting import map_leaves

if TYPE_CHECKING:
    from slangnb.runtime.session import Session

#: Slang's names of torch's types. Of those without a sign torch has uint8 alone for most operations.
SCALARS_OF = {getattr(torch, n): s for s, n in SCALARS.items() if n == "uint8" or not n.startswith("uint")}
DTYPES = {scalar: dtype for dtype, scalar in SCALARS_OF.items()}


def shares_memory(session: Session, device: Any) -> bool:
    """Tell whether a session computes in the memory of a torch device."""
    if device.type == "cpu":
        return session.host_memory
    return device.type == "cuda" and shared_ordinal(session.device, session.backend.luid) == device.index


def raw_stream(index: int) -> int:
    """Give the handle of torch's current stream on a card."""
    # The public way makes a Stream object first, which takes longer than a launch.
    quick: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return quick(index) if quick is not None else torch.cuda.current_stream(index).cuda_stream


def device_array(t: Any) -> DeviceArray:
    """Describe a tensor to a kernel."""
    return DeviceArray(t.data_ptr(), tuple(t.shape), tuple(t.stride()), SCALARS_OF[t.dtype])


def seed_mark(seed: Any, inner: int) -> tuple[Any, Any]:
    """Give the gradient of a result as a kernel can read it, and what decides how it is read.

    One whose elements are all one number in memory, as the gradient of ``y.sum()`` is, counts as that number; `inner`
    counts the dimensions of the result's own type. The tensor must be held until the kernel is launched.
    """
    if seed.is_neg():
        seed = seed.resolve_neg()
    if inner:
        seed = seed.contiguous()
    strides = seed.stride()
    if not inner and not any(strides):
        return seed, (seed.dtype, (), (), True)
    return seed, (seed.dtype, seed.shape, strides, seed.is_cuda or not seed.data_ptr() % ALIGNED)


def seed_array(seed: Any, mark: tuple[Any, Any, Any, bool]) -> DeviceArray:
    """Describe the gradient of a result to a kernel."""
    dtype, shape, strides, _ = mark
    return DeviceArray(seed.data_ptr(), tuple(shape), tuple(strides), SCALARS_OF[dtype])


def launch_on(session: Session, device: Any, launch: AddressedLaunch, values: Sequence[Any], **given: Any) -> None:
    """Launch on torch's current stream, or on the CPU; `given` as for `AddressedLaunch.run`.

    A launch has memory of its own for partial sums. If the last one went to another stream, this one waits for that.
    """
    if device.type == "cpu":
        launch.run(values, **given)
        return
    launch.stream = follow_stream(launch.stream, device)
    launch.run(values, **given, stream=launch.stream)


def follow_stream(last: int | None, device: Any) -> int:
    """Give torch's current stream, which waits for the last one if that was another."""
    stream = raw_stream(device.index)
    if last is not None and last != stream:
        torch.cuda.current_stream(device).wait_stream(torch.cuda.ExternalStream(last, device))
    return stream


def addresses(tensors: Sequence[Any]) -> list[int]:
    """Give where tensors lie.

    Raises
    ------
    NotFusedError
        For tensors without memory, as they are within ``torch.vmap`` or once their storage was resized to nothing.
    """
    try:
        found = [t.data_ptr() for t in tensors]
    except RuntimeError as error:
        raise NotFusedError(str(error)) from error
    if 0 in found:
        raise NotFusedError("a tensor's memory was given back")
    return found


def named_values(values: dict[Any, Any], describe: Callable[[Any], Any]) -> dict[Any, Any]:
    """Give arguments with descriptions in the place of tensors."""
    return map_leaves(values, lambda _, value: describe(value) if isinstance(value, torch.Tensor) else value)
