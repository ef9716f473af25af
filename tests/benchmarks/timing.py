"""Times several ways to the same result against each other.

The competitors take turns in rounds, so that whatever else the machine does hits them all alike.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to do a workload.

    Attributes
    ----------
    name : str
        For the table.
    run : callable
        Does the work and waits for the device, unless `settle` does that. Gives results by name: ``"value"``, and
        gradients under the names of their arguments.
    settle : callable, optional
        Waits outside the measured time; for host costs.
    note : str
        What a reader of the table must know.
    missing : str
        Why this cannot run here; empty if it can.
    ours : bool
        Whether this is slangnb, whose failures are ours.
    """

    name: str
    run: Callable[[], dict[str, Any]]
    settle: Callable[[], None] | None = None
    note: str = ""
    missing: str = ""
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one call: the median and the least of the rounds."""

    median: float
    least: float
    rounds: int


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Give a function that tells the seconds since the start; after the block it tells the length of the block.

    Examples
    --------
    >>> with stopwatch() as seconds:
    ...     pass
    >>> seconds() >= 0
    True
    """
    start = time.perf_counter()
    end: list[float] = []
    yield lambda: (end[0] if end else time.perf_counter()) - start
    end.append(time.perf_counter())


def _sample(candidate: Candidate, calls: int, warm: float = 0.0) -> float:
    """Give the mean time of some calls in a row; their results are dropped at once, as in a training loop.

    Before that it makes calls for some seconds that do not count.
    """
    with stopwatch() as seconds:
        while seconds() < warm:
            candidate.run()
    with stopwatch() as seconds:
        for _ in range(calls):
            candidate.run()
    if candidate.settle is not None:
        candidate.settle()
    return seconds() / calls


def race(candidates: list[Candidate], budget: float, sample: float = 0.02, warm: float = 0.0) -> dict[str, Timing]:
    """Time the candidates in rounds.

    Parameters
    ----------
    candidates : list of Candidate
        Each has run at least once before, so that nothing is compiled any more.
    budget : float
        Seconds that all rounds together shall take, roughly; there are at least 3 rounds and at most 25.
    sample : float
        Seconds that one measurement shall last at least, since short ones are mostly clock and scheduler.
    warm : float
        Seconds of calls before each measurement: after a candidate that only waits for the device, the processor's
        cores are asleep, and what hands its work from thread to thread would pay for that.

    Returns
    -------
    dict
        Timing by name.
    """
    calls = {c.name: max(1, min(1000, int(sample / max(_sample(c, 2), 1e-7)))) for c in candidates}
    times: dict[str, list[float]] = {c.name: [] for c in candidates}
    with stopwatch() as seconds:
        for done in range(25):
            if done >= 3 and seconds() > budget:
                break
            # Nobody always runs after the same one, whose threads and caches may be warm or cold.
            for c in random.Random(done).sample(candidates, len(candidates)):
                times[c.name].append(_sample(c, calls[c.name], warm))
    return {name: Timing(statistics.median(t), min(t), len(t)) for name, t in times.items()}
