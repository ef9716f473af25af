"""Puts included files into the text: Slang would keep the first content it read of a file for the whole session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slangnb.compiler.source import imports

#: Stands for the module's own name in ``#line``, until the name is known from the content.
SELF = "@module@"


def inline_includes(
    text: str,
    first_line: int,
    find: Callable[[str, Path | None], Path | None],
    read: Callable[[Path], str],
    folder: Path | None = None,
    name: str = SELF,
    once: set[Path] | None = None,
    open_files: tuple[Path, ...] = (),
) -> str:
    """Replace each ``#include "file"`` that can be found by the file's text, with ``#line`` around it.

    Parameters
    ----------
    text : str
        Slang code.
    first_line : int
        Number of its first line.
    find : callable
        (name, folder of the including file) -> path, or None: the compiler then says that it is not there.
    read : callable
        path -> text.
    folder : Path, optional
        Folder of the including file.
    name : str
        What ``#line`` calls the including text.
    once : set of Path, optional
        Files with ``#pragma once`` that are in already.
    open_files : tuple of Path
        The files that this text is included from: one that comes again is an error.

    Examples
    --------
    >>> inline_includes("float f();", 1, lambda name, folder: None, Path.read_text)
    'float f();'
    """
    once = set() if once is None else once
    pieces: list[str] = []
    position = 0
    for found in imports(text):
        path = find(found.name, folder) if found.kind == "include" else None
        if path is None:
            continue
        start = text.rfind("\n", 0, found.start) + 1
        end = text.find("\n", found.end)
        end = len(text) if end < 0 else end
        inner = read(path)
        if path in once:
            inner = ""
        elif "#pragma once" in inner:
            once.add(path)
            inner = inner.replace("#pragma once", "")
        if path in open_files:
            inner = f'#error "{path.name} includes itself"'
        inner = inline_includes(inner, 1, find, read, path.parent, path.name, once, (*open_files, path))
        pieces += [text[position:start], f'#line 1 "{path.name}"\n{inner}\n#line {first_line + found.line} "{name}"']
        position = end
    return "".join([*pieces, text[position:]])
