"""Software Vulkan runs kernels in this very process, so they can read and write numpy's and torch's own memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import slangpy

    from slangnb.devices.backend import Backend

#: Mesa's renderer on the CPU: to its kernels, an address is an address of the process.
RENDERER = "llvmpipe"


def takes_host_addresses(device: slangpy.Device, backend: Backend) -> bool:
    """Tell whether the addresses that kernels work with are those of this process.

    Vulkan does not promise it, so it is looked at: what a buffer holds must be found where the device says it lies.
    The look goes through the system's view of the process, which gives an error where nothing lies.
    """
    import slangpy as spy

    if not backend.software or not backend.adapter.startswith(RENDERER):
        return False
    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    written = np.random.default_rng().integers(0, 256, 256, dtype=np.uint8)
    buffer = device.create_buffer(size=written.nbytes, usage=usage)
    buffer.copy_from_numpy(written)
    device.wait()
    try:
        with Path("/proc/self/mem").open("rb", buffering=0) as memory:
            memory.seek(buffer.device_address)
            return memory.read(written.nbytes) == written.tobytes()
    except (OSError, OverflowError):  # no such address, or a system without this file
        return False
