"""`explore`: a function over a range, with sliders for what else it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slangnb.autodiff.callee import check_function
from slangnb.errors import CallError
from slangnb.runtime.function import Function
from slangnb.views.explore.arguments import plan
from slangnb.views.explore.evaluate import Evaluator, check_result, signature_of
from slangnb.views.explore.model import ExploreModel, plain, written
from slangnb.views.measure import measure
from slangnb.views.still import StillView, table
from slangnb.views.text import digits, number

if TYPE_CHECKING:
    from slangnb.views.page import Drawing


class ExploreView(StillView):
    """A function over a range: its curve, its derivative, and where its sliders stand.

    Parameters
    ----------
    evaluator : Evaluator
    title : str
        Written instead of the function's name.

    Attributes
    ----------
    model : ExploreModel
        What is drawn.
    """

    def __init__(self, evaluator: Evaluator, title: str = "") -> None:
        self._evaluator = evaluator
        self.title = title or evaluator.plan.signature.name
        self._at = {one.name: one.start for one in evaluator.plan.sliders}
        self.model: ExploreModel = evaluator.model(self._at)

    @property
    def values(self) -> dict[str, Any]:
        """All arguments but the axis, as the sliders stand: ``f(x=1.0, **view.values)``."""
        whole = {one.name for one in self._evaluator.plan.sliders if one.whole}
        moved = {name: int(value) if name in whole else value for name, value in self._at.items()}
        return {**self._evaluator.plan.fixed, **moved}

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
    >>> view.model.slopes[0, view.model.probe], view.values
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
