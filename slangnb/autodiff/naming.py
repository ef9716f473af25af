"""Which arguments a transform is asked for: names, and what to write instead of anything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from slangnb.errors import CallError
from slangnb.runtime.checks import called
from slangnb.runtime.function import Function


def as_names(wrt: Any, function: Function, transform: str) -> tuple[str, ...] | None:
    """Give the names of a `wrt` argument as a tuple; None: all that have a derivative.

    Raises
    ------
    CallError
        For what is no name, such as the tensor itself or an argument's position.
    """
    if wrt is None:
        return None
    if isinstance(wrt, str):
        return (wrt,)
    names = tuple(wrt) if isinstance(wrt, Sequence | Set) else (wrt,)
    wrong = [name for name in names if not isinstance(name, str)]
    if names and not wrong:
        return names
    raise CallError(
        f"{transform}: wrt takes names of arguments, not {called(wrong[0])}"
        if wrong
        else f"{transform}: wrt is empty, so nothing is differentiated",
        function=function.info.name,
        argument="wrt",
        remedy=_how(function, transform, wrong[0] if wrong else None),
    )


def wrt_text(names: tuple[str, ...] | None) -> str:
    """Write the names for a repr."""
    return f" with respect to {', '.join(names)}" if names else ""


def names_first(transform: str) -> Callable[[tuple[Any, ...], dict[str, Any]], str]:
    """Say, for `teaches`, where the Slang function's own arguments go."""

    def remedy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        function = args[0] if args and isinstance(args[0], Function) else None
        return _how(function, transform, kwargs.get("argnums"))

    return remedy


def _parameters(function: Function | None) -> list[str]:
    info = function.info.signature if function is not None else None
    return [p.name for p in info.parameters] if info is not None else []


def _how(function: Function | None, transform: str, place: Any = None) -> str:
    """Write a call with the function's own names; `place` is that of the argument which may be meant."""
    names = _parameters(function) or ["x"]
    name = function.info.name if function is not None else "f"
    meant = names[place] if type(place) is int and -len(names) <= place < len(names) else names[-1]
    given = ", ".join(f"{n}=..." for n in [*names, *["v"] * (transform == "hvp")])
    return f'name the argument, and give the values after it: sn.{transform}({name}, wrt="{meant}")({given})'
