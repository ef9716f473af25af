"""Pictures made small enough to be stored twice in a notebook, once as an image and once inside of HTML."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from slangnb.views.palette import palette
from slangnb.views.quantise import STEPS

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

#: Colours of each kind in a table of 256: the two maps, ink, muted words, marks.
_VALUE, _GRADIENT, _INK, _MUTED, _MARK = 104, 96, 24, 16, 8
#: A picture of other colours, as a photograph, is left as it is: so far may a colour move, for all but a hundredth.
FARTHEST = 8
_LARGE = 60_000


def compact(png: bytes) -> bytes:
    """Store a picture of colour maps with one byte a pixel, a third of the room; the eye sees no difference.

    Parameters
    ----------
    png : bytes

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
    small = whole.quantize(palette=holder, dither=Image.Dither.NONE)
    if not _alike(small, whole) and len(png) > _LARGE:
        # Curves have colours of their own; looking for them takes longer.
        small = whole.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    if not _alike(small, whole):
        return png
    file = io.BytesIO()
    small.save(file, "PNG")
    return file.getvalue() if file.tell() < len(png) else png


def _alike(small: PILImage, whole: PILImage) -> bool:
    away = np.abs(np.asarray(small.convert("RGB"), np.int16) - np.asarray(whole, np.int16)).max(axis=2)
    return bool(np.percentile(away, 99) <= FARTHEST)


def _table() -> bytes:
    from slangnb.views.style import INK, MARK, MUTED

    parts = [_some("viridis", _VALUE), _some("balance", _GRADIENT)]
    parts += [_to_white(INK, _INK), _to_white(MUTED, _MUTED), _to_white(MARK, _MARK)]
    table = np.concatenate(parts)
    return np.concatenate([table, np.full((256 - len(table), 3), 255, np.uint8)]).tobytes()


def _some(name: str, count: int) -> np.ndarray:
    colours = np.frombuffer(palette(name), np.uint8).reshape(-1, 3)
    return colours[np.round(np.linspace(0, STEPS, count)).astype(int)]


def _to_white(colour: str, count: int) -> np.ndarray:
    from matplotlib.colors import to_rgb

    share = np.linspace(0, 1, count)[:, None]
    return ((np.array(to_rgb(colour)) * (1 - share) + share) * 255 + 0.5).astype(np.uint8)
