"""Runs compilers as processes: the stop button and a time limit end them and all that they started."""

from __future__ import annotations

import contextlib
import io
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

_TICK_SECONDS = 0.02
#: How long a stopped job may take to notice that its programs are gone.
_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a process ended: its status (None: the time was up) and what it printed."""

    status: int | None
    text: str

    @property
    def crashed(self) -> bool:
        """Whether it ended by a signal, or by what Windows has in the place of one."""
        return self.status is not None and (self.status < 0 or self.status >= 1 << 30)


def run(
    commands: Sequence[Sequence[str]],
    folder: Path,
    seconds: float,
) -> list[Outcome]:
    """Run programs at the same time, each in a session of its own, and wait for all of them.

    Parameters
    ----------
    commands : sequence of sequences of str
        Programs with arguments.
    folder : Path
        Where they run, and where what they print is kept meanwhile.
    seconds : float
        Time limit.

    Raises
    ------
    KeyboardInterrupt
        If the person stops the cell; the programs and all their children are ended first.

    Examples
    --------
    >>> import sys, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run([[sys.executable, "-c", "print(6 * 7)"]], Path(folder), 60)
    >>> done[0].status, done[0].text.strip()
    (0, '42')
    """
    logs = [folder / f"output{k}.txt" for k in range(len(commands))]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command, log in zip(commands, logs, strict=True):
            with log.open("wb") as output:
                running.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        cwd=folder,
                        start_new_session=True,
                    )
                )
        end = time.monotonic() + seconds
        while any(p.poll() is None for p in running) and time.monotonic() < end:
            time.sleep(_TICK_SECONDS)
        states = [p.poll() for p in running]
    finally:
        for process in running:
            if process.poll() is None:
                end_tree(process.pid)
            process.wait()
    return [Outcome(s, log.read_text(encoding="utf-8", errors="replace")) for s, log in zip(states, logs, strict=True)]


@dataclass
class Job:
    """What came of a function that ran in a thread: a value or an error, and what it printed on stderr."""

    value: Any = None
    error: Exception | None = None
    printed: str = ""
    late: bool = False


def in_background(work: Callable[[], Any], folder: Path, seconds: float, tick: Callable[[], None]) -> Job:
    """Run a function that starts programs in `folder`, in a thread, so that the stop button works.

    Parameters
    ----------
    work : callable
        What to do.
    folder : Path
        The programs' current folder, or one above it.
    seconds : float
        Time limit.
    tick : callable
        Called many times a second meanwhile.

    Raises
    ------
    KeyboardInterrupt
        If the person stops the cell; the programs and all their children are ended first.

    Examples
    --------
    >>> in_background(lambda: 6 * 7, Path(), 60, lambda: None).value
    42
    """
    job = Job()

    def run_it() -> None:
        try:
            job.value = work()
        except Exception as error:  # noqa: BLE001 - whatever it raises is the caller's to judge
            job.error = error
        finally:
            done.set()

    # An interrupted `Thread.join` of Python 3.11 takes the thread for ended.
    done = threading.Event()
    thread = threading.Thread(target=run_it, daemon=True)
    printed = io.StringIO()
    end = time.monotonic() + seconds
    with contextlib.redirect_stderr(printed):
        thread.start()
        try:
            while not (done.wait(_TICK_SECONDS) or job.late):
                tick()
                job.late = time.monotonic() > end
        finally:
            patience = time.monotonic() + _GRACE_SECONDS
            while not done.is_set() and time.monotonic() < patience:  # it may start another program yet
                _end_programs(folder)
                done.wait(_TICK_SECONDS)
    job.printed = printed.getvalue()
    return job


def _end_programs(folder: Path) -> None:
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if Path(child.cwd()).is_relative_to(folder.resolve()) or str(folder) in " ".join(child.cmdline()):
                end_tree(child.pid)


def end_tree(pid: int) -> None:
    """End a process and its descendants.

    A process group is not enough: ninja puts each compiler into a group of its own. A parent is halted before its
    children are listed, so that it starts no more.
    """
    try:
        process = psutil.Process(pid)
        process.suspend()
        children = process.children()
        process.kill()
    except psutil.NoSuchProcess:
        return
    for child in children:
        end_tree(child.pid)
