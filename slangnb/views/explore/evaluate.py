"""Runs a function over its axis: the value and the derivative of all points from one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from slangnb.autodiff.products import jvp
from slangnb.autodiff.transforms import grad
from slangnb.compiler.reflection import SCALARS, Signature, plain_name
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import bind
from slangnb.runtime.foreign import host
from slangnb.runtime.function import Function
from slangnb.runtime.special import SpecialFunction
from slangnb.views.explore.arguments import Plan, in_words
from slangnb.views.explore.model import ExploreModel, Slider, points
from slangnb.views.measure import Floats
from slangnb.views.reduce import component_labels
from slangnb.views.text import device_words

#: Points on the axis; odd, so that a range about zero has it.
POINTS = 401
#: Components that are drawn.
MOST_DRAWN = 4


def signature_of(function: Function, names: Mapping[str, Any]) -> Signature:
    """Give the signature that these arguments mean.

    Raises
    ------
    CallError
        The function is generic, or several overloads have these parameters.
    """
    if isinstance(function, SpecialFunction):
        return function.special.signature
    info = function.info
    if info.signature is not None:
        return info.signature
    bound = bind(info, (), names, need_outputs=False)
    if bound is not None:
        return bound.signature
    which = "overloaded" if info.overloads else "generic"
    remedy = (
        f"name its types, as in module['{info.name}<float>']" if which == "generic" else "give it a name of its own"
    )
    raise CallError(f"{info.name} is {which}; explore cannot tell which is meant", function=info.name, remedy=remedy)


def check_result(signature: Signature) -> None:
    """Refuse functions whose result is no curve.

    Raises
    ------
    CallError
    """
    returns = signature.returns
    if returns.kind in ("scalar", "vector", "array") and returns.scalar in SCALARS and len(returns.shape) < 2:
        return
    said = plain_name(returns.name)
    remedy = "return a float or a vector"
    if returns.name == "bool":
        remedy = "return int, as in `return x > 1.0 ? 1 : 0;`"
    elif returns.kind == "struct" and returns.fields:
        remedy = f"write a function that returns one of its fields, as in `return ….{next(iter(returns.fields))};`"
    raise CallError(
        f"{signature.name} returns {said}, and explore draws numbers and vectors",
        function=signature.name,
        remedy=remedy,
    )


@dataclass(frozen=True)
class Evaluator:
    """Evaluates a function where its sliders stand.

    Parameters
    ----------
    function : Function
    plan : Plan
    """

    function: Function
    plan: Plan

    @cached_property
    def _axis(self) -> tuple[np.ndarray, int]:
        return points(self.plan.axis, POINTS, np.dtype(self.plan.dtype))

    def model(self, at: Mapping[str, float], probe: int | None = None) -> ExploreModel:
        """Evaluate all points, with the sliders at these numbers.

        Raises
        ------
        CallError
            What the function itself says of its arguments.
        """
        plan, (x, start) = self.plan, self._axis
        sliders = tuple(Slider(one, at[one.name]) for one in plan.sliders)
        moved = {s.range.name: int(s.value) if s.range.whole else s.value for s in sliders}
        values, slopes, why = self._run({plan.axis.name: x, **moved, **plan.fixed})
        if slopes is not None:
            # Slang's own derivatives are numbers even where the function is none, as left of 0 for sqrt.
            slopes = np.where(np.isfinite(values), slopes, np.nan)
        count, returns = len(values), plan.signature.returns
        labels = component_labels(count)[:MOST_DRAWN] if returns.shape else ()
        return ExploreModel(
            name=plan.signature.name,
            call=plan.call,
            words=f"{plain_name(returns.name)} on {device_words(self.function.session.device)}",
            axis=plan.axis.name,
            sliders=sliders,
            fixed={name: in_words(value) for name, value in plan.fixed.items()},
            x=x.astype(np.float64),
            values=values[:MOST_DRAWN],
            slopes=None if slopes is None else slopes[:MOST_DRAWN],
            why=why,
            labels=labels,
            probe=start if probe is None else probe,
            note=f"the first {MOST_DRAWN} of {count} components" if count > MOST_DRAWN else "",
        )

    def _run(self, arguments: dict[str, Any]) -> tuple[Floats, Floats | None, str]:
        """Give the values, the derivatives, and why there are none."""
        function, axis = self.function, self.plan.axis.name
        moves = next(p for p in self.plan.signature.parameters if p.name == axis)
        if not self.plan.signature.differentiable:
            return self._rows(self._plain(arguments)), None, f"{function.info.name} is not [Differentiable]"
        if not moves.derivable:
            return self._rows(self._plain(arguments)), None, f"{axis} {moves.why_not}"
        try:
            # Forward mode has each component by itself; a gradient would be that of their sum.
            y, dy = jvp(function, arguments, {axis: 1.0})
        except GradientError as error:
            return self._backward(arguments, error)
        return self._rows(y), self._rows(dy), ""

    def _backward(self, arguments: dict[str, Any], error: GradientError) -> tuple[Floats, Floats | None, str]:
        """Take the gradient where forward mode has none: of a single number it is the derivative."""
        values = self._rows(self._plain(arguments))
        if self.plan.signature.returns.shape:
            return values, None, error.message
        axis = self.plan.axis.name
        try:
            return values, self._rows(grad(self.function, wrt=axis)(**arguments)), ""
        except GradientError:
            return values, None, error.message

    def _plain(self, arguments: dict[str, Any]) -> Any:
        return self.function(**arguments, _result="numpy")

    def _rows(self, result: Any) -> Floats:
        """Give a result as one row for each component."""
        result = host(result)
        array = np.asarray(result.to_numpy() if hasattr(result, "to_numpy") else result)
        wanted = (POINTS, *self.plan.signature.returns.shape)
        if array.shape != wanted:
            name = self.plan.signature.name
            raise CallError(
                f"{name} gives {array.shape} results where its curve has {wanted}: an argument holds several values",
                function=name,
                remedy="fix each argument to one value for the whole curve",
            )
        with np.errstate(invalid="ignore"):
            return array.reshape(POINTS, -1).T.astype(np.float64)
