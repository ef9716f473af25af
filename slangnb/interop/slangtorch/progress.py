"""One line that says what is built, and how long it has taken."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Shows the line as it is now; the second argument tells whether it is finished.
Show = Callable[[str, bool], None]


class Progress:
    """One line: says what goes on, counts seconds, and ends with the time it took.

    Parameters
    ----------
    show : callable
        Shows the whole line; None: nothing is said.
    clock : callable
        Gives seconds.

    Examples
    --------
    >>> clock = iter([0.0, 2.5, 16.25]).__next__
    >>> with Progress(lambda line, finished: print(line), clock) as progress:
    ...     progress.start("compiling square(x) for PyTorch")
    ...     progress.tick()
    compiling square(x) for PyTorch ...
    compiling square(x) for PyTorch ... 2 s
    compiling square(x) for PyTorch ... 16.2 s
    """

    def __init__(self, show: Show | None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._show: Show = show or (lambda _line, _finished: None)
        self._clock = clock
        self._head = ""
        self._began = 0.0
        self._shown = 0

    def start(self, what: str) -> None:
        """Say what goes on."""
        self._began, self._head = self._clock(), f"{what} ..."
        self._show(self._head, False)

    def tick(self) -> None:
        """Show the seconds, if another has passed."""
        seconds = int(self._clock() - self._began)
        if seconds > self._shown:
            self._shown = seconds
            self._show(f"{self._head} {seconds} s", False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if self._head:
            how = "" if kind is None else "stopped after " if issubclass(kind, KeyboardInterrupt) else "failed after "
            self._show(f"{self._head} {how}{self._clock() - self._began:.1f} s", True)


def printed(write: Callable[[str], None]) -> Show:
    """Show the line where what is written stays: its start at once, and its end when it is known.

    Examples
    --------
    >>> show = printed(lambda text: print(text, end=""))
    >>> for line, finished in (("building ...", False), ("building ... 1 s", False), ("building ... 1.5 s", True)):
    ...     show(line, finished)
    building ... 1.5 s
    """
    written = ""

    def show(line: str, finished: bool) -> None:
        nonlocal written
        if not written or finished:
            write(line[len(written) :] + ("\n" if finished else ""))
            written = line

    return show
