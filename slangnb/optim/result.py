"""What `optimize` gives: the fitted parameters, and what they and the loss were at each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.views import frontend
from slangnb.views.still import StillView, table
from slangnb.views.stored import publisher
from slangnb.views.text import number

if TYPE_CHECKING:
    from slangnb.optim.held import Held
    from slangnb.optim.optimizers import Floats
    from slangnb.views.page import Drawing

#: Parameters of at most so many numbers are kept at each step.
MOST_KEPT = 64
_ROWS = 12


class Descent(StillView):
    """The steps of `optimize`, as numbers, text and a picture.

    Attributes
    ----------
    function, optimizer : str
        Name of the loss, and how the optimiser is written.
    params : dict
        The parameters as they are now, each of the kind that came in.
    history : dict of str to numpy array
        ``"loss"``: float64 ``(steps + 1,)``, the last is that of `params`; after the stop button, tensors and arrays of
        more than 4096 numbers may be one step further. By the name of each parameter of at most
        64 numbers: its values, float64 ``(steps + 1, ...)``.
    loss : float
        The last one.
    data : dict
        As it was given.
    reduce : {"mean", "sum"}
    stopped : str
        Why the loop ended before its last step; empty if it did not.
    """

    def __init__(
        self, function: str, optimizer: str, ours: Mapping[str, Held], data: dict[str, Any], reduce: str
    ) -> None:
        self.function, self.optimizer, self.data, self.reduce = function, optimizer, data, reduce
        self.stopped = ""
        #: The number of the cell that shows it already.
        self.shown_by: int | None = None
        self._ours = ours
        self._losses: list[float] = []
        self._values: dict[str, list[Floats]] = {}
        for name, one in ours.items():
            found = one.numbers()
            if found is not None and found.size <= MOST_KEPT:
                self._values[name] = []

    def add(self, loss: float) -> None:
        """Take a step: the loss, and the values that it is of."""
        for one in self._ours.values():
            one.record()
        self._losses.append(float(loss))
        for name, seen in self._values.items():
            found = self._ours[name].numbers()
            if found is not None:
                seen.append(found)
        self._forget()

    def go_back(self) -> None:
        """Give the parameters the values of the last step again, after a change of only some of them."""
        for one in self._ours.values():
            one.go_back()

    @property
    def title(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The loss and the optimiser."""
        return f"{self.function} by {self.optimizer}"

    @property
    def params(self) -> dict[str, Any]:
        """The parameters as they are now."""
        return {name: one.result() for name, one in self._ours.items()}

    @property
    def history(self) -> dict[str, Floats]:
        """The loss, and the values of small parameters, by step."""
        return {"loss": np.array(self._losses), **{name: np.array(seen) for name, seen in self._values.items()}}

    @property
    def loss(self) -> float:
        """The last loss."""
        return self._losses[-1]

    @property
    def steps(self) -> int:
        """How often the parameters were changed."""
        return len(self._losses) - 1

    def _ipython_display_(self) -> None:
        """Show nothing as the value of the cell that has the picture already; IPython does the rest as ever."""
        if self.shown_by is None or publisher() is None or frontend.shell().execution_count != self.shown_by:
            raise NotImplementedError

    def __repr__(self) -> str:
        lines = [f"{self.title}: {self._said()}"]
        for name, seen in self._values.items():
            for part, first, last in _ends(name, seen):
                lines.append(f"  {part}  {number(first)} to {number(last)}")
        lines += [f"  {name}  {_shape(one)}" for name, one in self._ours.items() if name not in self._values]
        return "\n".join(lines)

    def _said(self) -> str:
        if not self._losses:
            return "no steps yet"
        first, last = number(self._losses[0]), number(self.loss)
        ended = f"; {self.stopped}" if self.stopped else ""
        return f"{self.steps} steps, {self.reduce} of the loss {first} to {last}{ended}"

    def _drawing(self) -> Drawing:
        # matplotlib is only needed, and only imported, once a picture is.
        from slangnb.optim.picture import drawing

        lines = [(part, np.array(v)) for name, seen in self._values.items() for part, v in _parts(name, seen)]
        return drawing(self.function, self.optimizer, np.array(self._losses), lines, self._said())

    def _alternative(self) -> str:
        return " ".join(repr(self).split())

    def _table(self) -> str:
        rows = [("loss", number(self._losses[0]), number(self.loss))] if self._losses else []
        rows += [
            (part, number(a), number(b)) for name, seen in self._values.items() for part, a, b in _ends(name, seen)
        ]
        return table(("", "at first", "at last"), rows)


def _parts(name: str, seen: list[Floats]) -> list[tuple[str, Floats]]:
    """Give each number of a parameter over the steps, with its name."""
    every = np.array(seen)
    where = list(np.ndindex(every.shape[1:]))
    words = [f"{name}[{', '.join(map(str, place))}]" if place else name for place in where]
    return [(word, every[(slice(None), *place)]) for word, place in zip(words, where, strict=True)]


def _ends(name: str, seen: list[Floats]) -> list[tuple[str, float, float]]:
    """Give the first and the last value of the first numbers of a parameter."""
    return [(part, float(v[0]), float(v[-1])) for part, v in _parts(name, seen)[:_ROWS]] if seen else []


def _shape(one: Held) -> str:
    """Say how large a parameter is that is not kept by step."""
    shape = getattr(one.given, "shape", None)
    return "a struct" if shape is None else f"of shape {tuple(getattr(shape, 'as_tuple', lambda: shape)())}"
