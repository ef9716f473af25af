"""A view that stays still: a picture, the same in words, and its numbers as a table."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from slangnb.errors import CallError
from slangnb.views.overlay import Pictures, data_url, stored_pictures

if TYPE_CHECKING:
    from slangnb.views.page import Drawing

Bundle = tuple[dict[str, str], dict[str, dict[str, int]]]
"""Data and metadata by MIME type."""

KINDS = ("text/plain", "text/html", "image/png")
CSS_PIXELS = 96
#: Pixels per inch of a picture that a notebook stores.
STORED_DPI = 120
_CELL = "padding:0.1em 0.9em 0.1em 0;border:0;background:none"
# JupyterLab and its relatives, Voila and exported notebooks say their theme on the page; VS Code has a class. A printed
# page is light. Pages of our own follow the reader's scheme. From a notebook that is not trusted JupyterLab takes the
# styles out and leaves the classes: our extension for it has the first rule, too.
STILL = "slangnb-still"
_DARK = f".{STILL} .slangnb-dark{{display:block;position:absolute;inset:0;width:100%;height:100%}}"
_THEMES = f'@media screen{{[data-jp-theme-light="false"] {_DARK} .vscode-dark {_DARK}}}'
_SCHEME = f"<style>@media screen and (prefers-color-scheme:dark){{{_DARK}}}</style>"
# JupyterLab names images without a text "Image", and takes attributes without a value out, and ARIA's.
_SILENT = 'hidden="hidden" inert="inert" aria-hidden="true" alt=""'
_UNSEEN = "position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)"


class StillView(ABC):
    """Renders as a picture in a notebook and as text in a terminal.

    Attributes
    ----------
    title : str
        Names the page that `save` writes.
    """

    title: str
    #: CSS pixels: in less room the picture is scrolled, not made smaller.
    _least = 0

    @abstractmethod
    def __repr__(self) -> str: ...

    @abstractmethod
    def _drawing(self) -> Drawing:
        """Give the size of the picture in inches, and what draws it."""

    @abstractmethod
    def _alternative(self) -> str:
        """Describe the picture for those who do not see it."""

    @abstractmethod
    def _table(self) -> str:
        """Give the numbers as HTML."""

    @cached_property
    def _png(self) -> bytes:
        # matplotlib is only needed, and only imported, once a picture is.
        from slangnb.views.page import render

        return render(*self._drawing())

    @cached_property
    def _stored(self) -> Pictures:
        """The picture as a notebook keeps it, for light themes and for dark ones."""
        return self._pictures()

    def _forget(self) -> None:
        """Draw anew when the picture is asked for next: what it shows has changed."""
        for drawn in ("_png", "_stored"):
            vars(self).pop(drawn, None)

    def _pictures(self) -> Pictures:
        from slangnb.views.page import render_both

        return stored_pictures(*render_both(*self._drawing(), STORED_DPI))

    @property
    def _fragment(self) -> str:
        return self._figure(self._stored[1:])

    def _figure(self, pictures: tuple[bytes, ...]) -> str:
        return figure(pictures, self._alternative(), self._drawing()[0][0], self._table(), self._least)

    def _page(self) -> str:
        return document(self.title, self._fragment)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> Bundle:
        """Give text, script-free HTML and PNG as one bundle, as IPython asks for it."""
        return self._bundle(chosen(include, exclude))

    def _bundle(self, kinds: Collection[str]) -> Bundle:
        width, height = self._drawing()[0]
        makers = {
            "text/plain": lambda: repr(self),
            "text/html": lambda: self._fragment,
            "image/png": lambda: base64.b64encode(self._stored.png).decode("ascii"),
        }
        data = {kind: make() for kind, make in makers.items() if kind in kinds}
        # The size in CSS pixels keeps the picture sharp on dense screens instead of twice as large.
        metadata = {"image/png": {"width": round(CSS_PIXELS * width), "height": round(CSS_PIXELS * height)}}
        return data, metadata if "image/png" in data else {}

    def save(self, path: str | Path) -> Path:
        """Write the view to a file.

        Parameters
        ----------
        path : str or Path
            Ends in ".png" or ".html". A page is complete in itself: it needs no other file.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        CallError
            The ending is another one, or the folder is not there.

        Examples
        --------
        >>> from slangnb.views import show
        >>> show(x=[1.0, 2.0]).save("x.gif")
        Traceback (most recent call last):
        slangnb.errors.CallError: cannot save a view as '.gif'
        remedy: end the name in .png or .html, as in view.save('x.png')
        """
        target = checked_path(path, (".png", ".html"))
        if target.suffix.lower() == ".png":
            target.write_bytes(self._png)
        else:
            target.write_text(self._page(), encoding="utf-8")
        return target


def chosen(include: Collection[str] | None, exclude: Collection[str] | None) -> list[str]:
    """Give the MIME types that are wanted.

    Examples
    --------
    >>> chosen(None, {"image/png"}), chosen({"text/plain", "text/latex"}, None)
    (['text/plain', 'text/html'], ['text/plain'])
    """
    return [kind for kind in KINDS if (not include or kind in include) and (not exclude or kind not in exclude)]


def checked_path(path: str | Path, endings: tuple[str, ...]) -> Path:
    """Give a path that can be written to.

    Raises
    ------
    CallError
        It ends in none of these, or its folder is not there.

    Examples
    --------
    >>> checked_path("x.bmp", (".png", ".html"))
    Traceback (most recent call last):
    slangnb.errors.CallError: cannot save a view as '.bmp'
    remedy: end the name in .png or .html, as in view.save('x.png')
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in endings:
        raise CallError(
            f"cannot save a view as {kind!r}" if kind else f"the name {target.name!r} does not say which kind of file",
            remedy=f"end the name in {', '.join(endings[:-1])} or {endings[-1]}, "
            f"as in view.save('{target.stem or 'x'}{endings[0]}')",
        )
    if not target.parent.is_dir():
        raise CallError(f"there is no folder '{target.parent}'", remedy="make it first, or save elsewhere")
    return target


def picture(pictures: tuple[bytes, ...], alternative: str, inches: float) -> str:
    """Write an image that holds its own bytes; a second one is laid over it in dark themes.

    Where styles and `hidden` are taken out, the second one still takes no room.
    """
    width = round(inches * CSS_PIXELS)
    light, *dark = map(data_url, pictures)
    image = (
        f'<img src="{light}" alt="{escape(alternative)}" width="{width}" '
        'style="display:block;max-width:100%;height:auto;border-radius:6px">'
    )
    return with_dark(image, dark[0], width, _THEMES) if dark else image


def with_dark(image: str, dark: str, width: int, rules: str = "") -> str:
    """Write an image with another one, given by its address, that is laid over it in dark themes."""
    return (
        (f"<style>{rules}</style>" if rules else "")
        + f'<span class="{STILL}" style="display:block;position:relative;max-width:{width}px">{image}'
        + f'<img class="slangnb-dark" {_SILENT} width="0" height="0" src="{dark}"></span>'
    )


def figure(pictures: tuple[bytes, ...], alternative: str, inches: float, table: str, least: int = 0) -> str:
    """Write a `<figure>` that stands by itself: the picture, and its numbers folded away below it.

    In less than `least` CSS pixels the picture is scrolled.

    Examples
    --------
    >>> page = figure((b"", b""), "a < b", 5.0, "<table></table>")
    >>> "a &lt; b" in page, "<script" in page
    (True, False)
    """
    drawn = picture(pictures, alternative, inches)
    if least:
        drawn = f'<div style="overflow-x:auto"><div style="min-width:{least}px">{drawn}</div></div>'
    return (
        f'<figure style="margin:0;max-width:{round(inches * CSS_PIXELS)}px">{drawn}'
        '<figcaption><details style="margin-top:0.3em;overflow-x:auto">'
        '<summary style="cursor:pointer;font-size:0.85em;opacity:0.65">numbers</summary>'
        f"{table}</details></figcaption></figure>"
    )


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Write a table; the first cell of each row names it.

    Examples
    --------
    >>> table(("tensor", "norm"), [("a < b", "2")]).count("&lt;")
    1
    """

    def cell(word: str, kind: str, style: str, scope: str = "") -> str:
        return f'<{kind}{scope} style="{_CELL};{style}">{escape(word)}</{kind}>'

    top = "".join(
        cell(w, "th", f"text-align:{'right' if i else 'left'};font-weight:normal;opacity:0.65", ' scope="col"')
        for i, w in enumerate(head)
    )
    body = ""
    for first, *rest in rows:
        cells = cell(first, "th", "text-align:left", ' scope="row"')
        body += f'<tr style="background:none">{cells}'
        body += "".join(cell(w, "td", "text-align:right") for w in rest) + "</tr>"
    return (
        '<table style="border-collapse:collapse;border:0;margin:0.2em 0 0.4em;'
        f'font-family:monospace;font-size:0.85em"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
    )


def document(title: str, body: str, head: str = "") -> str:
    """Write a whole HTML file around a fragment.

    Its colours are those of the reader's light or dark scheme. The picture has its title written in it, so the
    heading is for screen readers.

    Examples
    --------
    >>> page = document("a < b", "<p>c</p>")
    >>> "<title>a &lt; b</title>" in page, "a &lt; b</h1><p>c</p></main>" in page
    (True, True)
    """
    name = escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{name}</title>{_SCHEME}{head}</head>\n"
        '<body style="font-family:sans-serif;margin:1.5em;color:CanvasText;background:Canvas">'
        f'<main><h1 style="{_UNSEEN}">{name}</h1>{body}</main></body>\n</html>\n'
    )
