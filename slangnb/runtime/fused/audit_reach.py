"""Reads which text a function depends on, and whether somebody wrote a derivative of what it calls. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from slangnb.compiler.reading.calls import reached
from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.declared import Declaration, everything
from slangnb.compiler.reading.scan import masked, scan

#: What hides types, loops and whole functions from a look at the text.
_HIDING = re.compile(r"^\s*#\s*(?:define|include)\b|\b(?:typedef|typealias|using)\b", re.MULTILINE)
_OWN = re.compile(r"\b(?:(?:Backward|Forward)Derivative|PrimalSubstitute)\b")
_GIVEN_TO = re.compile(r"\b(?:\w+Derivative|PrimalSubstitute)Of\s*\(\s*([\w:.]+)")
_NAME = re.compile(r"[^\W\d]\w*")


def is_hidden(texts: Iterable[str]) -> bool:
    """Tell whether macros, included files or other names of types may hide what a function does."""
    return any(_HIDING.search(text) for text in texts)


def text_reached(name: str, texts: Iterable[str]) -> str:
    """Give the text of a function and of what it calls, as far as it can be seen."""
    return "\n".join(one.text for one in reached(name, texts))


def has_own_derivative(name: str, texts: Sequence[str]) -> bool:
    """Tell whether somebody wrote a derivative of a function, or of what it may call: it may differ on purpose.

    What stands outside of all declarations, such as a macro, may be part of any function.

    Examples
    --------
    >>> own = "[BackwardDerivative(b)] float g(float x) { return x; } "
    >>> has_own_derivative("f", [own + "float f(float x) { return x; }"])
    False
    >>> has_own_derivative("f", [own + "float f(float x) { return g(x); }"])
    True
    >>> has_own_derivative("f", ["#define OWN [BackwardDerivative(b)]\\nfloat f(float x) { return x; }"])
    True
    """
    known: dict[str, list[tuple[Declaration, str]]] = {}
    outside, given = [], set[str]()
    for text in texts:
        code = rest = masked(text)
        given |= {_last(to) for to in _GIVEN_TO.findall(code)}
        for d in everything(declarations(text)):
            start, stop = d.span
            known.setdefault(_last(d.name), []).append((d, code[start:stop]))
            rest = rest[:start] + " " * (stop - start) + rest[stop:]
        outside += [rest, *(text[s.start : s.end] for s in scan(text) if s.kind == "directive")]
    if any(_OWN.search(text) for text in outside):
        return True
    # Nothing names the operators that it calls.
    operators = [declared for declared in known if not _NAME.fullmatch(declared)]
    todo = dict.fromkeys([_last(name), *operators, *_NAME.findall("\n".join(outside))])
    while todo:
        here, _ = todo.popitem()
        for d, code in known.pop(here, ()):
            if here in given or any(_OWN.match(a) for a in d.attributes):
                return True
            todo |= dict.fromkeys(_NAME.findall(code))
    return False


def _last(name: str) -> str:
    return re.split(r"::|\.", name)[-1]
