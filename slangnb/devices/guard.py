"""Compiles in a warm child process first, so that a compiler crash or hang becomes an error and the kernel lives.

The compiler of SlangPy 0.43 can crash or never return on some differentiable code, and neither can be caught in
its own process. The child fills the kernel cache on disk, which the parent then hits.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import queue
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from slangnb.devices.backend import Backend
from slangnb.errors import BackendError

TICK_SECONDS = 0.05
START_SECONDS = 120.0
#: Beyond this resident size a busy child is stopped (a hang of the compiler grows), an idle one is replaced.
BUSY_LIMIT_BYTES = 6 << 30
IDLE_LIMIT_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the child found.

    Attributes
    ----------
    outcome : {"ok", "error", "crash", "timeout", "memory"}
        How it ended.
    text : str
        The compiler's warnings or errors.
    """

    outcome: str
    text: str = ""


class Guard:
    """A child process that compiles on request.

    Parameters
    ----------
    backend : Backend
        The child opens a device of its own on it.
    seconds : float
        Time limit for one compile.
    """

    def __init__(self, backend: Backend, seconds: float) -> None:
        self.backend = backend
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[tuple[str, str] | None] = queue.Queue()
        self._ready = False
        self._turn = threading.RLock()  # an answer belongs to the one request that was made

    @property
    def pid(self) -> int | None:
        """Process id of the child, or None when there is none now."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the child without waiting for it; does nothing when it runs."""
        if self.pid is not None:
            return
        self._stop()
        text = json.dumps(asdict(self.backend))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "slangnb.devices.child", "--guard", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # An interrupt of the notebook is for the parent, which decides what to do with the child.
            start_new_session=True,
        )
        self._answers = queue.Queue()
        self._ready = False
        threading.Thread(target=_listen, args=(self._process, self._answers), daemon=True).start()

    def check(self, request: dict[str, Any]) -> Verdict:
        """Have the child compile `request`, and say how that went; threads take turns.

        Parameters
        ----------
        request : dict
            ``modules``: list of (name, text, names to link) in order of dependence; for a kernel also ``function``,
            ``own``, ``chain``, ``backward``, ``args`` and ``kwargs`` as `slangnb.devices.wire` describes them.

        Raises
        ------
        BackendError
            If the child cannot even start.
        KeyboardInterrupt
            If the person stops the cell; the child is stopped too.
        """
        with self._turn:
            return self._checked(request)

    def _checked(self, request: dict[str, Any]) -> Verdict:
        self.start()
        if not self._ready:
            verdict = self._wait(START_SECONDS)
            if verdict.outcome != "ready":
                raise BackendError(
                    f"the guard's child process did not start ({verdict.outcome})",
                    remedy="`slangnb doctor` probes the backend; SLANGNB_GUARD=off compiles without the guard",
                )
            self._ready = True
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            pickle.dump({"seconds": self.seconds, **request}, process.stdin)
            process.stdin.flush()
        except OSError:  # killed from outside between two requests: a new child answers
            self._stop()
            return self._checked(request)
        verdict = self._wait(self.seconds)
        if verdict.outcome in ("ok", "error") and self._size() > IDLE_LIMIT_BYTES:
            self._stop()
        return verdict

    def _wait(self, seconds: float) -> Verdict:
        end = time.monotonic() + seconds
        try:
            while True:
                try:
                    answer = self._answers.get(timeout=TICK_SECONDS)
                except queue.Empty:
                    if time.monotonic() > end:
                        self._stop()
                        return Verdict("timeout")
                    if self._size() > BUSY_LIMIT_BYTES:
                        self._stop()
                        return Verdict("memory")
                    continue
                if answer is None:
                    self._stop()
                    return Verdict("crash")
                return Verdict(*answer)
        except KeyboardInterrupt:
            self._stop()
            raise

    def _size(self) -> int:
        try:
            return psutil.Process(self._process.pid).memory_info().rss if self._process else 0
        except psutil.Error:
            return 0

    def _stop(self) -> None:
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # bytes were left that the dead child cannot take
                    pipe.close()

    def close(self) -> None:
        """End the child."""
        self._stop()


def _listen(process: subprocess.Popen[bytes], answers: queue.Queue[tuple[str, str] | None]) -> None:
    """Move the child's answers into a queue; None marks its end. A thread, since pipes cannot be polled everywhere."""
    assert process.stdout is not None
    while True:
        try:
            answers.put(pickle.load(process.stdout))
        except (EOFError, pickle.UnpicklingError, ValueError, OSError):
            answers.put(None)
            return
