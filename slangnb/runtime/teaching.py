"""What a public function says when it is called with arguments that it does not have."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from slangnb.errors import CallError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def teaches(
    remedy: Callable[[tuple[Any, ...], dict[str, Any]], str],
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function raise a CallError, with a remedy, in place of Python's TypeError for its arguments.

    Parameters
    ----------
    remedy : callable
        Takes the arguments by position and those by name; says what to write instead.

    Examples
    --------
    >>> @teaches(lambda args, kwargs: "write f(x=1)")
    ... def f(x): return x
    >>> f(y=1)
    Traceback (most recent call last):
    slangnb.errors.CallError: f: missing a required argument: 'x'
    remedy: write f(x=1)
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return function(*args, **kwargs)
            except TypeError:
                wrong = _misfit(function, args, kwargs)
                if not wrong:
                    raise
            # Of an `__init__` it is the class that was called.
            name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
            raise CallError(f"{name}: {wrong}", remedy=remedy(args, kwargs))

        return checked

    return decorate


def _misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Say in what way arguments do not fit a function's parameters, or ""."""
    try:
        signature(function).bind(*args, **kwargs)
    except TypeError as wrong:
        return str(wrong)
    return ""
