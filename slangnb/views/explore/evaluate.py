"""Runs a function over its axes: the value and the derivative of all points from one kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

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
from slangnb.views.explore.plane import PlaneModel
from slangnb.views.field import field_model
from slangnb.views.measure import Floats
from slangnb.views.reduce import component_labels
from slangnb.views.text import device_words

#: Points on the axis; odd, so that a range about zero has it.
POINTS = 401
#: Points along each of two axes; odd, too.
ACROSS = 97
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


def check_number(signature: Signature) -> None:
    """Refuse functions whose result is not one number, for a picture over two axes.

    Raises
    ------
    CallError
    """
    if signature.returns.shape:
        first = "[0]" if signature.returns.kind == "array" else ".x"
        raise CallError(
            f"{signature.name} returns {plain_name(signature.returns.name)}, and over two axes one number is drawn",
            function=signature.name,
            remedy=f"write a function that returns one component, as in `return …{first};`",
        )


M = TypeVar("M", covariant=True)


@dataclass(frozen=True)
class Evaluator(ABC, Generic[M]):
    """Evaluates a function where its sliders stand.

    Parameters
    ----------
    function : Function
    plan : Plan
    """

    function: Function
    plan: Plan

    @abstractmethod
    def model(self, at: Mapping[str, float], probe: int | None = None) -> M:
        """Evaluate all points, with the sliders at these numbers.

        Raises
        ------
        CallError
            What the function itself says of its arguments.
        """

    def sliders(self, at: Mapping[str, float]) -> tuple[Slider, ...]:
        """Give the sliders, at these numbers."""
        return tuple(Slider(one, at[one.name]) for one in self.plan.sliders)

    @property
    def words(self) -> str:
        """What the function returns, and where it runs."""
        return f"{plain_name(self.plan.signature.returns.name)} on {device_words(self.function.session.device)}"

    @property
    def fixed(self) -> dict[str, str]:
        """What else the function is given, in words."""
        return {name: in_words(value) for name, value in self.plan.fixed.items()}

    def measure(
        self, moving: Mapping[str, np.ndarray], at: Mapping[str, float]
    ) -> tuple[Floats, list[Floats] | None, str]:
        """Give the values (components, points), their derivatives along each axis, and why there are none.

        Parameters
        ----------
        moving : mapping
            The axes' parameters, with a number or a vector for each point.
        at : mapping
            Where the sliders are.
        """
        moved = {s.range.name: int(s.value) if s.range.whole else s.value for s in self.sliders(at)}
        arguments = {**moving, **moved, **self.plan.fixed}
        count = len(next(iter(moving.values())))
        values, slopes = np.empty(0), list[Floats]()
        for axis in self.plan.axes:
            result, found, why = self._run(arguments, axis.name, count)
            values = values if slopes else result
            if found is None:
                return values, None, why
            slopes.append(found)
        # Slang's own derivatives are numbers even where the function is none, as left of 0 for sqrt.
        return values, [np.where(np.isfinite(values), found, np.nan) for found in slopes], ""

    def _run(self, arguments: dict[str, Any], axis: str, count: int) -> tuple[Floats, Floats | None, str]:
        """Give the values, the derivatives along an axis, and why there are none."""
        function, (name, _, part) = self.function, axis.partition(".")
        moves = next(p for p in self.plan.signature.parameters if p.name == name)
        if not self.plan.signature.differentiable:
            return self._plain(arguments, count), None, f"{function.info.name} is not [Differentiable]"
        if not moves.derivable:
            return self._plain(arguments, count), None, f"{name} {moves.why_not}"
        along = np.array([part == "x", part == "y"], arguments[name].dtype) if part else 1.0
        try:
            # Forward mode has each component by itself; a gradient would be that of their sum.
            y, dy = jvp(function, arguments, {name: along})
        except GradientError as error:
            return self._backward(arguments, axis, count, error)
        return self._rows(y, count), self._rows(dy, count), ""

    def _backward(
        self, arguments: dict[str, Any], axis: str, count: int, error: GradientError
    ) -> tuple[Floats, Floats | None, str]:
        """Take the gradient where forward mode has none: of a single number it is the derivative."""
        values = self._plain(arguments, count)
        if self.plan.signature.returns.shape:
            return values, None, error.message
        name, _, part = axis.partition(".")
        try:
            found = _numpy(grad(self.function, wrt=name)(**arguments))
        except GradientError:
            return values, None, error.message
        return values, self._rows(found[:, "xy".index(part)] if part else found, count), ""

    def _plain(self, arguments: dict[str, Any], count: int) -> Floats:
        return self._rows(self.function(**arguments, _result="numpy"), count)

    def _rows(self, result: Any, count: int) -> Floats:
        """Give a result as one row for each component."""
        array = _numpy(result)
        wanted = (count, *self.plan.signature.returns.shape)
        if array.shape != wanted:
            name = self.plan.signature.name
            raise CallError(
                f"{name} gives {array.shape} results where its picture has {wanted}: an argument holds several values",
                function=name,
                remedy="fix each argument to one value for the whole picture",
            )
        with np.errstate(invalid="ignore"):
            return array.reshape(count, -1).T.astype(np.float64)


def _numpy(result: Any) -> np.ndarray:
    result = host(result)
    return np.asarray(result.to_numpy() if hasattr(result, "to_numpy") else result)


@dataclass(frozen=True)
class PlaneEvaluator(Evaluator[PlaneModel]):
    """Evaluates a function of one number over two axes."""

    @cached_property
    def _axes(self) -> list[np.ndarray]:
        ends = zip(self.plan.axes, self.plan.dtypes, strict=True)
        return [np.linspace(one.lo, one.hi, ACROSS).astype(dtype) for one, dtype in ends]

    @cached_property
    def _moving(self) -> dict[str, np.ndarray]:
        """The parameters of all points, row by row; both components of a vector belong to one."""
        (x, y), (across, up) = self.plan.axes, (one.reshape(-1) for one in np.meshgrid(*self._axes))
        vector, _, part = x.name.partition(".")
        if not part:
            return {x.name: across, y.name: up}
        return {vector: np.stack([across, up] if part == "x" else [up, across], axis=1)}

    def model(self, at: Mapping[str, float], probe: int | None = None) -> PlaneModel:
        """Evaluate the plane; the probe is on the point of the grid that is next to where it was told to begin."""
        plan, (x, y) = self.plan, (one.astype(np.float64) for one in self._axes)
        values, slopes, why = self.measure(self._moving, at)
        if probe is None:
            column, row = (int(np.abs(c - one.start).argmin()) for c, one in zip((x, y), plan.axes, strict=True))
            probe = row * ACROSS + column
        grid = (ACROSS, ACROSS)
        return PlaneModel(
            field=field_model(
                plan.signature.name,
                (plan.axes[0].name, plan.axes[1].name),
                x,
                y,
                values[0].reshape(grid),
                gradient=None if slopes is None else (slopes[0][0].reshape(grid), slopes[1][0].reshape(grid)),
                remarks=[f"no arrows: {why}"] if why else [],
            ),
            call=plan.call,
            words=self.words,
            sliders=self.sliders(at),
            fixed=self.fixed,
            probe=probe,
        )


@dataclass(frozen=True)
class CurveEvaluator(Evaluator[ExploreModel]):
    """Evaluates a function over one axis."""

    @cached_property
    def _axis(self) -> tuple[np.ndarray, int]:
        return points(self.plan.axes[0], POINTS, np.dtype(self.plan.dtypes[0]))

    def model(self, at: Mapping[str, float], probe: int | None = None) -> ExploreModel:
        """Evaluate the curve."""
        plan, (x, start) = self.plan, self._axis
        axis = plan.axes[0]
        values, slopes, why = self.measure({axis.name: x}, at)
        count, returns = len(values), plan.signature.returns
        labels = component_labels(count)[:MOST_DRAWN] if returns.shape else ()
        return ExploreModel(
            name=plan.signature.name,
            call=plan.call,
            words=self.words,
            axis=axis.name,
            sliders=self.sliders(at),
            fixed=self.fixed,
            x=x.astype(np.float64),
            values=values[:MOST_DRAWN],
            slopes=None if slopes is None else slopes[0][:MOST_DRAWN],
            why=why,
            labels=labels,
            probe=start if probe is None else probe,
            note=f"the first {MOST_DRAWN} of {count} components" if count > MOST_DRAWN else "",
        )
