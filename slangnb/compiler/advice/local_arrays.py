"""Finds local arrays that are too large: each thread has its own, and the device may never come to an end."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from slangnb.compiler.advice.loops import functions, inside
from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.tokens import Tokens

#: Bytes for a thread. Measured on software Vulkan: calls with a million floats do not end.
LARGEST = 1 << 16
_TYPE = re.compile(r"(half|float|double|u?int(?:8|16|32|64)?(?:_t)?|bool)([234]?)(?:x([234]))?")
_BYTES = {"half": 2, "double": 8, "int64_t": 8, "uint64_t": 8}


def large_arrays(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Yield the local arrays of more than `LARGEST` bytes whose sizes are written as numbers.

    Parameters
    ----------
    tokens : Tokens
        Of the whole text.
    declared : sequence of Declaration
        What the text declares.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> text = "float f() { float2 a[100][1000]; float b[100]; static const float c[99999] = {}; return b[0]; }"
    >>> [found.message for found in large_arrays(Tokens(text), declarations(text))]
    ['each thread has its own a, of 781 kB: calls may never end.']
    """
    for function in functions(declared):
        for k in inside(tokens, function):
            kind = _TYPE.fullmatch(tokens.text(k - 1))
            if kind is None or tokens.text(k + 1) != "[" or {tokens.text(k - 2), tokens.text(k - 3)} & {"static"}:
                continue
            counts, at = [int(n or 1) for n in kind.groups()[1:]], k + 1
            while tokens.text(at) == "[" and tokens.text(at + 1).isdigit() and tokens.text(at + 2) == "]":
                counts.append(int(tokens.text(at + 1)))
                at += 3
            size = math.prod(counts) * _BYTES.get(kind[1], 4)
            if size > LARGEST:
                yield Advice.at(
                    tokens.items[k],
                    f"each thread has its own {tokens.text(k)}, of {size >> 10} kB: calls may never end.",
                    "pass a tensor, as in `Tensor<float, 1> table`, or keep less at a time",
                )
