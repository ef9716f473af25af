"""The numbers of a snapshot as a source of the live view: what was kept of a step, which is what was drawn of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from slangnb.errors import CallError
from slangnb.views.axes import Axes
from slangnb.views.measure import Array
from slangnb.views.model import PairModel, Panel, Role
from slangnb.views.reduce import unit
from slangnb.views.snapshots import Frame, fading
from slangnb.views.source import Number, Part, Source, Window, check_index, cut, exact, single


class SnapshotSource(Source):
    """One tensor of the frames of a history, at one step.

    Parameters
    ----------
    frames : callable
        Gives the frames that are kept now, at least one.
    row : int
        Which tensor of a frame.
    """

    def __init__(self, frames: Callable[[], Sequence[Frame]], row: int) -> None:
        self._frames, self._row = frames, row
        self.go(frames()[-1].step)

    @property
    def steps(self) -> list[int]:
        """The steps that are kept now."""
        return [frame.step for frame in self._frames()]

    def go(self, step: int) -> int:
        """Show a step, or the last one before it that is still kept; give which."""
        kept = self._frames()
        frame = kept[max(0, bisect_right([f.step for f in kept], step) - 1)]
        self._model = model = frame.models[self._row]
        self.name, self.dtype, self.device = model.name, model.dtype, model.device
        self.has_gradient = model.gradient is not None
        self.shape, self.element = extent(model)
        return frame.step

    def model(self, axes: Axes | None = None) -> PairModel:
        """Give what was kept; it has no other axes."""
        return self._model

    @property
    def fades(self) -> bool:
        """Whether each step has its own scale for the gradient."""
        return self._row in fading(self._frames())

    def spans(self) -> dict[Role, tuple[float, float]]:
        """Give the smallest and the largest element of all steps, so that colours and heights compare.

        Nothing of a gradient that fades: each step has its own scale.
        """
        found: dict[Role, tuple[float, float]] = {}
        own = self.fades
        for frame in self._frames():
            for role, panel in frame.models[self._row].panels:
                low, high = panel.stats.min, panel.stats.max
                if low is not None and high is not None and not (own and role == "gradient"):
                    known = found.get(role, (low, high))
                    found[role] = min(low, known[0]), max(high, known[1])
        return found

    def window(self, axes: Axes, rows: tuple[int, int], columns: tuple[int, int], most: int = 512) -> Window:
        """Give a part of what was kept, in the steps it was kept in."""
        value, gradient = self._model.value, self._model.gradient
        kind = value.kind
        if kind in ("scalar", "empty"):
            raise CallError(f"{self.name} has nothing to zoom into")
        if kind == "line":
            columns, across = _pixels(columns, self.shape[0], value.array.shape[1])
            part = _line(value, across), None if gradient is None else _line(gradient, across)
            wide = columns[1] - columns[0]
            return Window(kind, (0, 1), columns, (1, max(1, round(wide / (across[1] - across[0])))), *part)
        down, across = _blocks(rows, self.shape[0], value.steps[0]), _blocks(columns, self.shape[1], value.steps[1])
        if axes.component is not None and kind != "image":
            kind = "image"
        parts = [None if p is None else _image(p, down, across, axes.component) for p in (value, gradient)]
        assert parts[0] is not None
        edges = [
            (span[0] * step, min(span[1] * step, size))
            for span, step, size in zip((down, across), value.steps, self.shape, strict=False)
        ]
        return Window(kind, edges[0], edges[1], value.steps, parts[0], parts[1])

    def probe(self, index: tuple[int, ...]) -> tuple[Number, Number | None]:
        """Give one element; where several are drawn as one, what was kept of them, as `probed` says."""
        check_index(index, self.shape, self.name)
        value, gradient = self._model.value, self._model.gradient
        if value.upper is not None and len(value.array) > 1:
            raise CallError("a history keeps what is drawn of a line, not each of its elements")
        return _at(value, index), None if gradient is None else _at(gradient, index)

    def probed(self, index: tuple[int, ...]) -> str:
        """Say of how many elements a probe gives what was kept, and what that was."""
        value = self._model.value
        if value.upper is not None:
            size, width = self.shape[0], value.array.shape[1]
            column = _column(index[0], size, width)
            return f"smallest and largest of {(column + 1) * size // width - column * size // width} elements"
        if value.steps == (1, 1):
            return ""
        chosen = "first" if value.kind == "rgb" else "most extreme"
        return f"{chosen} of {value.steps[0]} × {value.steps[1]} elements"

    def changed(self) -> bool:
        """What was kept does not change."""
        return False

    def refresh(self) -> None:
        """There is nothing to read again."""


def extent(model: PairModel) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Give how many elements are drawn down and across, and how many components each has.

    Examples
    --------
    >>> from slangnb.views.array_source import pair_model
    >>> extent(pair_model(np.zeros((8, 5, 700)), name="x")), extent(pair_model(np.zeros((9, 9, 3)), name="x"))
    (((5, 700), ()), ((9, 9), (3,)))
    """
    panel = model.value
    shape = panel.array.shape
    if panel.kind == "scalar":
        return (), ()
    if panel.kind == "empty":
        return (0,), ()
    if panel.kind == "line":
        middles = panel.positions
        count = shape[1] if panel.upper is None or middles is None else _ends(middles)
        return (count,), () if shape[0] == 1 else (shape[0],)
    drawn = shape[1:] if panel.kind == "facets" else shape[:2]
    whole = tuple(_whole(n, step, model.shape) for n, step in zip(drawn, panel.steps, strict=True))
    return whole, {"image": (), "facets": shape[:1], "rgb": shape[2:]}[panel.kind]


def _ends(middles: Array) -> int:
    """Give where columns end of which the middles are known: each ends as far past its middle as it began before."""
    end = 0
    for twice in (2 * middles + 1).astype(np.int64).tolist():
        end = twice - end
    return end


def _whole(count: int, step: int, shape: tuple[int, ...]) -> int:
    """Give the size of an axis of which every `step` elements are drawn as one: the last block may be smaller."""
    return next((n for n in reversed(shape) if -(-n // step) == count), count * step)


def _blocks(span: tuple[int, int], size: int, step: int) -> tuple[int, int]:
    start, end = cut(span, size)
    return start // step, -(-end // step)


def _pixels(span: tuple[int, int], size: int, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Give the elements, and the columns of a line, that hold a range of elements."""
    start, end = cut(span, size)
    first, last = start * width // size, -(-end * width // size)
    return (first * size // width, -(-last * size // width)), (first, last)


def _column(at: int, size: int, width: int) -> int:
    """Give the column of a line that holds an element."""
    return ((at + 1) * width - 1) // size


def _line(panel: Panel, across: tuple[int, int]) -> Part:
    part = slice(*across)
    upper = None if panel.upper is None else single(panel.upper[:, part])
    return Part(single(panel.array[:, part]), panel.marks.map(lambda mask: mask[:, part]), upper)


def _image(panel: Panel, down: tuple[int, int], across: tuple[int, int], component: int | None) -> Part:
    part = (slice(*down), slice(*across))
    array, marks = panel.array, panel.marks
    if panel.kind == "rgb":
        array = np.moveaxis(array, -1, 0)
        # One mask for all components of a colour.
        marks = marks.map(lambda mask: np.broadcast_to(mask, array.shape))
    if component is not None and array.ndim == 3:
        return Part(single(array[component][part]), marks.map(lambda mask: mask[component][part]))
    index = (..., *part)
    drawn = unit(array[index]) if panel.kind == "rgb" else array[index]
    return Part(single(drawn), marks.map(lambda mask: mask[index]))


def _at(panel: Panel, index: tuple[int, ...]) -> Number:
    array: Array = panel.array
    if panel.kind == "line":
        if panel.upper is not None and panel.positions is not None:
            column = _column(index[0], _ends(panel.positions), array.shape[1])
            return exact(np.array([array[0, column], panel.upper[0, column]]))
        found = array[:, index[0]]
        return exact(found[0] if len(array) == 1 else found)
    at = tuple(i // step for i, step in zip(index, panel.steps, strict=False))
    return exact(array[:, *at] if panel.kind == "facets" else array[at])
