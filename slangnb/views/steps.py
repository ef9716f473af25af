"""The steps of a descent, however they are given: an array, values by name, or what an optimiser returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slangnb.errors import CallError
from slangnb.runtime.foreign import array, host
from slangnb.views.measure import Floats

_REMEDY = (
    "give an array of shape (n, 2), or a dict with the values at each step, as in path={{{0!r}: [...], {1!r}: [...]}}"
)


@dataclass(frozen=True, eq=False)
class Steps:
    """A path over two parameters, and what else came with it.

    Attributes
    ----------
    points : float64 array (n, 2)
    last : mapping of str to values
        Where all parameters ended, as far as they were recorded.
    data : mapping of str to values
        The other arguments.
    reduce : str
        How the loss was reduced; empty where that was not said.
    """

    points: Floats
    last: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    reduce: str = ""


def read_steps(path: Any, names: tuple[str, str]) -> Steps:
    """Read a path over two parameters.

    Parameters
    ----------
    path : array_like (n, 2), mapping of str to values by step, object whose `history` is such a mapping, or None
    names : tuple of str

    Raises
    ------
    CallError
        It has another shape, or no values of these names.

    Examples
    --------
    >>> read_steps({"a": [0.0, 1.0], "b": [2.0, 3.0], "loss": [4.0, 1.0]}, ("a", "b")).points
    array([[0., 2.],
           [1., 3.]])
    """
    if path is None:
        return Steps(np.zeros((0, 2)))
    recorded = path if isinstance(path, Mapping) else getattr(path, "history", None)
    if not isinstance(recorded, Mapping):
        return Steps(_points(_numbers(path, "path"), names))
    missing = [name for name in names if name not in recorded]
    if missing:
        has = f"it has {', '.join(map(repr, recorded))}" if recorded else "it is empty"
        raise CallError(f"the path has no values of {missing[0]!r}; {has}", remedy=_REMEDY.format(*names))
    columns = [_column(recorded[name], name) for name in names]
    if len(columns[0]) != len(columns[1]):
        counts = " and ".join(f"{len(c)} values of {n!r}" for n, c in zip(names, columns, strict=True))
        raise CallError(f"the path has {counts}", remedy="give the values of both at each step")
    points = _points(np.stack(columns, axis=1), names)
    last = {
        n: value[-1].tolist()
        for n, value in ((n, _array(v)) for n, v in recorded.items())
        if np.ndim(value) and len(value)
    }
    if recorded is path:
        return Steps(points, last)
    data = getattr(path, "data", None)
    return Steps(points, last, data if isinstance(data, Mapping) else {}, getattr(path, "reduce", None) or "")


def _array(values: Any) -> Any:
    return np.asarray(array(host(values)))


def _numbers(values: Any, name: str) -> Floats:
    try:
        return _array(values).astype(np.float64)
    except (TypeError, ValueError):
        raise CallError(
            f"{name} is no array of numbers, but of type {type(values).__name__}",
            remedy="give an array of shape (n, 2), a dict of values by name, or what sn.optimize(...) returned",
        ) from None


def _column(values: Any, name: str) -> Floats:
    found = _numbers(values, f"the path of {name!r}")
    if found.ndim == 0 or found.size != len(found):
        raise CallError(
            f"the path of {name!r} has shape {found.shape}, not one number for each step",
            remedy=f"give the numbers of {name!r} alone, as an array of shape (n,)",
        )
    return found.reshape(-1)


def _points(found: Floats, names: tuple[str, str]) -> Floats:
    if found.ndim != 2 or found.shape[1] != 2:
        raise CallError(f"the path has shape {found.shape}, not (n, 2)", remedy=_REMEDY.format(*names))
    if not len(found):
        raise CallError("the path has no steps", remedy="leave path out, or give at least one point")
    return found
