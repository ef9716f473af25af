"""Finds the loops of a function: what their attributes, starts and conditions say."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from slangnb.compiler.reading.declared import Declaration, everything
from slangnb.compiler.reading.tokens import Tokens

_COUNT = re.compile(r"(?:\w+ )?(\w+) = (-?\d{1,9})")
_BOUND = re.compile(r"(\w+) ?(<=?) ?(\d{1,9})[uU]?")
_ATTRIBUTE_NUMBER = re.compile(r"MaxIters ?\( ?(\d{1,9}) ?\)")
_MOST_ATTRIBUTES = 8
_LONGEST_HEAD = 400


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop; positions are token indices, except ``offset``, the place of its keyword in the text."""

    keyword: str
    offset: int
    start: str
    condition: tuple[int, int]
    step: str
    attributes: tuple[tuple[int, int], ...]
    body: tuple[int, int]


def functions(declared: Iterable[Declaration]) -> Iterator[Declaration]:
    """Give all functions, methods included.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> [f.name for f in functions(declarations("float f() { return 1; } struct A { void g() { } }"))]
    ['f', 'g']
    """
    return (one for one in everything(declared) if one.kind == "function")


def differentiable(function: Declaration) -> bool:
    """Say whether it is marked so that Slang derives it."""
    return any(a in ("Differentiable", "BackwardDifferentiable") for a in function.attributes)


def is_unrolled(tokens: Tokens, loop: Loop) -> bool:
    """Tell whether a loop is marked ``[ForceUnroll]``."""
    return any(tokens.text(start) == "ForceUnroll" for start, _ in loop.attributes)


def inside(tokens: Tokens, function: Declaration) -> range:
    """Give the indices of the tokens in a function's body."""
    start, stop = function.body
    first, last = (bisect_left(tokens.items, offset, key=attrgetter("start")) for offset in (start, stop))
    return range(first, last)


def loops(tokens: Tokens, where: range) -> Iterator[Loop]:
    """Yield the loops among the tokens of a function's body.

    Examples
    --------
    >>> tokens = Tokens("{ [MaxIters(4)] for (int i = 0; i < 9; i++) { } }")
    >>> loop = next(loops(tokens, range(len(tokens.items))))
    >>> loop.start, tokens.words(*loop.condition), rounds(tokens, loop), most_rounds(tokens, loop)
    ('int i = 0', 'i < 9', 9, (4, 2))
    """
    for k in where:
        word = tokens.text(k)
        if word not in ("for", "while") or tokens.text(k + 1) != "(":
            continue
        first, close = k + 2, min(tokens.partner[k + 1], where.stop, k + _LONGEST_HEAD)
        start = step = ""
        condition = (first, close)
        if word == "for":
            marks = list(_semicolons(tokens, first, close))
            if len(marks) != 2:
                continue
            start, step = tokens.words(first, marks[0]), tokens.words(marks[1] + 1, close)
            condition = (marks[0] + 1, marks[1])
        body = close + 1, statement_end(tokens, close + 1, where.stop)
        yield Loop(word, tokens.items[k].start, start, condition, step, _attributes(tokens, k), body)


def statement_end(tokens: Tokens, index: int, stop: int) -> int:
    """Give the index after the statement that starts at `index`; that of an ``if`` ends with its ``else``."""
    branches = 0
    while index < stop:
        word = tokens.text(index)
        if word in ("for", "while", "if") and tokens.text(index + 1) == "(":
            branches += word == "if"
            index = tokens.partner[index + 1] + 1
            continue
        if word in ("else", "do", "["):  # an attribute
            index = tokens.skip(index, stop)
            continue
        while index < stop and tokens.text(index) not in ("{", ";"):
            index = tokens.skip(index, stop)
        index = tokens.skip(index, stop) if index < stop else stop
        if not branches or tokens.text(index) != "else":
            return index
        branches -= 1
    return stop


def _semicolons(tokens: Tokens, start: int, stop: int) -> Iterator[int]:
    depth = 0
    for k in range(start, stop):
        depth += (tokens.text(k) in "([{") - (tokens.text(k) in ")]}")
        if depth == 0 and tokens.text(k) == ";":
            yield k


def _attributes(tokens: Tokens, index: int) -> tuple[tuple[int, int], ...]:
    """Give the token ranges of the attributes directly before `index`."""
    found: list[tuple[int, int]] = []
    stop = index
    while tokens.text(stop - 1) == "]" and len(found) < _MOST_ATTRIBUTES:
        opening = next((k for k in range(stop - 2, max(-1, stop - 40), -1) if tokens.partner.get(k) == stop - 1), -1)
        # `a[i]` is no attribute: a name stands before it.
        if opening < 0 or (opening > 0 and (tokens.items[opening - 1].is_name and tokens.text(opening - 1) != "else")):
            break
        found.append((opening + 1, stop - 1))
        stop = opening
    return tuple(found)


def rounds(tokens: Tokens, loop: Loop) -> int | None:
    """Give how often a loop runs, when only numbers decide it."""
    start = _COUNT.fullmatch(loop.start)
    bound = _BOUND.fullmatch(tokens.words(*loop.condition))
    if not start or not bound or start.group(1) != bound.group(1):
        return None
    name = re.escape(start.group(1))
    if re.fullmatch(rf"(?:{name} ?\+ ?\+|\+ ?\+ ?{name})", loop.step):
        step = 1
    elif plus := re.fullmatch(rf"{name} ?\+ ?= ?([1-9]\d{{0,8}})", loop.step):
        step = int(plus.group(1))
    else:
        return None
    length = int(bound.group(3)) - int(start.group(2)) + (bound.group(2) == "<=")
    return max(0, -(-length // step))


def most_rounds(tokens: Tokens, loop: Loop) -> tuple[int, int] | None:
    """Give n of the loop's ``[MaxIters(n)]`` and the token index of that attribute, or None."""
    for start, stop in loop.attributes:
        match = _ATTRIBUTE_NUMBER.fullmatch(tokens.words(start, stop))
        if match:
            return int(match.group(1)), start
    return None
