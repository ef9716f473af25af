"""Finds what a transform differentiates: the signature that a call means, and how the kernel writes that call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slangnb.compiler.reflection import REAL, FunctionInfo, TypeInfo
from slangnb.compiler.special import Special, inferred
from slangnb.errors import CallError, GradientError
from slangnb.runtime.binding import EXTRAS, Bound, bind, too_many
from slangnb.runtime.checks import called
from slangnb.runtime.constants import constants_of, exported
from slangnb.runtime.function import Function
from slangnb.runtime.saying import warn_once
from slangnb.runtime.special import SpecialFunction
from slangnb.runtime.unset import warn_of_never_set

if TYPE_CHECKING:
    from slangnb.runtime.target import Target


_PACKAGE = __name__.partition(".")[0] + "."


@dataclass(frozen=True, slots=True)
class Callee:
    """A bound call, and the Slang text that stands for the function in a kernel."""

    bound: Bound
    call: str
    prelude: str = ""

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return self.bound.signature.name


def find(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], transform: str) -> Callee:
    """Bind a call.

    Raises
    ------
    CallError
        If the arguments do not fit.
    GradientError
        If the function is not differentiable, or it cannot be told which overload is meant.
    """
    special = function.special if isinstance(function, SpecialFunction) else _inferred(function, args, kwargs)
    info = function.info if special is None else FunctionInfo(function.info.name, (special.signature,), 1)
    extras = [name for name in kwargs if name in EXTRAS]
    if extras:
        raise CallError(
            f"{transform} takes no {extras[0]}",
            function=info.name,
            argument=extras[0],
            remedy="leave it out; what comes back is of the kind that came in",
        )
    bound = bind(info, args, kwargs, need_outputs=False)
    if bound is None:
        raise GradientError(f"{info.name} is overloaded or generic; {transform} cannot tell which is meant")
    signature = bound.signature
    if bound.result_place is not None:
        raise too_many(signature, len(args))
    if not signature.differentiable:
        raise GradientError(
            f"{signature.name} is not differentiable",
            function=signature.name,
            remedy=f"write [Differentiable] above {signature.name}",
        )
    prelude = constants_text(function, transform)
    warn_of_never_set(function.target, transform)
    if special is None:
        return Callee(bound, signature.name, prelude)
    return Callee(bound, special.call, f"{prelude}\n{special.prelude}".strip())


def _inferred(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Special | None:
    """Give a generic function with the types of its arguments; None for other functions, or if they do not tell."""
    name = inferred(function.info, args, kwargs)
    if name is None:
        return None
    function.target.require()  # says why there is none
    try:
        found = function.target.owner[name]
    except KeyError:  # of several generic overloads, none is meant by the types alone
        return None
    return found.special if isinstance(found, SpecialFunction) else None


def constants_text(function: Function, transform: str) -> str:
    """Write the link-time constants that were set with ``f.constants({...})`` as Slang.

    Raises
    ------
    GradientError
        For other changes to the call, which SlangPy makes in its own kernels only.
    """
    lines = []
    for method, args, _ in function.steps:
        if method in ("return_type", "call_group_shape"):
            continue  # these change how the plain call runs, not what the function computes
        if method != "constants":
            raise GradientError(
                f"{transform} does not take a function changed by .{method}(...)",
                function=function.info.name,
                remedy="pass the values as arguments",
            )
        for name, value in constants_of(function.target, args[0]).items():
            line = exported(name, value)
            if line is None:
                raise GradientError(f"{transform}: the constant {name!r} is no number", function=function.info.name)
            lines.append(line)
    return "\n".join(lines)


def check_function(function: Any, transform: str) -> Function:
    """Refuse what is not a Slang function, such as another transform: the compiler cannot nest them."""
    if isinstance(function, Function):
        return function
    what, remedy = called(function), f"sn.{transform}(f) takes the name that a %%slang cell defines"
    if callable(function) and type(function).__module__.startswith(_PACKAGE):
        what, remedy = "another transform", "for second derivatives use sn.hvp(f, wrt=...)"
    elif callable(function) and not isinstance(function, type):
        what = "a Python function"
        remedy = "write it in a %%slang cell: [Differentiable] float f(float x) { return x * x; }"
    raise CallError(f"{transform} takes a function of a Slang module, not {what}", remedy=remedy)


def check_names(callee: Callee, names: tuple[str, ...] | None, of: str = "wrt") -> None:
    """Refuse names that are no parameters; `of` is the argument that they stand in."""
    known = [p.name for p in callee.bound.signature.parameters]
    for name in names or ():
        if name not in known:
            raise CallError(
                f"{callee.name} has no parameter {name!r}",
                function=callee.name,
                argument=name,
                remedy=_separate(name, known, of) or f"{of} may name {', '.join(known)}",
            )


def _separate(name: str, known: Sequence[str], of: str) -> str:
    """Say how to write several names that came as one text.

    Examples
    --------
    >>> _separate("p, r", ["p", "q", "r"], "wrt"), _separate("s", ["p", "q", "r"], "wrt")
    ("write wrt=('p', 'r')", '')
    """
    parts = tuple(re.findall(r"\w+", name))
    return f"write {of}={parts}" if len(parts) > 1 and set(parts) <= set(known) else ""


def warn_of_plain_structs(callee: Callee, target: Target) -> None:
    """Say once that a struct argument has no gradient because its type is not declared differentiable."""
    for slot in callee.bound.slots:
        p = slot.parameter
        if p.io == "out" or p.no_diff or p.type.kind != "struct" or p.type.differentiable or not _holds_reals(p.type):
            continue
        warn_once(
            target,
            f"{callee.name}: {p.name!r} has no gradient, since the struct {p.type.name} is not differentiable; write "
            f"`struct {p.type.name} : IDifferentiable`, or name in wrt=... what to differentiate",
        )


def _holds_reals(t: TypeInfo) -> bool:
    return t.scalar in REAL if t.kind != "struct" else any(map(_holds_reals, t.fields.values()))
