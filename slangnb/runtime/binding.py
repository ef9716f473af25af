"""Matches the arguments of a call with the parameters of a function, by position and by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slangnb.compiler.reflection import FunctionInfo, Parameter, Signature
from slangnb.errors import CallError

#: Keyword arguments that belong to SlangPy's call, not to the Slang function.
EXTRAS = frozenset(("_result", "_thread_count", "_this"))
_NO_RESULT = (bool, int, float, complex, list, dict, type(None))


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument: its parameter, its value, and where it stood in the call (a position or a name)."""

    parameter: Parameter
    value: Any
    place: int | str


@dataclass(frozen=True, slots=True)
class Bound:
    """A call whose arguments all have a parameter; `result` is the value given as ``_result``, or None."""

    signature: Signature
    slots: tuple[Slot, ...]
    result: Any = None
    result_place: int | str | None = None

    @property
    def named(self) -> dict[str, Any]:
        """All values by name, that for the result as ``_result``."""
        return {**{s.parameter.name: s.value for s in self.slots}, "_result": self.result}


def bind(info: FunctionInfo, args: Sequence[Any], kwargs: Mapping[str, Any], need_outputs: bool = True) -> Bound | None:
    """Bind the arguments, or give None for a generic or overloaded function where SlangPy must decide.

    With `need_outputs` false, ``out`` parameters may be missing.

    Raises
    ------
    CallError
        Naming the missing, extra or unknown argument.

    Examples
    --------
    >>> from slangnb.compiler.reflection import TypeInfo
    >>> x = Parameter("x", TypeInfo("float", "scalar", "float"))
    >>> f = FunctionInfo("f", (Signature("f", (x,), x.type, True),), 1)
    >>> bind(f, (), {"x": 2.0}).slots[0].value
    2.0
    """
    if not info.overloads:
        return None
    if info.signature is not None:
        return bind_one(info.signature, args, kwargs, need_outputs)
    fits = fitting(info, args, kwargs, need_outputs)
    if not fits:
        listed = "\n".join(f"  {s}" for s in info.overloads)
        raise CallError(
            f"no overload of {info.name} takes {_counted(args, kwargs)}; there are:\n{listed}",
            function=info.name,
            remedy="pass the arguments of one of them",
        )
    return fits[0] if len(fits) == 1 else None


def fitting(
    info: FunctionInfo, args: Sequence[Any], kwargs: Mapping[str, Any], need_outputs: bool = True
) -> list[Bound]:
    """Bind the arguments to each overload that has parameters for them."""
    found = []
    for overload in info.overloads:
        try:
            found.append(bind_one(overload, args, kwargs, need_outputs))
        except CallError:
            continue
    return found


def bind_one(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], need_outputs: bool = True) -> Bound:
    """Bind the arguments to one signature; raises CallError as `bind` does."""
    name, parameters = signature.name, signature.parameters
    names = [p.name for p in parameters]
    returns = signature.returns.name != "void"
    result, place = kwargs.get("_result"), "_result" if "_result" in kwargs else None
    if returns and len(args) == len(parameters) + 1 and place is None and not isinstance(args[-1], _NO_RESULT):
        result, place = args[-1], len(args) - 1  # a backward call takes the result as a last positional argument, too
        args = args[:-1]
    if len(args) > len(parameters):
        raise too_many(signature, len(args))
    slots = {p.name: Slot(p, v, i) for i, (p, v) in enumerate(zip(parameters, args, strict=False))}
    for key, value in kwargs.items():
        if key in EXTRAS:
            continue
        if key not in names:
            raise unknown(signature, key, [n for n in names if n not in kwargs and n not in slots])
        if key in slots:
            raise CallError(
                f"{name}: argument {key!r} is given twice",
                function=name,
                argument=key,
                remedy=f"it is argument {names.index(key) + 1} by position already; leave out {key}=...",
            )
        slots[key] = Slot(parameters[names.index(key)], value, key)
    free = [p for p in parameters if p.name not in slots and not p.optional]
    missing = [p.name for p in free if need_outputs or p.io != "out"]
    if missing:
        listed = " and ".join(map(repr, missing))
        known = ", ".join(f"`{p.name} = {p.default}`" for p in free if p.default)
        no_defaults = f"SlangPy takes no defaults: pass what is declared as {known}; " if known else ""
        raise CallError(
            f"{name}: argument{'s' * (len(missing) > 1)} {listed} {'are' if len(missing) > 1 else 'is'} missing",
            function=name,
            argument=missing[0],
            remedy=f"{no_defaults}its signature is {signature}",
        )
    return Bound(signature, tuple(slots[n] for n in names if n in slots), result, place)


def _counted(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Say how many arguments there are, and which names: ``2 arguments and 'x'``."""
    named = [repr(key) for key in kwargs if key not in EXTRAS]
    count = f"{len(args)} argument{'s' * (len(args) != 1)}" + " by position" * bool(named)
    return " and ".join([count] * bool(args or not named) + named)


def too_many(signature: Signature, given: int) -> CallError:
    """Say that there are more arguments than parameters."""
    count = len(signature.parameters)
    return CallError(
        f"{signature.name} takes {count} argument{'s' * (count != 1)}, {given} were given",
        function=signature.name,
        remedy=f"its signature is {signature}",
    )


def unknown(signature: Signature, key: str, free: list[str]) -> CallError:
    """Say that there is no parameter of this name; `free` are those it may be meant for."""
    close = [n for n in free if n.lower() == key.lower()] or difflib.get_close_matches(key, free, 1, 0.5)
    if not close and signature.returns.name != "void":
        close = ["_result"] if key == "out" else difflib.get_close_matches(key, EXTRAS, 1, 0.8)
    remedy = f"did you mean {close[0]!r}?" if close else f"its signature is {signature}"
    return CallError(f"{signature.name} has no parameter {key!r}", function=signature.name, argument=key, remedy=remedy)
