"""Remembers how many elements a thread takes best, where a person asked to measure it."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

#: What is tried; more elements than the call can feed all of the device with are not.
CANDIDATES = (1, 2, 4, 8, 16, 32, 64, 256)
ROUNDS = 5


class Tuned:
    """Measured choices by kernel and size, kept in a small file for later sessions.

    Parameters
    ----------
    path : Path or None
        The file; None keeps them in memory alone.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[str, int] = {}
        if path is not None:
            with contextlib.suppress(OSError, json.JSONDecodeError):
                self._found = {k: v for k, v in json.loads(path.read_text()).items() if v in CANDIDATES}

    def get(self, kernel: str, count: int) -> int | None:
        """Give the choice for a kernel and about this many elements, if it was measured."""
        return self._found.get(_key(kernel, count))

    def put(self, kernel: str, count: int, per_thread: int) -> None:
        """Remember a choice."""
        self._found[_key(kernel, count)] = per_thread
        if self._path is not None:
            # Losing it costs another measurement, no more.
            with contextlib.suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_text(json.dumps(self._found, indent=1, sort_keys=True))


def _key(kernel: str, count: int) -> str:
    return f"{kernel} 2^{round(math.log2(max(1, count)))}"


def best_of(candidates: dict[int, Callable[[], object]]) -> int:
    """Time each candidate in turn, several times, and give the one with the least time.

    Examples
    --------
    >>> best_of({1: lambda: time.sleep(0.002), 2: lambda: None})
    2
    """
    least = dict.fromkeys(candidates, math.inf)
    for _ in range(ROUNDS):
        for k, run in candidates.items():
            start = time.perf_counter()
            run()
            least[k] = min(least[k], time.perf_counter() - start)
    return min(least, key=least.__getitem__)
