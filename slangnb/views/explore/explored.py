"""What all views of an explored function share: its sliders, and what follows when they move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from slangnb.views import stored
from slangnb.views.alive import LiveView
from slangnb.views.explore.arguments import moved
from slangnb.views.explore.evaluate import Evaluator
from slangnb.views.explore.model import ExploreModel
from slangnb.views.explore.plane import PlaneModel

if TYPE_CHECKING:
    from slangnb.views.live_widget import LiveWidget

M = TypeVar("M", ExploreModel, PlaneModel)
W = TypeVar("W", bound="LiveWidget")


class Explored(LiveView[W], Generic[M, W]):
    """A function with sliders.

    Where a browser watches, the sliders move and the function is evaluated again; what the notebook stores is the
    picture of where they stand.

    Parameters
    ----------
    evaluator : Evaluator
    title : str
        Written instead of the function's name.
    """

    def __init__(self, evaluator: Evaluator[M], title: str = "") -> None:
        super().__init__()
        self._evaluator = evaluator
        self.title = title or evaluator.plan.signature.name
        self._at = {one.name: one.start for one in evaluator.plan.sliders}
        self._model = evaluator.model(self._at)

    @property
    def model(self) -> M:
        """What is drawn."""
        return self._model

    @property
    def values(self) -> dict[str, Any]:
        """All arguments but the axes, as the sliders stand: ``f(x=1.0, **view.values)``."""
        whole = {one.name for one in self._evaluator.plan.sliders if one.whole}
        moved = {name: int(value) if name in whole else value for name, value in self._at.items()}
        return {**self._evaluator.plan.fixed, **moved}

    def update(self, /, **values: float) -> None:
        """Move sliders, and evaluate the function again.

        Parameters
        ----------
        **values
            Where the sliders of these parameters go; without any, the function is evaluated where they stand.

        Raises
        ------
        CallError
            There is no such slider, or it does not go there.

        Examples
        --------
        >>> import slangnb as sn
        >>> m = sn.session().compile("[Differentiable] float line(float x, float a) { return a * x; }")
        >>> view = sn.explore(m.line, x=(0, 1), a=(0, 4))
        >>> view.update(a=3)
        >>> float(view.model.slopes[0, 0]), view.values
        (3.0, {'a': 3.0})
        """
        at = {**self._at, **moved(self._evaluator.plan.sliders, values)}
        self._model = self._evaluator.model(at, self._model.probe)
        self._at = at
        for widget in self._widgets:
            widget.update()
        self._changed()

    def probe(self, index: int) -> None:
        """Look at another of the points, as a live view does after its probe moved."""
        self._model = replace(self._model, probe=min(max(index, 0), self._model.count - 1))
        self._changed()

    def _changed(self) -> None:
        self._forget()
        stored.changed(self)

    @property
    def _rows(self) -> int:
        return 1

    def measure(self) -> None:
        """The function was evaluated already: other code cannot change what is drawn."""

    def follow(self) -> None:
        """Only its sliders move it."""

    def _alternative(self) -> str:
        return "; ".join(line.strip() for line in repr(self).splitlines())
