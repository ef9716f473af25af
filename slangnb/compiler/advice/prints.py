"""How SlangPy's ``print`` shows values: each needs a ``{}`` in the text that comes first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from slangnb.compiler.advice.loops import functions
from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.tokens import Tokens

_IMPORTED = re.compile(r"\bimport\s+sgl\s*\.\s*device\s*\.\s*print\s*;")
_TEXT = re.compile(r'"((?:[^"\\{}]|\\.)*?)((?:\\n)*)"')
_PERCENT = re.compile(r"%[-+.\d]*[a-zA-Z]")


def unshown(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Yield the prints whose text has no place for the values behind it.

    Parameters
    ----------
    tokens : Tokens
        Of the whole text.
    declared : sequence of Declaration
        What the text declares.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> text = 'import sgl.device.print; void f(float x) { print("x is", x); print("x={}", x); }'
    >>> [(found.message, found.remedy) for found in unshown(Tokens(text), declarations(text))]
    [('this prints no value: the text has no `{}`.', 'write `print("x is {}", x);`')]
    """
    if not _IMPORTED.search(tokens.plain) or any(f.name == "print" for f in functions(declared)):
        return
    for opening in _prints(tokens):
        parts = _arguments(tokens, opening)
        text = _TEXT.fullmatch(parts[0])
        if text and len(parts) > 1 and all(parts):
            yield Advice.at(
                tokens.items[opening - 1],
                "this prints no value: the text has no `{}`.",
                f"write `print({_with_places(text, len(parts) - 1)}, {', '.join(parts[1:])});`",
            )


def print_around(text: str, offset: int) -> str:
    """Say how to print the values of the `print` around `offset`, whose text is missing; "" without one.

    Examples
    --------
    >>> print_around("print(x, 2 * y);", 6)
    'print("x={} {}", x, 2 * y);'
    """
    tokens = Tokens(text)
    for opening in _prints(tokens):
        close = tokens.partner[opening]
        if tokens.items[opening].start < offset < tokens.items[close].start:
            parts = _arguments(tokens, opening)
            places = " ".join(f"{part}={{}}" if re.fullmatch(r"[\w.]+", part) else "{}" for part in parts)
            return "" if any('"' in part for part in parts) else f'print("{places}", {", ".join(parts)});'
    return ""


def _prints(tokens: Tokens) -> Iterator[int]:
    """Yield the opening brackets of calls of ``print``, if they are closed."""
    for k, token in enumerate(tokens.items):
        if token.text != "print" or tokens.text(k + 1) != "(" or tokens.text(k - 1) in (".", "::"):
            continue
        if tokens.text(tokens.partner[k + 1]) == ")":
            yield k + 1


def _arguments(tokens: Tokens, opening: int) -> list[str]:
    """Give the arguments of a call; strings are no tokens, so the text between the commas is taken."""
    close = tokens.partner[opening]
    commas = [stop for _, stop in tokens.split(opening + 1, close)[:-1]]
    if tokens.text(close - 1) == ",":  # a string may stand behind it
        commas.append(close - 1)
    marks = [opening, *dict.fromkeys(commas), close]
    pieces = (tokens.plain[tokens.items[a].end : tokens.items[b].start] for a, b in pairwise(marks))
    return [" ".join(piece.split()) for piece in pieces]


def _with_places(text: re.Match[str], count: int) -> str:
    """Write a text with a place for each of so many values."""
    words, ends = text.groups()
    if len(_PERCENT.findall(words)) == count:
        return f'"{_PERCENT.sub("{}", words)}{ends}"'
    gap = "" if words[-1:] in ("", "=", " ") else " "
    return f'"{words}{gap}{" ".join(["{}"] * count)}{ends}"'
