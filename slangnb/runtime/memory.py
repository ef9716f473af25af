"""Device memory: making room where there is none left, and what a person is told if that is not enough."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from slangnb.devices.backend import is_software
from slangnb.errors import CallError

if TYPE_CHECKING:
    import slangpy

Made = TypeVar("Made")

#: A buffer of software Vulkan is smaller than this; SlangPy 0.43 refuses larger ones, or crashes.
MOST_BYTES_SOFTWARE = 1 << 31
_REFUSED = re.compile(r"create(Buffer|Texture)\(|out[ _]of[ _]memory", re.IGNORECASE)


def is_exhausted(error: Exception) -> bool:
    """Tell whether SlangPy raised this because the device gave no memory.

    Examples
    --------
    >>> is_exhausted(RuntimeError("m_device->rhi_device()->createBuffer(...) failed with error: ... (SLANG_FAIL)"))
    True
    """
    return _REFUSED.search(str(error)) is not None


def making_room() -> str:
    """Say how to come to memory."""
    said = "take the data in parts, or delete tensors that are no longer needed: del x"
    return f"{said}; torch gives back what it keeps by torch.cuda.empty_cache()" if "torch" in sys.modules else said


def check_bytes(device: slangpy.Device, size: int) -> None:
    """Refuse a buffer that software Vulkan cannot have.

    Raises
    ------
    CallError
    """
    if size >= MOST_BYTES_SOFTWARE and is_software(device.info.adapter_name):
        raise CallError(
            f"this needs {size / 1e9:.1f} GB in one piece; software Vulkan has less than 2.1 GB for each tensor",
            remedy="take the data in parts, or use a machine with a graphics card",
        )


def allocated(
    device: slangpy.Device, size: int, make: Callable[[], Made], give_back: Callable[[], None] | None = None
) -> Made:
    """Give what `make` makes of `size` bytes; if the device has none left, once more after the unused were given back.

    Parameters
    ----------
    device : slangpy.Device
    size : int
    make : callable
    give_back : callable, optional
        Lets go of what is kept for later.

    Raises
    ------
    CallError
        If the memory is not there.
    """
    check_bytes(device, size)
    try:
        return make()
    except RuntimeError as error:
        if not is_exhausted(error):
            raise
    if give_back is not None:
        give_back()
    gc.collect()
    device.wait()  # memory comes back once no kernel can use it any more
    try:
        return make()
    except RuntimeError as error:
        if not is_exhausted(error):
            raise
        raise CallError(
            f"this needs {size / 1e9:.3g} GB, and the device has no such piece of memory left", remedy=making_room()
        ) from None
