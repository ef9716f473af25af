"""Makes a diagnostic of slangnb's own at an offset of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slangnb.compiler.reading.scan import Positions
from slangnb.errors import Diagnostic

if TYPE_CHECKING:
    from slangnb.compiler.reading.tokens import Token
    from slangnb.compiler.source import Source


class Advice(NamedTuple):
    """What to warn of: where in a text, what is wrong, and what to write instead."""

    offset: int
    length: int
    message: str
    remedy: str

    @classmethod
    def at(cls, token: Token, message: str, remedy: str) -> Advice:
        """Warn of a token."""
        return cls(token.start, len(token.text), message, remedy)


def finding(
    source: Source,
    where: Positions,
    offset: int,
    length: int,
    message: str,
    remedy: str = "",
    severity: str = "error",
) -> Diagnostic:
    """Give a diagnostic for `length` characters at `offset` of the source's text.

    Parameters
    ----------
    source : Source
        Whose label and numbering to use.
    where : Positions
        Of the source's text.

    Examples
    --------
    >>> from slangnb.compiler.source import Source
    >>> text = "int a;\\nint b;"
    >>> d = finding(Source(text, "In[3]", 2), Positions(text), 11, 1, "bad name.")
    >>> d.file, d.line, d.column, d.source
    ('In[3]', 3, 5, 'int b;')
    """
    line, column = where.at(offset)
    shown = line + source.first_line - 1
    return Diagnostic(severity, "", message, source.label, shown, column, length, where.line_text(line), remedy=remedy)
