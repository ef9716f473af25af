"""Walks over the tokens of a Slang text and makes declarations of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from slangnb.compiler.reading.declared import Declaration, Parameter
from slangnb.compiler.reading.scan import Positions, Span, scan
from slangnb.compiler.reading.tokens import Tokens

_DECLARATION_MODIFIERS = frozenset(
    ("public", "private", "internal", "protected", "static", "const", "inline", "extern", "export")
) | frozenset(
    ("__exported", "uniform", "groupshared", "override", "precise", "volatile", "no_diff", "constexpr", "dyn")
)
_PARAMETER_MODIFIERS = frozenset(
    ("in", "out", "inout", "no_diff", "const", "uniform", "ref", "__ref", "constref", "__constref", "borrow")
) | frozenset(("nointerpolation", "precise", "row_major", "column_major"))
_TYPES = {"struct": "struct", "class": "struct", "interface": "interface", "enum": "enum"}
_IGNORED = frozenset(
    ("import", "__include", "module", "implementing", "using", "typedef", "typealias", "associatedtype")
) | frozenset(("property", "cbuffer", "tbuffer"))
_DEEPEST = 32


@dataclass(frozen=True, slots=True)
class _Item:
    """Token indices of one declaration; ``body`` is -1 without one."""

    first: int
    signature: int
    head_end: int
    body: int
    end: int
    attributes: tuple[str, ...]


class Reader:
    """Reads one text, scope by scope; an odd text gives odd declarations, never an error."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = Tokens(text)
        self.where = Positions(text)
        self.comments = [s for s in scan(text) if s.kind == "comment"]
        self.comment_ends = [s.end for s in self.comments]

    def scope(self, start: int, stop: int, prefix: str = "", depth: int = 0) -> Iterator[Declaration]:
        """Yield what the tokens from `start` to before `stop` declare."""
        index = start
        while index < stop:
            if self.tokens.text(index) in ",;)]}":
                index += 1
                continue
            signature, attributes = self._lead(index, stop)
            end, body = self._extent(signature, stop)
            head_end = body if body >= 0 else end - (self.tokens.text(end - 1) == ";")
            item = _Item(index, signature, head_end, body, end, attributes)
            if depth < _DEEPEST:
                yield from self._declare(item, prefix, depth)
            index = max(end, index + 1)

    def _lead(self, index: int, stop: int) -> tuple[int, tuple[str, ...]]:
        """Skip attributes in front, also those behind ``public``; give where the signature starts."""
        tokens = self.tokens
        attributes: list[str] = []
        signature = index
        while index < stop:
            text = tokens.text(index)
            if text == "[":
                inner, close = index + 1, min(tokens.partner[index], stop)
                while tokens.text(inner) == "[":
                    inner, close = inner + 1, close - 1
                attributes += (tokens.words(a, b) for a, b in tokens.split(inner, close))
                index = signature = tokens.skip(index, stop)
            elif text in _DECLARATION_MODIFIERS:
                index += 1
            else:
                break
        return signature, tuple(a for a in attributes if a)

    def _extent(self, index: int, stop: int) -> tuple[int, int]:
        """Give the index after a declaration and the index of its body's brace, or -1."""
        tokens = self.tokens
        assigned = False
        while index < stop:
            text = tokens.text(index)
            if text == ";":
                return index + 1, -1
            if text == "{" and not assigned:
                return tokens.skip(index, stop), index
            # The braces after `=` are an initialiser; the mark in `operator ==` assigns nothing.
            assigned = assigned or (text == "=" and "operator" not in (tokens.text(index - 1), tokens.text(index - 2)))
            index = tokens.skip(index, stop)
        return stop, -1

    def _declare(self, item: _Item, prefix: str, depth: int) -> Iterator[Declaration]:
        tokens = self.tokens
        index = item.signature
        while tokens.text(index) in _DECLARATION_MODIFIERS:
            index += 1
        if tokens.text(index) == "__generic":
            index = tokens.skip(index + 1, item.head_end) if index + 1 < item.head_end else item.head_end
        if index >= item.head_end:
            return
        word = tokens.text(index)
        if word in _IGNORED:
            return
        if word == "namespace":
            name = tokens.words(index + 1, item.head_end).replace(" ", "").replace(".", "::")
            yield from self.scope(item.body + 1, item.end - 1, f"{prefix}{name}::", depth + 1) if name else ()
        elif word in _TYPES or word == "extension":
            yield from self._type(item, index, _TYPES.get(word, word), prefix, depth)
        else:
            opening = self._parameter_list(index, item.head_end)
            if opening >= 0:
                yield from self._function(item, index, opening, prefix)
            elif tokens.items[index].is_name:
                yield from self._variables(item, index, prefix, "field" if depth and not prefix else "global")

    def _make(self, item: _Item, name: str, kind: str) -> Declaration:
        tokens = self.tokens
        signature = tokens.items[min(item.signature, len(tokens.items) - 1)]
        last = tokens.items[min(item.end, len(tokens.items)) - 1].end
        body = (tokens.items[item.body].start, last) if item.body >= 0 else (0, 0)
        return Declaration(
            name,
            kind,
            self.where.at(signature.start)[0],
            self._doc(tokens.items[item.first].start),
            tokens.words(item.signature, item.head_end),
            attributes=item.attributes,
            body=body,
            span=(tokens.items[item.first].start, last),
        )

    def _type(self, item: _Item, index: int, kind: str, prefix: str, depth: int) -> Iterator[Declaration]:
        tokens = self.tokens
        index += 2 if tokens.text(index + 1) in ("class", "struct") else 1
        if item.body < 0 or index >= item.head_end:
            return
        colon = tokens.find(":", index, item.head_end)
        where = tokens.find("where", index, item.head_end)
        ends = [e for e in (colon, where) if e >= 0]
        bases_end = where if where > colon else item.head_end
        bases = tuple(tokens.words(a, b) for a, b in tokens.split(colon + 1, bases_end)) if colon >= 0 else ()
        # An extension may be of `Foo<T>`; a struct's generic parameters are no part of its name either.
        name_end = min([index + 1, *ends])
        name = tokens.words(index, name_end)
        inside = item.body + 1, item.end - (tokens.text(item.end - 1) == "}")
        if kind == "enum":
            parts = [(a, b) for a, b in tokens.split(*inside) if tokens.items[a].is_name]
            children = tuple(self._case(a, b, name) for a, b in parts)
        else:
            children = tuple(self.scope(*inside, "", depth + 1))
        if name:
            yield replace(self._make(item, prefix + name, kind), bases=bases, children=children)

    def _case(self, start: int, stop: int, type_name: str) -> Declaration:
        case = _Item(start, start, stop, -1, stop, ())
        return replace(self._make(case, self.tokens.text(start), "field"), type=type_name)

    def _parameter_list(self, index: int, stop: int) -> int:
        """Give the index of the bracket that opens a function's parameters, or -1 for anything else."""
        tokens = self.tokens
        start = index
        while index < stop and tokens.text(index) != "=":
            if tokens.text(index) == "operator":
                # Its name is made of marks, perhaps of `()` themselves.
                index += 2
                while index < stop and tokens.text(index) != "(":
                    index += 1
                return index if index < stop else -1
            if tokens.text(index) == "(":
                before = tokens.text(index - 1)
                named = before == ">" or tokens.items[index - 1].is_name
                typed = index - start >= 2 or before.startswith("__")
                return index if named and typed and index > start else -1
            index = tokens.skip(index, stop)
        return -1

    def _function(self, item: _Item, index: int, opening: int, prefix: str) -> Iterator[Declaration]:
        tokens = self.tokens
        name_at = opening - 1
        if tokens.text(name_at) == ">":
            name_at = next((k for k in range(index, opening) if tokens.skip(k, opening) == opening), index) - 1
        result = tokens.words(index, name_at)
        name = tokens.text(name_at)
        operator = tokens.find("operator", index, opening)
        if operator >= 0:
            name, result = tokens.words(operator, opening).replace(" ", ""), tokens.words(index, operator)
        close = min(tokens.partner[opening], item.head_end)
        arrow = tokens.find("->", close, item.head_end)
        if arrow >= 0:
            where = tokens.find("where", arrow, item.head_end)
            result = tokens.words(arrow + 1, where if where >= 0 else item.head_end)
        parameters = tuple(p for a, b in tokens.split(opening + 1, close) if (p := self._parameter(a, b)) is not None)
        yield replace(self._make(item, prefix + name, "function"), parameters=parameters, type=result)

    def _parameter(self, start: int, stop: int) -> Parameter | None:
        tokens = self.tokens
        default = ""
        equals = tokens.find("=", start, stop)
        if equals >= 0:
            until = tokens.items[stop].start if stop < len(tokens.items) else len(self.text)
            default = " ".join(tokens.plain[tokens.items[equals].end : until].split())
            stop = equals
        modifiers: list[str] = []
        found: list[str] = []
        while start < stop and (tokens.text(start) == "[" or tokens.text(start) in _PARAMETER_MODIFIERS):
            after = tokens.skip(start, stop)
            if tokens.text(start) == "[":
                found += (tokens.words(a, b) for a, b in tokens.split(start + 1, after - 1))
            else:
                modifiers.append(tokens.text(start))
            start = after
        attributes = tuple(a for a in found if a)
        colon = tokens.find(":", start, stop)
        if colon == start + 1:  # `x : float`, the form that `func` takes
            return Parameter(tokens.text(start), tokens.words(colon + 1, stop), default, tuple(modifiers), attributes)
        if colon >= 0:  # a semantic, such as `: SV_DispatchThreadID`
            stop = colon
        name_at = self._name_at(start, stop)
        if name_at < 0:
            kind = tokens.words(start, stop)
            return Parameter("", kind, default, tuple(modifiers), attributes) if kind not in ("", "void") else None
        kind = tokens.words(start, name_at) + tokens.words(name_at + 1, stop)
        return Parameter(tokens.text(name_at), kind, default, tuple(modifiers), attributes)

    def _name_at(self, start: int, stop: int) -> int:
        """Give the index of the name in ``type name`` or ``type name[4]``; -1 when there is only a type."""
        tokens = self.tokens
        last = -1
        count = 0
        k = start
        while k < stop:
            if tokens.text(k) not in "[<":
                last, count = k, count + 1
            k = tokens.skip(k, stop)
        return last if count >= 2 and tokens.items[last].is_name and tokens.text(last - 1) not in (".", "::") else -1

    def _variables(self, item: _Item, index: int, prefix: str, kind: str) -> Iterator[Declaration]:
        tokens = self.tokens
        type_text = ""
        for number, (start, stop) in enumerate(tokens.split(index, item.head_end)):
            ends = [e for mark in "=:" if (e := tokens.find(mark, start, stop)) >= 0]
            head_end = min([stop, *ends])
            name_at = self._name_at(start, head_end) if number == 0 else start
            if name_at < 0 or not tokens.items[name_at].is_name:
                return
            if number == 0:
                type_text = tokens.words(start, name_at)
            suffix = tokens.words(name_at + 1, head_end)
            made = self._make(item, prefix + tokens.text(name_at), kind)
            yield replace(made, type="" if type_text in ("let", "var") else type_text + suffix)

    def _doc(self, start: int) -> str:
        """Give the comment block that ends on the line above `start`, cleaned."""
        end = start
        block: list[Span] = []
        for index in range(bisect_left(self.comment_ends, start + 1) - 1, -1, -1):
            comment = self.comments[index]
            between = self.text[comment.end : end]
            line = self.where.at(comment.start)[0]
            alone = not self.text[self.where.line_start(line) : comment.start].strip()
            if between.strip() or between.count("\n") > 1 or not alone:
                break
            block.append(comment)
            end = comment.start
        return _clean("\n".join(self.text[c.start : c.end] for c in reversed(block)))


def _clean(comment: str) -> str:
    """Strip the marks of a comment block and the blanks that all of its lines share."""
    lines: list[str] = []
    for line in comment.split("\n"):
        bare = line.strip()
        bare = re.sub(r"^(?:///?[!<]?|//!|/\*[*!]*)|\*+/$", "", bare)
        bare = re.sub(r"\*+/$", "", bare)
        if line.lstrip().startswith("*") and not line.lstrip().startswith("*/"):
            bare = re.sub(r"^\*", "", bare)
        lines.append(bare.rstrip())
    shared = min((len(t) - len(t.lstrip()) for t in lines if t.strip()), default=0)
    return "\n".join(t[shared:] for t in lines).strip("\n")
