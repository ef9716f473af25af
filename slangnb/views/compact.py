"""Pictures made small enough to be stored twice in a notebook, once as an image and once inside of HTML."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from slangnb.views.palette import palette
from slangnb.views.quantise import STEPS

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

#: Colours of each kind in a table of 256: the two maps, stems of values, ink, muted words, marks.
_VALUE, _GRADIENT, _STEM, _INK, _MUTED, _MARK = 104, 96, 1, 24, 16, 8
#: A picture of other colours, as a photograph, is left as it is: so far may a colour move, for all but a hundredth.
FARTHEST = 8
_LARGE = 20_000
#: So many colours are tried for such a picture.
_TRIED = (64, 256)
#: Bytes that a pixel may take: ten pairs of smooth images of any size then take less than a megabyte.
ROOM = 0.044
#: Pixels of one colour in each direction, where that is not enough: the lack of colours would be seen before.
_BLOCKS = (2, 3)
#: Zero of a gradient is as light as the palest shades of words.
_PALE = 0xE8


def compact(png: bytes) -> bytes:
    """Store a picture of colour maps with one byte a pixel, a third of the room; the eye sees no difference.

    Where even that is large, because much is seen, what the colour maps draw gets half of the resolution or a third.
    Words, lines and marks stay sharp.

    Parameters
    ----------
    png : bytes
        Its paper is light.

    Returns
    -------
    bytes
        A PNG of the same size in pixels; the very one that was given, where it holds other colours.

    Examples
    --------
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (90, 90), "white").save(file, "PNG")
    >>> Image.open(io.BytesIO(compact(file.getvalue()))).size
    (90, 90)
    """
    from PIL import Image

    with Image.open(io.BytesIO(png)) as opened:
        whole = opened.convert("RGB")
    holder = Image.new("P", (1, 1))
    holder.putpalette(_table())
    # Dithering would make noise of flat areas, and a larger file.
    small = own = whole.quantize(palette=holder, dither=Image.Dither.NONE)
    for count in _TRIED if len(png) > _LARGE else ():
        # Curves have colours of their own; looking for them takes longer.
        if alike(small, whole):
            break
        small = in_few(whole, count, dark=False)
    if not alike(small, whole):
        small = whole
    data = _written(small)
    for side in _BLOCKS if small is own else ():
        if len(data) <= ROOM * small.width * small.height:
            break
        data = _written(_coarser(own, side))
    return data if len(data) < len(png) else png


def in_few(whole: PILImage, count: int, dark: bool) -> PILImage:
    """Draw a picture in so many colours of its own."""
    from PIL import Image

    own = whole.quantize(count - _MARK, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    # A mark is too small to be counted, and must not lose its colour.
    colours = bytes((own.getpalette() or [])[: 3 * (count - _MARK)]) + _marks(dark)
    holder = Image.new("P", (1, 1))
    holder.putpalette(colours)
    small = whole.quantize(palette=holder, dither=Image.Dither.NONE)
    # The paper is the last colour; Pillow takes a near one for it where there is one.
    small.paste(len(colours) // 3 - 1, mask=_paper_of(whole, tuple(colours[-3:])))
    return small


def _written(small: PILImage) -> bytes:
    file = io.BytesIO()
    small.save(file, "PNG", optimize=True)
    return file.getvalue()


def _coarser(picture: PILImage, side: int) -> PILImage:
    """Draw what is in the colours of a map with one colour for so many by so many pixels."""
    from PIL import Image

    colours = np.array(picture.getpalette()).reshape(-1, 3)
    # The colour of stems is near one of the map of gradients, which may be drawn with it.
    of_map = np.arange(256) < _VALUE + _GRADIENT + _STEM
    pale = (colours.min(axis=1) >= _PALE) & (colours.min(axis=1) < 255)
    drawn = np.array(picture)
    blocks = _blocks(drawn, side)
    # Words and lines, and the edges of what is drawn, are not touched.
    inside = (of_map | pale)[blocks].all(axis=(1, 3)) & of_map[blocks].any(axis=(1, 3))
    middle = blocks[:, side // 2, :, side // 2].copy()
    np.copyto(blocks, middle[:, None, :, None], where=inside[:, None, :, None])
    small = Image.fromarray(drawn)
    small.putpalette(picture.getpalette() or [])
    return small


def _blocks(array: np.ndarray, side: int) -> np.ndarray:
    """View an array as (rows, side, columns, side), without what is left over."""
    height, width = (n // side for n in array.shape)
    down, right = array.strides
    return np.lib.stride_tricks.as_strided(
        array, (height, side, width, side), (down * side, down, right * side, right), writeable=True
    )


def _paper_of(picture: PILImage, paper: tuple[int, ...]) -> PILImage:
    """Give a mask of the pixels that are paper."""
    from PIL import Image

    return apart(picture, Image.new("RGB", picture.size, paper)).point([255] + [0] * 255)


def apart(one: PILImage, other: PILImage) -> PILImage:
    """Say how far the colours of two pictures are apart, pixel by pixel."""
    from PIL import ImageChops

    red, green, blue = ImageChops.difference(one, other).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue)


def alike(small: PILImage, whole: PILImage) -> bool:
    """Say whether the eye takes one for the other."""
    counts = apart(small.convert("RGB"), whole).histogram()
    return sum(counts[FARTHEST + 1 :]) <= 0.01 * sum(counts)


def _table() -> bytes:
    from slangnb.views.style import INK, MUTED, VALUE_SOFT

    maps = _some("viridis", _VALUE).tobytes() + _some("balance", _GRADIENT).tobytes()
    # Stems of gradients have colours of their map.
    maps += _rgb(VALUE_SOFT).tobytes()
    table = maps + _to_paper(INK, _INK, False) + _to_paper(MUTED, _MUTED, False) + _marks(False)
    return table + table[-3:] * (256 - len(table) // 3)


def _marks(dark: bool) -> bytes:
    from slangnb.views.style import MARK

    return _to_paper(MARK, _MARK, dark)


def _some(name: str, count: int) -> np.ndarray:
    colours = np.frombuffer(palette(name), np.uint8).reshape(-1, 3)
    return colours[np.round(np.linspace(0, STEPS, count)).astype(int)]


def _rgb(colour: str) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return (np.array(to_rgb(colour)) * 255 + 0.5).astype(np.uint8)


def _to_paper(colour: str, count: int, dark: bool) -> bytes:
    """Give the colours between an ink and the paper, which comes last."""
    from slangnb.views.dark import dark_ink
    from slangnb.views.style import PAPER

    ink, paper = (_rgb(dark_ink(one) if dark else one) for one in (colour, PAPER))
    share = np.linspace(0, 1, count)[:, None]
    return (ink * (1 - share) + paper * share + 0.5).astype(np.uint8).tobytes()
