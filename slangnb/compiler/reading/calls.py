"""Follows the calls of a function through the sources: what it may run, and whether that has branches or loops."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.declared import Declaration, everything
from slangnb.compiler.reading.scan import masked

_CONTROL_FLOW = re.compile(r"\b(?:if|for|while|switch|do)\b|\?")
#: What shows a loop, in a text without comments and strings.
LOOPS = re.compile(r"\b(?:for|while|do)\b")
_NAME = re.compile(r"[^\W\d]\w*")
_DERIVATIVE_OF = re.compile(r"\b\w+DerivativeOf\s*\(\s*([\w:.]+)")


@dataclass(frozen=True, slots=True)
class Reached:
    """A declaration, all its text and that of its body, with blanks for comments and strings."""

    declaration: Declaration
    text: str
    body: str


def reached(name: str, texts: Iterable[str], *, types: bool = True, derivatives: bool = False) -> list[Reached]:
    """List a function and what it calls, as far as the sources show, nearest first.

    Parameters
    ----------
    name : str
        Of the function; of ``A::g`` and ``A.g`` the last part counts.
    texts : iterable of str
        Sources in which it and what it calls may stand.
    types : bool
        Whether a type that is named counts with all that it has: its constructor or an operator may run.
    derivatives : bool
        Whether the derivatives that somebody wrote count, which attributes name.

    Examples
    --------
    >>> text = "float g(float x) { return x; }  float f(float x) { return g(x); }"
    >>> [r.declaration.name for r in reached("f", [text])]
    ['f', 'g']
    >>> text = "[BackwardDerivative(b)] void f() {}  void b() {}"
    >>> [r.declaration.name for r in reached("f", [text], derivatives=True)]
    ['f', 'b']
    """
    known: dict[str, list[Reached]] = {}
    beside: dict[str, list[str]] = {}
    for one in itertools.chain.from_iterable(map(_declared, texts)):
        declared = one.declaration
        if types or declared.kind == "function":
            known.setdefault(_last(declared.name), []).append(one)
            for of in _DERIVATIVE_OF.findall(" ".join(declared.attributes)) if derivatives else ():
                beside.setdefault(_last(of), []).append(_last(declared.name))
    found: list[Reached] = []
    todo = [_last(name)]
    for here in todo:
        found += known.get(here, [])
        named = (" ".join([one.body, *one.declaration.attributes * derivatives]) for one in known.get(here, ()))
        inner = [n for text in named for n in _NAME.findall(text) if n in known] + beside.get(here, [])
        todo += [n for n in dict.fromkeys(inner) if n not in todo]
    return found


@lru_cache(64)
def _declared(text: str) -> tuple[Reached, ...]:
    code = masked(text)
    return tuple(Reached(d, code[slice(*d.span)], code[slice(*d.body)]) for d in everything(declarations(text)))


def _last(name: str) -> str:
    return re.split(r"::|\.", name)[-1]


def has_control_flow(name: str, texts: Iterable[str]) -> bool:
    """Tell whether a function, or one that it calls, has a branch or a loop.

    Examples
    --------
    >>> text = "float g(float x) { if (x > 0) return x; return 0; }  float f(float x) { return g(x); }"
    >>> has_control_flow("f", [text]), has_control_flow("f", ["float f(float x) { return x; }"])
    (True, False)
    """
    return any(_CONTROL_FLOW.search(one.body) for one in reached(name, texts))
