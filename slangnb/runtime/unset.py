"""Global uniforms in calls: those that a function reads and nobody set are 0, and they are no arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from slangnb.compiler.advice.uniforms import is_uniform
from slangnb.compiler.reading.calls import Reached, reached
from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.declared import Declaration, everything
from slangnb.compiler.wording import listed
from slangnb.errors import CallError
from slangnb.runtime.binding import EXTRAS
from slangnb.runtime.saying import warn_once

if TYPE_CHECKING:
    from slangnb.compiler.reflection import FunctionInfo
    from slangnb.runtime.target import Target

#: Words that stand before a name that is used, not declared.
_BEFORE_A_USE = frozenset(("return", "else", "case", "no_diff", "in"))
_NUMBERS = re.compile(r"(?:bool|half|float|double|u?int)(?:[1-4](?:x[1-4])?)?")


def uniforms_in(texts: Iterable[str]) -> dict[str, Declaration]:
    """Give the global uniforms of sources by name; what stands in a namespace or has an attribute is left out.

    Examples
    --------
    >>> list(uniforms_in(["uniform float a; float3 b; static float c; const int d; float f() { return 1; }"]))
    ['a', 'b']
    """
    declared = (d for text in texts for d in declarations(text))
    return {d.name: d for d in declared if is_uniform(d) and not d.attributes and "::" not in d.name}


def unset_uniforms(name: str, texts: Sequence[str], given: Iterable[str]) -> list[str]:
    """List the numbers and vectors among the uniforms that a function surely reads and that are not `given`.

    Those with an initial value are left out: it was said when the source was compiled that they ignore it.

    Examples
    --------
    >>> text = "uniform float t, u; float g(float x) { return t * x; } float f(float x, float u) { return g(x) + u; }"
    >>> unset_uniforms("f", [text], ()), unset_uniforms("f", [text], ["t"])
    (['t'], [])
    """
    return list(_unset(name, tuple(texts), frozenset(given)))


@lru_cache(64)  # asked at each call of some transforms
def _unset(name: str, texts: tuple[str, ...], given: frozenset[str]) -> tuple[str, ...]:
    numbers = {key for key, d in uniforms_in(texts).items() if _NUMBERS.fullmatch(d.type) and "=" not in d.signature}
    left = numbers.difference(given)
    if not left:
        return ()
    # In a method, the name of a field means the field.
    left -= {d.name for text in texts for d in everything(declarations(text)) if d.kind == "field"}
    run = reached(name, texts, types=False)
    return tuple(sorted(key for key in left if any(_reads(one, key) for one in run)))


def _reads(function: Reached, name: str) -> bool:
    """Tell whether a function has this name for nothing but a global, and in its body."""
    if any(p.name == name for p in function.declaration.parameters):
        return False
    declared = re.search(rf"[>\]]\s*{name}\s*[=;,]", function.body) is not None
    before = set(re.findall(rf"(\w+)\s+{name}\b", function.body))
    return not declared and before <= _BEFORE_A_USE and re.search(rf"(?<![\w.:>]){name}\b", function.body) is not None


def warn_of_unset(target: Target, given: Mapping[str, Any] | None, is_backward: bool) -> None:
    """Warn of uniforms that are 0 in a call since nobody set them; `given` is None if a function gives some."""
    name = target.info.name
    found = unset_uniforms(name, target.session.texts_of(target.owner), given) if given is not None else []
    values = ", ".join(f"{key!r}: ..." for key in [*(given or ()), *found])
    _say(target, found, f"write `{name}.set({{{values}}}){'.bwds' * is_backward}({_places(target.info)})`")


def warn_of_never_set(target: Target, transform: str) -> None:
    """Warn of uniforms that are 0 in a transform, which takes no function that was changed by ``.set``."""
    name = target.info.name
    found = unset_uniforms(name, target.session.texts_of(target.owner), ())
    what = "it a parameter" if len(found) == 1 else "them parameters"
    _say(target, found, f"{transform} takes no `.set`: make {what} of {name}")


def _say(target: Target, found: Sequence[str], remedy: str) -> None:
    if not found:
        return
    said = "is a uniform and was not set: it is" if len(found) == 1 else "are uniforms and were not set: they are"
    key = f"unset {listed(found)} {remedy.partition(' ')[0]}"
    warn_once(target, f"{target.info.name}: {listed(found)} {said} 0; {remedy}", key=key, kind=UserWarning)


def check_no_uniforms(target: Target, kwargs: Mapping[str, Any]) -> None:
    """Refuse uniforms that are given as arguments.

    Raises
    ------
    CallError
        With the way to set it.
    """
    info = target.info
    taken = {p.name for overload in info.overloads for p in overload.parameters}
    others = [key for key in kwargs if key not in taken and key not in EXTRAS] if info.overloads else []
    for key in others:
        if key in uniforms_in(target.session.texts_of(target.owner)):
            value = repr(kwargs[key]) if isinstance(kwargs[key], (bool, int, float)) else "..."
            raise CallError(
                f"{info.name} has no parameter {key!r}",
                function=info.name,
                argument=key,
                remedy=f"it is a uniform: write `{info.name}.set({{{key!r}: {value}}})({_places(info)})`",
            )


def _places(info: FunctionInfo) -> str:
    """Give what stands in the brackets of a call, without the values."""
    return ", ".join(f"{p.name}=..." for p in info.signature.parameters) if info.signature else "..."
