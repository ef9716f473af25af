"""What all live views are: widgets that draw over a picture of the notebook.

What is drawn travels as bytes in one trait. Nothing heavy is sent before a page shows the widget, so that runs without
a browser, as those of nbconvert, neither compute nor store anything for it.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from slangnb.views import frontend

_STATIC = Path(__file__).parent / "static"


def script(*names: str) -> str:
    """Give the module of a view: what all views share, its own files, and what puts it on the page."""
    return "\n".join((_STATIC / one).read_text(encoding="utf-8") for one in ("base.js", *names, "mount.js"))


def style(*names: str) -> str:
    """Give style sheets as one."""
    return "\n".join((_STATIC / one).read_text(encoding="utf-8") for one in names)


class LiveWidget(anywidget.AnyWidget):
    """A live view in a browser.

    Parameters
    ----------
    key : str
        Names the static picture on the page that the live one covers; empty for a widget that is displayed by itself.
    group : str
        Shared by the rows of one view.
    row, count : int
        Which of the rows of that picture, and how many it has.
    """

    key = traitlets.Unicode("").tag(sync=True)
    group = traitlets.Unicode("").tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    count = traitlets.Int(1).tag(sync=True)
    meta = traitlets.Dict().tag(sync=True)
    frame = traitlets.Bytes(b"").tag(sync=True)
    seq = traitlets.Int(0).tag(sync=True)

    def __init__(self, *, key: str = "", group: str = "", row: int = 0, count: int = 1) -> None:
        self._shown = False
        super().__init__(key=key, group=group, row=row, count=count)
        self.on_msg(self._answer)

    @property
    def seen(self) -> bool:
        """Whether a page shows the picture."""
        return self._shown and self.comm is not None

    def appear(self) -> None:
        """Draw for a page that is about to show it: while a cell runs, the kernel does not hear what the page asks."""
        if not self._shown:
            self._shown = True
            self._begin()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if frontend.has_page():
            self.appear()
        return super()._repr_mimebundle_(**kwargs)

    @abstractmethod
    def update(self) -> None:
        """Draw what is new."""

    @abstractmethod
    def flush(self) -> None:
        """Draw now what was left for later."""

    @abstractmethod
    def _begin(self) -> None:
        """Draw for the first time."""

    @abstractmethod
    def _answer(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        """Answer the page."""

    def _put(self, meta: dict[str, Any], data: bytes) -> None:
        """Send what is drawn."""
        with self.hold_sync():
            self.meta, self.frame = meta, data
            self.seq += 1
