"""What ``f?`` and ``f??`` say about a Slang function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.PyColorize import theme_table
from pygments.token import Text, Whitespace

from slangnb.compiler.lexer import SlangLexer
from slangnb.runtime.function import Function


def register(shell: InteractiveShell) -> None:
    """Answer for Slang functions; other objects are left to IPython."""
    hooks: Any = shell.inspector.mime_hooks
    shell.inspector.mime_hooks = {**hooks, "text/plain": _Description(shell)}


def unregister(shell: InteractiveShell) -> None:
    """Leave all objects to IPython again."""
    hooks: Any = shell.inspector.mime_hooks
    shell.inspector.mime_hooks = {k: v for k, v in hooks.items() if not isinstance(v, _Description)}


@dataclass(frozen=True, slots=True)
class _Description:
    """The hook: titles and texts, for the pager and for contextual help."""

    shell: Any

    def __call__(self, data: Any) -> list[tuple[str, str]] | None:
        if not isinstance(data.obj, Function):
            return None
        f = data.obj
        rows = [("Slang function", f.__doc__ or "")]
        if data.detail_level:
            rows.append(("Source", highlighted(f.source, self.shell.colors)))
        return rows


def highlighted(source: str, colours: str) -> str:
    """Colour Slang source for a terminal as IPython colours Python's.

    Parameters
    ----------
    source : str
        Slang code.
    colours : str
        IPython's theme, as in ``%colors``; ``"nocolor"`` leaves the text as it is.

    Examples
    --------
    >>> highlighted("float x;", "nocolor")
    'float x;'
    >>> highlighted("float x;", "linux") == "float x;"
    False
    """
    if colours.lower() == "nocolor":
        return source
    tokens = SlangLexer(stripnl=False, ensurenl=False).get_tokens(source)
    shown = [(Text if kind in Whitespace else kind, text) for kind, text in tokens]  # blanks need no colour codes
    return theme_table[colours.lower()].format(shown)
