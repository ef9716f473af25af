"""Checks the values of link-time constants: SlangPy 0.43 writes them into the kernel's text as they are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.loading import Loaded
from slangnb.compiler.reflection import plain_name
from slangnb.errors import CallError
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    from slangnb.runtime.target import Target

#: SlangPy writes each integer as an ``int``.
_INT = np.iinfo(np.int32)


def constants_of(target: Target, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give constants as the module of a function declares them now; raises CallError as `checked`."""
    return checked(target.info.name, declared(target.session.loaded_of(target.owner)), given)


def exported(name: str, value: Any) -> str | None:
    """Write a constant as Slang, for a kernel of ours; None if it is no number.

    Examples
    --------
    >>> exported("K", 3), exported("on", True), exported("v", (1, 2))
    ('export static const int K = 3;', 'export static const bool on = true;', None)
    """
    kind = {bool: "bool", int: "int", float: "float"}.get(type(value))
    if kind is None:
        return None
    return f"export static const {kind} {name} = {str(value).lower() if kind == 'bool' else repr(value)};"


def declared(modules: Iterable[Loaded]) -> dict[str, str]:
    """Give the constants of modules that are set at link time: name -> type."""
    import slangpy as spy

    found = {}
    for module in modules:
        for d in module.raw.module_decl.children_of_kind(spy.DeclReflection.Kind.variable):
            variable = d.as_variable()
            if variable.has_modifier(spy.ModifierID.extern):
                found[d.name] = plain_name(variable.type.full_name)
    return found


def checked(function: str, known: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the constants as values of the types that the source declares.

    Parameters
    ----------
    function : str
        For messages.
    known : mapping
        What the source declares: name -> type.
    given : mapping
        Name -> value.

    Raises
    ------
    CallError
        For a name that the source does not declare, or a value that its type does not hold.

    Examples
    --------
    >>> checked("f", {"K": "int", "S": "float"}, {"K": np.int64(3), "S": 2})
    {'K': 3, 'S': 2.0}
    """
    return {name: _value(function, name, known, value) for name, value in given.items()}


def _value(function: str, name: str, known: Mapping[str, str], value: Any) -> Any:
    def refuse(message: str, remedy: str) -> CallError:
        return CallError(f"{function}: {message}", function=function, argument=name, remedy=remedy)

    if name not in known:
        close = difflib.get_close_matches(name.lower(), [k.lower() for k in known], 1, 0.5)
        meant = next((k for k in known if close and k.lower() == close[0]), "")
        declare = f"declare it at the top of the module: extern static const int {name} = 0;"
        raise refuse(f"there is no constant {name!r} to set", f"did you mean {meant!r}?" if meant else declare)
    t, value = known[name], value.item() if isinstance(value, np.generic) else value
    if t == "bool":
        fits = isinstance(value, bool)
    elif t not in SCALARS:
        fits = type(value).__module__ == "slangpy.math" and type(value).__name__ == t
    elif isinstance(value, bool) or not isinstance(value, int | float):
        fits = False
    elif np.dtype(SCALARS[t]).kind == "f":
        with np.errstate(over="ignore"):
            fits = bool(np.isfinite(np.float32(value)) and np.isfinite(np.dtype(SCALARS[t]).type(value)))
        value = float(value) if fits else value
    else:
        limits = np.iinfo(SCALARS[t])
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        fits = isinstance(value, int) and max(limits.min, _INT.min) <= value <= min(limits.max, _INT.max)
    if not fits:
        raise refuse(f"the constant {name!r} is {t}, and {value!r} is no value for it", _range(t))
    return value


def _range(t: str) -> str:
    if t in ("bool", "float", "half", "double"):
        return "pass True or False" if t == "bool" else "pass a finite number"
    if t not in SCALARS:
        return f"pass slangpy.{t}(...)"
    limits = np.iinfo(SCALARS[t])
    return f"pass an int from {max(limits.min, _INT.min)} to {min(limits.max, _INT.max)}"
