"""Turns sources into loaded modules: finds what they import, names them by content, compiles each once."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from slangnb.compiler.advice.lint import lint
from slangnb.compiler.advice.mistakes import check
from slangnb.compiler.advice.remedies import with_remedies
from slangnb.compiler.diagnostics import parse
from slangnb.compiler.graph import Graph, Unit
from slangnb.compiler.includes import SELF, inline_includes
from slangnb.compiler.loading import Loaded, captured_log, load, slangpy_errors
from slangnb.compiler.reflection import ModuleInfo, reflect
from slangnb.compiler.source import Source, content_hash, imports, module_text, normalise, rewrite_imports
from slangnb.compiler.torch_source import torch_mark
from slangnb.errors import CallError, CompileError, Diagnostic
from slangnb.runtime.translate import compile_error

if TYPE_CHECKING:
    import slangpy

#: Where imported files are looked for, after the importing file's own folder and the folders given.
SEARCH = (Path(), Path("shaders"), Path("..") / "shaders")


@cache
def reserved_names() -> frozenset[str]:
    """Give the names of SlangPy's and Slang's own modules: ``import core;`` would mean theirs."""
    import slangpy as spy

    own = {p.stem for p in Path(spy.SHADER_PATH).glob("*.slang")}
    return frozenset(own | {"slangpy", "sgl", "slang", "glsl", "core", "neural"})


def check_name(name: str) -> None:
    """Refuse a cell's name that could not be imported, or that would mean another module.

    Raises
    ------
    CallError
        With the reason.
    """
    if not name.isidentifier():
        raise CallError(
            f"{name!r} is no name for a cell: other cells import it by that name",
            remedy="use letters, digits and underscores, as in `%%slang my_helpers`",
        )
    if name in reserved_names():
        raise CallError(
            f"{name!r} is the name of one of SlangPy's own modules", remedy=f"take another, as in `%%slang my_{name}`"
        )


@dataclass
class Builder:
    """Builds the units of one device.

    Attributes
    ----------
    device : slangpy.Device
        Where modules are loaded.
    graph : Graph
        The units of the session.
    guard : callable
        Called with a unit before it is loaded here; raises CompileError when it must not be.
    need_file : callable
        Called with the path of a file that a source imports: makes its unit, up to date.
    """

    device: slangpy.Device
    graph: Graph
    guard: Callable[[Unit], None]
    need_file: Callable[[Path], Unit]
    sources: dict[str, Source] = field(default_factory=dict)
    _built: dict[str, tuple[Loaded, ModuleInfo]] = field(default_factory=dict)
    _failed: dict[str, CompileError] = field(default_factory=dict)
    _warnings: list[Diagnostic] = field(default_factory=list)
    _renamed: int = 0
    _kernels: dict[str, slangpy.ComputeKernel] = field(default_factory=dict)

    def unit(self, source: Source, key: str | None, include: tuple[Path, ...], folder: Path | None = None) -> Unit:
        """Describe a source: its imports, its text for Slang, and its name by content. Nothing is compiled.

        Raises
        ------
        CompileError
            For a cycle of imports, or for what the compiler would misreport (see `slangnb.compiler.advice.mistakes`).
        """
        problems = [d for d in check(source) if d.severity == "error"]
        if problems:
            raise CompileError(problems)
        means = {}
        for found in imports(source.text):
            name = found.name.removesuffix(".slang")
            if found.kind == "import" and name in self.graph and name.isidentifier():
                means[found.name] = name
            elif found.kind == "import" and (path := _find(found.name, "import", folder, include)) is not None:
                means[found.name] = self.need_file(path).key
            # else one of Slang's or SlangPy's own, or the compiler says that it is not there
        unit = Unit(
            key or f"cell {content_hash(source.text, repr(source.defines), source.label)}",
            source,
            means,
            include,
            folder,
        )
        cycle = self.graph.cycle(unit.key, means)
        if cycle:
            raise CompileError([_cycle_diagnostic(source, means, cycle)])
        self._name(unit)
        return unit

    def rename(self, unit: Unit) -> None:
        """Give a unit a name that was never used, so that it is compiled though its text is not new."""
        self._renamed += 1
        self._name(unit, salt=str(self._renamed))

    def _name(self, unit: Unit, salt: str = "") -> None:
        """Write the text for Slang: included files in it, imports by their current names; and name it by content."""

        def find(name: str, folder: Path | None) -> Path | None:
            return _find(name, "include", folder, unit.include)

        s = unit.source
        body = inline_includes(s.text, s.first_line, find, unit.folder)
        body = rewrite_imports(body, {written: self.graph[key].module for written, key in unit.imports.items()})
        unit.module = "m_" + content_hash(body, repr(s.defines), str(s.first_line), salt)
        unit.text = module_text(s, unit.module, body.replace(f'"{SELF}"', f'"{unit.module}"'))

    def refresh(self, unit: Unit) -> None:
        """Give a unit its new text and name after a module that it imports was rebuilt."""
        fresh = self.unit(unit.source, unit.key, unit.include, unit.folder)
        unit.module, unit.text, unit.imports = fresh.module, fresh.text, fresh.imports

    def build(self, unit: Unit) -> None:
        """Compile a unit, unless this very text was compiled before.

        Raises
        ------
        CompileError
            With the compiler's diagnostics and remedies.
        """
        self.sources[unit.module] = unit.source
        if unit.module in self._built:
            return
        if unit.module in self._failed:  # Slang refuses a name that failed once, even with the same text
            raise CompileError(self._failed[unit.module].diagnostics)
        self.guard(unit)
        link = [self._built[self.graph[k].module][0] for k in unit.imports.values()]
        with captured_log() as log:
            try:
                loaded = load(self.device, unit.module, unit.text, link)
            except slangpy_errors() as error:
                self._failed[unit.module] = compile_error(str(error), self.sources, self.graph.names(unit))
                raise self._failed[unit.module] from error
        said = parse("\n".join(log), self.sources) if log else ()
        self._refuse_missing_returns(unit, said)
        self._built[unit.module] = loaded, reflect(loaded, unit.source.text, unit.source.first_line)
        self._warnings += with_remedies([d for d in said if d.severity == "warning"], self.sources)
        self._warnings += lint(unit.source)

    def _refuse_missing_returns(self, unit: Unit, said: tuple[Diagnostic, ...]) -> None:
        """A path without return is an error for Vulkan, and any value at all on CUDA: an error everywhere."""
        found = [replace(d, severity="error") for d in said if d.code == "E41010"]
        if found:
            self._failed[unit.module] = CompileError(with_remedies(found, self.sources))
            raise self._failed[unit.module]

    def kernel(
        self, text: str, entry: str, units: list[Unit], check: Callable[[str, str, str, list[Unit]], None]
    ) -> slangpy.ComputeKernel:
        """Compile a compute kernel that imports the last of `units`; the same text gives the same kernel."""
        name = hashlib.sha256(text.encode()).hexdigest()[:40]
        if name not in self._kernels:
            check(name, text, entry, units)
            with captured_log() as log:
                try:
                    made = self.device.load_module_from_source(name, text)
                    needed = [self._built[u.module][0].raw for u in units]
                    program = self.device.link_program([made, *needed], [made.entry_point(entry)])
                    self._kernels[name] = self.device.create_compute_kernel(program)
                except slangpy_errors() as error:
                    raise compile_error("\n".join([*log, str(error)]), self.sources) from error
        return self._kernels[name]

    def result(self, unit: Unit) -> tuple[Loaded, ModuleInfo]:
        """Give the loaded module of a built unit."""
        return self._built[unit.module]

    def take_warnings(self) -> list[Diagnostic]:
        """Give the warnings since the last time, without repetitions."""
        seen = list(dict.fromkeys(self._warnings))
        self._warnings.clear()
        return seen


def make_source(text: str, label: str, first_line: int = 1, defines: tuple[tuple[str, str], ...] = ()) -> Source:
    """Make a Source of a person's text, cleaned of what cannot be seen."""
    return Source(normalise(text), label, first_line, defines)


def for_slangpy(source: Source) -> Source:
    """Give the source back, unless it is one for PyTorch: SlangPy takes it, but cannot call its functions.

    Raises
    ------
    CallError
        With what to use.
    """
    mark = torch_mark(source.text)
    if mark:
        raise CallError(
            f"{source.label} has [{mark}]: its functions take PyTorch's tensors, and are built with slangtorch",
            remedy="sn.torch.load(source) compiles it; leave the attribute out to call it on any backend",
        )
    return source


def read_file(path: Path) -> Source:
    """Read a ``.slang`` file.

    Raises
    ------
    CallError
        If it is not there or is not UTF-8 text; close names in the folder are offered.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        close = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*.slang")], 1, 0.5)
        hint = f"did you mean {close[0]}?" if close else f"the current folder is {Path.cwd().name}"
        raise CallError(f"there is no file {path}", remedy=hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CallError(f"{path} cannot be read: {error}") from error
    return make_source(text, path.name)


@contextmanager
def opened(path: Path, reading: list[Path]) -> Iterator[None]:
    """Note that a file is being read, with all that it imports, among those that are.

    Raises
    ------
    CallError
        If it is read already: the files import each other in a circle.
    """
    if path in reading:
        names = " -> ".join(p.name for p in [*reading, path])
        raise CallError(f"these files import each other in a circle: {names}")
    reading.append(path)
    try:
        yield
    finally:
        reading.pop()


def _find(name: str, kind: str, folder: Path | None, include: tuple[Path, ...]) -> Path | None:
    if not name or (kind == "import" and name in reserved_names()):
        return None
    relative = Path(name)
    if kind == "import":
        relative = Path(name.removesuffix(".slang").replace(".", "/") + ".slang")
    for base in (*([folder] if folder else []), *include, *SEARCH):
        candidate = base / relative
        if candidate.is_file():
            return candidate.resolve()
    return None


def _cycle_diagnostic(source: Source, means: dict[str, str], cycle: list[str]) -> Diagnostic:
    written = next(w for w, key in means.items() if key == cycle[1])
    at = next(i for i in imports(source.text) if i.name == written)
    line = at.line + source.first_line - 1
    column = at.start - (source.text.rfind("\n", 0, at.start) + 1) + 1
    names = " -> ".join(Path(k).name for k in cycle)
    return Diagnostic(
        "error",
        "",
        f"these modules import each other in a circle: {names}",
        source.label,
        line,
        column,
        at.end - at.start,
        source.line(line),
        (),
        "move what both need into a third cell, and import that",
    )
