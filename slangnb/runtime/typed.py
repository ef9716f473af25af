"""Plain calls of generic functions in double: SlangPy would pass Python's numbers to them as float."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slangnb.compiler.special import inferred, specialised

if TYPE_CHECKING:
    from slangnb.runtime.function import Function


def in_double(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], known: dict[str, Function]
) -> Function | None:
    """Give a generic function with its types, if the arguments make one of them double; else None.

    Those that are `known` by their names are not made again.
    """
    target = function._target
    name = inferred(target.info, args, kwargs)
    if name is None or "double" not in name.partition("<")[2][:-1].split(", "):
        return None
    special = specialised(function._loaded(), name) if name not in known else None
    if special is not None:
        info = replace(target.info, name=name, overloads=(special.signature,))
        known[name] = type(function)(replace(target, info=info), function._chain)
    return known.get(name)
