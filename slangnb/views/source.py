"""Where a view gets its numbers: what is drawn now, a part of it when one zooms, one element under the cursor."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from slangnb.errors import CallError
from slangnb.views import reduce
from slangnb.views.axes import Axes
from slangnb.views.measure import Array, Marks, fits_single
from slangnb.views.model import PairModel
from slangnb.views.reduce import Kind

if TYPE_CHECKING:
    import slangpy

Floats = NDArray[np.float32] | NDArray[np.float64]
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


def single(array: Array) -> Floats:
    """Give what is drawn in single precision, where its numbers are not too large, too small or too close for that."""
    if array.dtype == np.float64:
        finite = array[np.isfinite(array)]
        if finite.size and not fits_single(float(finite.min()), float(finite.max())):
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
