"""How right, and how repeatable, the gradient of a number is that all elements share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import peers
import work
from measure import attempt
from slang import Slang

REPEATS = 10


@dataclass(frozen=True, slots=True)
class Accuracy:
    """One row of the table.

    Attributes
    ----------
    size : int
        Number of elements.
    name : str
        The candidate.
    value, gradient : float
        Relative error of the sum, and of its gradient to `a`.
    same : bool
        Whether all repeats gave the same bits.
    failure : str
        Why there are no figures; empty if there are.
    """

    size: int
    name: str
    value: float = float("nan")
    gradient: float = float("nan")
    same: bool = False
    failure: str = ""


def measure_accuracy(sizes: list[int], gpu: bool) -> Iterator[Accuracy]:
    """Give the rows, size by size."""
    for size in sizes:
        task = work.elementwise("value_and_grad", size)
        reference = task.reference()
        for c in [*Slang(task).candidates(), *peers.candidates(task, gpu)]:
            if c.name == "SlangPy, read back":  # the same kernels as the candidate before it
                continue
            result, failure = attempt(c)
            if failure:
                yield Accuracy(size, c.name, failure=failure)
                continue
            # Only the numbers are kept: ten gradients of 2^28 elements would not fit.
            found = [_numbers(result)]
            result = None
            found += [_numbers(c.run()) for _ in range(REPEATS - 1)]
            worst = [max(work.error(f[i], reference[k]) for f in found) for i, k in enumerate(("value", "a"))]
            yield Accuracy(size, c.name, *worst, same=len(set(found)) == 1)
        peers.release()


def _numbers(result: dict[str, object]) -> tuple[float, float]:
    value, gradient = (peers.host(result[name]) for name in ("value", "a"))
    return float(np.sum(value, dtype=np.float64)), float(gradient.reshape(()))
