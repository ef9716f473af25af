"""The errors that a person meets, and the diagnostics that they carry.

Every error renders itself: a short message, the place in the person's own cell, and what to write instead.
IPython calls ``_render_traceback_``, so that a notebook shows this text and not a Python traceback, while the
cell still *fails* for nbclient, nbconvert and nbval.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

_PACKAGE = str(Path(__file__).parent) + os.sep
_COLOURS = {"error": "31", "warning": "33", "note": "36", "remedy": "32", "bold": "1", "muted": "2"}

#: Under this name the notebook stores with IPython what colours Slang code; this room knows no lexer.
CODE_COLOURS = "slangnb_code_colours"
#: How many diagnostics an error shows; all are in its `diagnostics`.
MOST_SHOWN = 8


#: JupyterLab breaks longer lines inside of words.
_WIDE = 100


def _wrapped(text: str) -> str:
    """Break the long lines of a message at spaces, not within code between backquotes; a remedy is to be copied."""
    lines: list[str] = []
    for line in text.split("\n"):
        words = re.findall(r"\s*(?:`[^`]*`|\S)+", line) if len(line) > _WIDE else [line]
        lines.append("")
        for word in words:
            if lines[-1].strip() and len(lines[-1]) + len(word) > _WIDE:
                lines.append("    " + word.lstrip())
            else:
                lines[-1] += word
    return "\n".join(lines)


def _paint(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if colour and text else text


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of the Slang compiler, in the coordinates of the cell or file that a person wrote.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        How bad it is.
    code : str
        Slang's own code, such as ``"E30015"``; empty for slangnb's own findings.
    message : str
        What is wrong, in one sentence.
    file : str
        Where: ``"In[3]"``, a cell's name, or a file's name. Empty when unknown.
    line, column : int
        Position, counted from 1; 0 when unknown.
    length : int
        Number of characters that the caret line underlines.
    source : str
        The source line itself, or empty.
    notes : tuple of Diagnostic
        Further places that belong to this message.
    remedy : str
        What to write instead, or empty.

    Examples
    --------
    >>> d = Diagnostic("error", "E30015", "undefined identifier 'yy'.", "In[3]", 3, 16, 2, "    return x + yy;")
    >>> print(d.render())
    error[E30015]: undefined identifier 'yy'.
      --> In[3], line 3
      3 |     return x + yy;
        |                ^^
    """

    severity: str
    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    length: int = 1
    source: str = ""
    notes: tuple[Diagnostic, ...] = field(default=())
    remedy: str = ""

    def render(self, colour: bool = False, paint: Callable[[str], str] = str) -> str:
        """Give the message, the place, the source line with a caret, the notes and the remedy as text.

        `paint` colours the source line.
        """
        code = f"[{self.code}]" if self.code else ""
        head = self.severity + code
        said = _wrapped(f"{head}: {self.message}")
        lines = [_paint(head, self.severity, colour) + said[len(head) :]]
        if self.line:
            lines.append(f"  --> {self.file}, line {self.line}" if self.file else f"  --> line {self.line}")
        if self.source:
            lines += _excerpt(self, colour, paint)
        for note in self.notes:
            lines += ["  " + text for text in note.render(colour, paint).splitlines()]
        if self.remedy:
            lines.append(f"  {_paint('remedy', 'remedy', colour)}: {self.remedy}")
        return "\n".join(lines)


def _excerpt(d: Diagnostic, colour: bool, paint: Callable[[str], str]) -> list[str]:
    """Source line and caret; tabs become four spaces in both, so that the caret stays under its character."""
    number = str(d.line)
    bar = _paint("|", "muted", colour)
    lines = [f"  {number} {bar} {paint(d.source.expandtabs(4))}"]
    if d.column:
        before = d.source[: d.column - 1].expandtabs(4)
        marked = d.source[d.column - 1 : d.column - 1 + d.length].expandtabs(4)
        caret = _paint("^" * max(1, len(marked)), d.severity, colour)
        lines.append(f"  {' ' * len(number)} {bar} {' ' * len(before)}{caret}")
    return lines


class SlangNbError(Exception):
    """Base of all errors that slangnb raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong; the first line stands alone.
    remedy : str, optional
        What to write or do instead.

    Examples
    --------
    >>> print(SlangNbError("no such backend: 'cudda'", remedy="write 'cuda'"))
    no such backend: 'cudda'
    remedy: write 'cuda'
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\nremedy: {self.remedy}" if self.remedy else self.message

    def again(self) -> Self:
        """Give the same error to raise; one that is kept and raised itself would keep the arguments of every call."""
        made = type(self).__new__(type(self), *self.args)
        made.__dict__.update(self.__dict__)
        return made

    def render(self, colour: bool = True, paint: Callable[[str], str] = str) -> str:
        """Give the whole error as text: name, message, the person's own line, remedy; `paint` colours Slang code."""
        name = type(self).__name__
        text = _paint(name, "error", colour) + _wrapped(f"{name}: {self.message}")[len(name) :]
        place = _callers_line(self.__traceback__)
        if place:
            text += f"\n  --> {place}"
        if self.remedy:
            text += f"\n  {_paint('remedy', 'remedy', colour)}: {self.remedy}"
        return text

    def _render_traceback_(self) -> list[str]:
        """Hook of IPython: the lines to show in place of a Python traceback."""
        colour, paint = _shell_colours()
        return self.render(colour, paint).splitlines()


class CompileError(SlangNbError):
    """A Slang source does not compile.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        Everything the compiler said, first error first.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=lambda d: d.severity != "error"))
        errors = [d for d in self.diagnostics if d.severity == "error"]
        super().__init__("\n".join(d.render() for d in errors or self.diagnostics))

    def render(self, colour: bool = True, paint: Callable[[str], str] = str) -> str:
        """Give all diagnostics with carets and remedies; `paint` colours the source lines."""
        errors = sum(d.severity == "error" for d in self.diagnostics)
        title = f"{errors} errors" if errors != 1 else "1 error"
        head = f"{_paint(type(self).__name__, 'error', colour)}: {title} in Slang code"
        body = [d.render(colour, paint) for d in self.diagnostics[:MOST_SHOWN]]
        if len(self.diagnostics) > MOST_SHOWN:
            body.append(f"... and {len(self.diagnostics) - MOST_SHOWN} more")
        return "\n".join([head, *body, *getattr(self, "__notes__", ())])


class CallError(SlangNbError):
    """A function is called with arguments that it cannot take.

    Attributes
    ----------
    function, argument : str
        Names of the function and of the argument at fault; empty when it is not one argument alone.
    """

    def __init__(self, message: str, *, function: str = "", argument: str = "", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.function = function
        self.argument = argument


class GradientError(CallError):
    """A backward call that could only give a wrong or silently zero gradient."""


class BackendError(SlangNbError):
    """A backend, a driver or a device is missing, broken or interrupted."""


class Interrupted(KeyboardInterrupt):
    """The stop button, pressed while the device worked: a notebook shows its words, not the frames of this package."""

    def _render_traceback_(self) -> list[str]:
        """Hook of IPython: the lines to show in place of a Python traceback."""
        name = KeyboardInterrupt.__name__
        said = _wrapped(f"{name}: {self}")[len(name) :]
        return (_paint(name, "error", _shell_colours()[0]) + said).splitlines()


class GradientWarning(UserWarning):
    """A gradient that may be wrong, or that is zero or not finite; said once, with the likely cause."""


class CompileWarning(UserWarning):
    """What is odd about a source that compiles; a ``%%slang`` cell prints it, other code is given it as a warning."""


def _shell_colours() -> tuple[bool, Callable[[str], str]]:
    """Say whether the IPython that shows an error has colours, and what colours Slang code there."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is None:
        return True, str
    if shell.colors.lower() == "nocolor":
        return False, str
    return True, shell.meta.get(CODE_COLOURS, str)


def _callers_line(trace: TracebackType | None) -> str:
    """Say where the person's own code stood: the innermost frame outside this package and outside libraries."""
    found = ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(_PACKAGE):
            source = linecache.getline(name, trace.tb_lineno, trace.tb_frame.f_globals).strip()
            library = "site-packages" in name or "dist-packages" in name
            if source and not library and not source.startswith("get_ipython().run_"):  # a magic shows itself
                found = f"line {trace.tb_lineno}: {source}"
        trace = trace.tb_next
    return found
