"""Scalars that leave a loop and meet a vector: Slang 2026.12 takes what was never set for them in the backward pass.

Measured: a float that a loop assigned to and that is the factor or divisor of a vector after the loop, as it is, makes
the gradient NaN, or 0. It is right once it was assigned to again, in a vector of its own as in ``float3(t) * v``, and
where it comes out of a function. Types are told from the text alone: what is not sure is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from slangnb.compiler.advice.initial import initial, is_literal
from slangnb.compiler.advice.loops import Loop, differentiable, functions, inside, is_unrolled, loops
from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.tokens import Token, Tokens

SCALAR = re.compile(r"float|half|double")
_VECTOR = re.compile(r"(?:float|half|double)[234](?:x[234])?")
_ELEMENT = re.compile(r"Tensor ?< ?((?:float|half|double)[234])\b")
_SWIZZLE = re.compile(r"[xyzwrgba]{2,4}")
#: After these, a minus is a sign.
_BEFORE_SIGN = frozenset(("=", "(", "[", ",", "*", "/", "+", "-", "return", ";", "{", "?", ":"))
_FACTORS = frozenset("*/")
_TERMS = frozenset("*/+-")
#: What gives a vector of the kind of its first argument.
_ALIKE = frozenset(("normalize", "cross", "reflect", "refract", "abs", "exp", "sin", "cos", "sqrt"))


def splats(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Yield what to warn of in the differentiable functions, each variable once.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> loop = "[Differentiable] float3 f(float3 v) { float t = 1; for (int i = 0; i < 3; i++) t *= 0.5; return %s; }"
    >>> [[s.remedy for s in splats(Tokens(loop % e), declarations(loop % e))] for e in ("v * t", "float3(t) * v")]
    [['write `float3(t)` for `t`'], []]
    """
    results = {f.name: f.type for f in functions(declared)}
    for function in filter(differentiable, functions(declared)):
        yield from _Body(tokens, function, results).found()


def meetings(
    tokens: Tokens, function: Declaration, results: Mapping[str, str], names: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Yield the tokens where a bare scalar among `names` meets a vector or matrix, and the type of that.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> text = "float3 f(float p, float q, float3 x) { return x * p * (2 * q) + q; }"
    >>> [(Tokens(text).text(k), kind) for k, kind in meetings(Tokens(text), *declarations(text), {}, "pq")]
    [('p', 'float3'), ('q', 'float3')]
    """
    body = _Body(tokens, function, results)
    for k in body.where:
        if tokens.text(k) in names and tokens.text(k - 1) != "." and (kind := body.met(k, _TERMS)):
            yield k, kind


class _Body:
    def __init__(self, tokens: Tokens, function: Declaration, results: Mapping[str, str]) -> None:
        self.tokens, self.where, self.results = tokens, inside(tokens, function), results
        self.opening = {close: opening for opening, close in tokens.partner.items()}
        #: Vectors, what gives one when it is indexed, and scalars, with their types.
        self.vectors: dict[str, str] = {}
        self.elements: dict[str, str] = {}
        self.scalars: dict[str, int] = {}
        known = initial(tokens, self.where)
        fixed = {name for name, place in known.items() if is_literal(tokens, *place)}  # they have no derivative to lose
        for p in function.parameters:
            if element := _ELEMENT.search(p.type):
                self.elements[p.name] = element[1]
            elif _VECTOR.fullmatch(p.type):
                self.vectors[p.name] = p.type
            elif _VECTOR.match(p.type) and "[" in p.type:
                self.elements[p.name] = p.type.split("[")[0].strip()
        for k in self.where:
            kind, name, after = (tokens.text(k + d) for d in range(3))
            if not tokens.items[k].is_name or after not in ("=", ";", "[", ","):
                continue
            if SCALAR.fullmatch(kind):
                self.scalars[name] = k
            elif _VECTOR.fullmatch(kind) and name not in fixed:
                (self.elements if after == "[" else self.vectors)[name] = kind

    def found(self) -> Iterator[Advice]:
        said: set[str] = set()
        for loop in loops(self.tokens, self.where):
            if is_unrolled(self.tokens, loop):
                continue
            for name in self._assigned(loop):
                use = None if name in said else self._use(name, loop.body[1])
                if use is not None:
                    said.add(name)
                    yield _splat(name, self.tokens.items[use[0]], use[1])

    def _assigned(self, loop: Loop) -> list[str]:
        """List the scalars from outside of a loop that it assigns to."""
        start, stop = loop.body
        names = [self.tokens.text(k) for k in range(start, min(stop, self.where.stop)) if self._is_assigned(k)]
        return [name for name in dict.fromkeys(names) if self.scalars.get(name, stop) < start]

    def _is_assigned(self, k: int) -> bool:
        before, *after = (self.tokens.text(k + d) for d in (-1, 1, 2))
        if before == "." or not self.tokens.items[k].is_name:
            return False
        return (after[0] == "=" and after[1] != "=") or (
            after[0] in ("+", "-", "*", "/") and after[1] in ("=", after[0])
        )

    def _use(self, name: str, start: int) -> tuple[int, str] | None:
        """Find where a scalar, as the loop left it, meets a vector: the token, and the vector's type."""
        for k in range(start, self.where.stop):
            if self.tokens.text(k) != name or self.tokens.text(k - 1) == ".":
                continue
            if self._is_assigned(k):
                return None  # another value now, or in a branch; that is right
            kind = self.met(k, _FACTORS)
            if kind:
                return k, kind
        return None

    def met(self, k: int, marks: frozenset[str]) -> str:
        """Give the type of the vector that the bare scalar at `k` meets at one of `marks`, or ""."""
        text = self.tokens.text
        before, after = text(k - 1), text(k + 1)
        if before == "-" and (text(k - 2) in _BEFORE_SIGN or k - 2 not in self.where):
            return ""
        if before in _FACTORS or (before in marks and after not in _FACTORS):
            return self._before(k - 2)
        if before == "=" and text(k - 2) in marks and after == ";":
            return self._before(k - 3)
        return self._after(k + 2) if after in marks else ""

    def _before(self, last: int) -> str:
        """Give the type of the first vector among the factors that end at token `last`."""
        while last in self.where:
            first = self._first(last)
            kind = self._kind(first, last + 1)
            if kind or self.tokens.text(first - 1) not in ("*", "/"):
                return kind
            last = first - 2
        return ""

    def _first(self, last: int) -> int:
        """Give the first token of the operand that ends at token `last`."""
        k = last
        while k in self.where:
            if self.tokens.text(k) in (")", "]"):
                k = self.opening.get(k, k)
                if not self.tokens.items[k - 1].is_name and self.tokens.text(k - 1) != "]":
                    return k
                k -= 1
            elif self.tokens.text(k - 1) == ".":
                k -= 2
            else:
                return k
        return last

    def _after(self, first: int) -> str:
        """Give the type of the vector that starts at token `first`, or ""."""
        tokens = self.tokens
        last = first
        if tokens.text(first) != "(":
            while tokens.text(last + 1) in ("(", "[", "."):
                last = last + 2 if tokens.text(last + 1) == "." else min(tokens.partner[last + 1], self.where.stop)
        else:
            last = min(tokens.partner[first], self.where.stop)
        return self._kind(first, last + 1)

    def _kind(self, first: int, stop: int) -> str:
        """Give the type of an operand if it is a vector or matrix, else ""."""
        text = self.tokens.text
        name, after, last = text(first), text(first + 1), text(stop - 1)
        if name == "(" and self.tokens.partner[first] == stop - 1:
            return next((kind for k in range(first + 1, stop - 1) if (kind := self._bare(k))), "")
        if stop == first + 1:
            return self.vectors.get(name, "")
        if after == "." and stop == first + 3 and name in self.vectors:
            return f"{self.vectors[name][:-1]}{len(last)}" if _SWIZZLE.fullmatch(last) else ""
        if self.tokens.partner.get(first + 1) != stop - 1:
            return ""
        if after == "[":
            return self.elements.get(name, "")
        inner = range(first + 2, stop - 1)
        if _VECTOR.fullmatch(name):  # of numbers alone, it has no gradient
            return name if any(self.tokens.items[k].is_name for k in inner) else ""
        if name in _ALIKE:
            return self._kind(inner.start, inner.stop)
        result = self.results.get(name, "")
        return result if _VECTOR.fullmatch(result) else ""

    def _bare(self, k: int) -> str:
        """Give the type of a vector by its name, if the token is one that is neither indexed nor cut."""
        return self.vectors.get(self.tokens.text(k), "") if self.tokens.text(k + 1) in ("+", "-", "*", "/", ")") else ""


def _splat(name: str, token: Token, kind: str) -> Advice:
    message = (
        f"`{name}` comes from a loop and meets a vector: Slang 2026.12 loses it in the backward pass, and the gradient "
        "may be NaN or 0."
    )
    way = f"compute `{name}` in a [Differentiable] function of its own" if "x" in kind else ""
    return Advice.at(token, message, way or f"write `{kind}({name})` for `{name}`")
