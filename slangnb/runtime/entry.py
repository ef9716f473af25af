"""Who may give the device work, and what it still does: threads, waits, and waits that were stopped."""

from __future__ import annotations

from threading import RLock, local
from typing import TYPE_CHECKING, Any

from slangnb.devices.cuda import make_current, set_current, watched_context
from slangnb.devices.waiting import STOPPED, fences, still_busy, wait_for
from slangnb.errors import Interrupted

if TYPE_CHECKING:
    import slangpy


class _Here(local):
    """What a thread knows: the time at which it last entered."""

    time = -1


class Entry:
    """The way of calls to a device.

    Parameters
    ----------
    device : slangpy.Device
    software : bool
        Whether it computes on the CPU.
    """

    def __init__(self, device: slangpy.Device, software: bool) -> None:
        self._device, self._software = device, software
        self._fences, self._watched = fences(device), watched_context(device)
        self._here, self._time = _Here(), 0
        #: Held while a launch is bound, made and read: kernels keep what is bound to them, one for all threads.
        self.lock = RLock()
        self._stopped: int | None = None  # what an interrupted wait waited for
        self._held: Any = None  # memory that this may still write to

    @property
    def open(self) -> bool:
        """Whether this thread may call without a look."""
        return self._here.time == self._time

    def look(self) -> None:
        """Make ready for calls from this thread: without a CUDA context they would end the process.

        Raises
        ------
        BackendError
            While a kernel runs whose wait was stopped: a call would wait for it, without the stop button. And while
            another card than this device's is CUDA's current one.
        """
        make_current(self._device, self._watched)
        if self.busy():
            raise still_busy()
        if not self._watched:
            self._here.time = self._time

    def shut(self) -> None:
        """Let every thread look before its next call."""
        self._time += 1

    def close(self) -> None:
        """Give back what belongs to the device."""
        self.shut()
        del self._fences  # it may hold a buffer

    def wait(self, submitted: int | None = None, held: Any = None) -> None:
        """Wait for the device, or for one submission; the stop button interrupts this, not the kernel that runs.

        Memory that the kernel works on by address is `held` until it ends.
        """
        set_current(self._device)
        mark = self._fences.mark(submitted)
        try:
            wait_for(self._fences, mark, self._software)
        except KeyboardInterrupt:
            raise self.stopped(held) from None

    def stopped(self, held: Any) -> Interrupted:
        """Take note that nobody waits for what the device was given, and keep the memory that it works on.

        Gives what to raise.
        """
        self._held = (self._held, held) if self.busy() else held
        self._stopped = self._fences.mark()
        self.shut()
        done = self._fences.passed(self._stopped)
        return Interrupted("the device is done with what it was given" if done else STOPPED)

    def busy(self) -> bool:
        """Tell whether the device still runs a kernel whose wait was stopped."""
        if self._stopped is not None and self._fences.passed(self._stopped):
            self._stopped = self._held = None
        return self._stopped is not None
