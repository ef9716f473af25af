"""Reads what `explore` is given: which parameters have ranges, which are the axes, and what is fixed. Pure."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slangnb.compiler.reflection import REAL, SCALARS, Parameter, Signature, TypeInfo, plain_name
from slangnb.errors import CallError
from slangnb.runtime.binding import EXTRAS, bind_one
from slangnb.views.explore.model import Range
from slangnb.views.text import number

OPTIONS = ("axes", "title")
#: Where the probe stands on the axis: off its middle, where many functions are symmetric.
_PROBE = 0.625
_MOST_WRITTEN, _MOST_AXES = 4, 2
#: The least width of a range, and its largest end: what is beyond has no differences that can be drawn.
_LEAST, _LARGEST = 1e-280, 1e300


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drawn of a function.

    Attributes
    ----------
    signature : Signature
    axes : tuple of Range
        One for a curve, two for a field. An axis "p.x" is a component of the parameter `p`.
    dtypes : tuple of str
        Numpy's types of the axes.
    sliders : tuple of Range
    fixed : mapping
        All other arguments, as they were given.
    call : str
        What was written.
    """

    signature: Signature
    axes: tuple[Range, ...]
    dtypes: tuple[str, ...]
    sliders: tuple[Range, ...]
    fixed: Mapping[str, Any]
    call: str


def plan(signature: Signature, given: Mapping[str, Any], axes: str | Sequence[str] | None = None) -> Plan:
    """Decide on the axes and the sliders.

    Raises
    ------
    CallError
        For names that the function does not have, for ranges that are none or that its parameters cannot have, and
        where there is no axis.

    Examples
    --------
    >>> from slangnb.compiler.reflection import TypeInfo
    >>> real = TypeInfo("float", "scalar", "float")
    >>> f = Signature("f", (Parameter("a", real), Parameter("x", real)), real, True)
    >>> made = plan(f, {"x": (-3, 3), "a": (0, 5)})
    >>> made.axes[0].name, made.sliders[0].start, made.call
    ('x', 2.5, 'explore(f, x=(-3, 3), a=(0, 5))')
    """
    name = signature.name
    for option in OPTIONS:
        if any(p.name == option for p in signature.parameters):
            raise CallError(
                f"{name} has a parameter {option!r}, which is an option of explore",
                function=name,
                argument=option,
                remedy=f"give the parameter another name in the Slang source, as in {option}_",
            )
    for extra in (e for e in EXTRAS if e in given):
        raise CallError(f"explore takes no {extra}", function=name, argument=extra, remedy="leave it out")
    ranges: dict[str, Range] = {}
    known = {p.name: p for p in signature.parameters}
    bind_one(signature, (), given, need_outputs=False)
    parts = [one for key, value in given.items() for one in _parts(name, known[key], value)]
    for parameter, value in parts:
        found = _range(name, parameter, value)
        if found is not None:
            ranges[parameter.name] = found
    typed = {parameter.name: parameter for parameter, _ in parts}
    wanted = _axis_names(signature, ranges, axes)
    for one in wanted:
        if ranges[one].whole:
            raise CallError(
                f"{name}: {one!r} is {_type(typed[one])}, so it can have a slider but not be the axis",
                function=name,
                argument=one,
                remedy=_axis_remedy(signature),
            )
    for part in ranges:
        if "." in part and part not in wanted:
            whole = part.partition(".")[0]
            raise CallError(
                f"{name}: {whole!r} is a pair of ranges, which are two axes, and there are others",
                function=name,
                argument=whole,
                remedy=f"fix it, as in {whole}=(0, 0), or leave axes out and give no other pair of ranges",
            )
    # The probe begins where it is told, or off the middle.
    told = {parameter.name for parameter, value in parts if isinstance(value, tuple) and len(value) == 3}
    drawn = [ranges.pop(one) for one in wanted]
    drawn = [one if one.name in told else replace(one, start=one.lo + _PROBE * (one.hi - one.lo)) for one in drawn]
    moving = {*ranges, *(one.partition(".")[0] for one in wanted)}
    fixed = {key: value for key, value in given.items() if key not in moving}
    said = ", ".join(f"{key}={in_words(value)}" for key, value in given.items())
    chosen = f", axes={wanted if len(wanted) > 1 else next(iter(wanted))!r}" if axes is not None else ""
    dtypes = tuple(SCALARS[typed[one].type.scalar] for one in wanted)
    return Plan(signature, tuple(drawn), dtypes, tuple(ranges.values()), fixed, f"explore({name}, {said}{chosen})")


def _parts(function: str, parameter: Parameter, value: Any) -> list[tuple[Parameter, Any]]:
    """Give both components of a vector of two that has a pair of ranges; all else as it is."""
    t, name = parameter.type, parameter.name
    given = value if isinstance(value, (tuple, list)) else ()
    if t.kind != "vector" or t.shape != (2,) or not any(isinstance(one, (tuple, list)) for one in given):
        return [(parameter, value)]
    if isinstance(value, list) or len(value) != 2 or not all(isinstance(one, tuple) for one in value):
        raise CallError(
            f"{function}: {name!r} is neither two numbers nor a pair of ranges",
            function=function,
            argument=name,
            remedy=f"write {name}=((-1, 1), (-1, 1)), in parentheses, for two axes, or {name}=(0, 0)",
        )
    number_type = TypeInfo(t.scalar, "scalar", t.scalar)
    return [
        (replace(parameter, name=f"{name}.{part}", type=number_type), one)
        for part, one in zip("xy", value, strict=True)
    ]


def _axis_names(signature: Signature, ranges: Mapping[str, Range], axes: str | Sequence[str] | None) -> tuple[str, ...]:
    """Choose the axes: those that are asked for, a pair of ranges, or the first range that can be one."""
    name = signature.name
    if axes is None:
        if not ranges:
            raise CallError(
                f"explore({name}) needs a range for the axis", function=name, remedy=_axis_remedy(signature)
            )
        components = tuple(key for key in ranges if "." in key)[:_MOST_AXES]
        return components or (next((key for key, one in ranges.items() if not one.whole), next(iter(ranges))),)
    names = (axes,) if isinstance(axes, str) else tuple(axes) if isinstance(axes, (tuple, list)) else ()
    if not names or not all(isinstance(one, str) for one in names):
        raise CallError(
            "axes is the name of a parameter, or those of two",
            function=name,
            remedy=f"axes={next(iter(ranges), 'x')!r}",
        )
    names = tuple(part for one in names for part in ([f"{one}.x", f"{one}.y"] if f"{one}.x" in ranges else [one]))
    for one in names:
        if one in ranges:
            continue
        close = difflib.get_close_matches(one, ranges, 1)
        remedy = f"did you mean {close[0]!r}?" if close else f"write {one}=(-1, 1), or another range"
        raise CallError(f"axes names {one!r}, which has no range", function=name, argument=one, remedy=remedy)
    once = tuple(dict.fromkeys(names))
    if len(names) > _MOST_AXES:
        kept = tuple(one for one in once if "." in one) or once
        raise CallError(
            f"explore draws one axis or two, not {len(names)}",
            function=name,
            remedy=f"write axes={kept[:_MOST_AXES]}: the other ranges get sliders",
        )
    if len(once) < len(names):
        raise CallError(
            f"axes names {names[0]!r} twice",
            function=name,
            argument=names[0],
            remedy=f"write axes={names[0]!r} for a curve, or the names of two parameters",
        )
    return names


def _axis_remedy(signature: Signature) -> str:
    """Write a call that has an axis."""
    real = [p.name for p in signature.parameters if p.type.kind == "scalar" and p.type.scalar in REAL]
    if not real:
        return f"an axis is a float parameter, and {signature.name} has none"
    return f"write explore({signature.name}, {real[-1]}=(-1, 1), ...)"


def _type(parameter: Parameter) -> str:
    name = plain_name(parameter.type.name)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _range(function: str, parameter: Parameter, value: Any) -> Range | None:
    """Read a pair or a triple as a range; give None for what is fixed."""
    name, t = parameter.name, parameter.type

    def refuse(message: str, remedy: str) -> CallError:
        return CallError(f"{function}: {message}", function=function, argument=name, remedy=remedy)

    if parameter.io != "in":
        raise refuse(f"{name!r} is written to, and explore draws what a function returns", f"leave {name} out")
    if not isinstance(value, tuple) or len(value) in t.shape[:1]:
        if t.kind == "scalar" and (isinstance(value, list) or tuple(getattr(value, "shape", ()))):
            raise refuse(
                f"{name!r} is one number for the whole curve, but it was given several",
                f"write {name}={_pair(value)} for a range, in parentheses, or one number",
            )
        return None
    if t.kind != "scalar" or t.scalar not in SCALARS:
        fix = f"{name}=({', '.join(['0'] * sum(t.shape))})" if t.kind == "vector" else f"{name}=..."
        raise refuse(
            f"{name!r} is {_type(parameter)}, which has no range",
            f"fix it, as in {fix}, or write a function that takes what moves as a float",
        )
    if len(value) not in (2, 3):
        raise refuse(f"{name!r} has {len(value)} numbers", f"a range is {name}=(lo, hi), or (lo, hi, start)")
    if not all(isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in value):
        raise refuse(f"the range of {name!r} holds what is no number", f"write {name}=(0, 1)")
    numbers = [float(v) for v in value]
    if not all(map(math.isfinite, numbers)):
        raise refuse(f"the range of {name!r} is not finite", f"give both ends as numbers, as in {name}=(-10, 10)")
    lo, hi = numbers[:2]
    if lo >= hi:
        remedy = f"write {name}=({number(hi)}, {number(lo)})" if lo > hi else f"to fix it write {name}={number(lo)}"
        raise refuse(f"the range of {name!r} {'is reversed' if lo > hi else 'is empty'}", remedy)
    start = numbers[2] if len(numbers) == 3 else lo + (hi - lo) / 2
    if not lo <= start <= hi:
        raise refuse(f"{name!r} starts at {number(start)}, outside of its range", "start between both ends")
    if t.scalar in REAL:
        if max(-lo, hi) > min(float(np.finfo(SCALARS[t.scalar]).max), _LARGEST):
            raise refuse(f"the range of {name!r} is beyond the numbers of {t.scalar}", "give a smaller range")
        least, most = np.array([lo, hi], SCALARS[t.scalar]).tolist()
        if most - least < _LEAST:
            raise refuse(f"the ends of the range of {name!r} are the same {t.scalar}", "give a wider range")
        return Range(name, lo, hi, start)
    bounds = np.iinfo(SCALARS[t.scalar])
    if not all(v.is_integer() for v in numbers):
        raise refuse(f"{name!r} is {_type(parameter)}, and its range is not of whole numbers", f"as in {name}=(1, 8)")
    if lo < bounds.min or hi > bounds.max:
        raise refuse(f"the range of {name!r} is beyond the numbers of {t.scalar}", f"from {bounds.min} to {bounds.max}")
    return Range(name, lo, hi, float(math.floor(start)), whole=True)


def _pair(value: Any) -> str:
    """Write a list of two numbers as the range that it is meant to be, or another range."""
    meant = isinstance(value, list) and len(value) == 2 and all(type(one) in (int, float) for one in value)
    return in_words(value) if meant else "(0, 1)"


def moved(sliders: Sequence[Range], values: Mapping[str, Any]) -> dict[str, float]:
    """Give where sliders go.

    Raises
    ------
    CallError
        There is no such slider, or it does not go there.

    Examples
    --------
    >>> moved([Range("a", 0, 5, 2.5)], {"a": 6})
    Traceback (most recent call last):
    slangnb.errors.CallError: a = 6 is outside of its range
    remedy: its slider goes from 0 to 5
    """
    known, found = {one.name: one for one in sliders}, {}
    for name, value in values.items():
        if name not in known:
            said = f"the sliders are {', '.join(known)}" if known else "give it a range, as in explore(f, a=(0, 5))"
            raise CallError(f"there is no slider {name!r}", argument=name, remedy=said)
        one = known[name]
        if not isinstance(value, (int, float, np.integer, np.floating)) or not one.lo <= value <= one.hi:
            ends = f"its slider goes from {number(one.lo)} to {number(one.hi)}"
            raise CallError(f"{name} = {in_words(value)} is outside of its range", argument=name, remedy=ends)
        if one.whole and value != int(value):
            raise CallError(f"{name} = {in_words(value)} is no whole number", argument=name, remedy=f"{name}=1")
        found[name] = float(value)
    return found


def in_words(value: Any) -> str:
    """Write an argument: numbers, short vectors and structs; what is longer is left out.

    Examples
    --------
    >>> in_words(0.7), in_words([1, 2.5]), in_words(np.arange(9)), in_words({"a": 1})
    ('0.7', '(1, 2.5)', '…', '{a: 1}')
    """
    if isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        return number(float(value)) if math.isfinite(value) else str(value)
    ranges = isinstance(value, tuple) and all(isinstance(one, tuple) for one in value)
    if ranges or (isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) == 1 and len(value) <= _MOST_WRITTEN):
        return f"({', '.join(map(in_words, value))})"
    if isinstance(value, dict) and len(value) <= _MOST_WRITTEN:
        return f"{{{', '.join(f'{name}: {in_words(one)}' for name, one in value.items())}}}"
    return "…"
