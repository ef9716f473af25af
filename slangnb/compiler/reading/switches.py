"""Finds a `switch` in which one case runs on into the next."""

from __future__ import annotations

from slangnb.compiler.reading.tokens import Tokens

_JUMPS = frozenset(("break", "return", "continue", "discard", "throw"))
_HEADS = frozenset(("for", "while", "switch"))


def falls_through(body: str) -> str:
    """Give the label of the first case that has statements and runs on into the next one, or ``""``.

    Parameters
    ----------
    body : str
        Of a function.

    Examples
    --------
    >>> falls_through("{ switch (k) { case 0: case 1: r = x; break; case 2: r += x; default: r += 1; } }")
    'case 2'
    >>> falls_through("{ switch (k) { case 0: if (x > 0) return x; else break; default: r += 1; } }")
    ''
    """
    tokens = Tokens(body)
    for k in range(len(tokens.items)):
        if tokens.text(k) == "switch" and tokens.text(k + 1) == "(":
            opening = tokens.partner[k + 1] + 1
            if tokens.text(opening) == "{" and (label := _open_case(tokens, opening)):
                return label
    return ""


def _open_case(tokens: Tokens, opening: int) -> str:
    label, runs_on, ended = "", False, False
    k, stop = opening + 1, tokens.partner[opening]
    while k < stop:
        if tokens.text(k) in ("case", "default"):
            if runs_on:
                return label
            end = tokens.find(":", k, stop)
            if end < 0:
                return ""
            label, ended, k = tokens.words(k, end), False, end + 1
            continue
        k, ends = _statement(tokens, k, stop)
        ended = ended or ends
        runs_on = not ended
    return ""


def _statement(tokens: Tokens, k: int, stop: int) -> tuple[int, bool]:
    """Give the index behind a statement, and whether what stands behind it never runs."""
    while tokens.text(k) == "[" and k < stop:  # attributes
        k = tokens.skip(k, stop)
    word = tokens.text(k)
    if word == "{":
        inner, last, ends = k + 1, min(tokens.partner[k], stop), False
        while inner < last:
            inner, now = _statement(tokens, inner, last)
            ends = ends or now
        return last + 1, ends
    if word == "if" or word in _HEADS:
        k, ends = _statement(tokens, tokens.skip(k + 1, stop), stop) if k + 1 < stop else (stop, False)
        if word != "if" or tokens.text(k) != "else":
            return k, False
        k, otherwise = _statement(tokens, k + 1, stop)
        return k, ends and otherwise
    if word == "do":
        k, _ = _statement(tokens, k + 1, stop)  # and then `while (...);`
    end = tokens.find(";", k, stop)
    return (end if end >= 0 else stop) + 1, word in _JUMPS
