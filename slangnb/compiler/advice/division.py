"""Finds divisions of whole numbers in computations with real ones: ``1/2 * x`` is 0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from slangnb.compiler.advice.loops import functions, inside
from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.scan import masked
from slangnb.compiler.reading.tokens import Tokens

_WHOLE = re.compile(r"(\d{1,9})[uU]?")
_REAL_NUMBER = re.compile(r"\d+\.\d*(?:[eE]\d+)?[fFhH]?|\d+[fFhH]")
_EXPONENT = re.compile(r"\d[\d.]*[eE]")
_REAL_TYPE = r"(?:float|half|double)(?:[1-4](?:x[1-4])?)?"
_REAL_NAME = re.compile(rf"\b{_REAL_TYPE}\s+([A-Za-z_]\w*)")
_OTHER_NAME = re.compile(r"\b(?:u?int(?:[1-4]|\d\d?_t)?|bool)\s+([A-Za-z_]\w*)")
#: Functions that take and give real numbers only.
_REAL_CALL = re.compile(
    rf"{_REAL_TYPE}|a?(?:sin|cos|tan)h?|atan2|pow|powr|exp|exp2|exp10|log|log2|log10|r?sqrt|lerp|smoothstep|step"
    r"|length|distance|normalize|floor|ceil|round|frac|fmod|saturate"
)
#: Functions whose result is of the kind that they are given.
_SAME_KIND = frozenset(("abs", "clamp", "dot", "max", "min", "mul", "sign"))
_ENDS = frozenset(",;{}")
#: What stands on their sides may be of different kinds.
_LOGIC = frozenset("?:&|")
_COMPARISONS = frozenset("=<>!")
#: Operators of whole numbers, and those that no number flows through.
_NOT_REAL = frozenset("%&|^~!<>")

#: Limits for texts that no person writes: divisions looked at, brackets around one, tokens to each side.
_MOST = 50
_DEEPEST = 16
_FAR = 200


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of variables that are real numbers, and of those that are not or may not be."""

    real: frozenset[str]
    other: frozenset[str]


def whole_divisions(tokens: Tokens, declared: Iterable[Declaration]) -> Iterator[Advice]:
    """Yield the divisions of two literals that lose their remainder where real numbers are computed.

    Only what is sure is yielded: what meets a real variable, a real literal or a function of real numbers, or is what
    such a function returns.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> text = "float f(float x) { int n = 7/2; return 1/2 * x; }"
    >>> [(found.message, found.remedy) for found in whole_divisions(Tokens(text), declarations(text))]
    [('`1/2` is 0: both are whole numbers.', 'write `1.0/2.0`')]
    """
    found = [k for k, token in enumerate(tokens.items) if token.text == "/" and _loses(tokens, k)]
    if not found:
        return
    code = masked(tokens.plain)
    other = frozenset(m.group(1) for m in _OTHER_NAME.finditer(code))
    names = _Names(frozenset(m.group(1) for m in _REAL_NAME.finditer(code)) - other, other)
    bodies = [inside(tokens, f) for f in functions(declared) if re.fullmatch(_REAL_TYPE, f.type)]
    opened = _enclosing(tokens)
    for k in found[:_MOST]:
        if _is_real(tokens, k, names, opened, any(k in body for body in bodies)):
            a, b = (int(tokens.text(j).rstrip("uU")) for j in (k - 1, k + 1))
            start, end = tokens.items[k - 1].start, tokens.items[k + 1].end
            message = f"`{tokens.plain[start:end]}` is {a // b}: both are whole numbers."
            yield Advice(start, end - start, message, f"write `{a}.0/{b}.0`")


def _loses(tokens: Tokens, k: int) -> bool:
    """Say whether the `/` at `k` stands between two literals and leaves a remainder."""
    a, b = (_WHOLE.fullmatch(tokens.text(j)) for j in (k - 1, k + 1))
    divisor = int(b.group(1)) if b else 0
    return a is not None and divisor > 0 and int(a.group(1)) % divisor > 0 and _starts(tokens, k - 1)


def _enclosing(tokens: Tokens) -> list[int]:
    """Give for each token the index of the bracket around it, or -1."""
    found: list[int] = []
    stack: list[int] = []
    for k in range(len(tokens.items)):
        while stack and tokens.partner[stack[-1]] <= k:
            stack.pop()
        found.append(stack[-1] if stack else -1)
        if k in tokens.partner:
            stack.append(k)
    return found


def _starts(tokens: Tokens, k: int) -> bool:
    """Say whether the number at `k` is itself divided: not ``x * 1/2``, ``(float)1/2``, ``.5/2`` or ``1e-3/2``."""
    before = tokens.text(k - 1)
    if before in ("+", "-"):
        return tokens.text(k - 2) not in ("*", "/", "%", ")") and not _EXPONENT.fullmatch(tokens.text(k - 2))
    return before not in ("*", "/", "%", ")", "]", ".")


def _is_real(tokens: Tokens, k: int, names: _Names, opened: list[int], returns: bool) -> bool:
    """Say whether what is divided at token `k` is surely meant as a real number, looking outward from it."""
    for _ in range(_DEEPEST):
        around = opened[k]
        whole = _part(tokens, k, opened, _ENDS)
        value = _after_assignment(tokens, whole.start, k)
        if any(tokens.text(j) in names.other for j in range(whole.start, value)):
            return False
        for ends in (_ENDS | _LOGIC | _COMPARISONS, _ENDS | _LOGIC, _ENDS):
            part = _part(tokens, k, opened, ends)
            start = part.start if ends == _ENDS else max(value, part.start)
            if kind := _kind(tokens, range(start, part.stop), names):
                return kind == "real"
        if tokens.text(whole.start) == "return":
            return returns
        if around < 0:
            return False
        before = tokens.text(around - 1)
        if tokens.text(around) == "(" and _REAL_CALL.fullmatch(before):
            return True
        grouped = tokens.text(around) == "(" and (before in _SAME_KIND or not re.match(r"[\w\])>]", before))
        listed = tokens.text(around) == "{" and before == "="
        if not (grouped or listed or before == "return"):
            return False
        k = around
    return False


def _after_assignment(tokens: Tokens, start: int, stop: int) -> int:
    """Give the index after a `=` that assigns; `start` itself without one."""
    for k in range(start, stop):
        if tokens.text(k) == "=" and not {tokens.text(k - 1), tokens.text(k + 1)} & _COMPARISONS:
            return k + 1
    return start


def _part(tokens: Tokens, k: int, opened: list[int], ends: frozenset[str]) -> range:
    """Give the tokens around `k`, up to one of `ends` or the bracket around them, or as far as one looks."""
    around = opened[k]
    first, stop = k, k + 1
    while first - 1 > max(around, k - _FAR) and not (opened[first - 1] == around and tokens.text(first - 1) in ends):
        first -= 1
    last = min(tokens.partner[around] if around >= 0 else len(tokens.items), k + _FAR)
    while stop < last and not (opened[stop] == around and tokens.text(stop) in ends):
        stop += 1
    return range(first, stop)


def _kind(tokens: Tokens, where: range, names: _Names) -> str:
    """Give what an expression is as a whole: "real", "other", or "" where only literals and brackets say nothing."""
    other = False
    k = where.start
    while k < where.stop:
        text, after = tokens.text(k), tokens.text(k + 1)
        if text == "[":
            k = tokens.skip(k, where.stop)
            continue
        if (
            _REAL_NUMBER.fullmatch(text)
            or (text in names.real and after != "(")
            or (_REAL_CALL.fullmatch(text) and after == "(")
        ):
            return "real"
        if text == "case":
            return "other"
        if text == "." or text in _SAME_KIND or text == "return":
            k += text == "."
        elif tokens.items[k].is_name:
            other = True
            if after == "(":
                k = tokens.skip(k + 1, where.stop)
                continue
        elif text in _NOT_REAL:
            other = True
        k += 1
    return "other" if other else ""
