"""Which part of an array is drawn, and how a large part is made small enough to draw.

Pure functions of shapes and numpy arrays. Nothing is left out in silence: each choice comes with its caption.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from slangnb.views.measure import Array, Floats, Marks, Mask, marks

Kind = Literal["scalar", "line", "image", "facets", "rgb", "empty"]

LINE_POINTS = 4096
LINE_COLUMNS = 1024
IMAGE_SIDE = 512
MAX_FACETS = 4
#: More elements than this are reduced where they lie, and drawn with at most so many words of four bytes.
LARGE = 1 << 20
IMAGE_WORDS = 240_000
#: Distances that differ by less than this share are equal.
TIE = 1 - 2.0**-20


@dataclass(frozen=True)
class Layout:
    """How an array is drawn: the kind, the part of it (`index`), and what to say about the choice.

    `labels` name the components of a vector type; `caption` is empty when everything is drawn.
    """

    kind: Kind
    index: tuple[int | slice, ...] = ()
    labels: tuple[str, ...] = ()
    caption: str = ""


def _middle(shape: tuple[int, ...], keep: int) -> tuple[tuple[int | slice, ...], str]:
    """Index the middle of all axes but the last `keep`; say so."""
    leading = shape[: len(shape) - keep]
    picks = tuple(size // 2 for size in leading)
    index: tuple[int | slice, ...] = (*picks, *(slice(None),) * keep)
    if not leading:
        return index, ""
    written = ", ".join([*map(str, picks), *(":",) * keep])
    of = str(leading[0]) if len(leading) == 1 else "(" + ", ".join(map(str, leading)) + ")"
    return index, f"slice [{written}] of {of}"


def component_labels(count: int) -> tuple[str, ...]:
    """Name the components of a vector type."""
    return tuple("xyzw"[:count]) if count <= 4 else tuple(str(i) for i in range(count))


def choose(shape: tuple[int, ...], element: tuple[int, ...] = (), *, colour: bool = False) -> Layout:
    """Choose how to draw an array.

    Parameters
    ----------
    shape : tuple of int
        Of the tensor.
    element : tuple of int
        Of one element: `(3,)` for float3, `(2, 2)` for float2x2, `()` for a scalar type. Its axes follow
        those of the tensor in the array.
    colour : bool
        The elements can be drawn as colours: three or four components, all within the range of a colour.

    Returns
    -------
    Layout

    Examples
    --------
    >>> choose((8, 64, 64)).caption
    'slice [4, :, :] of 8'
    >>> choose((32, 32), (3,)).labels
    ('x', 'y', 'z')
    """
    whole = shape + element
    if 0 in whole:
        return Layout("empty")
    if len(element) == 1:
        return _choose_vectors(shape, element[0], colour)
    if not whole:
        return Layout("scalar")
    if len(whole) == 1:
        return Layout("line", (slice(None),))
    if len(whole) == 2 and min(whole) == 1 and max(whole) > 1:
        # A picture one pixel high says less than a line.
        row = whole[0] == 1
        text = "row [0, :]" if row else "column [:, 0]"
        index: tuple[int | slice, ...] = (0, slice(None)) if row else (slice(None), 0)
        return Layout("line", index, (), f"{text} drawn as a line")
    index, caption = _middle(whole, 2)
    return Layout("image", index, (), caption)


def _choose_vectors(shape: tuple[int, ...], count: int, colour: bool) -> Layout:
    labels = component_labels(count)
    if all(size == 1 for size in shape):
        index: tuple[int | slice, ...] = (*(0,) * len(shape), slice(None))
        return Layout("line", index, labels)
    if len(shape) == 1:
        if count <= MAX_FACETS:
            return Layout("line", (slice(None), slice(None)), labels)
        return Layout("image", (slice(None), slice(None)), (), "one row per element, one column per component")
    index, caption = _middle(shape, 2)
    if colour and count in (3, 4):
        return Layout("rgb", (*index, slice(None)), tuple("rgba"[:count]), caption)
    if count > MAX_FACETS:
        said = f"components 0 to {MAX_FACETS - 1} of {count}"
        caption = f"{caption}; {said}" if caption else said
        return Layout("facets", (*index, slice(MAX_FACETS)), labels[:MAX_FACETS], caption)
    return Layout("facets", (*index, slice(None)), labels, caption)


def envelope(lines: Array, columns: int = LINE_COLUMNS) -> tuple[Floats, Floats, Marks, Floats]:
    """Reduce lines to the smallest and largest element of each column, so that no peak is lost.

    Parameters
    ----------
    lines : numpy array (k, n)
    columns : int
        At most n.

    Returns
    -------
    low, high : float64 arrays (k, columns)
        NaN where a column has no finite element.
    marks : Marks
        Masks (k, columns): the column holds such an element.
    positions : float64 array (columns,)
        The middle of each column, in elements.

    Examples
    --------
    >>> import numpy as np
    >>> low, high, _, positions = envelope(np.arange(6.0)[None], columns=2)
    >>> low, high, positions
    (array([[0., 3.]]), array([[2., 5.]]), array([1., 4.]))
    """
    count = lines.shape[1]
    edges = np.linspace(0, count, columns + 1).astype(np.int64)
    starts, ends = edges[:-1], edges[1:]
    found = marks(lines)
    values = lines.astype(np.float64)
    finite = np.isfinite(values)
    low = np.minimum.reduceat(np.where(finite, values, np.inf), starts, axis=1)
    high = np.maximum.reduceat(np.where(finite, values, -np.inf), starts, axis=1)
    low[np.isposinf(low)] = np.nan
    high[np.isneginf(high)] = np.nan
    reduced = found.map(lambda mask: np.logical_or.reduceat(mask, starts, axis=1))
    return low, high, reduced, (starts + ends - 1) / 2.0


def block_steps(rows: int, columns: int, words: float = 1.0) -> tuple[int, int]:
    """How many rows and columns of elements one drawn pixel stands for.

    Large images get fewer pixels, so that those of a value and its gradient are read back in less than 2 MB.

    Parameters
    ----------
    rows, columns : int
    words : float
        Words of four bytes that one pixel takes.

    Examples
    --------
    >>> block_steps(1024, 1024), block_steps(4096, 4096), block_steps(4096, 4096, 3)
    ((2, 2), (8, 9), (15, 15))
    """
    down, across = -(-rows // IMAGE_SIDE), -(-columns // IMAGE_SIDE)
    if rows * columns * words <= LARGE:
        return down, across
    while True:
        tall, wide = -(-rows // down), -(-columns // across)
        if tall * wide * words <= IMAGE_WORDS:
            return down, across
        down, across = (down, across + 1) if wide >= tall else (down + 1, across)


def image_words(dtype: np.dtype[Any], components: int = 1) -> float:
    """Give the words that one pixel takes; double is not drawn coarser than float."""
    return components * min(dtype.itemsize, 4) / 4


def blocks(image: Array, steps: tuple[int, int], *, about_zero: bool) -> tuple[Floats, Marks]:
    """Reduce an image to one element per block: the one farthest from the mean of its block, or from zero.

    A mean would hide a lone peak, and a sample would miss it.

    Parameters
    ----------
    image : numpy array (rows, columns)
    steps : (int, int)
        Rows and columns of a block; the last blocks may be smaller.
    about_zero : bool
        Keep the element of largest magnitude, as a gradient needs.

    Returns
    -------
    drawn : float64 array (ceil(rows / steps[0]), ceil(columns / steps[1]))
        Each the chosen finite element, NaN where a block has none.
    marks : Marks
        The block holds such an element.
    """
    down, across = steps
    rows, columns = image.shape
    tall, wide = -(-rows // down), -(-columns // across)
    drawn = np.full((tall, wide), np.nan)
    masks = [np.zeros((tall, wide), np.bool_) for _ in range(3)]
    for top in range(tall):
        slab = image[top * down : (top + 1) * down].astype(np.float64)
        # Pad to whole blocks and put the elements of each block in one row: (wide, elements of a block).
        padded = np.pad(slab, ((0, 0), (0, wide * across - columns)), constant_values=np.nan)
        there = np.pad(np.ones(slab.shape, np.bool_), ((0, 0), (0, wide * across - columns)))
        cells = padded.reshape(len(slab), wide, across).transpose(1, 0, 2).reshape(wide, -1)
        inside = there.reshape(len(slab), wide, across).transpose(1, 0, 2).reshape(wide, -1)
        finite = np.isfinite(cells)
        # Divided first: the sum of large elements may be past the largest float.
        share = 2.0 ** -math.ceil(math.log2(down * across))
        sums = (np.where(finite, cells, 0.0) * share).sum(axis=1) / np.maximum(finite.sum(axis=1), 1) / share
        low = np.where(finite, cells, np.inf).min(axis=1)
        high = np.where(finite, cells, -np.inf).max(axis=1)
        drawn[top] = extreme(low, high, np.zeros(wide) if about_zero else sums)
        for mask, found in zip(masks, (np.isnan(cells) & inside, np.isposinf(cells), np.isneginf(cells)), strict=True):
            mask[top] = found.any(axis=1)
    return drawn, Marks(*masks)


def layers(images: Array, steps: tuple[int, int], *, about_zero: bool) -> tuple[Floats, Marks]:
    """Reduce images (k, rows, columns) as `blocks` does, each by itself."""
    found = [blocks(image, steps, about_zero=about_zero) for image in images]
    masks = zip(*(marked for _, marked in found), strict=True)
    return np.stack([drawn for drawn, _ in found]), Marks(*map(np.stack, masks))


def extreme(low: Floats, high: Floats, centre: Floats) -> Floats:
    """Choose the smallest or the largest element of each block, whichever is farther from a centre.

    One of the two always is the farthest of all. Of equal distances it is the largest element; distances within
    rounding count as equal, so that the order in which a mean was summed has no part in the choice.

    Parameters
    ----------
    low, high, centre : float64 arrays of one shape
        Infinite the wrong way round where a block has no finite element.

    Returns
    -------
    float64 array
        NaN where a block has no finite element.

    Examples
    --------
    >>> import numpy as np
    >>> extreme(np.array([-1.0, -3.0]), np.array([1.0, 2.0]), np.zeros(2))
    array([ 1., -3.])
    """
    # Halved, so that the distance of the largest numbers is still finite.
    above, below = high / 2 - centre / 2, centre / 2 - low / 2
    return np.where(low > high, np.nan, np.where(above >= below * TIE, high, low))


def colours(image: Array, steps: tuple[int, int]) -> tuple[Array, Marks]:
    """Reduce an image of colours to the first element of each block.

    A colour is taken whole: choosing each component by itself would invent colours that are not there.

    Parameters
    ----------
    image : numpy array (rows, columns, 3 or 4)
        Bytes, or numbers from 0 to 1.
    steps : (int, int)
        Rows and columns of a block.

    Returns
    -------
    drawn : array (ceil(rows / steps[0]), ceil(columns / steps[1]), 3 or 4)
    marks : Marks
        Whether any component of any element of the block is not finite; without the last axis.
    """
    found = marks(image).map(lambda mask: _any_in_block(mask, steps))
    drawn = image[:: steps[0], :: steps[1]]
    return drawn, found


def unit(colours: Array) -> Array:
    """Give colours as numbers from 0 to 1, to draw them.

    Examples
    --------
    >>> unit(np.array([0, 255], np.uint8)), unit(np.array([0.25]))
    (array([0., 1.]), array([0.25]))
    """
    return colours / np.float64(255) if colours.dtype.kind == "u" else colours


def _any_in_block(mask: Mask, steps: tuple[int, int]) -> Mask:
    here = np.asarray(mask.any(axis=-1))
    down = np.asarray(np.logical_or.reduceat(here, np.arange(0, here.shape[0], steps[0]), axis=0))
    return np.asarray(np.logical_or.reduceat(down, np.arange(0, here.shape[1], steps[1]), axis=1))
