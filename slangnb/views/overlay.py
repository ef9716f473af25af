"""What a dark theme lays over a light picture: all but the pixels that both have in common."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, NamedTuple

from slangnb.views.compact import alike, apart, compact, in_few

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

#: Words and lines need few colours.
_FEW = (24, 40, 128)
# Slower settings take a hundred times as long, for a twentieth of the bytes.
_WEBP = {"lossless": True, "quality": 60, "method": 2}


class Pictures(NamedTuple):
    """The same drawing as a notebook stores it.

    Attributes
    ----------
    png : bytes
        For light themes, for all that shows no HTML.
    light : bytes
        The same for browsers, which read a format that takes less room.
    dark : bytes
        What a dark theme lays over it.
    """

    png: bytes
    light: bytes
    dark: bytes


def stored_pictures(light: bytes, dark: bytes) -> Pictures:
    """Make two PNGs of a drawing, for light and for dark paper, small enough to be stored in a notebook.

    Examples
    --------
    >>> from slangnb.views.page import render_both
    >>> made = stored_pictures(*render_both((1.0, 1.0), lambda page: None))
    >>> made.png[1:4], len(made.light) <= len(made.png)
    (b'PNG', True)
    """
    png = compact(light)
    packed = _packed(_opened(png))
    return Pictures(png, packed if len(packed) < len(png) else png, overlay(dark, light))


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
        A picture of that size.

    Examples
    --------
    >>> from slangnb.views.page import render_both
    >>> light, dark = render_both((1.0, 1.0), lambda page: None)
    >>> data_url(overlay(dark, light))[:11]
    'data:image/'
    """
    from slangnb.views.dark import DARK_PAPER

    below, above = (_opened(png) for png in (light, dark))
    clear = _common(below, above)
    # Of one colour, what is clear takes no room.
    above.paste(DARK_PAPER, mask=clear)
    small = above
    for count in _FEW:
        small = in_few(above, count, dark=True)
        if alike(small, above):
            break
    seen = small.convert("RGBA")
    seen.paste((0, 0, 0, 0), mask=clear)
    return _packed(seen)


def data_url(picture: bytes) -> str:
    """Write a picture as an address that holds it.

    Examples
    --------
    >>> data_url(b"RIFF"), data_url(b"PNG")
    ('data:image/webp;base64,UklGRg==', 'data:image/png;base64,UE5H')
    """
    kind = "webp" if picture.startswith(b"RIFF") else "png"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode('ascii')}"


def _packed(picture: PILImage) -> bytes:
    """Write a picture, pixel for pixel, in two thirds of a PNG's room; as PNG where Pillow was built without WebP."""
    from PIL import features

    whole = picture if picture.mode == "RGBA" else picture.convert("RGB")
    file = io.BytesIO()
    if features.check("webp"):
        whole.save(file, "WEBP", **_WEBP)
    else:
        whole.save(file, "PNG", optimize=True)
    return file.getvalue()


def _opened(png: bytes) -> PILImage:
    from PIL import Image

    with Image.open(io.BytesIO(png)) as opened:
        return opened.convert("RGB")


def _common(one: PILImage, other: PILImage) -> PILImage:
    """Give a mask of the pixels that are equal in both, and all around them too.

    A browser that scales the two mixes neighbours: at the edge of what is clear, they are still the same.
    """
    from PIL import ImageFilter

    return apart(one, other).point([255] + [0] * 255).filter(ImageFilter.MinFilter(3))
