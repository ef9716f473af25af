"""Finds uniforms, which are 0 until they are set: globals that are not ``static``, and the fields of a cbuffer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.tokens import Tokens
from slangnb.compiler.wording import listed

#: Globals with one of these words are no uniforms.
_OTHERS = frozenset(("static", "const", "constexpr", "groupshared", "extern"))
_FRONT = re.compile(r"(?:(?:public|internal|private|export)\s+)*")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?=[fFhHlLuU]?$)")


def is_uniform(one: Declaration) -> bool:
    """Tell whether a declaration is that of a global uniform.

    Examples
    --------
    >>> [is_uniform(d) for d in declarations("uniform float a; float3 b; static float c; const int d; void f() {}")]
    [True, True, False, False, False]
    """
    return one.kind == "global" and _OTHERS.isdisjoint(_words(one))


def _words(one: Declaration) -> list[str]:
    return re.split(r"\W+", one.signature.partition("=")[0])


def ignored_values(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
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
    >>> [found.remedy for found in ignored_values(Tokens(text), declarations(text))]
    ['write `public static const float K = 3.0f;`']
    """
    for one in declared:
        if not is_uniform(one) or "uniform" in _words(one):  # an initial value of these Slang itself refuses
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
        value = next((tokens.words(a, b) for a, b in tokens.split(equals + 1, inside[-1])), "")
        number = _NUMBER.match(value)
        setting = f"f.set({{{name!r}: {number.group() if number else '...'}}})"
        front = _FRONT.match(one.signature)
        cut = front.end() if front else 0
        const = "" if re.match(r"(?:let|var)\b", one.signature[cut:]) else "const "
        better = f"{one.signature[:cut]}static {const}{one.signature[cut:]};"
        message = f"{name} is a uniform: its initial value is ignored, it is 0 until {setting}."
        yield Advice.at(tokens.items[at], message, f"write `{better}`")


def constant_buffers(tokens: Tokens, _: Sequence[Declaration] = ()) -> Iterator[Advice]:
    """Yield the ``cbuffer`` and ``tbuffer`` of a text.

    Parameters
    ----------
    tokens : Tokens
        Of the whole text.

    Examples
    --------
    >>> [found.remedy for found in constant_buffers(Tokens("cbuffer P { float a; float b; }"))]
    ['make a and b parameters of the function']
    """
    for k, token in enumerate(tokens.items):
        name, opening = tokens.text(k + 1), tokens.find("{", k + 1, len(tokens.items))
        if token.text not in ("cbuffer", "tbuffer") or not name.isidentifier() or opening < 0:
            continue
        inside = tokens.words(opening + 1, min(tokens.partner[opening], len(tokens.items)))
        fields = [d.name for d in declarations(inside)]
        if fields:
            values = ", ".join(f"{field!r}: ..." for field in fields)
            message = f"what is in {name} is uniform: it is 0 until f.set({{{name!r}: {{{values}}}}})."
            if token.text == "tbuffer":
                message = "functions that read a tbuffer may crash the compiler when they are called."
            better = f"make {listed(fields)} {'parameters' if len(fields) > 1 else 'a parameter'} of the function"
            yield Advice.at(tokens.items[k + 1], message, better)
