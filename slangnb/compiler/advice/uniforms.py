"""Finds uniforms, which are 0 until they are set: globals that are not ``static``, and the fields of a cbuffer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.tokens import Tokens

#: Slang itself refuses the others, or they are no uniforms.
_OTHERS = frozenset(("static", "const", "constexpr", "uniform", "groupshared", "extern"))
_FRONT = re.compile(r"(?:(?:public|internal|private|export)\s+)*")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?=[fFhHlLuU]?$)")


@dataclass(frozen=True, slots=True)
class Uniform:
    """A global, or a cbuffer: offset and text of its name, what to call in Python if that works, and what to write."""

    start: int
    name: str
    setting: str
    better: str


def ignored_values(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Uniform]:
    """Yield the uniforms of a text that have an initial value.

    Parameters
    ----------
    tokens : Tokens
        Of the whole text.
    declared : list of Declaration
        What the text declares.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> text = "public float K = 3.0f; static float a = 1; float b;"
    >>> [(u.name, u.setting, u.better) for u in ignored_values(Tokens(text), declarations(text))]
    [('K', "f.set({'K': 3.0})", 'public static const float K = 3.0f;')]
    """
    for one in declared:
        if one.kind != "global" or _OTHERS & set(re.split(r"\W+", one.signature.partition("=")[0])):
            continue
        name = one.name.rpartition("::")[2]
        first, last = one.span
        inside = [k for k, t in enumerate(tokens.items) if first <= t.start < last]
        at = next((k for k in inside if tokens.text(k) == name), -1)
        equals = at + 1
        while tokens.text(equals) == "[":
            equals = tokens.skip(equals, len(tokens.items))
        if at < 0 or tokens.text(equals) != "=":
            continue
        value = next(tokens.words(a, b) for a, b in tokens.split(equals + 1, inside[-1]))
        number = _NUMBER.match(value)
        setting = f"f.set({{{name!r}: {number.group() if number else '...'}}})"
        front = _FRONT.match(one.signature)
        cut = front.end() if front else 0
        const = "" if re.match(r"(?:let|var)\b", one.signature[cut:]) else "const "
        better = f"{one.signature[:cut]}static {const}{one.signature[cut:]};"
        yield Uniform(tokens.items[at].start, name, setting, better)


def constant_buffers(tokens: Tokens) -> Iterator[Uniform]:
    """Yield the ``cbuffer`` and ``tbuffer`` of a text.

    Parameters
    ----------
    tokens : Tokens
        Of the whole text.

    Examples
    --------
    >>> [(u.name, u.setting, u.better) for u in constant_buffers(Tokens("cbuffer P { float a; float b; }"))]
    [('P', "f.set({'P': {'a': ..., 'b': ...}})", 'make a and b parameters of the function')]
    """
    for k, token in enumerate(tokens.items):
        name, opening = tokens.text(k + 1), tokens.find("{", k + 1, len(tokens.items))
        if token.text not in ("cbuffer", "tbuffer") or not name.isidentifier() or opening < 0:
            continue
        inside = tokens.words(opening + 1, min(tokens.partner[opening], len(tokens.items)))
        fields = [d.name for d in declarations(inside)]
        if fields:
            listed = " and ".join(filter(None, (", ".join(fields[:-1]), fields[-1])))
            values = ", ".join(f"{field!r}: ..." for field in fields)
            setting = f"f.set({{{name!r}: {{{values}}}}})" if token.text == "cbuffer" else ""
            better = f"make {listed} {'parameters' if len(fields) > 1 else 'a parameter'} of the function"
            yield Uniform(tokens.items[k + 1].start, name, setting, better)
