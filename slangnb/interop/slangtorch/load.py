"""Compiles sources with [TorchEntryPoint], [CudaKernel] or [AutoPyBindCUDA] through slangtorch: `sn.torch.load`."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangnb.compiler.graph import Known, Unit
from slangnb.compiler.resolving import make_source, read_file
from slangnb.compiler.torch_source import ENTRY, exports, problems, torch_mark
from slangnb.errors import CompileError, Diagnostic
from slangnb.interop.slangtorch import build as building
from slangnb.interop.slangtorch.needs import Tools, find_compiler, missing, needs_error, tools_without_torch
from slangnb.interop.slangtorch.progress import Progress, Show, printed
from slangnb.interop.slangtorch.sources import current_sources, write
from slangnb.interop.slangtorch.translate import check, diagnostics

if TYPE_CHECKING:
    from slangnb.interop.slangtorch.module import TorchModule

#: Time limit of the Slang compiler, which reads a source before it is built.
CHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Made:
    """A module, what the compiler warned of, the line that says what it defines, and whether it was built now."""

    module: TorchModule
    warnings: tuple[Diagnostic, ...]
    summary: str
    built: bool


def load(
    source: str | Path,
    name: str | None = None,
    defines: Mapping[str, Any] | None = None,
    include: tuple[str | Path, ...] = (),
    *,
    fast_math: bool = True,
    force: bool = False,
    quiet: bool = False,
) -> TorchModule:
    """Compile Slang source for PyTorch on CUDA, through slangtorch; needs no session.

    The first build of a source takes some 20 s, and is kept: the same source loads in milliseconds.

    Parameters
    ----------
    source : str or Path
        Slang code, or the name of a ``.slang`` file.
    name : str, optional
        What messages call it.
    defines : mapping, optional
        Preprocessor macros.
    include : tuple of paths
        Folders to look for imported and included files in, before the current one and ``shaders``.
    fast_math : bool
        Let nvcc take faster and less accurate functions, as slangtorch does.
    force : bool
        Build again though nothing has changed.
    quiet : bool
        Print nothing while it builds.

    Returns
    -------
    TorchModule

    Raises
    ------
    BackendError
        If torch with CUDA, slangtorch, ninja or the CUDA toolkit is missing, or the build fails.
    CompileError
        With diagnostics in the coordinates of `source`.

    Examples
    --------
    >>> import slangnb as sn
    >>> m = sn.torch.load("square.slang")  # doctest: +SKIP
    >>> m.square_fwd(torch.tensor([[3.0]], device="cuda"))  # doctest: +SKIP
    tensor([[9.]], device='cuda:0')
    """
    file = Path(source) if isinstance(source, Path) or is_file_name(source) else None
    text = read_file(file).text if file else str(source)
    made = compile_source(
        text,
        name or (file.name if file else "source"),
        1,
        defines,
        include,
        folder=file.resolve().parent if file else None,
        fast_math=fast_math,
        force=force,
        show=None if quiet else printed(functools.partial(print, end="", flush=True)),
    )
    for warning in made.warnings if not quiet else ():
        print(warning.render(), file=sys.stderr)
    return made.module


def is_file_name(text: str) -> bool:
    """Tell the name of a file from source text.

    Examples
    --------
    >>> is_file_name("kernels/square.slang"), is_file_name("[TorchEntryPoint] int f() { return 1; }")
    (True, False)
    """
    return text.endswith(".slang") and "\n" not in text and "{" not in text


def compile_source(
    text: str,
    label: str,
    first_line: int,
    defines: Mapping[str, Any] | None = None,
    include: Sequence[str | Path] = (),
    *,
    folder: Path | None = None,
    fast_math: bool = True,
    force: bool = False,
    show: Show | None = None,
) -> Made:
    """Do what `load` does, for a cell: `label` and `first_line` are for diagnostics, `show` for the progress."""
    macros = tuple((k, str(v)) for k, v in (defines or {}).items())
    source = make_source(text, label, first_line, macros)
    mark = torch_mark(source.text) or ENTRY
    tools = require(tools_without_torch(os.environ), mark)
    import torch  # pyright: ignore[reportMissingImports]

    tools = require(with_torch(tools, torch), mark)
    found = problems(source)
    if any(d.severity == "error" for d in found):
        raise CompileError(found)
    sources = current_sources()
    units = sources.chain(source, tuple(map(Path, include)), folder)
    declared = {d.name: d for d in exports(source.text)}
    about = summary_of(declared)
    build = planned(units, torch, fast_math)
    warned: tuple[Diagnostic, ...] = tuple(found)
    raw = (
        _build(build, tools, units, sources.names(units[-1]), about, show) if force or not build.done.exists() else None
    )
    warned += diagnostics(building.said(build), {u.module: u.source for u in units})
    from slangnb.interop.slangtorch.module import TorchModule

    module = TorchModule(label, raw or building.load_built(build), declared)
    return Made(module, warned, about, raw is not None)


def summary_of(declared: Mapping[str, Any]) -> str:
    """Say what a source gives to Python."""
    from slangnb.interop.slangtorch.module import summary

    return summary(declared) or "what it imports"


def planned(units: Sequence[Unit], torch: Any, fast_math: bool) -> building.Build:
    """Write the sources into the cache, and say where they are built."""
    place = building.root() / building.key(units, building.machine_facts(torch), fast_math)
    return building.Build(place, write(units, place), fast_math)


def _build(
    build: building.Build,
    tools: Tools,
    units: Sequence[Unit],
    known: Known,
    about: str,
    show: Show | None,
) -> Any:
    """Build and load; None if another process has built it while this one waited."""
    compiler = find_compiler(os.environ)
    assert compiler is not None  # slangtorch is there
    before = build.done.exists()
    with building.alone(build):
        if build.done.exists() and not before:
            return None
        _, said = check(compiler, build.file, {u.module: u.source for u in units}, CHECK_SECONDS, known)
        build.done.unlink(missing_ok=True)
        with Progress(show) as progress:
            progress.start(f"compiling {about} for PyTorch")
            raw = building.make(build, tools, units, said, progress.tick)
    building.prune(build.folder.parent)
    return raw


def require(tools: Tools, mark: str) -> Tools:
    """Give the tools back, or say what is missing.

    Raises
    ------
    BackendError
        With all that is missing and how to get it.
    """
    lacking = missing(tools)
    if lacking:
        raise needs_error(lacking, mark)
    return tools


def with_torch(tools: Tools, torch: Any) -> Tools:
    """Ask torch about CUDA."""
    return replace(tools, cuda=torch.version.cuda or "", gpu=torch.cuda.is_available())
