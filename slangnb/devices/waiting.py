"""Waits for the device so that the stop button works: SlangPy's own wait holds Python's lock."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.errors import BackendError

if TYPE_CHECKING:
    import slangpy

#: The device is asked without a pause for so long: a pause would cost more than most kernels take. Software Vulkan
#: computes on the same cores, so there it is shorter, and none with a single core.
PATIENCE_SECONDS, PATIENCE_SOFTWARE = 1e-3, 4e-4
_UNTIL_THEN = "wait until it ends, or restart the notebook's kernel if it never does"
#: What the stop button leaves behind.
STOPPED = f"nobody waits for the device any more, and it still runs the kernel; {_UNTIL_THEN}"


class Fences:
    """Tells what a device has done by the numbers of its submissions."""

    def __init__(self, device: slangpy.Device) -> None:
        self._device = device

    def mark(self, submitted: int | None = None) -> int:
        """Give what to wait for: a submission, or all that the device was given."""
        return self._device.submit_command_buffers([]) if submitted is None else submitted

    def passed(self, mark: int) -> bool:
        """Tell whether the device has done that."""
        return self._device.is_submit_finished(mark)


_BEACON = """
[shader("compute")]
[numthreads(1, 1, 1)]
void slangnb_beacon(uniform uint number, RWStructuredBuffer<uint> seen)
{
    seen[0] = number;
}
"""


class Beacons(Fences):
    """Tells what a CUDA device has done.

    SlangPy 0.43 calls a submission to CUDA finished when it is given to the device, not when it is done. So a kernel
    follows it that writes a number where Python sees it.
    """

    def __init__(self, device: slangpy.Device) -> None:
        import slangpy as spy

        super().__init__(device)
        module = device.load_module_from_source("slangnb_beacon", _BEACON)
        program = device.link_program([module], [module.entry_point("slangnb_beacon")])
        self._kernel = device.create_compute_kernel(program)
        self._root = device.create_root_shader_object(program)
        self._cursor: Any = spy.ShaderCursor(self._root).find_entry_point(0)
        usage = spy.BufferUsage.unordered_access | spy.BufferUsage.copy_destination
        self._seen = device.create_buffer(size=4, memory_type=spy.MemoryType.read_back, usage=usage)
        self._cursor["seen"] = self._seen
        self._last = 0
        # The memory may hold any number at first.
        self.mark()
        device.wait()

    def mark(self, submitted: int | None = None) -> int:
        """Give what to wait for: all that the device was given."""
        self._last = (self._last + 1) % (1 << 32)
        self._cursor["number"] = self._last
        encoder = self._device.create_command_encoder()
        with encoder.begin_compute_pass() as commands:
            commands.bind_pipeline(self._kernel.pipeline, self._root)
            commands.dispatch([1, 1, 1])
        self._device.submit_command_buffer(encoder.finish())
        return self._last

    def passed(self, mark: int) -> bool:
        """Tell whether the device has done that."""
        seen = int(self._seen.to_numpy().view(np.uint32)[0])
        return (seen - mark) % (1 << 32) < 1 << 31  # the numbers begin again after 2^32


def fences(device: slangpy.Device) -> Fences:
    """Give what tells a device's progress."""
    return Beacons(device) if device.info.type.name == "cuda" else Fences(device)


@cache  # the number of cores is read from a file, which takes as long as a wait
def _patience(software: bool) -> float:
    if not software:
        return PATIENCE_SECONDS
    return PATIENCE_SOFTWARE if (os.cpu_count() or 1) > 1 else 0.0


def wait_for(progress: Fences, mark: int, software: bool) -> None:
    """Wait until the device has come to a mark."""
    patience = time.perf_counter() + _patience(software)
    pause = 2e-5
    while not progress.passed(mark):
        if time.perf_counter() > patience:
            time.sleep(pause)
            pause = min(0.01, pause * 1.1)


def still_busy() -> BackendError:
    """Say that a kernel still runs whose wait was stopped."""
    return BackendError(
        "the device still runs the kernel that you stopped waiting for",
        remedy=_UNTIL_THEN,
    )
