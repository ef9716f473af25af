"""``%%slang`` cells and files that are compiled through slangtorch."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangnb.compiler.torch_source import torch_mark
from slangnb.errors import CallError
from slangnb.interop.slangtorch.progress import Show, printed
from slangnb.notebook.options import parse_define

if TYPE_CHECKING:
    from slangnb.interop.slangtorch.load import Made
    from slangnb.notebook.magics import SlangMagics


def run(magics: SlangMagics, options: Any, cell: str, name: str | None, label: str) -> None:
    """Compile a cell; its entry points become Python names.

    Raises
    ------
    CallError
        For options that are SlangPy's.
    """
    from slangnb.interop.slangtorch.load import compile_source

    refuse(options, torch_mark(cell))
    quiet = options.quiet or magics.quiet
    start = time.perf_counter()
    made = compile_source(
        cell,
        label,
        2,
        dict(map(parse_define, options.define)),
        tuple(options.include),
        force=options.force,
        show=None if quiet else shown(magics.shell),
    )
    notes = magics.export(made.module, name, options.only)
    _tell(made, notes, quiet, time.perf_counter() - start if options.time else None)


def refuse(options: Any, mark: str) -> None:
    """Refuse options that mean nothing here.

    Raises
    ------
    CallError
        With the reason.
    """
    why = f"a cell with [{mark}]" if mark else "a cell with --torch"
    if options.backend not in (None, "", "cuda"):
        raise CallError(f"{why} runs on CUDA alone, not on {options.backend!r}", remedy="leave out -b")
    if options.check:
        remedy = "compare with torch.autograd.gradcheck, or check the function in a plain %%slang cell"
        raise CallError(f"--check is not for {why}", remedy=remedy)
    if options.show:
        raise CallError(f"--show is not for {why}", remedy="leave out --show")


def load_file(magics: SlangMagics, path: str) -> bool:
    """Compile a file if it is one for slangtorch; tell whether it was."""
    from slangnb.compiler.resolving import read_file
    from slangnb.interop.slangtorch.load import compile_source

    file = Path(path)
    source = read_file(file)
    if not torch_mark(source.text):
        return False
    made = compile_source(source.text, file.name, 1, folder=file.resolve().parent, show=shown(magics.shell))
    _tell(made, magics.export(made.module, None, None, f"rename it in {file.name} to call it"), False, None)
    return True


def shown(shell: Any) -> Show:
    """Show a line of progress: in a notebook as one output that changes, elsewhere as text that grows."""
    if getattr(shell, "kernel", None) is None:
        return printed(functools.partial(print, end="", flush=True))
    from IPython.display import DisplayHandle

    handle = DisplayHandle()
    begun = False

    def show(line: str, finished: bool) -> None:
        nonlocal begun
        (handle.update if begun else handle.display)({"text/plain": line}, raw=True)
        begun = True

    return show


def _tell(made: Made, notes: list[str], quiet: bool, seconds: float | None) -> None:
    for warning in made.warnings:
        print(warning.render())
    if quiet:
        return
    took = f"  ({seconds * 1e3:.0f} ms)" if seconds is not None and not made.built else ""
    # After a build, its own line has said it.
    head = [] if made.built else [f"compiled {made.summary}"]
    if head or notes:
        print("; ".join([*head, *notes]) + took)
