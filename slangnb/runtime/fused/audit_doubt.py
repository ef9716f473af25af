"""Tells by its text whether a function that the audit cannot judge is likely one that Slang gets wrong. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from slangnb.compiler.advice.loops import differentiable, loops, most_rounds, rounds
from slangnb.compiler.advice.nests import may_mix_up
from slangnb.compiler.advice.powers import whole
from slangnb.compiler.reading.calls import Reached, reached
from slangnb.compiler.reading.scan import masked
from slangnb.compiler.reading.tokens import Tokens
from slangnb.runtime.fused.audit_suspect import PART, is_chosen, reads

_SCALAR = re.compile(r"float|half|double")
_VECTOR = r"(?:float|half|double)[234](?:x[234])?|(?:vector|matrix)\s*<[^<>;]*>"
_ALIAS = re.compile(rf"\b(?:typealias|using)\s+(\w+)\s*=\s*(?:{_VECTOR})|\btypedef\s+(?:{_VECTOR})\s*(\w+)")
_SPACE = re.compile(r"\s*([-+*/()])\s*")
_COMPARED = re.compile(r"\s*([=<>+]+)\s*")
_BRANCH = re.compile(r"\b(?:if|for|while|switch)\b|\?")
_LOCAL = r"\b(?:{types}|let|var)\s+(\w+)\s*=\s*(?:{names})\s*;"
_BRACED = re.compile(r"(?<![\w>])\((\w+)\)")
_POW = re.compile(r"\bpow\s*\([^;,]*,\s*([^;,()]*)\)")


def is_doubtful(name: str, texts: Iterable[str]) -> bool:
    """Tell whether a function, or one that it calls, has what Slang 2026.12 gets wrong, as `audit` lists it.

    Examples
    --------
    >>> text = "[Differentiable] float3 f(float p, float3 x) { return %s; }"
    >>> [is_doubtful("f", [text % e]) for e in ("p * x", "x + p", "x * p", "2 * p * x")]
    [True, True, False, False]
    >>> [is_doubtful("f", [text % f"0; {e}"]) for e in ("float t = p; x = t * x", "(p) * x", "x += p", "x += x * p")]
    [True, True, True, False]
    >>> [is_doubtful("f", [text % f"0; {e}"]) for e in ("if (p > 0) x.y = p", "x.y = p", "if (x.y == p) x = x * p")]
    [True, False, False]
    >>> loop = "[Differentiable] float f(float p, int n) { [MaxIters(4)] for (int i = 0; i < %s; i++) p *= p; }"
    >>> is_doubtful("f", [loop % "n"]), is_doubtful("f", [loop % 4])
    (True, False)
    >>> is_doubtful("f", [(loop % 4).replace(" = ", "=").replace(" < ", "<")])
    False
    """
    texts = list(texts)
    run = [one for one in reached(name, texts) if differentiable(one.declaration)]
    vector = "|".join([_VECTOR, *(a or b for text in texts for a, b in _ALIAS.findall(masked(text)))])
    return any(_in(one, vector) for one in run)


def _in(one: Reached, vector: str) -> bool:
    if any(whole(exponent) for exponent in _POW.findall(one.body)):
        return True
    if PART.search(one.body) and _BRANCH.search(one.body):
        return True
    return may_mix_up(one.body) or _may_be_equal(one.text) or _may_be_too_long(one.body) or _loses(one, vector)


def _may_be_too_long(body: str) -> bool:
    """Tell whether a loop with ``[MaxIters(n)]`` runs as often as something else than numbers says."""
    tokens = Tokens(_COMPARED.sub(r" \1 ", body))
    found = loops(tokens, range(len(tokens.items)))
    return any(most_rounds(tokens, loop) is not None and rounds(tokens, loop) is None for loop in found)


def _may_be_equal(text: str) -> bool:
    """Tell whether two indices into the same may be equal, of which one is chosen at run time."""
    found = dict.fromkeys(reads(text))
    names = [name for name, _ in found]
    return any(names.count(name) > 1 and is_chosen(index) for name, index in found)


def _loses(one: Reached, vector: str) -> bool:
    """Tell whether a scalar argument, or a copy of one, meets a vector on its right, or is added to one."""
    scalars, vectors = [], re.findall(rf"\b(?:{vector})\s+(\w+)", one.body)
    for p in one.declaration.parameters:
        if _SCALAR.fullmatch(p.type):
            scalars.append(p.name)
        elif re.fullmatch(vector, p.type):
            vectors.append(p.name)
    scalars, vectors = _with_copies(scalars, _SCALAR.pattern, one.body), _with_copies(vectors, vector, one.body)
    s, v = rf"(?:{'|'.join(scalars)})\b", rf"(?:{'|'.join(vectors)})\b"
    found = re.search(
        rf"(?<![\w.*/]){s}[-+*/]{v}(?![.\[(])|(?<![\w.*/]){v}[-+](?:=\s*)?{s}(?![*/.\[(])",
        _SPACE.sub(r"\1", _BRACED.sub(r"\1", one.body)),
    )
    return bool(scalars and vectors and found)


def _with_copies(names: list[str], types: str, body: str) -> list[str]:
    """Give names with those of variables that begin as one of them.

    Examples
    --------
    >>> _with_copies(["p"], "float", "float t = p; let s = t; float r = p * 2;")
    ['p', 't', 's']
    """
    found = list(names)
    while names:
        begun = re.findall(_LOCAL.format(types=types, names="|".join(names)), body)
        names = [name for name in begun if name not in found]
        found += names
    return found
