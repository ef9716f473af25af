"""`sn.landscape`: a loss over two of its parameters, with where a descent goes on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from slangnb.autodiff.callee import check_function
from slangnb.compiler.reflection import REAL, Parameter, Signature, plain_name
from slangnb.errors import CallError
from slangnb.runtime.binding import fitting, unknown
from slangnb.runtime.extents import outer_shape
from slangnb.runtime.foreign import array, host
from slangnb.runtime.function import Function
from slangnb.runtime.parameter import Parameter as Shared
from slangnb.runtime.special import SpecialFunction
from slangnb.runtime.teaching import teaches
from slangnb.runtime.tensors import SCALARS
from slangnb.views.field import Mark, field_model, lowest
from slangnb.views.field_view import FieldView
from slangnb.views.measure import Floats
from slangnb.views.steps import Steps, read_steps
from slangnb.views.surface import Surface
from slangnb.views.text import device_words, elements, number

#: Points along each axis: the finer grid where one call computes it.
FINE, COARSE, MOST_POINTS = 129, 65, 1025
#: Values that are computed without a wait worth a word, also by a CPU.
_QUICK = 1 << 24
_FEW = 4


@teaches(lambda _args, _kwargs: "write sn.landscape(loss, a=(-2, 2), b=(-2, 2), data={'x': x}, path=fit)")
def landscape(
    loss: Function,
    /,
    *,
    path: Any = None,
    data: Mapping[str, Any] | None = None,
    reduce: str | None = None,
    resolution: int | None = None,
    title: str = "",
    **ranges_and_fixed: Any,
) -> FieldView:
    """Draw a loss over two of its parameters: its value, contours, and arrows downhill.

    Parameters
    ----------
    loss : Function
        A Slang function that returns one number for each sample.
    path : array_like (n, 2), mapping, or object with a `history`, optional
        Steps of a descent to draw on it: points, values by name and step, or what `sn.optimize` returned. Of that the
        data and `reduce` are taken, too, where they are not given, and where parameters that are not drawn ended.
    data : mapping of str to array_like or tensor, optional
        The arguments that differ from sample to sample.
    reduce : {"mean", "sum"}, optional
        What is made of the losses of all samples; by default the mean.
    resolution : int, optional
        Points along each axis; by default 129, or 65 where there are many samples.
    title : str
        In place of the function's name.
    **ranges_and_fixed
        Two parameters with their ranges, ``(lo, hi)``, the first one across and the second one up; for others the
        value that they keep.

    Returns
    -------
    FieldView
        A picture in a notebook, text elsewhere; ``.save("x.png")`` or ``.save("x.html")`` writes it.

    Raises
    ------
    CallError
        There are not exactly two ranges, an argument is missing, or a range or the path cannot be drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import slangnb as sn
    >>> m = sn.session().compile(
    ...     "[Differentiable] float square(float r) { return r * r; }"
    ...     "[Differentiable] float loss(float a, float b, float x, float y) { return square(a * x + b - y); }")
    >>> x = np.linspace(-1, 1, 5, dtype=np.float32)
    >>> view = sn.landscape(m.loss, a=(-2, 2), b=(-2, 2), data={"x": x, "y": x + 0.5}, path=[[-1, -1], [0.9, 0.5]])
    >>> [(mark.word, mark.x, mark.y) for mark in view.model.marks]
    [('start', -1.0, -1.0), ('end', 0.9, 0.5), ('lowest', 1.0, 0.5)]
    """
    if data is not None and not isinstance(data, Mapping):
        raise CallError("data is no dict", argument="data", remedy="write data={'x': xs, 'y': ys}")
    signature = _signature(loss, {**(data or {}), **ranges_and_fixed})
    ranges = _ranges(signature, ranges_and_fixed)
    across, up = ranges
    names = across, up
    steps = read_steps(path, names)
    given = _given(signature, names, data, ranges_and_fixed, steps)
    surface = _surface(loss, signature, names, given, reduce or steps.reduce or "mean")
    x, y = (np.linspace(*ranges[name], _resolution(resolution, surface.count)) for name in names)
    grid = np.stack([found.reshape(-1) for found in np.meshgrid(x, y)], axis=1)
    values, slopes = surface.measure(grid)
    values = values.reshape(len(y), len(x))
    why_flat = surface.why_flat()
    kept = [n for n in steps.last if n in given and n not in {**ranges_and_fixed, **(data or {})}]
    model = field_model(
        signature.name,
        names,
        x,
        y,
        values,
        gradient=None if slopes is None else (slopes[:, 0].reshape(values.shape), slopes[:, 1].reshape(values.shape)),
        fixed=_fixed(surface),
        downhill=True,
        path=steps.points if len(steps.points) else None,
        marks=[*_ends(surface, steps.points), *filter(None, [lowest(x, y, values)])],
        remarks=[f"no arrows: {why_flat}"] * bool(why_flat) + [f"{n} as at the end of the path" for n in kept],
    )
    return FieldView(model, title)


def _ends(surface: Surface, path: Floats) -> Iterator[Mark]:
    """Mark where a path starts and ends."""
    if len(path):
        ends = path[[0, -1]]
        for word, at, value in zip(("start", "end"), ends.tolist(), surface.values(ends).tolist(), strict=True):
            yield Mark(word, at[0], at[1], value)


def _signature(loss: Any, named: Mapping[str, Any]) -> Signature:
    """Give the one signature that is meant; refuse what returns no number."""
    function = check_function(loss, "landscape")
    name = function.info.name
    if isinstance(function, SpecialFunction) or not function.info.overloads:
        raise CallError(
            f"landscape does not take {name}, which is generic or a method",
            function=name,
            remedy="write a function that calls it, as in `float loss(float a, float b) { return f<float>(a, b); }`",
        )
    found = function.info.signature
    if found is None:
        fits = fitting(function.info, (), named)
        if len(fits) != 1:
            raise CallError(f"{name} is overloaded; landscape cannot tell which is meant", function=name)
        found = fits[0].signature
    if found.returns.kind != "scalar" or found.returns.scalar in ("", "bool"):
        what = "nothing" if found.returns.name == "void" else plain_name(found.returns.name)
        raise CallError(
            f"{name} returns {what}; a loss is one number for each sample",
            function=name,
            remedy="return a float, as dot(r, r) makes one of a vector r",
        )
    return found


def _ranges(signature: Signature, named: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    parameters = {p.name: p for p in signature.parameters}
    for name in named:
        if name not in parameters:
            raise _unknown(signature, name, named)
    found = {n: v for n, v in named.items() if isinstance(v, tuple) and parameters[n].type.kind == "scalar"}
    if len(found) != 2:
        pairs = f" ({', '.join(found)})" if found else ""
        raise CallError(
            f"landscape draws two parameters, and {len(found) or 'none'} of {signature.name} has a range{pairs}"
            if len(found) < 2
            else f"landscape draws two parameters, and {len(found)} of {signature.name} have ranges{pairs}",
            function=signature.name,
            remedy=_two(signature, found),
        )
    return {name: _range(signature.name, parameters[name], pair) for name, pair in found.items()}


def _two(signature: Signature, found: Mapping[str, Any]) -> str:
    """Say what to write where there are not two ranges."""
    name = signature.name
    free = [p.name for p in signature.parameters if p.type.kind == "scalar" and p.type.scalar in REAL]
    if len(free) >= 2:
        one, two = list(dict.fromkeys([*found, *free]))[:2]
        return (
            f"give two of them a pair, as in sn.landscape({name}, {one}=(-2, 2), {two}=(-2, 2), ...), "
            "and the others a number or data"
        )
    few = f"{name} has fewer than two float parameters: write"
    pairs = [p.name for p in signature.parameters if p.type.shape == (2,) and p.type.scalar in REAL]
    if not pairs:
        return f"{few} a function of two floats that calls it"
    others = ", ..." if len(signature.parameters) > 1 else ""
    return f"{few} sn.explore({name}, {pairs[0]}=((-1, 1), (-1, 1)){others}), over both components of {pairs[0]}"


def _unknown(signature: Signature, name: str, named: Mapping[str, Any]) -> CallError:
    vector = name.partition("[")[0].partition(".")[0]
    if vector != name and any(p.name == vector for p in signature.parameters):
        return CallError(
            f"landscape draws parameters that are numbers, not components as {name!r}",
            function=signature.name,
            argument=name,
            remedy=f"write a function of two numbers that calls {signature.name} with a {vector} made of them",
        )
    return unknown(signature, name, [p.name for p in signature.parameters if p.name not in named])


def _range(function: str, p: Parameter, pair: tuple[Any, ...]) -> tuple[float, float]:
    def refuse(what: str, remedy: str) -> CallError:
        return CallError(f"{function}: {what}", function=function, argument=p.name, remedy=remedy)

    if p.type.scalar not in REAL:
        raise refuse(f"{p.name!r} is {p.type.name}, and a range has all numbers between its ends", "give it a value")
    try:
        ends = [float(end) for end in pair]
    except (TypeError, ValueError):
        ends = []
    if len(ends) != 2:
        raise refuse(f"the range of {p.name!r} is {pair!r}, not two numbers", f"write {p.name}=(lo, hi)")
    lo, hi = ends
    if not math.isfinite(lo) or not math.isfinite(hi) or not math.isfinite(hi - lo):
        raise refuse(f"the range of {p.name!r} is not finite: {pair!r}", f"write finite numbers, as {p.name}=(-2, 2)")
    if hi < lo:
        raise refuse(f"the range of {p.name!r} is reversed: {pair!r}", f"write {p.name}=({pair[1]!r}, {pair[0]!r})")
    if np.float32(lo) == np.float32(hi):
        wider = max(1.0, abs(lo) / 2)
        around = f"({number(lo - wider)}, {number(lo + wider)})"
        raise refuse(f"the range of {p.name!r} is empty: {pair!r}", f"write {p.name}={around}, or fix {p.name}={lo:g}")
    return lo, hi


def _given(
    signature: Signature,
    names: tuple[str, str],
    data: Mapping[str, Any] | None,
    named: Mapping[str, Any],
    steps: Steps,
) -> dict[str, Any]:
    """Give all arguments but the two that are drawn."""
    known = {p.name: p for p in signature.parameters}
    for name in data or ():
        if name not in known:
            raise unknown(signature, name, [n for n in known if n not in named])
        if name in named:
            raise CallError(
                f"{name!r} is given twice, by itself and in data",
                function=signature.name,
                argument=name,
                remedy=f"leave one of them out; a range {name}=(lo, hi) draws it",
            )
    brought = steps.data if data is None else data
    found = {n: v for n, v in {**steps.last, **brought, **named}.items() if n in known and n not in names}
    missing = [p.name for p in signature.parameters if p.name not in (*names, *found) and not p.optional]
    if missing:
        listed = ", ".join(f"{name!r}: ..." for name in missing)
        raise CallError(
            f"{signature.name}: argument{'s' * (len(missing) > 1)} {' and '.join(map(repr, missing))} "
            f"{'are' if len(missing) > 1 else 'is'} missing",
            function=signature.name,
            argument=missing[0],
            remedy=f"give what differs between samples as data={{{listed}}}, and what does not as {missing[0]}=1.0",
        )
    return {name: _host(known[name], value) for name, value in found.items()}


def _host(p: Parameter, value: Any) -> Any:
    """Give numbers, lists and other libraries' arrays as numbers and numpy arrays."""
    value = value.value if isinstance(value, Shared) else array(host(value))
    if isinstance(value, list | tuple) and p.type.scalar in SCALARS:
        value = np.asarray(value, SCALARS[p.type.scalar])
    return value.item() if isinstance(value, np.generic) else value


def _surface(
    loss: Function, signature: Signature, names: tuple[str, str], given: dict[str, Any], reduce: str
) -> Surface:
    if reduce not in ("mean", "sum"):
        raise CallError(f"landscape: reduce must be 'mean' or 'sum', not {reduce!r}", argument="reduce")
    types = {p.name: p.type for p in signature.parameters}
    shapes = {name: outer_shape(types[name], value) for name, value in given.items()}
    shapes = {name: shape for name, shape in shapes.items() if shape}
    listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    try:
        samples = np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise CallError(
            f"{signature.name}: the shapes of the data do not fit each other: {listed}",
            function=signature.name,
            remedy="give all of them the same samples",
        ) from None
    if 0 in samples:
        raise CallError(
            f"{signature.name}: there are no samples: {listed}", function=signature.name, remedy="give at least one"
        )
    return Surface(loss, signature, names, given, samples, reduce == "mean")


def _resolution(wanted: Any, samples: int) -> int:
    if wanted is None:
        return FINE if FINE * FINE * samples <= _QUICK else COARSE
    if not isinstance(wanted, int) or not 2 <= wanted <= MOST_POINTS:
        raise CallError(
            f"landscape: resolution must be a whole number from 2 to {MOST_POINTS}, not {wanted!r}",
            argument="resolution",
            remedy="write resolution=65, or leave it out",
        )
    return wanted


def _fixed(surface: Surface) -> str:
    """Say what is the same at all points: numbers, how many samples, where it was computed."""
    said: list[str] = []
    for name, value in surface.given.items():
        if isinstance(value, int | float) or (isinstance(value, np.ndarray | np.generic) and value.size <= _FEW):
            said.append(f"{name} = {elements(np.asarray(value)) if np.ndim(value) else number(float(value))}")
    if surface.samples:
        said.append(f"{'mean' if surface.mean else 'sum'} over {surface.count} sample{'s' * (surface.count > 1)}")
    return f"{', '.join(said)} on {device_words(surface.function.session.device)}".strip()
