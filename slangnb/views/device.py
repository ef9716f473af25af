"""Measures and reduces tensors where they lie; only what is small is read back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slangnb.errors import CompileError
from slangnb.runtime.fused.stage import Stage, submit
from slangnb.runtime.fused.sums import storage
from slangnb.runtime.tensors import SCALARS
from slangnb.views import device_text as text
from slangnb.views.device_layout import View
from slangnb.views.device_pieces import COUNTS, KEYS, REALS
from slangnb.views.measure import Array, Floats, Histogram, Marks, Stats, histogram_edges
from slangnb.views.reduce import TIE

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session

#: Threads that each keep a slot, on a CPU and on a GPU; those that fold the slots; sums of each bin that are read.
THREADS, GPU_THREADS = 4096, 1 << 16
FOLDING, BIN_PARTS = 256, 16
#: Threads that reduce cells, and the elements that one of several threads for a cell must have.
CELL_THREADS, GPU_CELL_THREADS, MOST_CELL_THREADS = 1 << 13, 1 << 17, 1 << 21
PART = 64
#: Bins of a histogram take so many slots on a GPU.
GPU_BIN_THREADS = 1 << 14
#: Buffers of so many bytes are the pool's, so that views that are kept hold none.
LENT = 1 << 20
#: Squares of numbers between these do not leave the range of double.
_SMALL, _BIG = 2.0**-400, 2.0**400


#: A buffer, the type of its numbers, and how many of them to read.
Wanted = tuple["slangpy.Buffer", Any, int]


@dataclass(frozen=True, eq=False)
class Cells:
    """What `Reader.cells` found: arrays (layers, rows, columns); `high` only where both extremes were asked for."""

    drawn: Floats
    marks: Marks
    high: Floats | None = None


class Reader:
    """Reads one tensor's numbers by kernels of its session.

    Parameters
    ----------
    session : Session
        The one that owns the tensor's device.
    storage : slangpy.Buffer
    scalar : str
        Slang's name of the scalar type.
    stored : str
        The scalar type that the buffer is read as: for bool an unsigned integer of its size.
    view : View
        Of the tensor's axes and those of its elements, counted in scalars.
    """

    def __init__(self, session: Session, buffer: slangpy.Buffer, scalar: str, stored: str, view: View) -> None:
        self.view, self.scalar = view, scalar
        self.dtype: np.dtype[Any] = np.dtype(SCALARS.get(scalar, scalar))
        self.bytes_read = 0
        self._session, self._buffer, self._stored = session, buffer, stored
        self._key = KEYS[scalar]
        self._scratch: dict[str, slangpy.Buffer] = {}
        self._last: tuple[tuple[object, ...], Cells] | None = None

    def compiles(self) -> bool:
        """Tell whether the backend can read such elements; some have no buffers of bytes or of half."""
        try:
            self._session.kernel(text.cells_text(self.scalar, self._stored), "slangnb_cells", None)
        except CompileError:
            return False
        return True

    def stats(self) -> Stats:
        """Measure all elements."""
        found = self._stats(1.0)
        return found if _in_range(self.scalar, found) else self._stats(2.0 ** (1 - math.frexp(_largest(found))[1]))

    def _stats(self, scale: float) -> Stats:
        flat = self.view.joined()
        threads = min(THREADS if self._session.backend.software else GPU_THREADS, flat.count)
        stage = self._stage(text.stats_text(self.scalar, self._stored, len(flat.sizes)), "slangnb_stats", threads)
        stage.put("layout", self._table("flat", [flat.count, threads, flat.offset, *flat.sizes, *flat.strides]))
        stage.set("scale", scale)
        stage.put("source", self._buffer)
        self._bind_records([stage], threads)
        fold, wanted = self._fold_stats(threads)
        reals, counts = self._run([stage, fold], wanted)
        return merge(reals.reshape(-1, REALS), counts.reshape(-1, COUNTS), flat.count, scale)

    def _bind_records(self, stages: list[Stage], records: int) -> None:
        reals = self._room("reals", 8 * REALS * records)
        counts = self._room("counts", 4 * COUNTS * records)
        for stage in stages:
            stage.put("reals", reals)
            stage.put("counts", counts)

    def _fold_stats(self, records: int) -> tuple[Stage, list[Wanted]]:
        """Give the stage that folds so many records of statistics into a few, and what to read of it."""
        few = min(FOLDING, records)
        fold = self._stage(text.stats_fold_text(), "slangnb_stats_fold", few)
        fold.set("records", records)
        fold.set("threads", few)
        self._bind_records([fold], records)
        reals, counts = (self._room(name, 8 * REALS * few) for name in ("few_reals", "few_counts"))
        fold.put("few_reals", reals)
        fold.put("few_counts", counts)
        return fold, [(reals, np.float64, REALS * few), (counts, np.uint32, COUNTS * few)]

    def histogram(self, stats: Stats) -> Histogram | None:
        """Count all finite elements between the smallest and the largest, as `measure.histogram` does."""
        edges = histogram_edges(stats, text.BINS)
        if edges is None:
            return None
        flat = self.view.joined()
        count = flat.count
        threads = min(THREADS if self._session.backend.software else GPU_BIN_THREADS, count)
        entry = "slangnb_histogram"
        span = float(edges[-1] - edges[0])
        # Where single precision neither overflows nor loses small numbers.
        estimate = "float" if self._key == "float" and 1e-30 < span < 1e30 else "double"
        words = text.histogram_text(self.scalar, self._stored, len(flat.sizes), estimate)
        stage = self._stage(words, entry, threads)
        stage.put("layout", self._table("flat_bins", [count, threads, flat.offset, *flat.sizes, *flat.strides]))
        stage.set("first", float(edges[0]))
        stage.set("scale", text.BINS / span)
        stage.put("edges", self._upload("edges", round_up(edges) if self._key == "float" else edges))
        stage.put("source", self._buffer)
        bins = self._room("bins", 4 * text.BINS * threads)
        stage.put("bins", bins)
        few = self._room("few_bins", 4 * text.BINS * BIN_PARTS)
        fold = self._stage(text.histogram_fold_text(), "slangnb_histogram_fold", text.BINS * BIN_PARTS)
        fold.set("threads", threads)
        fold.set("parts", BIN_PARTS)
        fold.put("bins", bins)
        fold.put("few", few)
        (found,) = self._run([stage, fold], [(few, np.uint32, text.BINS * BIN_PARTS)])
        return Histogram(found.reshape(text.BINS, BIN_PARTS).sum(axis=1, dtype=np.int64), edges)

    def cells(
        self, part: View, down: NDArray[np.int64], across: NDArray[np.int64], mode: str, *, marked: bool
    ) -> Cells:
        """Reduce each cell of a part to what is drawn of it.

        Parameters
        ----------
        part : View
            Layers, rows and columns.
        down, across : int arrays
            Where the cells begin, and where the last one ends.
        mode : {"mean", "zero", "both"}
            The element farthest from the mean of its cell, or from zero, or the smallest and the largest.
        marked : bool
            Read which cells hold elements that are not finite; false where it is known that none does.

        The last answer is kept: a picture and the whole of its window are the same.
        """
        key = (part, down.tobytes(), across.tobytes(), mode)
        if self._last is None or self._last[0] != key:
            stages, wanted, shape, _, _ = self._cells(part, down, across, mode)
            back = self._run(stages, wanted if marked else wanted[:1])
            self._last = key, _drawn(back[0], back[1] if marked else None, shape, mode)
        return self._last[1]

    def cells_and_stats(
        self, part: View, down: NDArray[np.int64], across: NDArray[np.int64], mode: str
    ) -> tuple[Cells, Stats]:
        """Reduce a part that holds all elements and measure them, in one pass; the arguments are those of `cells`."""
        stages, wanted, shape, records, scale = self._cells(part, down, across, mode)
        fold, more = self._fold_stats(records)
        drawn, reals, counts = self._run([*stages, fold], [wanted[0], *more])
        stats = merge(reals.reshape(-1, REALS), counts.reshape(-1, COUNTS), part.count, scale)
        # Marks are as many bytes as a tenth of the picture, and most tensors have none.
        words = self._run([], wanted[1:])[0] if stats.not_finite else None
        cells = _drawn(drawn, words, shape, mode)
        self._last = (part, down.tobytes(), across.tobytes(), mode), cells
        return cells, stats if _in_range(self.scalar, stats) else self.stats()

    def _cells(
        self, part: View, down: NDArray[np.int64], across: NDArray[np.int64], mode: str
    ) -> tuple[list[Stage], list[Wanted], tuple[int, int, int], int, float]:
        """Give the stages, what to read, the shape, the number of records, and by what elements are multiplied."""
        layers, tall, wide = shape = part.sizes[0], len(down) - 1, len(across) - 1
        cells = layers * tall * wide
        most = int(np.diff(down).max() * np.diff(across).max())
        target = CELL_THREADS if self._session.backend.software else GPU_CELL_THREADS
        parts = max(1, min(target // cells, most // PART, MOST_CELL_THREADS // cells))
        # Divided first: the sum of large elements may be past the largest double.
        scale = 2.0 ** -math.ceil(math.log2(most)) if self.scalar == "double" else 1.0
        stage = self._stage(text.cells_text(self.scalar, self._stored), "slangnb_cells", cells * parts)
        stage.put("layout", self._table("cells", [*shape, parts, part.offset, *part.strides]))
        stage.put("down", self._table("down", down))
        stage.put("across", self._table("across", across))
        stage.put("source", self._buffer)
        words = -(-cells // text.CELLS_PER_WORD)
        fold = self._stage(text.cells_fold_text(self._key, TIE), "slangnb_cells_fold", words)
        fold.set("cells", cells)
        fold.set("parts", parts)
        fold.set("mode", {"mean": 0, "zero": 1, "both": 2}[mode])
        self._bind_records([stage, fold], cells * parts)
        for one in (stage, fold):
            one.set("scale", scale)
        outputs = cells * (2 if mode == "both" else 1)
        dtype = np.dtype(np.float64 if self._key == "double" else np.float32)
        drawn, marks = self._room("drawn", dtype.itemsize * outputs), self._room("words", 4 * words)
        fold.put("drawn", drawn)
        fold.put("words", marks)
        return [stage, fold], [(drawn, dtype, outputs), (marks, np.uint32, words)], shape, cells * parts, scale

    def gather(self, part: View) -> Array:
        """Read a part of layers, rows and columns as it is."""
        given = self.scalar if self.dtype.itemsize >= 4 else "uint" if self.scalar == "bool" else "float"
        stage = self._stage(text.gather_text(self.scalar, self._stored, given), "slangnb_gather", part.count)
        stage.put("layout", self._table("gathered", [*part.sizes, 0, part.offset, *part.strides]))
        stage.put("source", self._buffer)
        kind = np.dtype(SCALARS[given])
        room = self._room("part", kind.itemsize * part.count)
        stage.put("part", room)
        (found,) = self._run([stage], [(room, kind, part.count)])
        return found.astype(self.dtype).reshape(part.sizes)

    def _stage(self, words: str, entry: str, threads: int) -> Stage:
        made = Stage(self._session.device, self._session.kernel(words, entry, None))
        made.threads = threads
        return made

    def _room(self, name: str, size: int) -> slangpy.Buffer:
        """Give a buffer that kernels write; a large one only until the next run has ended."""
        kept = self._scratch.get(name)
        # A buffer of another size would be written beyond its end, or read where nothing was written.
        if kept is None or kept.size != max(size, 4):
            large = size >= LENT
            kept = self._session.pool.buffer(size) if large else storage(self._session.device, size)
            self._scratch[name] = kept
        return kept

    def _upload(self, name: str, numbers: Array) -> slangpy.Buffer:
        buffer = self._room(name, numbers.nbytes)
        buffer.copy_from_numpy(numbers)
        return buffer

    def _table(self, name: str, numbers: Any) -> slangpy.Buffer:
        return self._upload(name, np.asarray(numbers, np.uint32))

    def _run(self, stages: list[Stage], wanted: list[Wanted]) -> list[Array]:
        """Run stages one after the other, and read so many numbers of some buffers."""
        import slangpy as spy

        device = self._session.device
        self._session.enter()
        copies = []
        for buffer, dtype, count in wanted:
            size = count * np.dtype(dtype).itemsize
            usage = spy.BufferUsage.copy_destination
            back = device.create_buffer(size=size, memory_type=spy.MemoryType.read_back, usage=usage)
            copies.append((back, buffer, size))
            self.bytes_read += size
        self._session.wait(submit(device, stages, copies))
        self._scratch = {name: buffer for name, buffer in self._scratch.items() if buffer.size < LENT}
        return [
            back.to_numpy().view(np.uint8).reshape(-1)[:size].view(dtype)
            for (back, _, size), (_, dtype, _) in zip(copies, wanted, strict=True)
        ]


def _drawn(values: Array, words: NDArray[np.uint32] | None, shape: tuple[int, int, int], mode: str) -> Cells:
    drawn = values.astype(np.float64).reshape(-1, *shape)
    return Cells(drawn[0], unpacked(words, shape), drawn[1] if mode == "both" else None)


def _largest(stats: Stats) -> float:
    return 0.0 if stats.min is None or stats.max is None else max(abs(stats.min), abs(stats.max))


def _in_range(scalar: str, stats: Stats) -> bool:
    """Whether the squares of the elements were neither too large nor too small for double."""
    return scalar != "double" or not _largest(stats) or _SMALL < _largest(stats) < _BIG


def merge(reals: Floats, counts: NDArray[np.uint32], count: int, scale: float) -> Stats:
    """Fold records of statistics, as the kernels write them, into one.

    Parameters
    ----------
    reals : float64 array (k, 6)
        Smallest, largest, mean, squared deviations, squares, sum; the last four of the elements times `scale`.
    counts : uint32 array (k, 5)
        Finite, zeros, NaN, +Inf, -Inf.
    count : int
        Of all elements.
    scale : float

    Examples
    --------
    >>> import numpy as np
    >>> reals = np.array([[1.0, 1, 1, 0, 1, 1], [3.0, 3, 3, 0, 9, 3]])
    >>> stats = merge(reals, np.array([[1, 0, 0, 0, 0], [1, 0, 1, 0, 0]], np.uint32), 3, 1.0)
    >>> stats.mean, stats.std, stats.nan
    (2.0, 1.0, 1)
    """
    finite, zeros, nan, above, below = (int(n) for n in counts.sum(axis=0, dtype=np.int64))
    if not finite:
        return Stats(count, None, None, None, None, None, zeros, nan, above, below)
    seen, mean, deviations = 0, 0.0, 0.0
    for record, here in zip(reals.tolist(), counts[:, 0].tolist(), strict=True):
        if here:
            away = record[2] - mean
            mean += away * here / (seen + here)
            deviations += record[3] + away * away * seen * here / (seen + here)
            seen += here
    some = counts[:, 0] > 0
    low, high = float(reals[some, 0].min()), float(reals[some, 1].max())
    deviation = 0.0 if low == high else math.sqrt(deviations / finite) / scale
    # Infinite where squares were out of range; `Reader.stats` measures again then.
    with np.errstate(over="ignore", invalid="ignore"):
        norm = math.sqrt(reals[some, 4].sum()) / scale
        centre = float(reals[some, 5].sum()) / finite / scale
    # The mean of equal numbers may round to just outside them.
    return Stats(count, low, high, min(max(centre, low), high), deviation, norm, zeros, nan, above, below)


def round_up(edges: Floats) -> NDArray[np.float32]:
    """Give for each edge the smallest float32 that is not below it: float32 elements compare with both alike.

    Examples
    --------
    >>> import numpy as np
    >>> up = round_up(np.array([0.1, 0.5]))
    >>> bool(up[0] >= 0.1), up[1]
    (True, np.float32(0.5))
    """
    near = edges.astype(np.float32)
    return np.where(near < edges, np.nextafter(near, np.float32(np.inf)), near)


def unpacked(words: NDArray[np.uint32] | None, shape: tuple[int, int, int]) -> Marks:
    """Give the masks that the words of marks stand for; none marked where they were not read."""
    if words is None:
        none = np.zeros(shape, np.bool_)
        return Marks(none, none, none)
    bits = (words[:, None] >> (4 * np.arange(text.CELLS_PER_WORD, dtype=np.uint32))).reshape(-1)[: math.prod(shape)]
    return Marks(*((bits & bit).astype(np.bool_).reshape(shape) for bit in (1, 2, 4)))
