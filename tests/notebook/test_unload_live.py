"""Unloading ends what lives: live views in pages, and those that follow cells."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slangnb.notebook import extension
from slangnb.runtime.current import session as current
from slangnb.runtime.current import set_session
from slangnb.views import show, stored
from slangnb.views.live import PACE

EVENTS = ("pre_run_cell", "post_run_cell", "post_execute")
FROM_LAB = {"header": {"msg_type": "execute_request"}, "metadata": {"cellId": "a", "deletedCells": []}}


@pytest.fixture
def watched(shell: Any) -> Iterator[Any]:
    """The shell as in a kernel that a page watches."""
    shell.kernel = SimpleNamespace(get_parent=lambda: FROM_LAB)
    yield shell
    del shell.kernel


def unload(shell: Any) -> None:
    """Unload without the session, which other tests share."""
    kept = current()
    set_session(None)
    extension.unload_ipython_extension(shell)
    set_session(kept)


def listeners(shell: Any) -> dict[str, list[Any]]:
    return {name: list(shell.events.callbacks[name]) for name in EVENTS}


def test_unload_ends_live_views(watched: Any) -> None:
    others = {
        name: [act for act in acts if act is not extension._after_cell] for name, acts in listeners(watched).items()
    }
    x = np.zeros((3, 3))
    view = show(x=x, live=True)
    view._repr_mimebundle_()
    placed = view.widget
    drawn = [w for w in view._widgets if w is not placed]
    assert len(drawn) == 1 and stored.of(watched).follows(view)
    for name in EVENTS:
        assert len(listeners(watched)[name]) == len(others[name]) + 1 + (name == "post_run_cell")
    for widget in (*drawn, placed):
        widget._answer(widget, {"kind": "hello"}, [])
    seq = placed.seq

    unload(watched)

    assert listeners(watched) == others
    assert "slangnb_stored" not in watched.meta
    assert drawn[0].comm is None, "the picture in the page is still again"
    assert placed.comm is not None, "a widget among others belongs to whoever placed it"
    x[:] = 1.0
    watched.run_cell("1 + 1").raise_error()
    assert placed.seq == seq
    placed.close()


def test_unload_without_live_views(watched: Any) -> None:
    before = listeners(watched)
    stored.release(watched)
    assert listeners(watched) == before
    unload(watched)
    unload(watched)


def test_views_live_again_after_the_extension_comes_back(watched: Any) -> None:
    x = np.zeros((3, 3))
    view = show(x=x, live=True)
    view._repr_mimebundle_()
    unload(watched)
    extension.load_ipython_extension(watched)
    view._repr_mimebundle_()
    widget = view._widgets[-1]
    widget._answer(widget, {"kind": "hello"}, [])
    seq = widget.seq
    time.sleep(2 * PACE)  # what comes sooner is drawn later
    x[:] = 1.0
    watched.run_cell("1 + 1").raise_error()
    assert widget.seq == seq + 1
