"""Adds what the groups of a launch left, and folds gradients of repeated values: the stages after the main one."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slangnb.runtime.fused.job import GROUP, Job, Row, rows
from slangnb.runtime.fused.reduction import (
    FOLD_ENTRY,
    REDUCE_ENTRY,
    REDUCE_GROUP,
    fold_layout,
    fold_text,
    reduce_text,
)
from slangnb.runtime.fused.slots import MOST_HOST_SLOTS, MOST_HOST_SLOTS_SOFTWARE
from slangnb.runtime.fused.stage import Stage
from slangnb.runtime.memory import allocated
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session

#: Numbers that Python adds faster than numpy.
FEW = 64
#: Fewer results than this, of more terms than this each: the terms are divided among threads.
FEW_RESULTS, MANY_TERMS = 4096, 256
C_TYPES = {"float": ctypes.c_float, "double": ctypes.c_double}


def storage(device: slangpy.Device, size: int, memory: str = "device_local") -> slangpy.Buffer:
    """Make a buffer of so many bytes that kernels read and write.

    `memory` is SlangPy's name of its type. On software Vulkan all of it is the CPU's: ``"upload"`` and ``"read_back"``
    then spare a copy, which takes as long as most kernels.
    """
    import slangpy as spy

    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    kind, size = getattr(spy.MemoryType, memory), max(size, 4)
    return allocated(device, size, lambda: device.create_buffer(size=size, memory_type=kind, usage=usage))


def table(device: slangpy.Device, numbers: np.ndarray | list[int]) -> slangpy.Buffer:
    """Make a buffer of numbers that kernels read: an array, or a list of indices."""
    array = np.array(numbers, np.uint32) if isinstance(numbers, list) else numbers
    made = storage(device, array.nbytes)
    if array.size:
        made.copy_from_numpy(array)
    return made


def _added(
    session: Session, scalar: str, count: int, slots: int, partial: slangpy.Buffer, addressed: bool = False
) -> Stage:
    """Make the stage that adds rows of slots."""
    stage = Stage(session.device, session.kernel(reduce_text(scalar, addressed), REDUCE_ENTRY, None))
    stage.threads = count * REDUCE_GROUP
    stage.set("slots", slots)
    stage.put("partial", partial)
    return stage


class Sums:
    """Rows of one number for each slot, their sums, and the way back to Python.

    Few slots are added by Python, in double. Many are added on the device first, to two numbers for each row: the
    rounded sum, and what rounding lost. Where kernels can write memory that Python sees, they do: a copy at the end
    takes 5 to 30 microseconds.
    """

    def __init__(self, session: Session, job: Job, slots: int, main: Stage) -> None:
        import slangpy as spy

        device = session.device
        self.rows = found = rows(job)
        at_last = job.slots == "last"
        self.stages: list[Stage] = []
        self.copies: list[tuple[slangpy.Buffer, slangpy.Buffer, int]] = []
        many = at_last or slots > (MOST_HOST_SLOTS_SOFTWARE if session.backend.software else MOST_HOST_SLOTS)
        self.terms = 2 if many else slots
        self._dtypes = [SCALARS[s] for s in found.scalars]
        self._ids = [[r.id for r in found.of(s)] for s in found.scalars]
        self._backs: list[slangpy.Buffer] = []
        seen = session.backend.name in ("cuda", "vulkan")
        self._sources: dict[str, slangpy.Buffer] = {}
        self._keep: list[slangpy.Buffer] = []
        if at_last and found.all:
            self._keep.append(arrivals(device, main))
        for scalar in found.scalars:
            n, size = len(found.of(scalar)), np.dtype(SCALARS[scalar]).itemsize
            bytes_ = n * self.terms * size
            usage = spy.BufferUsage.copy_destination
            if seen:
                usage |= spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
            back = device.create_buffer(size=bytes_, memory_type=spy.MemoryType.read_back, usage=usage)
            source = back if seen else storage(device, bytes_)
            partial = source
            if many:
                partial = storage(device, n * slots * size)
            if at_last:
                main.put(f"sn_total_{scalar}", source)
            elif many:
                self.stages.append(_added(session, scalar, n, slots, partial))
                self.stages[-1].put("total", source)
            main.put(f"sn_partial_{scalar}", partial)
            self._sources[scalar] = source
            self._backs.append(back)
            self._keep += [partial, source]
            if not seen:
                self.copies.append((back, source, bytes_))

    def read(self) -> dict[str, float]:
        """Give the sums by row, once the device has made them."""
        found: dict[str, float] = {}
        n = self.terms
        for back, dtype, ids in zip(self._backs, self._dtypes, self._ids, strict=True):
            terms = back.to_numpy().view(dtype)[: len(ids) * n]
            if terms.size <= FEW:
                flat = terms.tolist()
                found.update(zip(ids, [sum(flat[i : i + n]) for i in range(0, len(flat), n)], strict=True))
            else:
                rows = terms.reshape(len(ids), n)
                found.update(zip(ids, rows.sum(axis=1, dtype=np.float64).tolist(), strict=True))
        return found

    def source(self, row: Row) -> tuple[slangpy.Buffer, int]:
        """Give the buffer that holds a row's terms, and where in it."""
        return self._sources[row.scalar], self.rows.of(row.scalar).index(row) * self.terms


class HostTotals(Sums):
    """Rows whose sums go to this process's own memory, where another library holds it."""

    def bind(self, places: Sequence[int], factor: float) -> None:
        """Say at which address the sums of each type of row go, and times what."""
        self._bound = places, factor

    def finish(self) -> None:
        """Write the sums, once the device has made them."""
        if not self.rows.all:
            return
        places, factor = self._bound
        found = self.read()
        for scalar, place in zip(self.rows.scalars, places, strict=True):
            numbers = [found[r.id] * factor for r in self.rows.of(scalar)]
            (C_TYPES[scalar] * len(numbers)).from_address(place)[:] = numbers


def totals(session: Session, job: Job, slots: int, main: Stage) -> HostTotals | Totals:
    """Make what brings sums to another library's memory."""
    return (HostTotals if session.host_memory else Totals)(session, job, slots, main)


def arrivals(device: slangpy.Device, main: Stage) -> slangpy.Buffer:
    """Bind the number of groups that are done; the last one sets it to 0 again."""
    made = table(device, [0])
    main.put("sn_arrived", made)
    return made


class Totals:
    """Rows of one number for each slot, whose sums go to another library's memory; nothing waits for them."""

    def __init__(self, session: Session, job: Job, slots: int, main: Stage) -> None:
        self.rows = rows(job)
        self._main = main
        self._at_last = job.slots == "last"
        self._names = [f"sn_total_{scalar}" for scalar in self.rows.scalars]
        #: What adds the rows, a stage for each type.
        self.stages: list[Stage] = []
        self._keep: list[slangpy.Buffer] = []
        if self._at_last and self.rows.all:
            self._keep.append(arrivals(session.device, main))
        for scalar in self.rows.scalars:
            n, size = len(self.rows.of(scalar)), np.dtype(SCALARS[scalar]).itemsize
            partial = storage(session.device, n * slots * size)
            main.put(f"sn_partial_{scalar}", partial)
            self._keep.append(partial)
            if self._at_last:
                continue
            self.stages.append(_added(session, scalar, n, slots, partial, addressed=True))

    def bind(self, places: Sequence[int], factor: float) -> None:
        """Say at which address the sums of each type of row go, in the order of the rows, and times what."""
        if self._at_last:
            for name, place in zip(self._names, places, strict=True):
                self._main.set(name, place)
        for stage, place in zip(self.stages, places, strict=False):
            stage.set("total", place)
            stage.set("factor", factor)


class Fold:
    """Sums an array over some of its dimensions into a buffer; the arguments are those of `fold_layout`."""

    def __init__(
        self,
        session: Session,
        scalars: tuple[str, str, str],
        kept: list[tuple[int, int, int]],
        folded: list[tuple[int, int]],
        start: int = 0,
        to: int = 0,
        accumulate: bool = False,
        addressed: bool = False,
    ) -> None:
        device = session.device
        source, scalar, target = scalars
        results, terms = math.prod(n for n, *_ in kept), math.prod(n for n, _ in folded)
        self._keep: list[slangpy.Buffer] = []
        self.stages: list[Stage] = []
        self._middle: slangpy.Buffer | None = None
        if results < FEW_RESULTS and terms > MANY_TERMS:
            layout = fold_layout(kept, folded, start, to, True)
            self._add(session, layout, fold_text(source, scalar, scalar, len(kept), len(folded), True, False))
            chunks = layout[2]
            self._middle = storage(device, results * chunks * np.dtype(SCALARS[scalar]).itemsize)
            self._keep.append(self._middle)
            self.stages[0].put("result", self._middle)
            self.stages[0].set("factor", 1.0)
            at = results * chunks
            steps = []
            for n, _, stride in kept:
                at //= n
                steps.append((n, at, stride))
            kept, folded, start, source = steps, [(chunks, 1)], 0, scalar
        layout = fold_layout(kept, folded, start, to, False)
        text = fold_text(source, scalar, target, len(kept), len(folded), False, accumulate, addressed)
        self._add(session, layout, text)
        if self._middle is not None:
            self.stages[1].put("values", self._middle)

    def _add(self, session: Session, layout: list[int], text: str) -> None:
        stage = Stage(session.device, session.kernel(text, FOLD_ENTRY, None))
        stage.threads = -(-layout[0] // GROUP) * GROUP
        self._keep.append(table(session.device, layout))
        stage.put("layout", self._keep[-1])
        self.stages.append(stage)

    def bind(self, source: slangpy.Buffer, target: slangpy.Buffer | int, factor: float = 1.0) -> None:
        """Say what is read, which buffer or address is written, and by what the sums are multiplied."""
        self.stages[-1].set("factor", factor)
        self.stages[0].put("values", source)
        if isinstance(target, int):
            self.stages[-1].set("result", target)
        else:
            self.stages[-1].put_loosely("result", target)
