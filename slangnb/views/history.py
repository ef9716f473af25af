"""What was shown at each step of a descent, within bounds: a picture of three steps, a GIF, a page with a slider."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangnb.errors import CallError
from slangnb.views import stored
from slangnb.views.alive import LiveView
from slangnb.views.kept import Kept
from slangnb.views.model import PairModel
from slangnb.views.snapshots import Frame, Norms, fading, spread
from slangnb.views.source import Source
from slangnb.views.still import checked_path, table
from slangnb.views.text import number

if TYPE_CHECKING:
    from slangnb.views.live import LivePair
    from slangnb.views.page import Drawing

#: Frames of a saved page, and of a GIF.
PAGE_FRAMES, GIF_FRAMES = 24, 32


class History(LiveView["LivePair"]):
    """Snapshots of tensors and their gradients over steps, shown.

    Where a browser watches, it comes alive: the pair view at the last step, with a slider to the other steps and a
    button to play them. What the notebook stores is a picture of three steps and the norms over all of them, or, of
    tensors of a few numbers, these numbers.

    Parameters
    ----------
    kept : Kept, optional
        Where the snapshots go, which bounds their number and their bytes.
    title : str
    sources : sequence of Source
        What `update` reads.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> from slangnb.views.kept import Kept
    >>> history = History(Kept(limit=4))
    >>> for step in range(9):
    ...     history.add([pair_model(np.array([1.0, 0.5**step]), np.array([0.0, 2.0]), name="x")])
    >>> history.steps
    (0, 4, 8)
    >>> history
    3 of 9 steps of x, from 0 to 8
      step 0  norm 1.414  norm of gradient 2
      step 4  norm 1.002  norm of gradient 2
      step 8  norm 1  norm of gradient 2
    """

    def __init__(self, kept: Kept | None = None, title: str = "", sources: Sequence[Source] = ()) -> None:
        super().__init__()
        self._kept = Kept() if kept is None else kept
        self._title = title
        self._sources = tuple(sources)

    @property
    def title(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The title, or the names of the tensors."""
        names = [] if self._kept.latest is None else [model.name for model in self._kept.latest.models]
        return self._title or f"history of {', '.join(names)}" if names else "history"

    def add(self, models: Sequence[PairModel], step: int | None = None) -> None:
        """Take a snapshot.

        Parameters
        ----------
        models : sequence of PairModel
            Of the same tensors at every step.
        step : int, optional
            Its number; by default the snapshots are counted.

        Raises
        ------
        CallError
            There are no tensors, or others than before, or the step is not after the last.
        """
        self._kept.add(models, step)
        self._forget()
        for widget in self._widgets:
            widget.update()
        stored.changed(self)

    def update(self, step: int | None = None) -> None:
        """Read the tensors again, and take a snapshot.

        Raises
        ------
        CallError
            The history was made without tensors to read, or `step` is not after the last.

        Examples
        --------
        >>> import numpy as np
        >>> from slangnb.views.sources import source
        >>> x = np.array([3.0, 4.0])
        >>> history = History(sources=[source(x, "x")])
        >>> history.update()
        >>> x[:] = 0.0
        >>> history.update()
        >>> history
        2 of 2 steps of x, from 0 to 1
          step 0  norm 5
          step 1  norm 0
        """
        if not self._sources:
            raise CallError("this history has no tensors to read", remedy="call history.add with what was read")
        for one in self._sources:
            one.refresh()
        self.add([one.model() for one in self._sources], step)

    def __len__(self) -> int:
        return len(self._kept.snapshots)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that are kept, the last among them."""
        return self._kept.steps

    @property
    def count(self) -> int:
        """How many snapshots were taken, those that were dropped among them."""
        return self._kept.count

    @property
    def nbytes(self) -> int:
        """Bytes of all snapshots."""
        return self._kept.nbytes

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The snapshots, with limits that all of them share."""
        return self._kept.frames

    @property
    def norms(self) -> tuple[Norms, ...]:
        """The norms over the steps, up to the last."""
        return self._kept.norms

    def __repr__(self) -> str:
        if self._kept.latest is None:
            return "history without steps"
        names = ", ".join(" ".join(model.name.split()) for model in self._kept.latest.models)
        lines = [f"{len(self)} of {self.count} steps of {names}, from {self.steps[0]} to {self.steps[-1]}"]
        shown = [self._kept.snapshots[i] for i in spread(len(self), 3)]
        for frame in shown:
            for model in frame.models:
                name = f"  {model.name}" if len(frame.models) > 1 else ""
                lines.append(
                    f"  step {frame.step}{name}" + "".join(f"  {word} {value}" for word, value in _words(model))
                )
        return "\n".join(lines)

    @property
    def widget(self) -> Any:
        """The live view as a Jupyter widget, to be placed among others; several tensors come in a box.

        Raises
        ------
        CallError
            There are no steps yet.
        """
        if self._kept.latest is None:
            raise CallError("the history has no steps yet", remedy="call history.update or history.add first")
        return super().widget

    @property
    def _rows(self) -> int:
        return 0 if self._kept.latest is None else len(self._kept.latest.models)

    def _make(self, key: str) -> list[LivePair]:
        # anywidget is only needed, and only imported, where there is something to be alive in.
        from slangnb.views.history_live import make_widgets

        return make_widgets(lambda: self._kept.snapshots, key)

    def measure(self) -> None:
        """Snapshots do not change: there is nothing to take before other code writes to the tensors."""

    def follow(self) -> None:
        """A history takes a snapshot when it is told to."""

    def save(self, path: str | Path) -> Path:
        """Write the history to a file.

        Parameters
        ----------
        path : str or Path
            Ends in ".png" (three steps and the norms), ".gif" (all steps, one after the other) or ".html" (a page
            with a slider; without scripts it shows the picture). No file needs another one.

        Returns
        -------
        Path

        Raises
        ------
        CallError
            The ending is another one, the folder is not there, or there are no steps.
        """
        target = checked_path(path, (".png", ".gif", ".html"))
        if self._kept.latest is None:
            raise CallError("the history has no steps yet", remedy="call history.add first")
        if target.suffix.lower() != ".gif":
            return super().save(target)
        from slangnb.views.history_page import to_gif

        target.write_bytes(to_gif(self._chosen(GIF_FRAMES)))
        return target

    def _chosen(self, most: int) -> tuple[Frame, ...]:
        frames = self.frames
        return tuple(frames[i] for i in spread(len(frames), most))

    def _drawing(self) -> Drawing:
        from slangnb.views.history_figure import drawing

        return drawing(self._chosen(3), self.norms, self.title, self._caption())

    def _caption(self) -> str:
        if self._kept.latest is None:
            return "no steps yet"
        said = f"steps {', '.join(str(frame.step) for frame in self._chosen(3))}; one scale for all steps"
        if fading(self._kept.snapshots):
            said += "; a gradient that falls by more than 10 times has a scale for each step"
        return said + (f"; {len(self)} of {self.count} steps kept" if len(self) < self.count else "")

    def _alternative(self) -> str:
        said = [f"{self.title}: {self._caption()}"]
        for frame in self._chosen(3):
            for model in frame.models:
                words = ", ".join(f"{word} {value}" for word, value in _words(model))
                said.append(f"step {frame.step}, {model.name}: {words}")
        return ". ".join(said)

    def _table(self) -> str:
        scalars = all(m.value.kind == "scalar" for frame in self._chosen(1) for m in frame.models)
        sides = ("value", "gradient") if scalars else ("norm", "norm of gradient")
        head = ("step", "tensor", *sides)
        rows = [
            (str(frame.step), model.name, *(v if w in sides else f"{w} {v}" for w, v in _words(model, always=True)))
            for frame in self._chosen(PAGE_FRAMES)
            for model in frame.models
        ]
        return table(head, rows)

    def _page(self) -> str:
        from slangnb.views.history_page import page

        return page(self._chosen(PAGE_FRAMES), self._fragment, self.title)


def _words(model: PairModel, always: bool = False) -> list[tuple[str, str]]:
    """Say how large value and gradient are: by their norms, or, of one number, by the number itself."""
    if model.value.kind == "scalar":
        panels = [("value", model.value), ("gradient", model.gradient)]
        return [(w, "–" if p is None else p.text.removesuffix(".")) for w, p in panels if p is not None or always]
    sides = [("norm", model.value), ("norm of gradient", model.gradient)]
    found = [(word, None if side is None else side.stats.norm) for word, side in sides if side is not None or always]
    return [(word, "–" if value is None else number(value)) for word, value in found]
