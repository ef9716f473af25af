"""The pair view: what a person gets from `show`, and from a tensor on the last line of a cell."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from slangnb.errors import CallError
from slangnb.views.model import PairModel
from slangnb.views.sources import read, rows
from slangnb.views.text import plain

Bundle = tuple[dict[str, str], dict[str, dict[str, int]]]


class PairView:
    """Values beside their gradients; renders as a picture in a notebook and as text in a terminal.

    The data are read when the view is made: what happens to a tensor later does not change it.

    Parameters
    ----------
    models : sequence of PairModel
        One row each.
    title : str
        Written above the rows.

    Examples
    --------
    >>> view = show(x=[1.0, 2.0])
    >>> view
    x  float64 (2,)
      value     [1. 2.]  min 1  max 2  mean 1.5  norm 2.236
    """

    def __init__(self, models: Sequence[PairModel], title: str = "") -> None:
        self.models = tuple(models)
        self.title = title

    def __repr__(self) -> str:
        text = "\n".join(plain(model) for model in self.models)
        return f"{self.title}\n{text}" if self.title else text

    @cached_property
    def _png(self) -> bytes:
        # matplotlib is only needed, and only imported, once a picture is.
        from slangnb.views.figure import to_png

        return to_png(self.models, title=self.title)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> Bundle:
        """Give text, script-free HTML and PNG as one bundle, as IPython asks for it."""
        from slangnb.views.figure import page_size
        from slangnb.views.html import fragment

        width, height = page_size(self.models, self.title)
        data = {
            "text/plain": repr(self),
            "text/html": fragment(self.models, self._png, title=self.title),
            "image/png": base64.b64encode(self._png).decode("ascii"),
        }
        # The size in CSS pixels keeps the picture sharp on dense screens instead of twice as large.
        metadata = {"image/png": {"width": round(96 * width), "height": round(96 * height)}}
        kept = [kind for kind in data if (not include or kind in include) and (not exclude or kind not in exclude)]
        return {kind: data[kind] for kind in kept}, {kind: metadata[kind] for kind in kept if kind in metadata}

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
        >>> show(x=[1.0, 2.0]).save("x.gif")
        Traceback (most recent call last):
        slangnb.errors.CallError: cannot save a view as '.gif'
        remedy: end the name in .png or .html, as in view.save('x.png')
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind not in (".png", ".html"):
            raise CallError(
                f"cannot save a view as {kind!r}"
                if kind
                else f"the name {target.name!r} does not say which kind of file",
                remedy=f"end the name in .png or .html, as in view.save('{target.stem or 'x'}.png')",
            )
        if not target.parent.is_dir():
            raise CallError(f"there is no folder '{target.parent}'", remedy="make it first, or save elsewhere")
        if kind == ".png":
            target.write_bytes(self._png)
        else:
            from slangnb.views.html import document

            target.write_text(document(self.models, self._png, title=self.title), encoding="utf-8")
        return target


def show(*tensors: Any, title: str = "", **named: Any) -> PairView:
    """Show values and their gradients side by side.

    Parameters
    ----------
    *tensors : slangpy.Tensor, numpy array, number, list of numbers, or dict of these
        One row each; a dict gives a row per entry.
    title : str
        Names the row when there is only one; otherwise written above the rows.
    **named
        Further rows with their names: `show(height=x)`.

    Returns
    -------
    PairView
        A notebook shows it when it is the last line of a cell. `.save("x.png")` writes it to a file.

    Raises
    ------
    CallError
        Nothing was given, or something that cannot be drawn.

    Examples
    --------
    >>> show([9, 23], 2.5)
    tensor 1  int64 (2,)
      value     [9 23]  min 9  max 23  mean 16  norm 24.7
    tensor 2  float64
      value     2.5
    """
    if not isinstance(title, str):
        raise CallError("title is the title, a text", remedy="to name a row 'title', write show({'title': x})")
    single = len(tensors) + len(named) == 1
    entries: list[tuple[str, Any]] = []
    for i, thing in enumerate(tensors):
        # The entries of a lone dict need no prefix.
        default = "" if isinstance(thing, Mapping) and single else "tensor" if single else f"tensor {i + 1}"
        entries += rows(thing, default)
    for name, thing in named.items():
        entries += rows(thing, name)
    if not entries:
        raise CallError("nothing was given to show", remedy="write show(x), or show(height=x) to name the row")
    if single and tensors and title and not isinstance(tensors[0], Mapping):
        return PairView([read(tensors[0], title)])
    return PairView([read(thing, name) for name, thing in entries], title)


def mimebundle(tensor: Any, include: Collection[str] | None = None, exclude: Collection[str] | None = None) -> Bundle:
    """Give the bundle of a tensor, for IPython's formatters: that of `show(tensor)`.

    What cannot be drawn is answered with text, never with an error: a value on the last line of a cell must
    not fail the cell.

    Parameters
    ----------
    tensor : slangpy.Tensor
    include, exclude : collection of str or None
        MIME types wanted, and not wanted.

    Returns
    -------
    (dict, dict)
        Data and metadata by MIME type.

    Examples
    --------
    >>> import numpy as np
    >>> data, metadata = mimebundle(np.array([1.0, 2.0]))
    >>> sorted(data)
    ['image/png', 'text/html', 'text/plain']
    """
    try:
        view = show(tensor)
    except CallError as error:
        return {"text/plain": f"tensor, not drawn: {error}"}, {}
    return view._repr_mimebundle_(include, exclude)
