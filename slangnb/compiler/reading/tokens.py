"""Tokens of Slang code with their brackets matched; never fails, whatever the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slangnb.compiler.reading.scan import masked, scan

_TOKEN = re.compile(r"[^\W\d]\w*+|\d[\w.]*+|::|->|[^\s\w]")
_OPENING = {")": "(", "]": "[", "}": "{"}
_NOT_IN_GENERICS = frozenset(";{}()")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a mark, and its offsets in the text."""

    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether it could be an identifier."""
        return self.text[0] == "_" or self.text[0].isalpha()


class Tokens:
    """All tokens of a text; comments, strings and preprocessor lines are not among them.

    Attributes
    ----------
    items : list of Token
        The tokens in order.
    partner : dict of int to int
        Index of an opening bracket to that of its closing one, or the number of tokens when it is open.
    plain : str
        The text with blank comments; offsets stay the same.

    Examples
    --------
    >>> tokens = Tokens("f(a[1]); // x")
    >>> [t.text for t in tokens.items], tokens.partner
    (['f', '(', 'a', '[', '1', ']', ')', ';'], {3: 5, 1: 6})
    """

    __slots__ = ("_generics", "items", "partner", "plain")

    def __init__(self, text: str) -> None:
        self.items = [Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(masked(text))]
        self.plain = "".join(
            re.sub(r"[^\n]", " ", text[s.start : s.end]) if s.kind == "comment" else text[s.start : s.end]
            for s in scan(text)
        )
        self.partner = self._match()
        self._generics = self._match_generics()

    def _match(self) -> dict[int, int]:
        partner: dict[int, int] = {}
        stack: list[int] = []
        open_count = dict.fromkeys("([{", 0)
        for index, token in enumerate(self.items):
            if token.text in open_count:
                stack.append(index)
                open_count[token.text] += 1
            elif (opening := _OPENING.get(token.text)) and open_count[opening]:
                # What was left open inside ends here too.
                while True:
                    inner = stack.pop()
                    partner[inner] = index
                    open_count[self.items[inner].text] -= 1
                    if self.items[inner].text == opening:
                        break
        partner.update(dict.fromkeys(stack, len(self.items)))
        return partner

    def text(self, index: int) -> str:
        """Give the text of token `index`, "" beyond the ends."""
        return self.items[index].text if 0 <= index < len(self.items) else ""

    def _match_generics(self) -> dict[int, int]:
        """Pair each ``<`` with its ``>`` where nothing between them says that they are comparisons."""
        pairs: dict[int, int] = {}
        stack: list[int] = []
        for index, token in enumerate(self.items):
            if token.text == "<":
                stack.append(index)
            elif token.text == ">" and stack:
                pairs[stack.pop()] = index
            elif token.text in _NOT_IN_GENERICS:
                stack.clear()
        return pairs

    def after_generics(self, index: int, stop: int) -> int:
        """Give the index after the ``<...>`` that starts at `index`; `index` itself if it is a comparison."""
        end = self._generics.get(index, stop)
        return end + 1 if end < stop else index

    def skip(self, index: int, stop: int) -> int:
        """Give the index after token `index`, or after the whole group that it opens."""
        if self.items[index].text in "([{":
            return min(self.partner[index] + 1, stop)
        if self.items[index].text == "<":
            return max(self.after_generics(index, stop), index + 1)
        return index + 1

    def split(self, start: int, stop: int, mark: str = ",") -> list[tuple[int, int]]:
        """Cut a range of tokens at `mark`, not inside brackets or generics."""
        parts: list[tuple[int, int]] = []
        first = k = start
        while k < stop:
            if self.items[k].text == mark:
                parts.append((first, k))
                first = k + 1
            k = self.skip(k, stop)
        if first < stop:
            parts.append((first, stop))
        return parts

    def find(self, mark: str, start: int, stop: int) -> int:
        """Give the index of the first `mark` outside brackets and generics, or -1."""
        k = start
        while k < stop:
            if self.items[k].text == mark:
                return k
            k = self.skip(k, stop)
        return -1

    def words(self, start: int, stop: int) -> str:
        """Give the text from token `start` up to before token `stop` on one line, without comments."""
        if start >= stop:
            return ""
        return " ".join(self.plain[self.items[start].start : self.items[stop - 1].end].split())
