"""`explore`: a function over one range or two, with sliders for what else it takes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slangnb.autodiff.callee import check_function
from slangnb.errors import CallError
from slangnb.runtime.function import Function
from slangnb.runtime.teaching import teaches
from slangnb.views.explore import plane
from slangnb.views.explore.arguments import plan
from slangnb.views.explore.evaluate import CurveEvaluator, PlaneEvaluator, check_number, check_result, signature_of
from slangnb.views.explore.explored import Explored
from slangnb.views.explore.model import ExploreModel, plain, written
from slangnb.views.explore.plane import PlaneModel
from slangnb.views.measure import measure
from slangnb.views.still import table
from slangnb.views.text import digits, number

if TYPE_CHECKING:
    from slangnb.views.explore.live import LiveExplore
    from slangnb.views.explore.plane_live import LivePlane
    from slangnb.views.page import Drawing


class ExploreView(Explored[ExploreModel, "LiveExplore"]):
    """A function over a range: its curve, its derivative, and where its sliders stand."""

    def _make(self, key: str) -> list[LiveExplore]:
        # anywidget is only needed, and only imported, where there is something to be alive in.
        from slangnb.views.explore.live import LiveExplore

        return [LiveExplore(self, key=key, group=uuid.uuid4().hex)]

    def __repr__(self) -> str:
        return plain(self.model)

    def _drawing(self) -> Drawing:
        from slangnb.views.explore.figure import drawing

        return drawing(self.model, self.title)

    def _table(self) -> str:
        return table(("", "min", "max", "not finite", "at the probe"), rows(self.model))


class PlaneView(Explored[PlaneModel, "LivePlane"]):
    """A function over two ranges: its colours and contours, its gradient, and where its sliders stand."""

    def _make(self, key: str) -> list[LivePlane]:
        from slangnb.views.explore.plane_live import LivePlane

        return [LivePlane(self, key=key, group=uuid.uuid4().hex)]

    def __repr__(self) -> str:
        return plane.plain(self.model)

    def _drawing(self) -> Drawing:
        from slangnb.views.explore.plane_figure import drawing

        return drawing(self.model, self.title)

    def _table(self) -> str:
        return table(("", *(name for name, _ in plane.readout(self.model))), plane.rows(self.model))


def rows(model: ExploreModel) -> list[tuple[str, ...]]:
    """Give the numbers of each component, and of its derivative, for a table."""
    found: list[tuple[str, ...]] = []
    parts = [(model.symbol, model.values), *([] if model.slopes is None else [(model.slope_name, model.slopes)])]
    for name, lines in parts:
        for label, line in zip(model.labels or ("",), lines, strict=True):
            stats = measure(line)
            ends = [number(v, digits(stats)) if v is not None else "–" for v in (stats.min, stats.max)]
            said = f"{name} {label}" if label else name
            found.append((said, *ends, stats.not_finite or "0", written(float(line[model.probe]))))
    return found


@teaches(lambda _args, _kwargs: "write sn.explore(f, x=(-3, 3), a=2.0): the function, and each argument by its name")
def explore(
    function: Function, /, *, axes: str | Sequence[str] | None = None, title: str = "", **parameters: Any
) -> Explored[Any, Any]:
    """Draw a function over one range or two, with its derivatives, and with sliders for what else it takes.

    Parameters
    ----------
    function : Function
        A Slang function that returns a number; over one axis also a vector, of which up to four components are drawn.
    axes : str or (str, str), optional
        The parameter that is drawn across, by default the first float that has a range; or two: the first one goes
        across and the second one up, with colours and contours for the values, and arrows along the gradient.
    title : str
        Written instead of the function's name.
    **parameters
        All arguments of the function by name. A pair ``(lo, hi)`` is a range: of the axis, or of a slider, which
        begins in its middle; a third number says where it begins, or where on the axis the probe stands. A range of
        an int has whole steps. A pair of ranges for a vector of two, ``p=((-1, 1), (-1, 1))``, is two axes. Anything
        else that a call takes is fixed: numbers, vectors, structs, tensors.

    Returns
    -------
    ExploreView or PlaneView
        A notebook shows it when it is the last line of a cell. `.values` has the arguments as the sliders stand,
        `.save("x.png")` writes the picture to a file, `.update(a=3)` moves a slider.

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

    Over two axes the gradient is that of each point:

    >>> m = sn.session().compile("[Differentiable] float saddle(float x, float y, float a) { return a * x * y; }")
    >>> view = sn.explore(m.saddle, x=(-1, 1, 0.5), y=(-1, 1, 0.25), a=(0, 4), axes=("x", "y"))
    >>> str(view).splitlines()[-1]
    '  at x = 0.5  y = 0.25  f = 0.25  df/dx = 0.5  df/dy = 1'
    """
    function = check_function(function, "explore")
    if function.is_backward:
        raise CallError("explore draws what a function returns, not its backward pass", remedy="leave .bwds out")
    if not isinstance(title, str):
        raise CallError("title is the title, a text", remedy="write title='...'")
    names = {name: 0.0 if isinstance(value, tuple) else value for name, value in parameters.items()}
    signature = signature_of(function, names)
    check_result(signature)
    made = plan(signature, parameters, axes)
    if len(made.axes) == 1:
        return ExploreView(CurveEvaluator(function, made), title)
    check_number(signature)
    return PlaneView(PlaneEvaluator(function, made), title)
