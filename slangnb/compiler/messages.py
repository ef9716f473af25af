"""Cuts the compiler's text into messages as they stand, before anyone's places are looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_HEADER = re.compile(
    r"(?:\[[A-Z]+\]\s*)?(?:\(rhi\)\s*)?(?:slang: ?)?(?P<abort>abort compilation: )?"
    r"(?P<severity>fatal error|internal error|error|warning|note)"
    r"(?:\[(?P<code>[A-Z]?\d{1,9})\])?: ?(?P<message>.*)"
)
# Lexer faults come in an older form: `file(line): error 10000: text`, the line, a caret.
_LEXER = re.compile(
    r"(?:slang: ?)?(?P<file>[^\s(][^(]{0,500})\((?P<line>\d{1,9})\): "
    r"(?P<severity>fatal error|internal error|error|warning|note) (?P<code>\d{1,9}): (?P<message>.*)"
)
_PLACE = re.compile(r" *--[->] (?P<file>.+):(?P<line>\d{1,9}):(?P<column>\d{1,9})\s*")
_SNIPPET = re.compile(r" *(?P<line>\d{1,9}) \|(?: (?P<text>.*))?")
_CARETS = re.compile(r" *\| (?P<blank> *)(?P<marks>\^+|-+)(?: (?P<label>.*))?")
_LEXER_CARET = re.compile(r"(?P<blank>\s*)\^~*\s*")
_NOISE = re.compile(
    r"\s*(?:/project/src/\S+:\d+ in function .*|For (?:assistance|help and support)\b.*|RHI messages:\s*)?"
)
_DRIVER = re.compile(r"(?:m_device->.*)?m_rhi\S.* failed with error: (?P<number>-?\d+) \((?P<name>[^)]*)\).*")


@dataclass(slots=True)
class Message:
    """One message of the compiler, with the line and the column of the text that it compiled.

    ``lexer`` tells the older form, whose ``column`` is only where its caret stands.
    """

    severity: str
    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    length: int = 1
    label: str = ""
    lexer: bool = False
    abort: bool = False
    closed: bool = False
    marks: str = ""
    blank: int = 0
    lines: dict[int, str] = field(default_factory=dict)

    @property
    def snippet(self) -> str:
        """The line at fault as the compiler shows it: without its indentation."""
        return self.lines.get(self.line, "")


def plain(text: str) -> str:
    """Strip colour codes and unify line ends.

    Examples
    --------
    >>> plain("\\x1b[31mERROR\\x1b[0m\\r\\n")
    'ERROR\\n'
    """
    return _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def essence(text: str) -> str:
    """Give what is left of a text that is no compiler's, without the lines that help nobody.

    Examples
    --------
    >>> essence("m_rhi_queue->submit() failed with error: -13 (unknown)\\n/project/src/a.cpp:9 in function f")
    'the driver refused this (error -13, unknown)'
    >>> essence("m_device->make(desc, m_rhi_pipeline.writeRef()) failed with error: -13 (unknown)")
    'the driver refused this (error -13, unknown)'
    """
    kept = [line.rstrip() for line in plain(text).split("\n") if not _NOISE.fullmatch(line)]
    told = [_DRIVER.sub(r"the driver refused this (error \g<number>, \g<name>)", line) for line in kept]
    return "\n".join(told).strip()


def messages(text: str) -> Iterator[Message]:
    """Yield the messages in `text` in order; whatever stands around them is skipped.

    Parameters
    ----------
    text : str
        Plain text, see `plain`.

    Examples
    --------
    >>> text = "error[E20002]: syntax error\\n --> a:3:16\\n  |\\n"
    >>> text += "3 | return x + ;\\n  |            ^ syntax error."
    >>> [(m.code, m.file, m.line, m.column, m.label) for m in messages(text)]
    [('E20002', 'a', 3, 16, 'syntax error.')]
    """
    current: Message | None = None
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if header := _HEADER.fullmatch(line):
            if current:
                yield current
            current = Message(header["severity"], header["code"] or "", header["message"].strip())
            current.abort = header["abort"] is not None
        elif header := _LEXER.fullmatch(line):
            if current:
                yield current
            current, used = _lexer_message(header, lines[index : index + 2])
            index += used
        elif current:
            current = _continue(current, line)
    if current:
        yield current


def _lexer_message(header: re.Match[str], after: list[str]) -> tuple[Message, int]:
    """Make a message of the older form, and say how many of the lines `after` it belong to it."""
    number = int(header["line"])
    made = Message(header["severity"], "E" + header["code"], header["message"].strip(), header["file"], number)
    made.lexer = True
    caret = _LEXER_CARET.fullmatch(after[1]) if len(after) == 2 else None
    if not caret:
        return made, 0
    made.lines[number] = after[0]
    if after[0]:  # an open string comes with an empty line and a caret that points nowhere
        made.column = len(caret["blank"]) + 1
        made.length = after[1].count("^") + after[1].count("~")
    return made, 2


def _continue(current: Message, line: str) -> Message:
    """Take in one more line of a message."""
    if not current.file and not current.closed:
        if place := _PLACE.fullmatch(line):
            current.file, current.line = place["file"], int(place["line"])
            current.column = int(place["column"])
        elif _NOISE.fullmatch(line):
            # What comes after a blank line belongs to whoever wrapped the message.
            current.closed = True
        elif not current.lexer:
            current.message = f"{current.message} {' '.join(line.split())}".strip()
    elif shown := _SNIPPET.fullmatch(line):
        current.lines.setdefault(int(shown["line"]), shown["text"] or "")
    elif (carets := _CARETS.fullmatch(line)) and current.marks[:1] + carets["marks"][0] in ("^", "-", "-^"):
        # `^` marks the place itself and `-` one that only belongs to it; a note may have `-` alone.
        current.marks = carets["marks"]
        current.blank = len(carets["blank"])
        current.length = len(current.marks)
        current.label = (carets["label"] or "").strip()
    return current
