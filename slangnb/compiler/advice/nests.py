"""Loops inside loops, of which Slang 2026.12 mixes up what it keeps of their rounds for the backward pass.

Measured: a value of the inner loop is kept as ``v[outer + 2][inner + 2]``, and found as ``v[inner][outer]``. Where one
of the counts is larger than the other by more than 2, that is beyond its end. The counts are those of
``[MaxIters(n)]``, or those that Slang finds by itself. Loops that are unrolled, and those of functions that are called
in a loop, do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slangnb.compiler.advice.loops import (
    Loop,
    differentiable,
    functions,
    inside,
    is_unrolled,
    loops,
    most_rounds,
    rounds,
)
from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.tokens import Tokens

#: By how much the counts may differ.
_ROOM = 2
#: Rounds that may be unrolled.
_FEW = 16
_DO = re.compile(r"\bdo\b")


def mixed_up(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Yield what to warn of in the differentiable functions, each loop once."""
    for function in filter(differentiable, functions(declared)):
        warned = -1
        for outer, inner in nested(tokens, inside(tokens, function)):
            a, b = kept_rounds(tokens, outer), kept_rounds(tokens, inner)
            if a is None or b is None or not _far_apart(a, b) or inner.offset == warned:
                continue
            warned = inner.offset
            remedy = "move the inner loop into a [Differentiable] function of its own"
            short = rounds(tokens, inner if b < a else outer)
            if short is not None and short <= _FEW:
                remedy = f"write `[ForceUnroll]` before the loop of {short} rounds, or {remedy}"
            message = (
                f"of loops of {a} and {b} rounds, one inside the other, Slang 2026.12 mixes up what they keep: "
                "the gradient may be wrong."
            )
            yield Advice(inner.offset, len(inner.keyword), message, remedy)


def nested(tokens: Tokens, where: range) -> Iterator[tuple[Loop, Loop]]:
    """Yield loops with each of those that stand inside them, unless one of the two is unrolled.

    Examples
    --------
    >>> text = "{ for (int i = 0; i < 9; i++) for (int j = 0; j < 4; j++) if (a) { [ForceUnroll] while (b) { } } }"
    >>> tokens = Tokens(text)
    >>> [(outer.start, inner.start) for outer, inner in nested(tokens, range(len(tokens.items)))]
    [('int i = 0', 'int j = 0')]
    """
    around: list[Loop] = []
    for loop in loops(tokens, where):
        if is_unrolled(tokens, loop):
            continue
        around = [outer for outer in around if loop.body[0] <= outer.body[1]]
        yield from ((outer, loop) for outer in around)
        around.append(loop)


def kept_rounds(tokens: Tokens, loop: Loop) -> int | None:
    """Give for how many rounds Slang keeps values; None if the text does not show it."""
    most = most_rounds(tokens, loop)
    return most[0] if most else rounds(tokens, loop)


def _far_apart(a: int, b: int) -> bool:
    """Tell whether loops of these counts are mixed up when one stands inside the other."""
    return abs(a - b) > _ROOM


def may_mix_up(text: str) -> bool:
    """Tell whether loops of a text stand inside each other whose counts are not alike, or not known.

    Examples
    --------
    >>> may_mix_up("for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) x *= y;")
    False
    >>> may_mix_up("for (int i = 0; i < 9; i++) for (int j = 0; j < 3; j++) x *= y;")
    True
    """
    tokens = Tokens(text)
    for outer, inner in nested(tokens, range(len(tokens.items))):
        a, b = kept_rounds(tokens, outer), kept_rounds(tokens, inner)
        if a is None or b is None or _far_apart(a, b):
            return True
    return bool(_DO.search(text))  # such a loop may be around another
