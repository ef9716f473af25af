"""Finds indices of tensors that mean other elements than they seem to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slangnb.compiler.advice.loops import functions, inside
from slangnb.compiler.advice.vocabulary import SLANGPY_TYPES
from slangnb.compiler.finding import Advice
from slangnb.compiler.reading.declared import Declaration
from slangnb.compiler.reading.tokens import Tokens

_TENSOR = re.compile(r"(\w*Tensor) ?<.+, ?([2-9]) ?>")
_WHOLE_TYPE = re.compile(r"u?int(?:8_t|16_t|32_t|64_t)?")
_WHOLE_NUMBER = re.compile(r"\d+[uU]?")
#: Words that stand before a name that is used, not declared.
_BEFORE_A_USE = frozenset(("return", "else", "case", "no_diff"))


def vector_index(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Yield the vectors that are built where a tensor is indexed, which count from its last axis.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> text = "float f(Tensor<float, 2> w, int i) { return w[int2(i, 0)]; }"
    >>> [found.remedy for found in vector_index(Tokens(text), declarations(text))]
    ['write `w[i, 0]` for row first']
    """
    for function in functions(declared):
        tensors = {p.name for p in function.parameters if "Tensor<" in p.type}
        for k in inside(tokens, function):
            if tokens.text(k) not in tensors or tokens.text(k + 1) != "[":
                continue
            vector, opening, close = tokens.text(k + 2), k + 3, tokens.partner[k + 1]
            if not re.fullmatch(r"u?int[234]", vector) or tokens.text(opening) != "(":
                continue
            if tokens.partner[opening] != close - 1 or close >= len(tokens.items):
                continue
            name = tokens.text(k)
            index = tokens.words(opening + 1, close - 1)
            yield Advice(
                tokens.items[k + 2].start,
                tokens.items[close - 1].end - tokens.items[k + 2].start,
                f"a vector index counts from the last axis: its x is the last axis of `{name}`.",
                f"write `{name}[{index}]` for row first",
            )


def lone_index(tokens: Tokens, declared: Sequence[Declaration]) -> Iterator[Advice]:
    """Yield the tensors of several dimensions with one whole number as their index, which counts for all of them.

    A vector as the index is right where ``spy.grid`` gives it. So only what is surely one number is yielded.

    Examples
    --------
    >>> from slangnb.compiler.reading.declarations import declarations
    >>> text = "float f(Tensor<float, 2> w, int i) { return w[i] + w[i, 0]; }"
    >>> [(found.message, found.remedy) for found in lone_index(Tokens(text), declarations(text))]
    [('`w` has 2 dimensions: `w[i]` is `w[i, i]`.', 'write an index for each of them, such as `w[i, 0]`')]
    """
    globals_ = {d.name: n for d in declared if d.kind == "global" and (n := tensor_rank(d.type, declared))}
    for function in functions(declared):
        where = inside(tokens, function)
        own = {p.name: tensor_rank(p.type, declared) for p in function.parameters}
        local = _locals(tokens, where)
        ranks = {name: n for name, n in {**globals_, **own}.items() if n and name not in local}
        whole = {p.name for p in function.parameters if _WHOLE_TYPE.fullmatch(p.type) and p.name not in local}
        whole |= {name for name, kinds in local.items() if name not in own and all(map(_WHOLE_TYPE.fullmatch, kinds))}
        for k in where if ranks else ():
            name, before = tokens.text(k), tokens.text(k - 1)
            if name not in ranks or tokens.text(k + 1) != "[" or before in (".", "::", "->"):
                continue
            close = tokens.partner[k + 1]
            if close >= where.stop or not _is_whole(tokens, k + 2, close, whole):
                continue
            index, count = tokens.words(k + 2, close), ranks[name]
            seems, is_ = f"{name}[{index}]", f"{name}[{', '.join([index] * count)}]"
            better = f"{name}[{', '.join([index, *['0'] * (count - 1)])}]"
            remedy = f"write an index for each of them, such as `{better}`"
            yield Advice.at(tokens.items[k], f"`{name}` has {count} dimensions: `{seems}` is `{is_}`.", remedy)


def tensor_rank(kind: str, declared: Sequence[Declaration]) -> int:
    """Give the number of dimensions of one of SlangPy's tensors with two or more, by its type; else 0.

    Examples
    --------
    >>> tensor_rank("IDiffTensor<float3, 2>", ()), tensor_rank("Tensor<float, 1>", ()), tensor_rank("float", ())
    (2, 0, 0)
    """
    found = _TENSOR.fullmatch(kind)
    if found is None or found[1] not in SLANGPY_TYPES or any(d.name == found[1] for d in declared):
        return 0
    return int(found[2])


def _locals(tokens: Tokens, where: range) -> dict[str, set[str]]:
    """Give the names that a body may declare, each with the words that stand before it as its type."""
    found: dict[str, set[str]] = {}
    for k in where:
        before, after = tokens.text(k - 1), tokens.text(k + 1)
        if not tokens.items[k].is_name or before in _BEFORE_A_USE:
            continue
        if tokens.items[k - 1].is_name or (before in (">", "]") and after in ("=", ";")):
            found.setdefault(tokens.text(k), set()).add("array" if after == "[" else before)
    return found


def _is_whole(tokens: Tokens, start: int, stop: int, whole: set[str]) -> bool:
    """Tell whether an expression is surely one whole number: of literals and names of whole numbers alone."""
    parts = [tokens.text(k) for k in range(start, stop)]
    return bool(parts) and all(p in whole or _WHOLE_NUMBER.fullmatch(p) or p in "+-*/%()" for p in parts)
