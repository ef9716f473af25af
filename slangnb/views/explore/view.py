"""`explore`: a function over a range, with sliders for what else it takes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slangnb.autodiff.callee import check_function
from slangnb.errors import CallError
from slangnb.runtime.function import Function
from slangnb.views import stored
from slangnb.views.alive import LiveView
from slangnb.views.explore.arguments import moved, plan
from slangnb.views.explore.evaluate import Evaluator, check_result, signature_of
from slangnb.views.explore.model import ExploreModel, plain, written
from slangnb.views.measure import measure
from slangnb.views.still import table
from slangnb.views.text import digits, number

if TYPE_CHECKING:
    from slangnb.views.explore.live import LiveExplore
    from slangnb.views.page import Drawing


class ExploreView(LiveView["LiveExplore"]):
    """A function over a range: its curve, its derivative, and where its sliders stand.

    Where a browser watches, the sliders move and the function is evaluated again; what the notebook stores is the
    picture of where they stand.

    Parameters
    ----------
    evaluator : Evaluator
    title : str
        Written instead of the function's name.
    """

    def __init__(self, evaluator: Evaluator, title: str = "") -> None:
        super().__init__()
        self._evaluator = evaluator
        self.title = title or evaluator.plan.signature.name
        self._at = {one.name: one.start for one in evaluator.plan.sliders}
        self._model = evaluator.model(self._at)

    @property
    def model(self) -> ExploreModel:
        """What is drawn."""
        return self._model

    @property
    def values(self) -> dict[str, Any]:
        """All arguments but the axis, as the sliders stand: ``f(x=1.0, **view.values)``."""
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
        self._model = replace(self._model, probe=min(max(index, 0), len(self._model.x) - 1))
        self._changed()

    def _changed(self) -> None:
        for drawn in ("_png", "_stored"):
            vars(self).pop(drawn, None)
        stored.changed(self)

    @property
    def _rows(self) -> int:
        return 1

    def _make(self, key: str) -> list[LiveExplore]:
        # anywidget is only needed, and only imported, where there is something to be alive in.
        from slangnb.views.explore.live import LiveExplore

        return [LiveExplore(self, key=key, group=uuid.uuid4().hex)]

    def measure(self) -> None:
        """The function was evaluated already: other code cannot change what is drawn."""

    def follow(self) -> None:
        """Only its sliders move it."""

    def __repr__(self) -> str:
        return plain(self.model)

    def _drawing(self) -> Drawing:
        from slangnb.views.explore.figure import drawing

        return drawing(self.model, self.title)

    def _alternative(self) -> str:
        return "; ".join(line.strip() for line in plain(self.model).splitlines())

    def _table(self) -> str:
        return table(("", "min", "max", "not finite", "at the probe"), rows(self.model))


def rows(model: ExploreModel) -> list[tuple[str, ...]]:
    """Give the numbers of each component, and of its derivative, for a table."""
    found: list[tuple[str, ...]] = []
    parts = [("f", model.values), *([] if model.slopes is None else [(model.slope_name, model.slopes)])]
    for name, lines in parts:
        for label, line in zip(model.labels or ("",), lines, strict=True):
            stats = measure(line)
            ends = [number(v, digits(stats)) if v is not None else "–" for v in (stats.min, stats.max)]
            said = f"{name} {label}" if label else name
            found.append((said, *ends, stats.not_finite or "0", written(float(line[model.probe]))))
    return found


def explore(
    function: Function, /, *, axes: str | Sequence[str] | None = None, title: str = "", **parameters: Any
) -> ExploreView:
    """Draw a function over a range, with its derivative, and with sliders for what else it takes.

    Parameters
    ----------
    function : Function
        A Slang function that returns a number, or a vector of which up to four components are drawn.
    axes : str, optional
        The parameter that is drawn across; by default the first float that has a range.
    title : str
        Written instead of the function's name.
    **parameters
        All arguments of the function by name. A pair ``(lo, hi)`` is a range: of the axis, or of a slider, which
        begins in its middle; a third number says where it begins, or where on the axis the probe stands. A range of
        an int has whole steps. Anything else that a call takes is fixed: numbers, vectors, structs, tensors.

    Returns
    -------
    ExploreView
        A notebook shows it when it is the last line of a cell. `.values` has the arguments as the sliders stand,
        `.save("x.png")` writes the picture to a file.

    Raises
    ------
    CallError
        For what is no range, for parameters that cannot have one, where there is no axis, and for all that a call of
        the function refuses.

    Notes
    -----
    The derivative is that of each component with respect to the axis, by forward mode (`sn.jvp`). A function that has
    none is drawn without it, and the picture says why.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float parabola(float x, float a) { return a * x * x; }")
    >>> view = sn.explore(m.parabola, x=(-1, 1, 0.5), a=(0, 4))
    >>> print(str(view).partition(" on ")[0])
    parabola  float
    >>> float(view.model.slopes[0, view.model.probe]), view.values
    (2.0, {'a': 2.0})
    """
    function = check_function(function, "explore")
    if function.is_backward:
        raise CallError("explore draws what a function returns, not its backward pass", remedy="leave .bwds out")
    if not isinstance(title, str):
        raise CallError("title is the title, a text", remedy="write title='...'")
    names = {name: 0.0 if isinstance(value, tuple) else value for name, value in parameters.items()}
    signature = signature_of(function, names)
    check_result(signature)
    return ExploreView(Evaluator(function, plan(signature, parameters, axes)), title)
