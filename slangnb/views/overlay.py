"""What a dark theme lays over a light picture: all but the pixels that both have in common."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from slangnb.views.compact import alike, compact, in_few

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

#: Words and lines need few colours.
_FEW = (24, 40, 128)


def overlay(dark: bytes, light: bytes) -> bytes:
    """Give a dark picture that is clear where the light one below it shows the same.

    Colour maps are the same in both themes and take the most room: they are stored once.

    Parameters
    ----------
    dark, light : bytes
        The same drawing as PNGs of the same size.

    Returns
    -------
    bytes
        A PNG of that size.

    Examples
    --------
    >>> from slangnb.views.page import render_both
    >>> light, dark = render_both((1.0, 1.0), lambda page: None)
    >>> overlay(dark, light)[1:4]
    b'PNG'
    """

    below, above = (_opened(png) for png in (light, dark))
    clear = _common(below, above)
    if not clear.getbbox():
        return compact(dark, dark=True)
    from slangnb.views.dark import DARK_PAPER

    # Of one colour, what is clear takes no room.
    above.paste(DARK_PAPER, mask=clear)
    small = above
    for count in _FEW:
        small = in_few(above, count, dark=True)
        if alike(small, above):
            break
    free = small.histogram().index(0) if small.mode == "P" and 0 in small.histogram() else None
    if free is None:
        small = small.convert("RGBA")
        small.paste((0, 0, 0, 0), mask=clear)
    else:
        # A colour that nothing has stands for what is clear.
        small.putpalette([*(small.getpalette() or []), 0, 0, 0][: 3 * 256])
        small.paste(free, mask=clear)
    options = {} if free is None else {"transparency": free}
    file = io.BytesIO()
    small.save(file, "PNG", optimize=True, **options)
    return file.getvalue()


def _opened(png: bytes) -> PILImage:
    from PIL import Image

    with Image.open(io.BytesIO(png)) as opened:
        return opened.convert("RGB")


def _common(one: PILImage, other: PILImage) -> PILImage:
    """Give a mask of the pixels that are equal in both, and all around them too.

    A browser that scales the two mixes neighbours: at the edge of what is clear, they are still the same.
    """
    from PIL import ImageChops, ImageFilter

    red, green, blue = ImageChops.difference(one, other).split()
    equal = ImageChops.lighter(ImageChops.lighter(red, green), blue).point([255] + [0] * 255)
    return equal.filter(ImageFilter.MinFilter(3))
