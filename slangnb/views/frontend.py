"""Whether a browser watches the kernel, and when the numbers of live views may have changed."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slangnb.runtime.session import has_session, session

if TYPE_CHECKING:
    from slangnb.views.live import LivePair

#: Pictures that stay alive at the same time.
MOST_KEPT = 40
#: Their name in `shell.meta`, IPython's place for what extensions store.
_KEPT = "slangnb_live"


def shell() -> Any:
    """Give IPython's shell where it runs in a kernel; None elsewhere. Does not import IPython."""
    module = sys.modules.get("IPython")
    current = module.get_ipython() if module is not None else None
    return current if getattr(current, "kernel", None) is not None else None


def from_browser(request: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Whether the request that runs now comes from a page that can show widgets.

    JupyterLab, Notebook 7 and their relatives send the cell's metadata with its text; what runs notebooks without a
    page (nbclient, nbconvert, nbval, papermill) sends none. Voila runs them like those, and then shows a page.

    Examples
    --------
    >>> from_browser({"metadata": {"cellId": "c1"}}, {}), from_browser({"metadata": {}}, {})
    (True, False)
    """
    if "voila" in environment.get("SERVER_SOFTWARE", "").lower() or "VOILA_BASE_URL" in environment:
        return True
    kind = request.get("header", {}).get("msg_type", "")
    return kind == "comm_msg" or bool({"cellId", "deletedCells"} & set(request.get("metadata", {})))


def has_page() -> bool:
    """Whether the cell that runs now was sent by a page."""
    current = shell()
    return current is not None and from_browser(current.kernel.get_parent(), os.environ)


def keep(shell: Any, widgets: list[LivePair], most: int = MOST_KEPT) -> None:
    """Keep the widgets of the last pictures; those of older ones end, and their still pictures come out again.

    A widget holds its tensor, and ipywidgets holds the widget: a loop that displays would keep all that it made.
    """
    kept = shell.meta.setdefault(_KEPT, [])
    kept.append(widgets)
    while len(kept) > most:
        for widget in kept.pop(0):
            widget.close()


def release(shell: Any) -> None:
    """End all that lives: nothing follows cells any longer, and the still pictures come out again."""
    for act in list(shell.events.callbacks["post_run_cell"]):
        watch = getattr(act, "__self__", None)
        if isinstance(watch, Watch):
            watch.stop()
    for widgets in shell.meta.pop(_KEPT, []):
        for widget in widgets:
            widget.close()


class Watch:
    """Refreshes a widget after cells, and after callbacks of other widgets, that changed its numbers.

    IPython announces the end of both: nothing needs to be patched, and the device is not read in the middle of a
    cell. After a callback, tensors are only read again if slangnb wrote one, as its clock of writes tells; otherwise
    each move of the pointer over a view would read them. After a cell they always are, because SlangPy's own writes go
    around that clock. A loop inside of one cell calls `update()` itself.
    """

    def __init__(self, widget: LivePair) -> None:
        self._widget = weakref.ref(widget)
        self._seen = _clock()
        self._shell: Any = None

    def start(self, shell: Any) -> None:
        """Listen to IPython."""
        self._shell = shell
        shell.events.register("post_run_cell", self._after_cell)
        shell.events.register("post_execute", self._after_message)

    def stop(self) -> None:
        """Listen no more."""
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._after_cell)
            self._shell.events.unregister("post_execute", self._after_message)
            self._shell = None

    def _after_cell(self, _result: object = None) -> None:
        self._look(True)

    def _after_message(self) -> None:
        self._look(_clock() != self._seen)

    def _look(self, likely: bool) -> None:
        widget = self._widget()
        if widget is None or widget.comm is None:
            self.stop()
        elif likely and widget.seen and widget.changed():
            self._seen = _clock()
            widget.update()


def _clock() -> int:
    return session().writes.now if has_session() else 0
