"""Waits for the device so that the stop button works: SlangPy's own wait holds Python's lock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import slangpy

#: Hardware is asked without a pause for so long: a pause would cost more than most kernels take.
PATIENCE_SECONDS = 1e-3


def wait_for(device: slangpy.Device, submitted: int, software: bool) -> None:
    """Wait for a submission.

    Software Vulkan computes on the same cores, and gets them at once.
    """
    patience = time.perf_counter() + (0.0 if software else PATIENCE_SECONDS)
    pause = 2e-5
    while not device.is_submit_finished(submitted):
        if time.perf_counter() > patience:
            time.sleep(pause)
            pause = min(0.01, pause * 1.1)
