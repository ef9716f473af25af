"""Where a view gets its numbers: what is drawn now, a part of it when one zooms, one element under the cursor."""

from __future__ import annotations

import math
import sys
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from slangnb.errors import CallError
from slangnb.views import reduce
from slangnb.views.axes import Arrangement, Axes, arrange
from slangnb.views.measure import SINGLE, Array, Histogram, Marks, Stats, histogram, marks, measure
from slangnb.views.model import (
    PairModel,
    Panel,
    check_pair,
    drawn_as,
    is_colour,
    join_panels,
    make_panel,
    said_last_axis,
)
from slangnb.views.reduce import Kind
from slangnb.views.text import dtype_words, elements, no_array

if TYPE_CHECKING:
    import slangpy

Floats = NDArray[np.float32] | NDArray[np.float64]
#: How far apart numbers that are drawn in single precision are, as a part of the largest.
_CLOSE = 1e-4
#: Bytes that are read of what is not reduced where it lies.
LARGEST_READ = 256 << 20
Number = float | int | bool | tuple[float | int | bool, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a value or of a gradient, small enough to draw.

    Attributes
    ----------
    array : float32 array
        Or float64, where single precision does not hold the numbers.
        Of an image (rows, columns), with components (components, rows, columns), of a line (lines, columns).
        Colours are numbers from 0 to 1.
        Unreduced it holds NaN and infinities; reduced, NaN where a block has no finite element.
    upper : float32 array or None
        Of a reduced line: `array` holds the smallest and `upper` the largest element of each column.
    marks : Marks
        Of the shape of `array`.
    """

    array: Floats
    marks: Marks
    upper: Floats | None = None


@dataclass(frozen=True, eq=False)
class Window:
    """A part of a pair: elements `rows[0]` to `rows[1] - 1` down and `columns[0]` to `columns[1] - 1` across.

    `rows` and `columns` are cut to the elements that there are. `kind` is "line", "image", "facets" or "rgb".
    `steps` are the elements that one pixel stands for; of a reduced line (1, elements of a column) on average.
    """

    kind: Kind
    rows: tuple[int, int]
    columns: tuple[int, int]
    steps: tuple[int, int]
    value: Part
    gradient: Part | None


class Source(ABC):
    """A value and its gradient, read as far as they are drawn.

    Attributes
    ----------
    name, dtype, device : str
        dtype in words, as "float32" or "float3".
    shape, element : tuple of int
        As it is drawn: of an array (64, 64, 3) these are (64, 64) and (3,).
    has_gradient : bool
    remark : str
        What is left out: a gradient that is not that of these elements.
    bytes_read : int
        Read back from the device so far.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    element: tuple[int, ...]
    device: str = ""
    has_gradient: bool
    remark: str = ""
    bytes_read: int = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.dtype} {self.shape}>"

    @abstractmethod
    def model(self, axes: Axes | None = None) -> PairModel:
        """Give what is drawn; by default the last two axes in the middle of the others."""

    @abstractmethod
    def window(self, axes: Axes, rows: tuple[int, int], columns: tuple[int, int], most: int = 512) -> Window:
        """Give a part, with at most `most` pixels in each direction; of a line, `rows` has no meaning."""

    @abstractmethod
    def probe(self, index: tuple[int, ...]) -> tuple[Number, Number | None]:
        """Give the exact value and gradient of one element; a tuple of numbers for vectors and matrices."""

    def probed(self, index: tuple[int, ...]) -> str:
        """Say what a probe gives where that is not the element itself."""
        return ""

    @abstractmethod
    def changed(self) -> bool:
        """Whether the numbers may be others than those last read; true where that cannot be told."""

    @abstractmethod
    def refresh(self) -> None:
        """Forget what was measured, so that the next model is that of the numbers as they are."""


def check_index(index: tuple[int, ...], shape: tuple[int, ...], name: str) -> None:
    """Refuse an index outside of a tensor.

    Raises
    ------
    CallError
    """
    if len(index) != len(shape) or not all(0 <= i < n for i, n in zip(index, shape, strict=True)):
        raise CallError(f"{name} has shape {shape}; there is no element {tuple(index)}")


def cut(span: tuple[int, int], size: int) -> tuple[int, int]:
    """Give the part of a range that exists; at least one element of a tensor that is not empty.

    Examples
    --------
    >>> cut((-3, 9), 5), cut((7, 9), 5), cut((2, 2), 5)
    ((0, 5), (4, 5), (2, 3))
    """
    start = max(0, min(span[0], size - 1))
    return start, min(size, max(span[1], start + 1))


class ArraySource(Source):
    """Numbers that Python holds; the arrays are looked at, not copied, until something of them is drawn."""

    def __init__(
        self,
        value: Array,
        gradient: Array | None = None,
        *,
        name: str,
        element: tuple[int, ...] = (),
        device: str = "",
        remark: str = "",
        watched: bool = True,
    ) -> None:
        check_pair(value, gradient, name)
        self._value, self._gradient = value, gradient
        self._shape = value.shape[: value.ndim - len(element)]
        self.shape, self.element = drawn_as(self._shape, element)
        self._split = self.element != element
        self.name, self.device, self.remark = name, device, remark
        self.dtype = dtype_words(value.dtype, element)
        self.has_gradient = gradient is not None
        self._known: dict[bool, tuple[Stats, list[Histogram | None]]] = {}
        # Whoever made the arrays for this source alone knows that nobody writes to them.
        self._seen = self._state() if watched else None

    def model(self, axes: Axes | None = None) -> PairModel:
        """Give what is drawn."""
        stats, _ = self._measured(self._value, False)
        colour = is_colour(self._value.dtype, stats)
        drawn = self._panel(self._value, arrange(axes, self.shape, self.element, colour=colour), False)
        slope = None
        if self._gradient is not None:
            slope = self._panel(self._gradient, arrange(axes, self.shape, self.element), True)
        return join_panels(
            drawn,
            slope,
            name=self.name,
            dtype=self.dtype,
            shape=self._shape,
            device=self.device,
            said=said_last_axis(self.element, colour) if self._split else "",
            remark=self.remark,
        )

    def window(self, axes: Axes, rows: tuple[int, int], columns: tuple[int, int], most: int = 512) -> Window:
        """Give a part of what is drawn."""
        at = arrange(axes, self.shape, self.element, colour=self._colour())
        if at.layout.kind in ("empty", "scalar"):
            raise CallError(f"{self.name} has nothing to zoom into")
        part = _part(self._value, at)
        words = reduce.image_words(part.dtype, part.shape[0] if part.ndim == 3 else 1)
        rows, columns, steps = spans(at.layout.kind, part.shape, rows, columns, most, words)
        read = partial(_cut_part, at=at, rows=rows, columns=columns, steps=steps, most=most)
        slope = None if self._gradient is None else read(self._gradient, gradient=True)
        return Window(at.layout.kind, rows, columns, steps, read(self._value, gradient=False), slope)

    def probe(self, index: tuple[int, ...]) -> tuple[Number, Number | None]:
        """Give one element."""
        check_index(index, self.shape, self.name)
        return exact(self._value[index]), None if self._gradient is None else exact(self._gradient[index])

    def changed(self) -> bool:
        """Whether the bytes are others; of large arrays that is not looked at, and the answer is yes."""
        return self._seen is None or self._state() != self._seen

    def refresh(self) -> None:
        """Forget what was measured."""
        self._known.clear()
        self._seen = self._state()

    def _state(self) -> tuple[int, ...] | None:
        arrays = [self._value] if self._gradient is None else [self._value, self._gradient]
        if self._value.size > reduce.LARGE:
            return None
        return tuple(zlib.crc32(a.tobytes()) for a in arrays)

    def _colour(self) -> bool:
        """Whether elements are drawn as colours; measuring all numbers for that would take longer than drawing."""
        if self.element not in ((3,), (4,)):
            return False
        if False not in self._known and self._value.dtype.kind == "f" and self._value.size:
            low, high = float(self._value.min()), float(self._value.max())
            if math.isfinite(low) and math.isfinite(high):
                return low >= 0 and high <= 1
        return is_colour(self._value.dtype, self._measured(self._value, False)[0])

    def _measured(self, array: Array, gradient: bool) -> tuple[Stats, list[Histogram | None]]:
        if gradient not in self._known:
            self._known[gradient] = measure(array), []
        return self._known[gradient]

    def _panel(self, array: Array, at: Arrangement, gradient: bool) -> Panel:
        stats, counts = self._measured(array, gradient)

        def counted() -> Histogram | None:
            if not counts:
                counts.append(histogram(array, stats))
            return counts[0]

        panel = make_panel(array.transpose(at.order), at.layout, gradient=gradient, stats=stats, counted=counted)
        text = "" if panel.kind == "empty" else elements(array)
        return panel if panel.text == text else replace(panel, text=text)


def _part(array: Array, at: Arrangement) -> Array:
    part = array.transpose(at.order)[at.layout.index]
    if at.layout.kind == "line":
        return part.T if part.ndim == 2 else part[None]
    return np.moveaxis(part, -1, 0) if at.layout.kind in ("facets", "rgb") else part


def spans(
    kind: Kind, shape: tuple[int, ...], rows: tuple[int, int], columns: tuple[int, int], most: int, words: float
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Cut a window to a part of so many rows and columns, and give the elements of a pixel.

    `words` are those of one pixel; large windows get no more pixels than the picture of all.
    """
    columns = cut(columns, shape[-1])
    rows = (0, 1) if kind == "line" else cut(rows, shape[-2])
    tall, wide = rows[1] - rows[0], columns[1] - columns[0]
    down, across = reduce.block_steps(tall, wide, words) if kind != "line" else (1, 1)
    return rows, columns, (max(down, -(-tall // most)), max(across, -(-wide // most)))


def _cut_part(
    array: Array,
    *,
    at: Arrangement,
    rows: tuple[int, int],
    columns: tuple[int, int],
    steps: tuple[int, int],
    most: int,
    gradient: bool,
) -> Part:
    part = _part(array, at)[..., columns[0] : columns[1]]
    if at.layout.kind == "line":
        if steps[1] == 1:
            return Part(single(part), marks(part))
        low, high, found, _ = reduce.envelope(part, most)
        return Part(single(low), found, single(high))
    part = part[..., rows[0] : rows[1], :]
    colours = at.layout.kind == "rgb" and not gradient
    if steps == (1, 1):
        return Part(single(reduce.unit(part) if colours else part), marks(part))
    if colours:
        drawn, found = reduce.colours(np.moveaxis(part, 0, -1), steps)
        return Part(
            single(reduce.unit(np.moveaxis(drawn, -1, 0))), found.map(lambda mask: np.stack([mask] * len(part)))
        )
    if part.ndim == 2:
        drawn, found = reduce.blocks(part, steps, about_zero=gradient)
        return Part(single(drawn), found)
    drawn, found = reduce.layers(part, steps, about_zero=gradient)
    return Part(single(drawn), found)


def single(array: Array) -> Floats:
    """Give what is drawn in single precision, where its numbers are not too large, too small or too close for that."""
    if array.dtype == np.float64:
        finite = array[np.isfinite(array)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        largest = max(abs(low), abs(high))
        if largest and (not SINGLE[0] < largest < SINGLE[1] or 0 < high - low < _CLOSE * largest):
            return np.ascontiguousarray(array)
    return np.ascontiguousarray(array, dtype=np.float32)


def exact(found: Any) -> Number:
    """Give an element as a number, or as a tuple of them."""
    array = np.asarray(found)
    return array.item() if array.ndim == 0 else tuple(array.reshape(-1).tolist())


def is_tensor(thing: object) -> TypeGuard[slangpy.Tensor]:
    """Whether something is a SlangPy tensor; does not import SlangPy."""
    module = sys.modules.get("slangpy")
    return module is not None and isinstance(thing, module.Tensor)


def is_struct(tensor: slangpy.Tensor) -> bool:
    """Whether a tensor's elements are structs."""
    return type(tensor.dtype).__name__ == "StructType"


def source(thing: Any, name: str) -> Source:
    """Give the source of what can be shown.

    Parameters
    ----------
    thing : slangpy.Tensor or Texture, Parameter, torch.Tensor, numpy array, number, or nested list of numbers
    name : str

    Returns
    -------
    Source

    Raises
    ------
    CallError
        It cannot be drawn: complex, not numeric, a tensor of structs.

    Examples
    --------
    >>> source([[1, 2], [3, 4]], "x").probe((1, 0))
    (3, None)
    """
    if is_tensor(thing):
        # Imports this module.
        from slangnb.views.device_source import TensorSource

        return TensorSource(thing, name)
    # Imports this module.
    from slangnb.views.adapters import AdaptedSource, adapter

    read = adapter(thing, name)
    if read is not None:
        return AdaptedSource(read, name)
    try:
        array = np.asarray(thing)
    except (TypeError, ValueError) as error:
        raise no_array(name, error) from error
    if isinstance(thing, np.ndarray) and array.dtype.kind in "OSUV":
        raise CallError(
            f"{name} is an array of dtype {array.dtype}, which holds no numbers to show",
            remedy="give an array of numbers, as x.astype(np.float32) makes it",
        )
    if array.dtype.kind in "OSUV":
        what = "None" if thing is None else f"of the type {type(thing).__name__!r}"
        raise CallError(
            f"{name} is {what}, which holds no numbers to show",
            remedy="give a tensor, a numpy array or a number; for several write show(a, b)",
        )
    return ArraySource(array, name=name)
