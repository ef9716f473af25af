"""The live view of a history: the pair view at one of its steps, with a slider through them and a button to play."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import traitlets

from slangnb.views.axes import Axes
from slangnb.views.live import LivePair
from slangnb.views.measure import Stats
from slangnb.views.model import Role, join_words
from slangnb.views.snapshot_source import SnapshotSource
from slangnb.views.snapshots import Frame


class LiveHistory(LivePair):
    """One tensor of a history in a browser. It stays at the last step until another one is chosen.

    Parameters
    ----------
    source : SnapshotSource
    key, group, row, count
        As of `LivePair`; the last row has the slider.
    """

    steps = traitlets.List(traitlets.Int()).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, source: SnapshotSource, *, key: str = "", group: str = "", row: int = 0, count: int = 1) -> None:
        self._kept = source
        self._catching_up = False
        super().__init__(source, key=key, group=group, row=row, count=count)
        self._axes = _axes(source)
        self._catch_up()
        self.observe(self._moved, "step")

    def _moved(self, _change: object = None) -> None:
        if not self._catching_up:
            self._redraw()

    def _catch_up(self) -> None:
        """Tell the page which steps are kept now; at the last one, go on with what is added."""
        kept = self._kept.steps
        follows = not self.steps or self.step >= self.steps[-1]
        self._catching_up = True
        with self.hold_sync():
            self.steps = kept
            self.step = self._kept.go(kept[-1] if follows else self.step)
        self._catching_up = False

    def _picture(self, fresh: bool) -> tuple[dict[str, Any], bytes]:
        self._catch_up()
        about, data = super()._picture(fresh=False)
        if self._kept.fades and about["kind"] not in ("scalar", "empty"):
            about["caption"] = join_words(about["caption"], "the gradient has a scale of its own at each step")
        return about, data

    def _spans(self, stats: dict[Role, Stats]) -> dict[Role, Stats]:
        found = self._kept.spans()
        return {
            role: replace(one, min=found[role][0], max=found[role][1]) if role in found else one
            for role, one in stats.items()
        }


def _axes(source: SnapshotSource) -> Axes:
    return Axes(0, 1) if len(source.shape) == 2 else Axes(None, 0)


def make_widgets(frames: Callable[[], Sequence[Frame]], key: str = "") -> list[LivePair]:
    """Make the widgets of all tensors of a history; they are at the same step.

    Parameters
    ----------
    frames : callable
        Gives the frames that are kept now, at least one.
    key : str
        Of the static picture that they cover; without one they stand by themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views import show
    >>> history = show(x=np.array([1.0, 2.0]), history=True)
    >>> make_widgets(lambda: history.frames)[0].steps
    [0]
    """
    count = len(frames()[-1].models)
    group = uuid.uuid4().hex
    made: list[LivePair] = [
        LiveHistory(SnapshotSource(frames, row), key=key, group=group, row=row, count=count) for row in range(count)
    ]
    for other in made[:-1]:
        traitlets.link((made[-1], "step"), (other, "step"))
    return made
