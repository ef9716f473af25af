"""Decides what is left open of a job: who takes and adds what, and how strided values are found. Pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from slangnb.compiler.reflection import PLAIN_KINDS
from slangnb.runtime.fused.access import strides_in
from slangnb.runtime.fused.blocks import block_of
from slangnb.runtime.fused.given import Gathered, Given
from slangnb.runtime.fused.job import GROUP, Job, components, rows
from slangnb.runtime.fused.policy import per_thread
from slangnb.runtime.fused.slots import who_adds
from slangnb.runtime.fused.text import kernel_text
from slangnb.runtime.fused.values import NotFusedError

#: Numbers that indices of 32 bits reach; llvmpipe takes those of addresses as signed.
MOST_NUMBERS, MOST_NUMBERS_IN_PROCESS = 1 << 32, 1 << 31


@dataclass(frozen=True, slots=True)
class Facts:
    """What the decisions depend on besides the call.

    Attributes
    ----------
    backend_key : str
        The backend's key, as in ``"software"``.
    host_memory : bool
        Whether kernels take addresses of this process's own memory.
    tuned : callable
        Name of a kernel and number of elements -> what was measured to be best for a thread, or None.
    texts : tuple of str
        The functions that the call reaches; needed with `host_memory` alone.
    """

    backend_key: str
    host_memory: bool
    tuned: Callable[[str, int], int | None]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """A job with nothing left open, and what its launch needs.

    Attributes
    ----------
    job : Job
    layout : tuple of int
        Sizes of the dimensions, then an offset and strides for each strided value; empty where there is none.
    threads, slots : int
        How many there are.
    kernel_id : str
        See `kernel_id`.
    """

    job: Job
    layout: tuple[int, ...]
    threads: int
    slots: int
    kernel_id: str


def finish(job: Job, gathered: Gathered, facts: Facts) -> Finished:
    """Decide about `Job.host`, `block`, `per_thread`, `exact`, `slots` and `rank`.

    Raises
    ------
    NotFusedError
        For calls that only SlangPy can make.
    CallError
        For more elements than one launch can take.
    """
    shape, count = gathered.shape, math.prod(gathered.shape)
    job = replace(job, host=facts.host_memory and not job.addressed)
    if facts.host_memory:
        job = replace(job, block=block_of(job, count, facts.texts))
    if _reach(job, gathered) >= (MOST_NUMBERS_IN_PROCESS if facts.host_memory else MOST_NUMBERS):
        raise NotFusedError("more numbers than a kernel can count")
    strided = [g for g in gathered.given if g.leaf.access == "strided"]
    dims, strides = collapse(shape, [strides_in(g, shape) for g in strided])
    name = kernel_id(job)
    summed = len(rows(job).all)
    k = job.per_thread or facts.tuned(name, count) or per_thread(count, facts.backend_key, summed)
    if k < job.block:
        job = replace(job, block=1)
    threads = -(-count // (k * GROUP)) * GROUP
    job = replace(
        job,
        per_thread=k,
        exact=threads * k == count,
        slots=who_adds(facts.backend_key, summed, threads // GROUP, job.addressed),
        rank=len(dims) if strided else 0,
    )
    if job.addressed and gathered.tensors:
        raise NotFusedError("a tensor that is indexed is SlangPy's")
    slots = threads if job.slots == "thread" else threads // GROUP
    return Finished(job, _layout(strided, dims, strides) if strided else (), threads, slots, name)


def kernel_id(job: Job) -> str:
    """Name a kernel by all but how many elements a thread takes."""
    return hashlib.sha256(kernel_text(replace(job, per_thread=1, exact=False)).encode()).hexdigest()[:16]


def _layout(strided: Sequence[Given], dims: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    places = [n for g, own in zip(strided, strides, strict=True) for n in (g.held.offset, *own)]
    return (*dims, *places)


def _reach(job: Job, gathered: Gathered) -> int:
    """Give the largest number of a number: of an argument, where it repeats or leaves out some, or of a result."""
    shape, count = gathered.shape, math.prod(gathered.shape)
    own = [count * len(components(o.type)) for o in job.outputs if o.type.kind in PLAIN_KINDS]
    for g in gathered.given:
        if g.leaf.shared:
            continue
        parts = len(g.leaf.parts)
        own.append(count * parts)
        if g.leaf.access == "strided":
            strides = strides_in(g, shape)
            own.append(g.held.offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + parts)
    return max(own, default=0)


def collapse(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Merge dimensions that lie one after the other for all strided values.

    Examples
    --------
    >>> collapse((4, 5, 3), [(0, 0, 1)])
    ((20, 3), [(0, 1)])
    >>> collapse((4, 5), [(5, 1), (1, 4)])
    ((4, 5), [(5, 1), (1, 4)])
    """
    dims: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if dims and all(m[-1] == s[d] * n for m, s in zip(merged, strides, strict=True)):
            dims[-1] *= n
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[d]
            continue
        dims.append(n)
        for m, s in zip(merged, strides, strict=True):
            m.append(s[d])
    if not dims:
        return (1,), [(0,) for _ in strides]
    return tuple(dims), [tuple(m) for m in merged]
