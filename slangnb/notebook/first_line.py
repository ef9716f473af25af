"""Cells that IPython cannot run: ``%%slang`` that is not their first line, or nothing below it."""

from __future__ import annotations

import ast

from slangnb.compiler.reading.declarations import declarations
from slangnb.errors import CallError

#: What IPython makes of a cell that is nothing but its first line, and of ``%%slang`` on another line.
_HEAD, _NO_BODY = "get_ipython().run_cell_magic('slang', ", ", '')\n"
_LINE = "get_ipython().run_line_magic('slang', "
_MISPLACED = "get_ipython().run_line_magic('%slang', "

SLANG_CODE = "%slang: Slang code needs two signs"
TWO_SIGNS = "write `%%slang` on the first line, the code below it"


def mend(lines: list[str]) -> list[str]:
    """Look at a cell that IPython has turned into Python; it is one of the shell's ``input_transformers_post``.

    Parameters
    ----------
    lines : list of str
        The cell's Python code.

    Returns
    -------
    list of str
        The same, but a cell without a body reaches the magic, which says more than IPython would.

    Raises
    ------
    CallError
        If the cell is no Python because ``%%slang`` is not its first line, or is written with one sign.
    """
    if len(lines) == 1 and lines[0].startswith(_HEAD) and lines[0].endswith(_NO_BODY):
        return [lines[0].removesuffix(_NO_BODY) + ", '\\n')\n"]
    if lines and lines[0].startswith(_LINE) and _is_slang("".join(lines[1:])) and not _is_python("".join(lines)):
        raise CallError(SLANG_CODE, remedy=TWO_SIGNS)
    at = next((i for i, line in enumerate(lines) if line.lstrip().startswith(("%%slang", _MISPLACED))), None)
    if at is None or (not lines[at].lstrip().startswith(_MISPLACED) and _is_python("".join(lines))):
        return lines
    if at == 0:
        raise CallError("`%%slang` must stand at the left edge of the cell", remedy="remove the blanks before it")
    raise CallError(
        "`%%slang` must be the first line of the cell",
        remedy="move Python code into a cell of its own, and a comment below `%%slang`, as `// ...`",
    )


def _is_slang(text: str) -> bool:
    return any(d.kind == "function" and d.body != (0, 0) for d in declarations(text))


def _is_python(text: str) -> bool:
    """Tell whether this is Python, as a notebook understands it: the line may stand in a string."""
    try:
        compile(text, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):
        return False
    return True
