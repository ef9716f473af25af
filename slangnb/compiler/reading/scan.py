"""Splits Slang text into code, comments, strings and preprocessor lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

# Nothing that must match follows a repeated group, so that no alternative ever backtracks. (Possessive groups would
# say so, but Python 3.11.2, which Debian 12 has, matches them wrongly.)
# As in the compiler, a backslash at a line's end continues a `//` comment.
_PIECE = re.compile(
    r"""
      (?P<line>//(?:[^\\\n]|\\(?:\n|.)?)*)
    | (?P<block>/\*(?s:.*?)(?:\*/|\Z))
    | (?P<raw>\bR"(?P<fence>[^\s()\\"]{0,16})\((?s:.*?)(?:\)(?P=fence)"|\Z))
    | (?P<text>"(?:[^"\\\n]|\\(?:\n|.)?)*"?)
    | (?P<char>'(?:[^'\\\n]|\\(?:\n|.)?)*'?)
    | (?P<directive>^[ \t]*\#(?:[^\n"/\\]|/(?![/*])|\\(?:\n|.)?)*)
    """,
    re.VERBOSE | re.MULTILINE,
)
# What may follow the first piece of a directive on its line: a string, and then more of the directive.
_DIRECTIVE_STRING = re.compile(r'"(?:[^"\\\n]|\\(?:\n|.)?)*"?')
_DIRECTIVE_REST = re.compile(r'(?:[^\n"/\\]|/(?![/*])|\\(?:\n|.)?)+')
_NOT_NEWLINE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the text: ``kind`` is "code", "comment", "string" or "directive"; offsets as in slices."""

    kind: str
    start: int
    end: int


def scan(text: str) -> Iterator[Span]:
    """Yield the pieces of `text` in order and without gaps, in linear time.

    A string inside a preprocessor line is a piece of its own, so a directive may come in several pieces.
    Character literals count as strings. Nothing is too odd: what is not closed reaches to the end of its
    line (strings) or of the text (``/*`` comments).

    Parameters
    ----------
    text : str
        Any text.

    Examples
    --------
    >>> text = '#include "a.h"\\nfloat x; // done'
    >>> [(s.kind, text[s.start : s.end]) for s in scan(text)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('directive', '#include '), ('string', '"a.h"'), ('code', '\\nfloat x; '), ('comment', '// done')]
    """
    position = 0
    match = _PIECE.search(text, 0)
    while match:
        start, end = match.start(), match.end()
        kind = match.lastgroup
        if kind == "directive":
            start = text.index("#", start)
        if start > position:
            yield Span("code", position, start)
        if kind in ("line", "block"):
            yield Span("comment", start, end)
        elif kind == "directive":
            yield Span("directive", start, end)
            for span in _rest_of_directive(text, end):
                yield span
                end = span.end
        else:
            yield Span("string", start, end)
        position = end
        match = _PIECE.search(text, end)
    if position < len(text):
        yield Span("code", position, len(text))


def _rest_of_directive(text: str, position: int) -> Iterator[Span]:
    while True:
        string = _DIRECTIVE_STRING.match(text, position)
        if string:
            yield Span("string", position, string.end())
            position = string.end()
        more = _DIRECTIVE_REST.match(text, position)
        if more:
            yield Span("directive", position, more.end())
            position = more.end()
        if not string and not more:
            return


def masked(text: str) -> str:
    """Give `text` with everything but code turned into spaces; offsets and lines stay the same.

    Examples
    --------
    >>> masked('f("a;b"); // {')
    'f(     );     '
    """
    return "".join(
        text[s.start : s.end] if s.kind == "code" else _NOT_NEWLINE.sub(" ", text[s.start : s.end]) for s in scan(text)
    )


class Positions:
    """Turns offsets in a text into lines and columns, both counted from 1.

    Examples
    --------
    >>> Positions("ab\\ncd").at(4)
    (2, 2)
    """

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Give line and column of `offset`."""
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1

    def line_start(self, line: int) -> int:
        """Give the offset at which `line` starts."""
        return self._starts[line - 1]

    def line_text(self, line: int) -> str:
        """Give `line` without its newline."""
        end = self._starts[line] - 1 if line < len(self._starts) else len(self._text)
        return self._text[self._starts[line - 1] : end]
