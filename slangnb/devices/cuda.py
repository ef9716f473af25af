"""CUDA's primary context: what PyTorch, JAX and others compute in, so that memory can be shared with them."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

from slangnb.errors import BackendError

if TYPE_CHECKING:
    import slangpy


def driver_library() -> Any:
    """Load the CUDA driver's library.

    Raises
    ------
    OSError
        If there is none.
    """
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def ordinal_of(luid: tuple[int, ...]) -> int | None:
    """Give the number by which CUDA, and so PyTorch, knows an adapter of SlangPy; None if it is not found.

    SlangPy tells adapters apart by the UUID, on Windows by the LUID.
    """
    try:
        cuda = driver_library()
        count = ctypes.c_int()
        if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
            return None
        for k in range(count.value):
            device, raw, mask = ctypes.c_int(), (ctypes.c_ubyte * 16)(), ctypes.c_uint()
            if cuda.cuDeviceGet(ctypes.byref(device), k):
                continue
            if sys.platform == "win32":
                failed = cuda.cuDeviceGetLuid(raw, ctypes.byref(mask), device)
            else:
                failed = cuda.cuDeviceGetUuid(raw, device)
            if not failed and tuple(raw) == luid:
                return k
    except (OSError, AttributeError):  # no driver, or one too old
        return None
    return None


def primary_context(ordinal: int) -> list[slangpy.NativeHandle]:
    """Make a card's primary context current, and give the handles from which SlangPy makes a device in it.

    The list is empty if CUDA refuses. The context is never released: other libraries may use it until the end.
    """
    import slangpy as spy

    try:
        cuda = driver_library()
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if cuda.cuDeviceGet(ctypes.byref(device), ordinal):
            return []
        if cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) or cuda.cuCtxSetCurrent(context):
            return []
    except (OSError, AttributeError):
        return []
    return list(spy.get_cuda_current_context_native_handles())


def shared_ordinal(device: slangpy.Device, luid: tuple[int, ...]) -> int | None:
    """Give CUDA's number of the card in whose primary context a device computes; None for any other device."""
    import slangpy as spy

    if device.info.type != spy.DeviceType.cuda:
        return None
    ordinal = ordinal_of(luid)
    shared = primary_context(ordinal) if ordinal is not None else []
    own = [h for h in device.native_handles if h.type == spy.NativeHandleType.CUcontext]
    return ordinal if own and own[0] in shared else None


def watched_context(device: slangpy.Device) -> int:
    """Give the context of a device, if there are cards whose contexts may be current instead; else 0."""
    import slangpy as spy

    count = ctypes.c_int()
    if device.info.type != spy.DeviceType.cuda or driver_library().cuDeviceGetCount(ctypes.byref(count)):
        return 0
    own = [h.value for h in device.native_handles if h.type == spy.NativeHandleType.CUcontext]
    return own[0] if own and count.value > 1 else 0


def make_current(device: slangpy.Device, watched: int) -> None:
    """Make a device's context current in this thread; nothing happens on other backends.

    Raises
    ------
    BackendError
        If that of another card is, as `watched_context` asks: a launch would end the process, and to change it would
        change PyTorch's current card.
    """
    if watched:
        current = ctypes.c_void_p()
        driver_library().cuCtxGetCurrent(ctypes.byref(current))
        if current.value not in (None, watched):
            raise BackendError(
                "another card than the session's is CUDA's current one",
                remedy="call it outside of `with torch.cuda.device(...)`, or within that of the session's card",
            )
    set_current(device)


def set_current(device: slangpy.Device) -> None:
    """Make a CUDA device's context current in this thread.

    Another device may have a context, too, for copies to and from PyTorch; it needs none to be current, and on a
    machine with several cards this would change PyTorch's.
    """
    import slangpy as spy

    if device.info.type == spy.DeviceType.cuda:
        device.set_cuda_context_current()
