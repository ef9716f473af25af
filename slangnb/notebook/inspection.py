"""What ``f?`` and ``f??`` say about a Slang function."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from slangnb.runtime.function import Function


def register(shell: InteractiveShell) -> None:
    """Answer for Slang functions; other objects are left to IPython."""
    hooks: Any = shell.inspector.mime_hooks
    shell.inspector.mime_hooks = {**hooks, "text/plain": _describe}


def unregister(shell: InteractiveShell) -> None:
    """Leave all objects to IPython again."""
    hooks: Any = shell.inspector.mime_hooks
    shell.inspector.mime_hooks = {k: v for k, v in hooks.items() if v is not _describe}


def _describe(data: Any) -> list[tuple[str, str]] | None:
    if not isinstance(data.obj, Function):
        return None
    f = data.obj
    rows = [("Slang function", f.__doc__ or "")]
    if data.detail_level:
        rows.append(("Source", f.source))
    return rows
