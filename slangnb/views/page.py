"""A page measured in inches from its top left corner, that becomes a PNG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from slangnb.views.dark import darken
from slangnb.views.style import PAPER

DPI = 144
_LONGEST_NAME = 48
#: Points of the smallest words.
_SMALLEST = 5.0


class Page:
    """A figure measured in inches from its top left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height), facecolor=PAPER)
        self.canvas = FigureCanvasAgg(self.figure)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Place axes."""
        bottom = 1 - (top + height) / self.height
        return self.figure.add_axes((left / self.width, bottom, width / self.width, height / self.height))

    def text(self, left: float, top: float, words: str, **style: object) -> Text:
        """Write words, as they are, with their baseline at `top`."""
        # User text may hold dollar signs; it is never mathematics.
        options: dict[str, object] = {"va": "baseline", "parse_math": False, **style}
        return self.figure.text(left / self.width, 1 - top / self.height, words, **options)  # type: ignore[arg-type]

    def wide(self, text: Text) -> float:
        """Give the width of words in inches."""
        return text.get_window_extent(self.canvas.get_renderer()).width / self.figure.dpi

    def fit(self, text: Text, width: float) -> None:
        """Make words smaller where they are wider than that."""
        # Letters are whole pixels wide: of a smaller size they may be as wide as before.
        while (wide := self.wide(text)) > width and (size := float(text.get_fontsize())) > _SMALLEST:
            text.set_fontsize(max(_SMALLEST, size * width / wide))


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with matplotlib's own settings."""
    # "default" holds only while drawing: a notebook's own style would otherwise leak into the picture.
    with matplotlib.style.context("default"), warnings.catch_warnings():
        # Names in scripts that the font lacks are drawn as boxes; the HTML beside the picture has them right.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


Drawing = tuple[tuple[float, float], Callable[[Page], None]]
"""The size of a page in inches, and what draws on it."""


def render(
    size: tuple[float, float], draw: Callable[[Page], None], dpi: int = DPI, *, dark: bool = False, quick: bool = False
) -> bytes:
    """Draw a page of that many inches and give it as a PNG; the same drawing gives the same bytes.

    With `dark` it is drawn in the inks for dark themes; `quick` is for what is to be compressed by others.
    """
    with drawing():
        page = _drawn(size, draw, dpi)
        return _png(page, dpi, dark=dark, quick=quick)


def render_both(size: tuple[float, float], draw: Callable[[Page], None], dpi: int = DPI) -> tuple[bytes, bytes]:
    """Draw a page once, and give it as two PNGs to be compressed: for light themes and for dark ones."""
    with drawing():
        page = _drawn(size, draw, dpi)
        return _png(page, dpi, quick=True), _png(page, dpi, dark=True, quick=True)


def _drawn(size: tuple[float, float], draw: Callable[[Page], None], dpi: int) -> Page:
    page = Page(*size)
    page.figure.set_dpi(dpi)
    draw(page)
    return page


def _png(page: Page, dpi: int, *, dark: bool = False, quick: bool = False) -> bytes:
    if dark:
        darken(page.figure)
    file = io.BytesIO()
    options = {"compress_level": 1} if quick else {}
    page.figure.savefig(file, format="png", dpi=dpi, facecolor="auto", metadata={"Software": None}, pil_kwargs=options)
    return file.getvalue()


def shorten(name: str, longest: int = _LONGEST_NAME) -> str:
    """Give a name on one line, cut where it is too long.

    Examples
    --------
    >>> shorten("layers.0\\nweight", 10)
    'layers.0 …'
    """
    one_line = " ".join(name.split())
    return one_line if len(one_line) <= longest else one_line[: longest - 1] + "…"
