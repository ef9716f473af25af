"""Finds, before compiling, the mistakes that the compiler reports at the wrong place or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangnb.compiler.finding import finding
from slangnb.compiler.reading.scan import Positions, Span, masked, scan
from slangnb.errors import Diagnostic

if TYPE_CHECKING:
    from slangnb.compiler.source import Source

#: Characters that word processors and web pages put in the place of code, and the character that was meant.
LOOKALIKES = {
    **dict.fromkeys("“”„‟«»", '"'),
    **dict.fromkeys("‘’‚‛", "'"),
    **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    "×": "*",
    "÷": "/",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "；": ";",
    "\u037e": ";",
    "，": ",",
    "（": "(",
    "）": ")",
}
_NAMES = {'"': "a typographic quote", "'": "a typographic quote", "-": "a dash"}
_LOOKALIKE = re.compile("[" + re.escape("".join(LOOKALIKES)) + "]")
_DIRECTIVES = re.compile(
    r"define|undef|if|ifdef|ifndef|elif|elifdef|elifndef|else|endif"
    r"|include|line|error|warning|pragma|version|extension|lang"
)
_MAGIC = re.compile(r"^[ \t]*(%%\w+|%[A-Za-z_]\w*|![A-Za-z./])", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)", re.MULTILINE)
_CONDITION = re.compile(r"#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(.*)")
_PROSE = re.compile(r"#[ \t]*(error|warning|pragma)\b")
_PARTNERS = {")": "(", "]": "[", "}": "{"}
_BRACKET = re.compile(r"[()\[\]{}]")
#: Python's division without a rest: an operand before ``//``, and behind it an expression and what ends it.
_FLOOR_DIVISION = re.compile(r"[\w)\]][ \t]*(//)[ \t]*[\w.(][\w.]*(?:[ \t]*[-+*/()][ \t]*[\w.]*)*[ \t]*[;,\]})]")
COMMENT = "`//` begins a comment: what follows it is not compiled."
DIVIDE = "write `/`, which divides ints without a rest; for floats `floor(x / y)`"


@dataclass(frozen=True, slots=True)
class _Text:
    """The text with what several checks need of it."""

    source: Source
    spans: tuple[Span, ...]
    code: str
    where: Positions
    dead: tuple[tuple[int, int], ...]

    def error(self, offset: int, message: str, remedy: str, length: int = 1) -> Diagnostic:
        return finding(self.source, self.where, offset, length, message, remedy)

    def alive(self, offset: int) -> bool:
        return not any(start <= offset < end for start, end in self.dead)


def check(source: Source) -> list[Diagnostic]:
    """Find what the compiler would report badly: pasted characters, things left open, notebook leftovers.

    Parameters
    ----------
    source : Source
        A normalised source.

    Returns
    -------
    list of Diagnostic
        Errors in the order of their places. Empty for most sources.

    Examples
    --------
    >>> from slangnb.compiler.source import Source
    >>> print(check(Source("float f(float x) { return x – 1; }", "In[3]", 2))[0].render())
    error: '–' (U+2013) is a dash, which is not Slang.
      --> In[3], line 2
      2 | float f(float x) { return x – 1; }
        |                             ^
      remedy: write `-`
    """
    text = source.text
    spans = tuple(scan(text))
    where = Positions(text)
    looked = _Text(source, spans, masked(text), where, tuple(_dead(text, spans, where)))
    checks: tuple[Callable[[_Text], Iterator[Diagnostic]], ...] = (
        _zero_bytes,
        _lookalikes,
        _left_open,
        _notebook,
        _hashes,
    )
    found = [d for one in checks for d in one(looked)]
    # Brackets are only counted in a text without other faults, since those faults unbalance them.
    return sorted(found or _brackets(looked), key=lambda d: (d.line, d.column))


def _dead(text: str, spans: tuple[Span, ...], where: Positions) -> Iterator[tuple[int, int]]:
    """Give the offsets of what ``#if 0`` switches off, up to its ``#else``, ``#elif`` or ``#endif``."""
    depth = 0
    opened = -1
    for span in spans:
        match = _CONDITION.match(text, span.start, span.end) if span.kind == "directive" else None
        if not match:
            continue
        word = match.group(1)
        if opened >= 0:
            depth += (word in ("if", "ifdef", "ifndef")) - (word == "endif")
            if depth < 0 or (depth == 0 and word in ("else", "elif")):
                yield opened, span.start
                opened, depth = -1, 0
        elif word == "if" and match.group(2).strip() in ("0", "false"):
            opened = span.end
    if opened >= 0:
        yield opened, len(text)


def _zero_bytes(text: _Text) -> Iterator[Diagnostic]:
    offset = text.source.text.find("\0")
    if offset >= 0:
        yield text.error(offset, "a NUL character ends the text for the compiler here.", "delete the character")


def _lookalikes(text: _Text) -> Iterator[Diagnostic]:
    # Strings are printed as they are; only code and directives are read by the compiler.
    for span in text.spans:
        if span.kind not in ("code", "directive") or _PROSE.match(text.source.text, span.start, span.end):
            continue
        for match in _LOOKALIKE.finditer(text.source.text, span.start, span.end):
            if text.alive(match.start()):
                meant = LOOKALIKES[match.group()]
                what = _NAMES.get(meant, "a typographic character")
                name = f"'{match.group()}' (U+{ord(match.group()):04X})"
                yield text.error(match.start(), f"{name} is {what}, which is not Slang.", f"write `{meant}`")


def _left_open(text: _Text) -> Iterator[Diagnostic]:
    for span in text.spans:
        piece = text.source.text[span.start : span.end]
        if span.kind == "comment" and piece.startswith("/*") and (len(piece) < 4 or piece[-2:] != "*/"):
            yield text.error(
                span.start,
                "this comment is never closed: nothing after it is compiled.",
                "close it with `*/`",
                2,
            )
        elif span.kind == "string" and text.alive(span.start):
            quote = piece[-1] if piece[0] == "R" else piece[0]
            if piece[0] == "R":
                closed = len(piece) > 3 and quote == '"' and ")" in piece
            else:
                closed = len(piece) > 1 and piece[-1] == quote and not _escaped_end(piece)
            if not closed and not _in_directive(text, span):
                kind = "character literal" if quote == "'" else "string"
                yield text.error(span.start, f"this {kind} is never closed.", f"close it with `{quote}`")


def _escaped_end(piece: str) -> bool:
    body = piece[1:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


def _in_directive(text: _Text, span: Span) -> bool:
    # `#error don't` is prose, not an open character literal.
    line = text.where.at(span.start)[0]
    return text.where.line_text(line).lstrip().startswith("#")


def _notebook(text: _Text) -> Iterator[Diagnostic]:
    for match in _FENCE.finditer(text.code):
        yield text.error(match.start(1), "a Markdown fence is not Slang.", "delete this line", len(match.group(1)))
    for match in _MAGIC.finditer(text.code):
        word = match.group(1)
        # `a\n % b` and `a &&\n !b` go on with an expression; a magic starts where a statement could.
        before = text.code[max(0, match.start() - 4000) : match.start()].rstrip()[-1:]
        if not text.alive(match.start(1)) or (before not in ("", ";", "{", "}") and word[:2] != "%%"):
            continue
        line = text.where.line_text(text.where.at(match.start(1))[0]).strip()
        if word[:2] == "%%":
            message = f"'{word}' starts a cell; it cannot stand inside one."
            remedy = "put this line and what follows in a cell of its own"
        else:
            message = f"'{line}' is a notebook command, not Slang."
            remedy = "move this line to a Python cell"
        yield text.error(match.start(1), message, remedy, len(line))


def _hashes(text: _Text) -> Iterator[Diagnostic]:
    for span in text.spans:
        if span.kind != "directive" or text.source.text[span.start] != "#" or not text.alive(span.start):
            continue
        words = text.source.text[span.start + 1 : span.end]
        word = re.match(r"[ \t]*(\w*)", words)
        name = word.group(1) if word else ""
        if _DIRECTIVES.fullmatch(name) or not words.strip():
            continue
        if name.startswith("NBVAL_"):
            tag = name.lower().replace("_", "-")
            message = "Slang comments start with //, so this line is not a comment."
            yield text.error(span.start, message, f"delete this line and give the cell the tag `{tag}`", len(name) + 2)
        elif words[0] in " \t!%" or not name:
            # `#word` without a space may be a misspelt directive; the compiler names that one well.
            yield _python_comment(text, span.start)
    for match in re.finditer("#", text.code):
        if text.alive(match.start()):
            yield _python_comment(text, match.start())


def _python_comment(text: _Text, offset: int) -> Diagnostic:
    return text.error(offset, "'#' does not start a comment in Slang.", "start the comment with `//`")


def _brackets(text: _Text) -> list[Diagnostic]:
    """Point at the bracket that has no partner, where macros and conditions cannot be the reason."""
    for span in text.spans:
        if span.kind == "directive":
            piece = text.source.text[span.start : span.end]
            if _CONDITION.match(piece) or any(piece.count(a) != piece.count(b) for a, b in ("()", "[]", "{}")):
                return []
    stack: list[tuple[str, int]] = []
    suspect: tuple[str, int] | None = None
    for match in _BRACKET.finditer(text.code):
        mark, offset = match.group(), match.start()
        if mark in "([{":
            stack.append((mark, offset))
        elif not stack:
            return [text.error(offset, f"this '{mark}' closes nothing.", "delete it, or open it before")]
        elif stack[-1][0] != _PARTNERS[mark]:
            return [_open_bracket(text, *stack[-1])]
        else:
            opening = stack.pop()
            if mark == "}" and suspect is None and _dedents(text, opening[1], offset):
                suspect = opening
    return [_open_bracket(text, *(suspect or stack[-1]))] if stack else []


def floor_division(line: str) -> int:
    """Find ``//`` that is meant as Python's division: where it is on the line, or -1.

    Examples
    --------
    >>> floor_division("return x // 2; }"), floor_division("float y = x; // half of it"), floor_division("x // of it;")
    (9, -1, -1)
    """
    found = _FLOOR_DIVISION.search(line)
    return found.start(1) if found else -1


def _dedents(text: _Text, opening: int, closing: int) -> bool:
    """Say whether `closing` starts its line further left than the line of `opening` does.

    Then it was meant for an outer brace, and the one at `opening` is the one left open.
    """
    line, column = text.where.at(closing)
    before = text.where.line_text(line)[: column - 1]
    if before.strip():
        return False
    other = text.where.line_text(text.where.at(opening)[0])
    indent = other[: len(other) - len(other.lstrip())]
    return len(before.expandtabs(4)) < len(indent.expandtabs(4))


def _open_bracket(text: _Text, mark: str, offset: int) -> Diagnostic:
    line = text.where.at(offset)[0]
    for number in range(line, text.source.text.count("\n") + 2):
        column = floor_division(text.where.line_text(number))
        at = text.where.line_start(number) + column
        if column >= 0 and any(s.kind == "comment" and s.start == at for s in text.spans):
            return text.error(at, COMMENT, DIVIDE, 2)
    closing = next(close for close, opening in _PARTNERS.items() if opening == mark)
    return text.error(offset, f"this '{mark}' is never closed.", f"add the missing `{closing}`")
