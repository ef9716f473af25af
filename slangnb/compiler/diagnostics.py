"""Turns what the compiler and SlangPy print into diagnostics at the person's own lines and columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from slangnb.compiler.messages import Message, essence, messages, plain
from slangnb.compiler.source import Source
from slangnb.errors import Diagnostic

_GENERATED = re.compile(r"[0-9a-f]{40,64}")
_MODULE = re.compile(r"\bm_[0-9a-f]{12}(?:\.slang)?\b")
_QUOTED_PATH = re.compile(r"'(?:[A-Za-z]:)?[/\\][^'\n]*[/\\]([^'/\\\n]+)'")
_INTERNAL = re.compile(r"Slang compilation aborted due to an exception of \w+ ")
# What the compiler says of its own placeholders, or behind a syntax error on the same line, only echoes it.
_ECHO = re.compile(r"<error>|'error'|\b(?:Ptr|typeof)<error|typeof\(Ptr<|<unknown name>|'Ptr<error")
_FOLLOW_UP = ("import failed due to compilation error", "compilation ceased", "abort compilation")
_WORD = re.compile(r"\w")
#: Candidates among Slang's own functions that a message may list; an operator has over a hundred.
_MOST_FOREIGN_NOTES = 3
_TAB = 4


def parse(text: str, sources: Mapping[str, Source]) -> tuple[Diagnostic, ...]:
    """Read the diagnostics out of a compiler's text.

    Takes the text of a ``SlangCompileError``, of a ``RuntimeError`` or ``ValueError`` that a call raised, and
    of the logger's warnings. Never raises: a text without any message becomes one diagnostic.

    Parameters
    ----------
    text : str
        What was printed or raised.
    sources : mapping of str to Source
        Compiled module names, such as ``"m_0123456789ab"``, to what the person wrote.

    Returns
    -------
    tuple of Diagnostic
        Without repetitions and without messages that only say that another one failed.

    Examples
    --------
    >>> text = "error[E30015]: undefined identifier\\n --> m_0123456789ab:2:12\\n  |\\n"
    >>> text += "2 | return yy;\\n  |        ^^ undefined identifier 'yy'."
    >>> source = Source("    return yy;", "In[3]", 2)
    >>> print(parse(text, {"m_0123456789ab": source})[0].render())
    error[E30015]: undefined identifier 'yy'.
      --> In[3], line 2
      2 |     return yy;
        |            ^^
    """
    found: list[Diagnostic] = []
    dropped: list[Diagnostic] = []
    skipping = False
    for message in messages(plain(text)):
        one = _diagnostic(message, sources)
        if message.abort or message.message.startswith(_FOLLOW_UP):
            if message.line and found and message.file in sources:
                note = replace(one, severity="note", code="", message="imported here")
                found[-1] = replace(found[-1], notes=(*found[-1].notes, note))
            dropped.append(one)
        elif found and (_echoes(one, found) or (skipping and one.severity == "note")):
            skipping = True
            continue
        elif one.severity == "note" and found:
            found[-1] = replace(found[-1], notes=(*found[-1].notes, one))
        else:
            found.append(one)
        skipping = False
    labels = {source.label for source in sources.values()}
    unique = dict.fromkeys(_settle(d, labels) for d in found or dropped[:1])
    if unique:
        return tuple(unique)
    left = _named(essence(text), sources)
    return (Diagnostic("error", "", left),) if left else ()


def _echoes(one: Diagnostic, found: list[Diagnostic]) -> bool:
    """Say whether an error is only a consequence of those `found` before it."""
    if one.severity != "error":
        return False
    if _ECHO.search(one.message):
        return any(d.severity == "error" for d in found)
    if one.code == "E30015" or not one.line:  # an unknown name is a mistake of its own
        return False
    here = [d.code for d in found if (d.file, d.line) == (one.file, one.line)]
    if one.code == "E33070" and "'typeof(" in one.message:  # a constructor whose argument was wrong
        return "E30019" in here
    return any(code.startswith("E2") for code in here)


def _diagnostic(message: Message, sources: Mapping[str, Source]) -> Diagnostic:
    severity = message.severity if message.severity in ("warning", "note") else "error"
    # The text behind the carets mostly repeats the header with names in it, but it may also say less.
    wording = message.label if len(message.label) >= len(message.message) else message.message
    code = message.code if message.code[:1].isalpha() or not message.code else "E" + message.code
    one = Diagnostic(severity, code, _named(wording, sources))
    if _GENERATED.fullmatch(message.file.removesuffix(".slang")):
        return one
    source = sources.get(message.file) or sources.get(message.file.removesuffix(".slang"))
    if source is None:
        return _elsewhere(one, message)
    written = source.line(message.line)
    if message.lexer:
        column, length = _lexer_column(written, message.column), message.length
    else:
        column, length = _aligned(message, written)
    column = min(column, len(written) + 1)
    length = max(1, min(length, len(written) + 1 - column))
    return replace(one, file=source.label, line=message.line, column=column, length=length, source=written)


def _elsewhere(one: Diagnostic, message: Message) -> Diagnostic:
    """Place a message in a file that is not ours: the compiler's excerpt is all there is to show."""
    name = re.split(r"[/\\]", message.file)[-1]
    shown = message.snippet
    if shown and not message.lexer:
        # The excerpt has lost its indentation; blanks in its place keep the column right.
        shown = " " * max(0, message.column - 1 - message.blank) + shown
    return replace(one, file=name, line=message.line, column=message.column, length=message.length, source=shown)


def _aligned(message: Message, written: str) -> tuple[int, int]:
    """Give column and length in the person's line, which differs from the compiled one if it imports a cell.

    There, only the name was replaced. So what stands before it keeps its column, and what stands after it
    keeps its distance to the end of the line.
    """
    compiled, bare = message.snippet.strip(), written.strip()
    if compiled == bare or not compiled or not bare:
        return message.column, message.length
    indent = len(written) - len(written.lstrip())
    offset = message.column - 1 - indent
    head = 0
    while head < min(len(compiled), len(bare)) and compiled[head] == bare[head]:
        head += 1
    while head and _WORD.match(bare[head - 1]):
        head -= 1
    tail = 0
    while tail < min(len(compiled), len(bare)) - head and compiled[-1 - tail] == bare[-1 - tail]:
        tail += 1
    while tail and _WORD.match(bare[len(bare) - tail]):
        tail -= 1
    if offset < head:
        return message.column, message.length
    if offset >= len(compiled) - tail:
        return message.column + len(bare) - len(compiled), message.length
    return indent + head + 1, max(1, len(bare) - tail - head)


def _lexer_column(written: str, caret: int) -> int:
    """Give the column for the caret of a lexer fault, which counts bytes and stops of four for tabs."""
    reached = 0
    for column, character in enumerate(written, 1):
        if reached + 1 >= caret > 0:
            return column
        if character == "\t":
            reached += _TAB - reached % _TAB
        else:
            reached += len(character.encode("utf-8", "surrogatepass"))
    return len(written) + 1 if caret else 0


def _named(text: str, sources: Mapping[str, Source]) -> str:
    """Say a message in the person's names: labels for hashed modules, file names for long paths."""

    def label(match: re.Match[str]) -> str:
        source = sources.get(match.group().removesuffix(".slang"))
        return source.label if source else match.group()

    text = _QUOTED_PATH.sub(r"'\1'", _MODULE.sub(label, text))
    return _INTERNAL.sub("internal error of the compiler: ", text)


def _settle(one: Diagnostic, labels: set[str]) -> Diagnostic:
    """Keep the notes that help, and give a message without a place the place of its first note."""
    notes: list[Diagnostic] = []
    foreign = 0
    for note in dict.fromkeys(one.notes):
        if note.file not in labels:
            foreign += 1
            # A declaration inside Slang's own library is nothing that anyone can change.
            if foreign > _MOST_FOREIGN_NOTES or note.message.startswith("see "):
                continue
        notes.append(note)
    place = next((n for n in notes if n.file in labels and n.line), None)
    if one.line == 0 and place:
        one = replace(
            one,
            file=place.file,
            line=place.line,
            column=place.column,
            length=place.length,
            source=place.source,
        )
    return replace(one, notes=tuple(_brief(note, one) for note in notes))


def _brief(note: Diagnostic, one: Diagnostic) -> Diagnostic:
    """Leave out the place of a note when it is that of its message."""
    if (note.file, note.line, note.column) == (one.file, one.line, one.column):
        return replace(note, file="", line=0, column=0, source="")
    return note
