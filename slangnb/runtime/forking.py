"""What a session is in a process that was forked from its own: an error that says so, instead of a hang."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

from slangnb.errors import BackendError

if TYPE_CHECKING:
    from slangnb.runtime.session import Session


def watch(session: Session) -> None:
    """Have forked children refuse a session: the threads of its device are not in them, so that every wait is endless.

    Its guard belongs to the parent, too: a child that ends must not end it.
    """
    watched = weakref.ref(session)

    def lose() -> None:
        lost = watched()
        if lost is not None:
            lost.lose(
                BackendError(
                    "this process was forked while a session was open, and a device does not go along",
                    remedy="start it afresh, with multiprocessing.get_context('spawn') or DataLoader(..., "
                    "multiprocessing_context='spawn'); or call Slang functions outside of the workers",
                )
            )

    if hasattr(os, "register_at_fork"):  # Windows has no fork
        os.register_at_fork(after_in_child=lose)
