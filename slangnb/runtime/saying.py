"""Gives warnings at the person's own line, wherever in this package they come from."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slangnb.errors import GradientWarning

if TYPE_CHECKING:
    from slangnb.runtime.session import Session
    from slangnb.runtime.target import Target

_PACKAGE = str(Path(__file__).parent.parent) + os.sep
_TORCH = f"{os.sep}torch{os.sep}"  # it stands between us and the person where it calls us


def warn(message: str, kind: type[Warning] = GradientWarning) -> None:
    """Warn of a gradient, or of what else `kind` says."""
    warnings.warn(message, kind, stacklevel=_depth())


def warn_once(target: Target, message: str, key: str = "", kind: type[Warning] = GradientWarning) -> None:
    """Warn, if this was not said before of what the name means now; `key` stands for like messages."""
    about = target.maker.module, key or message
    if about not in target.session.said:
        target.session.said.add(about)
        warn(message, kind)


@contextmanager
def unsaid(session: Session, message: str = "") -> Iterator[None]:
    """Give no warnings of gradients, or none of this pattern; what is given once is given later, when met again."""
    before = set(session.said)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, GradientWarning)
        yield
    session.said.intersection_update(before)


def _depth() -> int:
    """Count the frames up to the person's own line; the way from there is longer at a first call."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and _is_between(frame.f_code.co_filename):
        frame, depth = frame.f_back, depth + 1
    return depth


def _is_between(file: str) -> bool:
    return file.startswith(_PACKAGE) or _TORCH in file
