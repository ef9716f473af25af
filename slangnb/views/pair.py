"""The pair view: values beside their gradients, as text, as a picture, and alive."""

from __future__ import annotations

import base64
import uuid
import zlib
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangnb.errors import CallError
from slangnb.views import stored
from slangnb.views.measure import Array
from slangnb.views.model import PairModel
from slangnb.views.source import Source
from slangnb.views.still import KINDS, STORED_DPI, checked_path, chosen
from slangnb.views.text import plain

if TYPE_CHECKING:
    from slangnb.views.live import LivePair
    from slangnb.views.overlay import Pictures

#: A picture of more rows than this stays still.
MOST_LIVE = 8

Bundle = tuple[dict[str, str], dict[str, dict[str, int]]]


class PairView:
    """Values beside their gradients; renders as a picture in a notebook and as text in a terminal.

    Where a browser watches, the picture comes alive: a script that the kernel sends draws over it. What is stored in
    the notebook is the picture alone, so that it is there without a kernel, on web viewers and in exported pages.
    It is drawn again after updates, once the kernel has nothing else to do.

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
        self._stored: tuple[int, Pictures] | None = None

    @property
    def models(self) -> tuple[PairModel, ...]:
        """What is drawn, one per row."""
        if self._models is None:
            for widget in self._widgets:
                widget.flush()
            self._models = tuple(one.model() for one in self._sources)
        return self._models

    def measure(self) -> None:
        """Take what `update` read for what is drawn, before other code writes to the tensors."""
        self.models  # noqa: B018 - a property

    @property
    def alive(self) -> bool:
        """Whether something of it is alive in a page."""
        return any(widget.comm is not None for widget in self._widgets)

    @property
    def widget(self) -> Any:
        """The live view as a Jupyter widget, to be placed among others; several rows come in a box."""
        made = self.make_widgets("")
        if self.live:
            stored.follow(self)
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
        if self._sources:
            self._read(self._sources)

    def follow(self) -> None:
        """Read again what may have changed; tensors that are gone stay as they are."""
        found = [one for one in self._sources if _changed(one)]
        if found:
            self._read(found, strict=False)

    def _read(self, sources: Sequence[Source], *, strict: bool = True) -> None:
        for one in sources:
            shown = [w for w in self._widgets if w.source is one and w.seen]
            for widget in shown:
                widget.update()
            try:
                # Text and static picture are made when they are asked for: measuring takes longer than drawing.
                if not shown:
                    one.refresh()
            except CallError:
                if strict:
                    raise
        self._models = None
        self.__dict__.pop("_png", None)
        stored.changed(self)

    def make_widgets(self, key: str) -> list[LivePair]:
        """Make widgets that draw over the static picture of that key; those without a key stand by themselves."""
        if not 0 < len(self._sources) <= (MOST_LIVE if key else len(self._sources)):
            return []
        # anywidget is only needed, and only imported, where there is something to be alive in.
        from slangnb.views.live import LivePair

        # Lives in the page and the kernel only; what the notebook stores is the same on every run.
        group, count = uuid.uuid4().hex, len(self._sources)
        made = [LivePair(one, key=key, group=group, row=i, count=count) for i, one in enumerate(self._sources)]
        self._widgets = [w for w in self._widgets if w.comm is not None] + made
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
        kept = chosen(include, exclude)
        named = bool(self._sources) and "text/html" in kept
        return self.bundle(stored.place(self, live=self.live) if named else "", kept)

    def _ipython_display_(self) -> None:
        """Show the value of a cell so that it can be drawn again; IPython does the rest as ever."""
        publisher = stored.publisher() if self._sources else None
        if publisher is None:
            raise NotImplementedError
        data, metadata = self._repr_mimebundle_()
        publisher.publish(data=data, metadata=metadata)

    def bundle(self, key: str, kinds: Collection[str] = KINDS) -> Bundle:
        """Give what is displayed, by MIME type; in the page it has that name."""
        from slangnb.views.figure import page_size
        from slangnb.views.html import fragment

        data: dict[str, str] = {}
        if "text/plain" in kinds:
            data["text/plain"] = repr(self)
        if "text/html" in kinds:
            data["text/html"] = stored.named(fragment(self.models, *self._small()[1:], title=self.title), key)
        if "image/png" in kinds:
            data["image/png"] = base64.b64encode(self._small().png).decode("ascii")
        # The size in CSS pixels keeps the picture sharp on dense screens instead of twice as large.
        width, height = page_size(self.models, self.title)
        metadata = {"image/png": {"width": round(96 * width), "height": round(96 * height)}}
        return data, metadata if "image/png" in data else {}

    def _small(self) -> Pictures:
        """Draw the picture as a notebook keeps it, light and dark; the same numbers are not drawn twice."""
        from slangnb.views.figure import drawing
        from slangnb.views.overlay import stored_pictures
        from slangnb.views.page import render_both

        state = _state(self.models)
        if self._stored is None or self._stored[0] != state:
            both = render_both(*drawing(self.models, self.title), STORED_DPI)
            self._stored = state, stored_pictures(*both)
        return self._stored[1]

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
            from slangnb.views.figure import drawing
            from slangnb.views.html import document
            from slangnb.views.page import render_both

            pngs = render_both(*drawing(self.models, self.title))
            target.write_text(document(self.models, *pngs, title=self.title), encoding="utf-8")
        return target


def _changed(one: Source) -> bool:
    try:
        return one.changed()
    except CallError:
        return True


def _state(models: Sequence[PairModel]) -> int:
    """Give a number that is another one where a picture is."""
    found = 0
    for model in models:
        found = zlib.crc32(f"{plain(model)}{model.caption}{model.note}".encode(), found)
        for _, panel in model.panels:
            found = zlib.crc32(repr((panel.limits, panel.text)).encode(), found)
            drawn: list[Array | None] = [panel.array, panel.marks.nan, panel.marks.pos_inf, panel.marks.neg_inf]
            drawn += [panel.upper, None if panel.histogram is None else panel.histogram.counts]
            for array in drawn:
                found = zlib.crc32(b"" if array is None else array.tobytes(), found)
    return found
