"""What is drawn of a large tensor, reduced where it lies: the panels and windows that numpy would give."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from slangnb.views import reduce
from slangnb.views.axes import Arrangement
from slangnb.views.device import Cells, Reader
from slangnb.views.device_layout import View
from slangnb.views.measure import Array, Marks, Measured, Stats, limits, marks
from slangnb.views.model import Panel, Role, join_words, said_blocks, said_envelope
from slangnb.views.source import Part, single
from slangnb.views.text import elements

_EDGE = 3
Edges = NDArray[np.int64]


def part_of(view: View, at: Arrangement) -> View:
    """Give what is drawn as layers, rows and columns: components are layers of an image, and rows of a line."""
    part = view.transposed(at.order).taken(at.layout.index)
    many = at.layout.kind in ("facets", "rgb") or (at.layout.kind == "line" and len(part.sizes) == 2)
    if many:
        axes = tuple(range(len(part.sizes)))
        part = part.transposed((axes[-1], *axes[:-1]))
    missing = 3 - len(part.sizes)
    return View((1,) * missing + part.sizes, (0,) * missing + part.strides, part.offset)


def edges(size: int, step: int) -> Edges:
    """Give where blocks of `step` elements begin and end.

    Examples
    --------
    >>> edges(5, 2)
    array([0, 2, 4, 5])
    """
    return np.minimum(np.arange(-(-size // step) + 1) * step, size)


def cells_of_all(reader: Reader, at: Arrangement, role: Role) -> tuple[Cells, Stats] | None:
    """Measure a tensor and reduce it in one pass; None where not all of it is drawn, or nothing is reduced."""
    part = part_of(reader.view, at)
    kind = at.layout.kind
    if part.count != reader.view.count or kind not in ("line", "image"):
        return None
    if kind == "line":
        if part.sizes[2] <= reduce.LINE_POINTS:
            return None
        return reader.cells_and_stats(part, *_columns(part), "both")
    steps = reduce.block_steps(part.sizes[1], part.sizes[2], reduce.image_words(reader.dtype))
    if steps == (1, 1):
        return None
    return reader.cells_and_stats(part, *_edges(part, steps), _mode(role))


def device_panel(
    reader: Reader,
    at: Arrangement,
    measured: Measured,
    *,
    role: Role,
    cells: Cells | None = None,
) -> Panel:
    """Reduce a tensor to what is drawn of it; the arguments are those of `model.make_panel`.

    Parameters
    ----------
    reader : Reader
    at : Arrangement
    measured : Measured
        That of the whole tensor.
    role : {"value", "gradient"}
    cells : Cells or None
        What `cells_of_all` gave.
    """
    part = part_of(reader.view, at)
    kind, stats = at.layout.kind, measured.stats
    words = reduce.image_words(reader.dtype, part.sizes[0])
    steps = (1, 1) if kind == "line" else reduce.block_steps(part.sizes[1], part.sizes[2], words)
    panel = Panel(
        kind=kind,
        array=np.empty(0),
        limits=limits(stats, symmetric=role == "gradient"),
        marks=Marks(*(np.zeros(0, np.bool_),) * 3),
        stats=stats,
        labels=at.layout.labels,
        text=_text(reader),
        caption=at.layout.caption,
        steps=steps,
    )
    if kind == "line":
        return _line(reader, part, panel, cells)
    if kind == "rgb":
        return _colours(reader, part, panel)
    if steps == (1, 1):
        drawn = reader.gather(part)
        drawn = drawn if kind == "facets" else drawn[0]
        return replace(panel, array=drawn, marks=marks(drawn), histogram=measured.histogram)
    cells = cells or _blocks(reader, part, steps, role, bool(stats.not_finite))
    array, found = cells.drawn, cells.marks
    if kind != "facets":
        array, found = array[0], found.map(itemgetter(0))
    said = join_words(panel.caption, said_blocks(steps, False))
    return replace(panel, array=array, marks=found, histogram=measured.histogram, caption=said)


def device_part(
    reader: Reader,
    at: Arrangement,
    rows: tuple[int, int],
    columns: tuple[int, int],
    steps: tuple[int, int],
    most: int,
    *,
    role: Role,
    marked: bool,
) -> Part:
    """Read a part of what is drawn, reduced to at most `most` pixels in each direction.

    `marked` is false where it is known that all elements are finite.
    """
    kind = at.layout.kind
    colours = kind == "rgb" and role == "value"
    part = part_of(reader.view, at)
    part = part.taken((slice(None), slice(None) if kind == "line" else slice(*rows), slice(*columns)))
    if kind == "line" and steps[1] > 1:
        across = np.linspace(0, part.sizes[2], most + 1).astype(np.int64)
        cells = reader.cells(part, np.arange(part.sizes[1] + 1), across, "both", marked=marked)
        assert cells.high is not None
        return Part(single(cells.drawn[0]), cells.marks.map(itemgetter(0)), single(cells.high[0]))
    if kind == "line" or steps == (1, 1):
        array = reader.gather(part)
        array = array if kind in ("facets", "rgb") else array[0]
        return Part(single(reduce.unit(array) if colours else array), marks(array))
    if colours:
        array, found = _thinned(reader, part, steps, marked)
        return Part(single(reduce.unit(array)), found.map(lambda mask: np.stack([mask] * len(array))))
    cells = _blocks(reader, part, steps, role, marked)
    if kind in ("facets", "rgb"):
        return Part(single(cells.drawn), cells.marks)
    return Part(single(cells.drawn[0]), cells.marks.map(itemgetter(0)))


def element_of(reader: Reader, index: tuple[int, ...]) -> Array:
    """Read one element; components keep their axes."""
    one = reader.view.taken(index)
    missing = 3 - len(one.sizes)
    found = reader.gather(View((1,) * missing + one.sizes, (0,) * missing + one.strides, one.offset))
    return found.reshape(one.sizes)


def _line(reader: Reader, part: View, panel: Panel, cells: Cells | None) -> Panel:
    count = part.sizes[2]
    if count <= reduce.LINE_POINTS:
        array = reader.gather(part)[0]
        return replace(panel, array=array, marks=marks(array), positions=np.arange(count, dtype=np.float64))
    down, across = _columns(part)
    cells = cells or reader.cells(part, down, across, "both", marked=bool(panel.stats.not_finite))
    assert cells.high is not None
    return replace(
        panel,
        array=cells.drawn[0],
        upper=cells.high[0],
        marks=cells.marks.map(itemgetter(0)),
        positions=(across[:-1] + across[1:] - 1) / 2.0,
        caption=join_words(panel.caption, said_envelope(count)),
    )


def _colours(reader: Reader, part: View, panel: Panel) -> Panel:
    array, found = _thinned(reader, part, panel.steps, bool(panel.stats.not_finite))
    said = join_words(panel.caption, said_blocks(panel.steps, True))
    return replace(panel, array=np.moveaxis(array, 0, -1), marks=found, caption=said)


def _thinned(reader: Reader, part: View, steps: tuple[int, int], marked: bool) -> tuple[Array, Marks]:
    """Read the first element of each block of colours; layers come first, the marks have none."""
    array = reader.gather(part.taken((slice(None), slice(None, None, steps[0]), slice(None, None, steps[1]))))
    if not marked or reader.dtype.kind != "f":
        none = np.zeros(array.shape[1:], np.bool_)
        return array, Marks(none, none, none)
    down, across = _edges(part, steps)
    found = reader.cells(part, down, across, "zero", marked=True).marks
    return array, found.map(lambda mask: np.logical_or.reduce(mask, axis=0))


def _blocks(reader: Reader, part: View, steps: tuple[int, int], role: Role, marked: bool) -> Cells:
    return reader.cells(part, *_edges(part, steps), _mode(role), marked=marked)


def _mode(role: Role) -> str:
    """Say about what the element that is drawn of a block is the most extreme."""
    return "zero" if role == "gradient" else "mean"


def _edges(part: View, steps: tuple[int, int]) -> tuple[Edges, Edges]:
    return edges(part.sizes[1], steps[0]), edges(part.sizes[2], steps[1])


def _columns(part: View) -> tuple[Edges, Edges]:
    """Give the cells of a long line, as `reduce.envelope` takes them."""
    across = np.linspace(0, part.sizes[2], reduce.LINE_COLUMNS + 1).astype(np.int64)
    return np.arange(part.sizes[1] + 1), across


def _text(reader: Reader) -> str:
    """Write the first and last elements of a long vector; other large tensors have no line of elements."""
    view = reader.view
    if len(view.sizes) != 1:
        return ""
    ends = View((1, 2, _EDGE), (0, (view.sizes[0] - _EDGE) * view.strides[0], view.strides[0]), view.offset)
    head, tail = reader.gather(ends)[0]
    # Long enough to be cut, so that only the ends are written.
    return elements(np.concatenate([*[head] * 4, tail]))
