"""Runs the workloads: who takes part, what is right, how long it takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import peers
import work
from slang import Slang
from timing import Candidate, race

import slangnb as sn

NAMES = ("copy", "forward", "backward", "value_and_grad", "mlp", "image", "small", "accuracy")
SMALL = (1, 1024)
#: What compilers, devices and full memories raise, in all of the libraries; a mistake in the suite is not among them.
#: torch.compile, for example, says with a RuntimeError that it finds no C++ compiler.
FAILURES = (sn.SlangNbError, RuntimeError, MemoryError)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    workload, title : str
        The workload's name, and what it is.
    size : int
        Number of elements.
    nbytes : int
        Size of the array `x`.
    name, note : str
        The candidate, and what to know about it.
    ours : bool
        Whether it is slangnb.
    median, least : float
        Seconds of a call.
    to_copy : float
        Least time in units of the least of the copy of `x`: what else the machine does only adds to a time.
    to_ours : float
        Least time in units of slangnb's.
    value, parameters, elements : float
        Largest relative error of the value, of the gradients to the shared arguments, and of that to `x`.
    failure : str
        Why there are no figures; empty if there are.
    """

    workload: str
    title: str
    size: int
    nbytes: int
    name: str
    note: str
    ours: bool
    median: float = float("nan")
    least: float = float("nan")
    to_copy: float = float("nan")
    to_ours: float = float("nan")
    value: float = float("nan")
    parameters: float = float("nan")
    elements: float = float("nan")
    failure: str = ""

    @property
    def wrong(self) -> bool:
        """Whether a result is off by more than rounding explains."""
        return any(error > 1e-4 for error in (self.value, self.parameters, self.elements))


def tasks(only: list[str], sizes: list[int], quick: bool, software: bool) -> Iterator[work.Work]:
    """Give the workloads one after the other, so that only one holds its data."""
    for mode in ("copy", "forward", "backward", "value_and_grad"):
        if mode in only:
            for size in sizes:
                yield work.elementwise("forward" if mode == "copy" else mode, size, mode)
    if "mlp" in only:
        yield work.mlp(2**9 if quick else 2**12 if software else 2**16)
    if "image" in only:
        yield work.image(256 if quick else 1024)
    if "small" in only:
        for size in SMALL:
            yield work.elementwise("value_and_grad", size, "small")


def attempt(candidate: Candidate) -> tuple[dict[str, object], str]:
    """Run a candidate once; give its results, or the reason why there are none."""
    if candidate.missing:
        return {}, candidate.missing
    try:
        return candidate.run(), ""
    except FAILURES as reason:
        return {}, _say(reason)


def _say(reason: BaseException) -> str:
    first = str(reason).strip().splitlines() or [""]
    return f"{type(reason).__name__}: {first[0]}"


def run_task(task: work.Work, gpu: bool, budget: float) -> list[Row]:
    """Run all candidates of a workload: first for their results, then for their times."""
    about = (task.name, task.title, _count(task), task.x.nbytes)
    try:
        slang = Slang(task)
        copy = slang.copy()
        own = [] if task.name == "copy" else slang.candidates(host=task.name == "small")
    except FAILURES as reason:
        return [Row(*about, "slangnb", "", True, failure=_say(reason))]
    if task.name == "copy":
        field = [copy, *peers.copies(task, gpu)]
        reference = {"value": task.x}
    else:
        field = [*own, *peers.candidates(task, gpu), copy]
        reference = task.reference()
    errors: dict[str, tuple[float, float, float]] = {}
    failures: dict[str, str] = {}
    for c in field:
        result, failure = attempt(c)
        if failure:
            failures[c.name] = failure
        else:
            checked = {} if c is copy and task.name != "copy" else reference
            errors[c.name] = _errors(result, checked)
        del result
    times = race([c for c in field if c.name not in failures], budget)
    ours = next((times[c.name].least for c in field if c.ours and c.name in times), float("nan"))
    floor = times[copy.name].least
    rows = []
    for c in field:
        if c.name in failures:
            rows.append(Row(*about, c.name, c.note, c.ours, failure=failures[c.name]))
            continue
        t = times[c.name]
        rows.append(
            Row(*about, c.name, c.note, c.ours, t.median, t.least, t.least / floor, t.least / ours, *errors[c.name])
        )
    peers.release()
    return rows


def _count(task: work.Work) -> int:
    inner = {"mlp": task.x.shape[-1], "image": 3}.get(task.name, 1)
    return task.x.size // inner


def _errors(result: dict[str, object], reference: dict[str, np.ndarray]) -> tuple[float, float, float]:
    """Give the largest error of the value, of the gradients to shared arguments, and of that to `x`; NaN for none."""
    value = parameters = elements = float("nan")
    for name, expected in reference.items():
        got = peers.host(result[name])
        if name == "value" and expected.ndim == 0:
            got = np.sum(got, dtype=np.float64)  # plain SlangPy gives values, of which the sum is wanted
        off = work.error(got, expected)
        if name == "value":
            value = off
        elif name == "x":
            elements = off
        else:
            parameters = float(np.fmax(parameters, off))  # fmax: NaN only stands for "none yet"
    return value, parameters, elements


def progress(text: str) -> None:
    """Say on the standard error stream what runs now; the table alone goes to the output."""
    print(text, file=sys.stderr, flush=True)
