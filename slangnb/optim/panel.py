"""The picture of a descent in a notebook, while it runs and afterwards."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from slangnb.views import frontend

if TYPE_CHECKING:
    from slangnb.optim.result import Descent

#: Seconds between two drawings; and the share of the time that drawings may take.
APART, SHARE = 0.5, 0.1


class Panel:
    """Shows a descent at its end; where a page watches, also as it goes.

    What runs notebooks without a page gets one picture, so that what it stores is the same at each run.
    """

    def __init__(self, descent: Descent, live: bool) -> None:
        self._descent = descent
        self._shown = live and frontend.shell() is not None
        self._handle: Any = None
        self._next = time.monotonic() + APART if self._shown and frontend.has_page() else float("inf")

    def __enter__(self) -> Self:
        return self

    def follow(self) -> None:
        """Draw it, if it is time to."""
        begun = time.monotonic()
        if begun >= self._next:
            self._draw()
            now = time.monotonic()
            self._next = now + max(APART, (now - begun) / SHARE)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._shown and kind is None:
            self._draw()

    def _draw(self) -> None:
        from IPython.display import display

        data, metadata = self._descent._repr_mimebundle_()
        if self._handle is None:
            self._descent.shown_by = frontend.shell().execution_count
            self._handle = display(data, metadata=metadata, raw=True, display_id=True)
        else:
            self._handle.update(data, metadata=metadata, raw=True)
