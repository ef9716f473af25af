"""The pair view: values beside their gradients, as text, as a picture, and alive."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slangnb.errors import CallError
from slangnb.views import stored
from slangnb.views.alive import LiveView
from slangnb.views.html import alternative_text, sections
from slangnb.views.measure import Array
from slangnb.views.model import PairModel
from slangnb.views.overlay import Pictures
from slangnb.views.source import Source
from slangnb.views.still import document
from slangnb.views.text import plain

if TYPE_CHECKING:
    from slangnb.views.live import LivePair
    from slangnb.views.page import Drawing


class PairView(LiveView["LivePair"]):
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
        super().__init__()
        self._models: tuple[PairModel, ...] | None = tuple(models)
        self.title = title
        self.live = live
        self._sources = tuple(sources)
        self._kept: tuple[int, Pictures] | None = None

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
    def _rows(self) -> int:
        return len(self._sources)

    @property
    def _changes(self) -> bool:
        return bool(self._sources)

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
        vars(self).pop("_png", None)
        stored.changed(self)

    def _make(self, key: str) -> list[LivePair]:
        # anywidget is only needed, and only imported, where there is something to be alive in.
        from slangnb.views.live import LivePair

        # Lives in the page and the kernel only; what the notebook stores is the same on every run.
        group, count = uuid.uuid4().hex, len(self._sources)
        return [LivePair(one, key=key, group=group, row=i, count=count) for i, one in enumerate(self._sources)]

    def __repr__(self) -> str:
        text = "\n".join(plain(model) for model in self.models)
        return f"{self.title}\n{text}" if self.title else text

    def _drawing(self) -> Drawing:
        from slangnb.views.figure import drawing

        return drawing(self.models, self.title)

    def _alternative(self) -> str:
        return alternative_text(self.models, self.title)

    def _table(self) -> str:
        return sections(self.models)

    @property
    def _stored(self) -> Pictures:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The picture as a notebook keeps it; the same numbers are not drawn twice."""
        state = _state(self.models)
        if self._kept is None or self._kept[0] != state:
            self._kept = state, self._pictures()
        return self._kept[1]

    def _page(self) -> str:
        from slangnb.views.page import render_both

        # A page of its own has room for the picture as it was drawn.
        names = ", ".join(model.name for model in self.models)
        return document(self.title or names, self._figure(render_both(*self._drawing())))


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
            drawn: list[Array | None] = [panel.array, *panel.marks, panel.upper]
            drawn += [None if panel.histogram is None else panel.histogram.counts]
            for array in drawn:
                found = zlib.crc32(b"" if array is None else array.tobytes(), found)
    return found
