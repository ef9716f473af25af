"""The current session, which notebooks and scripts share."""

from __future__ import annotations

from collections.abc import Callable

from slangnb.runtime.session import Session


class _Current:
    """The one session that ``sn.session()`` gives, and what makes it; all state of the package that outlives a call."""

    session: Session | None = None
    make: staticmethod[[], Session] = staticmethod(Session)


def session() -> Session:
    """Give the current session; it is made on first use, with the best backend that passes its probe.

    Raises
    ------
    BackendError
        If no backend works.

    Examples
    --------
    >>> session() is session()
    True
    """
    if _Current.session is None or _Current.session.closed:
        _Current.session = _Current.make()
    return _Current.session


def has_session() -> bool:
    """Tell whether there is a current session already; one that was closed counts no more."""
    return _Current.session is not None and not _Current.session.closed


def set_session(new: Session | None) -> None:
    """Make `new` the current session; None: the next use makes a fresh one."""
    _Current.session = new


def configure(make: Callable[[], Session]) -> None:
    """Have `make` make the current session when it is first used, as a notebook's settings say."""
    _Current.make = staticmethod(make)
