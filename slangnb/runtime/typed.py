"""Calls of generic functions with the types that their arguments tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slangnb.compiler.special import inferred, specialised
from slangnb.runtime.binding import bind_one
from slangnb.runtime.fused.engine import Call

if TYPE_CHECKING:
    from slangnb.runtime.function import Function
    from slangnb.runtime.target import Target


def in_double(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], known: dict[str, Function]
) -> Function | None:
    """Give a generic function with its types, if the arguments make one of them double; else None.

    SlangPy would pass Python's numbers to it as float. Those that are `known` by their names are not made again.
    """
    target = function.target
    name = inferred(target.info, args, kwargs)
    if name is None or "double" not in name.partition("<")[2][:-1].split(", "):
        return None
    special = specialised(target.require(), name) if name not in known else None
    if special is not None:
        info = replace(target.info, name=name, overloads=(special.signature,))
        known[name] = type(function)(replace(target, info=info), function.steps)
    return known.get(name)


def call_to_audit(target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """Describe a backward call of a generic function; None if its arguments do not tell the types."""
    loaded = target.require()
    name = inferred(target.info, args, kwargs)
    special = specialised(loaded, name) if name is not None else None
    if special is None:
        return None
    bound = bind_one(special.signature, args, kwargs, need_outputs=False)
    return Call.of(target, bound, special.call, special.prelude)
