"""A view that comes alive where a browser watches: widgets draw over the still picture that the notebook stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from slangnb.views import stored
from slangnb.views.still import KINDS, Bundle, StillView, chosen

if TYPE_CHECKING:
    from slangnb.views.live_widget import LiveWidget

W = TypeVar("W", bound="LiveWidget")
#: A picture of more rows than this stays still.
MOST_LIVE = 8


class LiveView(StillView, Generic[W]):
    """A still view whose rows can be drawn by widgets.

    Attributes
    ----------
    live : bool
        Whether it is read again after each cell that may have changed the numbers.
    """

    live: bool = False

    def __init__(self) -> None:
        self._widgets: list[W] = []

    @property
    @abstractmethod
    def _rows(self) -> int:
        """How many widgets there would be now."""

    @property
    def _changes(self) -> bool:
        """Whether it can be drawn again after it was shown."""
        return True

    @abstractmethod
    def _make(self, key: str) -> list[W]:
        """Make a widget for each row."""

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

    def make_widgets(self, key: str) -> list[W]:
        """Make widgets that draw over the static picture of that key; those without a key stand by themselves."""
        if not 0 < self._rows <= (MOST_LIVE if key else self._rows):
            return []
        made = self._make(key)
        self._widgets = [w for w in self._widgets if w.comm is not None] + made
        return made

    @abstractmethod
    def measure(self) -> None:
        """Take what `update` read for what is drawn, before other code writes to the tensors."""

    @abstractmethod
    def follow(self) -> None:
        """Read again what may have changed."""

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> Bundle:
        """Give text, script-free HTML and PNG as one bundle, as IPython asks for it."""
        kept = chosen(include, exclude)
        named = self._changes and "text/html" in kept
        return self.bundle(stored.place(self, live=self.live) if named else "", kept)

    def _ipython_display_(self) -> None:
        """Show the value of a cell so that it can be drawn again; IPython does the rest as ever."""
        publisher = stored.publisher() if self._changes else None
        if publisher is None:
            raise NotImplementedError
        data, metadata = self._repr_mimebundle_()
        publisher.publish(data=data, metadata=metadata)

    def bundle(self, key: str, kinds: Collection[str] = KINDS) -> Bundle:
        """Give what is displayed, by MIME type; in the page it has that name."""
        data, metadata = self._bundle(kinds)
        if "text/html" in data:
            data["text/html"] = stored.named(data["text/html"], key)
        return data, metadata
