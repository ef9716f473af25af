"""Local variables that are set once, where they are declared: what stands for them."""

from __future__ import annotations

import re

from slangnb.compiler.reading.tokens import Tokens

_TYPE = re.compile(r"(?:half|float|double|u?int)[234]?|let|var")
_NUMBER = re.compile(r"[\d.][\w.]*")


def initial(tokens: Tokens, where: range) -> dict[str, tuple[int, int]]:
    """Give the tokens of the initial value of each local number or vector that is not assigned to again.

    A name that is declared twice is left out.

    Examples
    --------
    >>> tokens = Tokens("{ float c = max(x, 0.0); float d = c; d *= 2.0; return d; }")
    >>> [(name, tokens.words(*place)) for name, place in initial(tokens, range(len(tokens.items))).items()]
    [('c', 'max(x, 0.0)')]
    """
    found: dict[str, tuple[int, int]] = {}
    again: set[str] = set()
    for k in where:
        if not _TYPE.fullmatch(tokens.text(k)) or tokens.text(k + 2) != "=" or tokens.text(k + 3) == "=":
            continue
        name, stop = tokens.text(k + 1), k + 3
        while stop < where.stop and tokens.text(stop) not in (";", ","):
            stop = tokens.partner.get(stop, stop) + 1
        again |= {name} & found.keys()
        found[name] = (k + 3, stop)
    again |= {tokens.text(k) for k in where if _is_changed(tokens, k, found)}
    return {name: place for name, place in found.items() if name not in again}


def _is_changed(tokens: Tokens, k: int, found: dict[str, tuple[int, int]]) -> bool:
    """Tell whether the name at `k`, or a part of it, is assigned to, other than where it is declared."""
    name = tokens.text(k)
    if name not in found or k + 2 == found[name][0]:
        return False
    after = k + 1
    while tokens.text(after) in (".", "["):
        after = tokens.partner.get(after, after + 1) + 1
    one, two = tokens.text(after), tokens.text(after + 1)
    steps = (one == two and one in ("+", "-")) or (tokens.text(k - 1) == tokens.text(k - 2) in ("+", "-"))
    return steps or (one == "=" and two != "=") or (one in ("+", "-", "*", "/") and two == "=")


def is_literal(tokens: Tokens, start: int, stop: int) -> bool:
    """Tell whether an initial value is made of numbers alone, as in ``float3(0, 0, 1)``."""
    parts = [tokens.text(k) for k in range(start, stop)]
    return all(_NUMBER.fullmatch(p) or _TYPE.fullmatch(p) or p in ("(", ")", ",", "-", "{", "}") for p in parts)
