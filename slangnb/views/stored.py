"""The pictures that a notebook stores follow their views: which is which, and when they are drawn again.

A picture takes a third of a second to draw. It is drawn at the end of a cell, once a second at most, or when sliders
have come to rest, and sent by the id that its output was displayed with; the page draws its live views by itself, long
before. What runs notebooks without a page gets the picture at the end of each cell.

It all hangs on IPython's own events and on the hooks that kernels have for messages: nothing is patched.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from slangnb.errors import SlangNbError
from slangnb.runtime.current import has_session, session
from slangnb.views import frontend

if TYPE_CHECKING:
    from slangnb.views.live_widget import LiveWidget

#: Pictures that are followed, and alive in the page, at the same time.
MOST_KEPT = 40
#: Seconds without a change, and without a cell, before a picture is drawn; and the longest that one waits.
QUIET, QUIET_CELL, LONGEST = 1.0, 0.25, 30.0
#: Seconds between two drawings of a picture in a page, and how long the end of a cell may be held up by drawings.
APART, HELD = 1.0, 1.0
#: Between two pictures, so that messages come in between.
_BREATH = 0.02
_STORED = "slangnb_stored"
_MARK = '<div data-slangnb-view="'


def named(figure: str, key: str) -> str:
    """Write a figure with the name that its live form finds it by.

    Examples
    --------
    >>> named("<figure></figure>", "k"), key_of(named("", "k"))
    ('<div data-slangnb-view="k"><figure></figure></div>', 'k')
    """
    return f'{_MARK}{key}">{figure}</div>'


def key_of(html: str) -> str:
    """Give the name of what `named` wrote; an empty text for all else."""
    return html[len(_MARK) :].partition('"')[0] if html.startswith(_MARK) else ""


class Shown(Protocol):
    """A view whose numbers may change after it was shown."""

    @property
    def alive(self) -> bool:
        """Whether something of it is alive in a page."""
        ...

    def measure(self) -> None:
        """Take what was read for what is drawn, before other code writes to the tensors."""

    def follow(self) -> None:
        """Read again what may have changed."""

    def make_widgets(self, key: str) -> Sequence[LiveWidget]:
        """Make what draws over the picture of that name in a page."""
        ...

    def bundle(self, key: str) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
        """Give what is displayed, under that name."""
        ...


@dataclass(eq=False)
class Place:
    """One picture of a view in the notebook.

    Attributes
    ----------
    key : str
    view : callable
        Gives the view; None when nobody holds it any longer, as it cannot change then.
    paged : bool
        Whether a page watches.
    widgets : sequence of LiveWidget
        What draws over the picture in the page.
    display : str
        The id that the output was displayed with.
    since : float or None
        When the view first changed after the picture was drawn.
    drawn : float
        When it was drawn again.
    """

    key: str
    view: Callable[[], Shown | None]
    paged: bool = False
    widgets: Sequence[LiveWidget] = field(default_factory=list)
    display: str = ""
    since: float | None = None
    drawn: float = -math.inf

    def close(self) -> None:
        """Let the still picture come out again, as it was drawn last."""
        for widget in self.widgets:
            widget.close()


class Stored:
    """The pictures of one kernel."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._keys = frontend.Keys()
        self._places: dict[str, Place] = {}
        self._live: list[Shown] = []
        self._seen = _clock()
        self._hooked: set[int] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._armed, self._quiet = False, 0.0
        self._acts = {
            "pre_run_cell": self._before_cell,
            "post_run_cell": self._after_cell,
            "post_execute": self._after_message,
        }
        for name, act in self._acts.items():
            shell.events.register(name, act)

    def place(self, view: Shown, *, live: bool = False) -> str:
        """Name a picture that is about to be displayed, and make what draws over it in a page."""
        key = self._keys.next(self._shell.kernel.get_parent())
        self._hook()
        self._loop = frontend.running_loop() or self._loop
        # The cell ran again: what it showed before is gone.
        self._drop(key)
        paged = frontend.has_page()
        hold: Callable[[], Shown | None] = (lambda: view) if live else weakref.ref(view)
        self._places[key] = made = Place(key, hold, paged, view.make_widgets(key) if paged else [])
        for widget in made.widgets:
            widget.appear()
        if live:
            self.follow(view)
        while len(self._places) > MOST_KEPT:
            self._drop(next(iter(self._places)))
        return key

    def follow(self, view: Shown) -> None:
        """Read a view again after the cells and callbacks that changed its numbers."""
        if not self.follows(view):
            self._live.append(view)

    def follows(self, view: Shown) -> bool:
        """Whether a view is read again after cells."""
        return any(one is view for one in self._live)

    def changed(self, view: Shown) -> None:
        """Draw the stored pictures of a view again, at a good moment."""
        now = time.monotonic()
        mine = [p for p in self._places.values() if p.display and p.view() is view]
        for place in mine:
            place.since = now if place.since is None else place.since
        self._quiet = now + QUIET
        if self._loop is None or not any(p.paged for p in mine):
            return
        if not self._armed:
            self._armed = True
            self._loop.call_soon_threadsafe(self._later)
        elif frontend.running_loop() is self._loop:
            # A cell that runs for long keeps the clock from ringing.
            for place in mine:
                if place.since is not None and now - place.since > LONGEST:
                    self._draw(place)

    def release(self) -> None:
        """End all that lives, and follow nothing any longer."""
        for name, act in self._acts.items():
            self._shell.events.unregister(name, act)
        unregister = getattr(self._shell.display_pub, "unregister_hook", None)
        if unregister is not None:
            unregister(self._tag)
        for key in list(self._places):
            self._drop(key)
        self._live.clear()

    def _drop(self, key: str) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            place.close()

    # -- messages

    def _hook(self) -> None:
        """See what is displayed; kernels keep the hooks of each thread apart."""
        register, thread = getattr(self._shell.display_pub, "register_hook", None), threading.get_ident()
        if register is not None and thread not in self._hooked:
            self._hooked.add(thread)
            register(self._tag)

    def _tag(self, message: dict[str, Any]) -> dict[str, Any]:
        """Give each picture an id, unless the user did; and learn that something else stands in its place."""
        if message["header"]["msg_type"] not in ("display_data", "update_display_data"):
            return message
        content = message["content"]
        display = content.get("transient", {}).get("display_id", "")
        key = key_of(content.get("data", {}).get("text/html", ""))
        for place in self._places.values():
            if display and place.display == display and place.key != key:
                place.display, place.since = "", None
        place = self._places.get(key)
        if place is not None:
            if not display and message["header"]["msg_type"] == "display_data":
                # Ids are not stored with the notebook.
                display = uuid.uuid4().hex
                content.setdefault("transient", {})["display_id"] = display
            place.display = display
        return message

    # -- when

    def _before_cell(self, _info: object = None) -> None:
        """Other code may change the numbers: what `update` read is what will be drawn."""
        for place in self._places.values():
            view = place.view() if place.since is not None else None
            if view is not None:
                with suppress(SlangNbError):
                    view.measure()

    def _after_cell(self, _result: object = None) -> None:
        self._follow()
        begin = time.monotonic()
        self._quiet = begin + QUIET_CELL
        for place in list(self._places.values()):
            waits = place.paged and self._loop is not None
            now = time.monotonic()
            if place.since is not None and not (waits and (now - place.drawn < APART or now - begin > HELD)):
                self._draw(place)

    def _after_message(self) -> None:
        # After a callback, tensors are only read again if slangnb wrote one, as its clock of writes tells; otherwise
        # each move of the pointer over a view would read them. After a cell they always are, because SlangPy's own
        # writes go around that clock.
        if _clock() != self._seen:
            self._follow()

    def _follow(self) -> None:
        self._seen = _clock()
        for view in list(self._live):
            if view.alive or any(place.view() is view for place in self._places.values()):
                view.follow()
            else:
                self._live.remove(view)

    def _later(self) -> None:
        """Draw one picture if nothing happens, and come again while there are more."""
        waiting = [p for p in self._places.values() if p.since is not None and p.paged]
        self._armed = bool(waiting)
        if not waiting or self._loop is None:
            return
        first = min(waiting, key=lambda p: p.since or 0.0)
        due = min(self._quiet, (first.since or 0.0) + LONGEST)
        if time.monotonic() >= due:
            self._draw(first)
        self._loop.call_later(max(_BREATH, due - time.monotonic()), self._later)

    def _draw(self, place: Place) -> None:
        place.since = None
        view = place.view()
        if view is None or not place.display:
            return
        # A tensor whose device was closed stays as it was drawn last: what happens after a cell must not fail it.
        with suppress(SlangNbError):
            data, metadata = view.bundle(place.key)
            transient = {"display_id": place.display}
            self._shell.display_pub.publish(data=data, metadata=metadata, transient=transient, update=True)
        place.drawn = time.monotonic()


def of(shell: Any) -> Stored:
    """Give what is known of the pictures of a kernel. It is kept in IPython's place for what extensions store."""
    found = shell.meta.get(_STORED)
    if found is None:
        found = shell.meta[_STORED] = Stored(shell)
    return found


def place(view: Shown, *, live: bool = False) -> str:
    """Name a picture that is about to be displayed; outside of kernels there are no names.

    One that is `live` is read again after each cell.
    """
    current = frontend.shell()
    return of(current).place(view, live=live) if current is not None else ""


def follow(view: Shown) -> None:
    """Read a view again after the cells and callbacks that changed its numbers."""
    current = frontend.shell()
    if current is not None:
        of(current).follow(view)


def changed(view: Shown) -> None:
    """Say that a view has new numbers; outside of kernels nothing happens."""
    current = frontend.shell()
    if current is not None and _STORED in current.meta:
        of(current).changed(view)


def release(shell: Any) -> None:
    """End all that lives: nothing follows cells any longer, and the still pictures come out again."""
    found = shell.meta.pop(_STORED, None)
    if found is not None:
        found.release()


def publisher() -> Any:
    """Give what sends a picture with an id, where the value of a cell is being shown; None elsewhere.

    The value of a cell has no id, a displayed object has. `display` itself is left alone: it has options.
    """
    current = frontend.shell()
    if current is None or getattr(current.displayhook, "msg", None) is None:
        return None
    return current.display_pub if hasattr(current.display_pub, "register_hook") else None


def _clock() -> int:
    return session().writes.now if has_session() else 0
