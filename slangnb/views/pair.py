"""The pair view: values beside their gradients, as text, as a picture, and alive."""

from __future__ import annotations

import base64
import uuid
import zlib
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangnb.views import frontend
from slangnb.views.model import PairModel
from slangnb.views.source import Source
from slangnb.views.still import checked_path
from slangnb.views.text import plain

if TYPE_CHECKING:
    from slangnb.views.live import LivePair

#: A picture of more rows than this stays still.
MOST_LIVE = 8

Bundle = tuple[dict[str, str], dict[str, dict[str, int]]]


class PairView:
    """Values beside their gradients; renders as a picture in a notebook and as text in a terminal.

    Where a browser watches, the picture comes alive: a script that the kernel sends draws over it. What is stored in
    the notebook is the picture alone, so that it is there without a kernel, on web viewers and in exported pages.

    The data are read when the view is made and in `update`: what else happens to a tensor does not change it.

    Parameters
    ----------
    models : sequence of PairModel
        One row each.
    title : str
        Written above the rows.
    sources : sequence of Source
        Where the models came from, in the same order; without them the view stays as it is.
    live : bool
        Read the numbers again after each cell that may have changed them.

    Examples
    --------
    >>> from slangnb.views import show
    >>> view = show(x=[1.0, 2.0])
    >>> view
    x  float64 (2,)
      value     [1. 2.]  min 1  max 2  mean 1.5  norm 2.236
    """

    def __init__(
        self, models: Sequence[PairModel], title: str = "", sources: Sequence[Source] = (), live: bool = False
    ) -> None:
        self._models: tuple[PairModel, ...] | None = tuple(models)
        self.title = title
        self.live = live
        self._sources = tuple(sources)
        self._widgets: list[LivePair] = []

    @property
    def models(self) -> tuple[PairModel, ...]:
        """What is drawn, one per row."""
        if self._models is None:
            self._models = tuple(one.model() for one in self._sources)
        return self._models

    @property
    def widget(self) -> Any:
        """The live view as a Jupyter widget, to be placed among others; several rows come in a box."""
        made = self._make_widgets("")
        if len(made) == 1:
            return made[0]
        import ipywidgets

        return ipywidgets.VBox(made)

    def update(self) -> None:
        """Read the numbers again, and draw them where the view is shown.

        Examples
        --------
        >>> import numpy as np
        >>> from slangnb.views import show
        >>> x = np.array([1.0, 2.0])
        >>> view = show(x=x)
        >>> x[:] = 3.0
        >>> view.update()
        >>> view
        x  float64 (2,)
          value     [3. 3.]  min 3  max 3  mean 3  norm 4.243
        """
        if not self._sources:
            return
        shown = [w for w in self._widgets if w.seen]
        # Text and static picture are made when they are asked for: measuring takes longer than drawing.
        for one in self._sources if not shown else ():
            one.refresh()
        self._models = None
        self.__dict__.pop("_png", None)
        for widget in shown:
            widget.update()

    def _make_widgets(self, key: str) -> list[LivePair]:
        """Make widgets that draw over the static picture of that key; those without a key stand by themselves."""
        # anywidget is only needed, and only imported, where there is something to be alive in.
        from slangnb.views.live import LivePair

        # Lives in the page and the kernel only; what the notebook stores is the same on every run.
        group, count = uuid.uuid4().hex, len(self._sources)
        made = [LivePair(one, key=key, group=group, row=i, count=count) for i, one in enumerate(self._sources)]
        self._widgets += made
        current = frontend.shell()
        if self.live and current is not None:
            for widget in made:
                frontend.Watch(widget).start(current)
        return made

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
        from slangnb.views.compact import compact
        from slangnb.views.figure import page_size
        from slangnb.views.html import fragment

        width, height = page_size(self.models, self.title)
        png = compact(self._png)
        data = {
            "text/plain": repr(self),
            "text/html": self._html(fragment(self.models, png, title=self.title)),
            "image/png": base64.b64encode(png).decode("ascii"),
        }
        # The size in CSS pixels keeps the picture sharp on dense screens instead of twice as large.
        metadata = {"image/png": {"width": round(96 * width), "height": round(96 * height)}}
        kept = [kind for kind in data if (not include or kind in include) and (not exclude or kind not in exclude)]
        return {kind: data[kind] for kind in kept}, {kind: metadata[kind] for kind in kept if kind in metadata}

    def _html(self, figure: str) -> str:
        """Name the picture, so that its live form finds it on the page; by what it shows, the same on every run."""
        key = f"{zlib.crc32(figure.encode()):08x}"
        known = any(widget.key == key and widget.comm is not None for widget in self._widgets)
        if not known and 0 < len(self._sources) <= MOST_LIVE and frontend.has_page():
            frontend.keep(frontend.shell(), self._make_widgets(key))
        return f'<div data-slangnb-view="{key}">{figure}</div>'

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
            from slangnb.views.html import document

            target.write_text(document(self.models, self._png, title=self.title), encoding="utf-8")
        return target
