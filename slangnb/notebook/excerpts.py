"""Slang code in error messages, coloured with our own lexer."""

from __future__ import annotations

from typing import Any

from pygments.token import Comment, Keyword, Name, Number, String

from slangnb.compiler.lexer import SlangLexer

#: Kinds of tokens to codes of terminals. The same text stands on white, on black, and on a notebook's pale or dark red,
#: so the colours are of middle lightness: at least 3 to 1 against each; no colour has more than 3.3 to both reds. Our
#: JupyterLab extension knows them, and shows them in shades for its theme. Words are bold, names stay as they are.
_CODES = {
    Keyword: "1",
    Keyword.Constant: "38;5;64",
    Keyword.Type: "38;5;31",
    Name.Decorator: "38;5;133",
    Name.Attribute: "38;5;133",
    Number: "38;5;64",
    String: "38;5;64",
    Comment: "38;5;244",
    Comment.Preproc: "38;5;133",
}


def coloured(line: str) -> str:
    """Colour a line of Slang for a terminal, or for a notebook, which reads the same codes.

    Parameters
    ----------
    line : str
        Part of a source; what it says stays as it is.

    Examples
    --------
    >>> coloured("return 2;")
    '\\x1b[1mreturn\\x1b[0m \\x1b[38;5;64m2\\x1b[0m;'
    """
    tokens = list(SlangLexer(stripnl=False, ensurenl=False).get_tokens(line))
    if "".join(text for _, text in tokens) != line:
        return line
    return "".join(f"\x1b[{code}m{text}\x1b[0m" if (code := _code(kind)) else text for kind, text in tokens)


def _code(kind: Any) -> str:
    """Give the code of the nearest kind that has one."""
    while kind is not None:
        if kind in _CODES:
            return _CODES[kind]
        kind = kind.parent
    return ""
