"""Resolves sources: finds what they import, and names them by content. Compiles nothing, and needs no device."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from slangnb.compiler.advice.mistakes import check
from slangnb.compiler.graph import Graph, Unit
from slangnb.compiler.includes import SELF, inline_includes
from slangnb.compiler.source import Source, content_hash, imports, module_text, normalise, rewrite_imports
from slangnb.errors import CallError, CompileError, Diagnostic, SlangNbError

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


class Resolver:
    """Makes the units of a graph.

    Parameters
    ----------
    graph : Graph
        What may be imported.
    need_file : callable
        Called with the path of a file that a source imports: makes its unit, up to date.
    """

    def __init__(self, graph: Graph, need_file: Callable[[Path], Unit]) -> None:
        self.graph, self.need_file = graph, need_file
        self._renamed = 0

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
        body = inline_includes(s.text, s.first_line, find, lambda path: read_file(path).text, unit.folder)
        body = rewrite_imports(body, {written: self.graph[key].module for written, key in unit.imports.items()})
        unit.module = "m_" + content_hash(body, repr(s.defines), str(s.first_line), salt)
        unit.text = module_text(s, unit.module, body.replace(f'"{SELF}"', f'"{unit.module}"'))

    def refresh(self, unit: Unit) -> None:
        """Give a unit its new text and name after a module that it imports was rebuilt.

        Raises
        ------
        CallError, CompileError
            As `unit`; the old text stays, and is marked as out of date.
        """
        try:
            fresh = self.unit(unit.source, unit.key, unit.include, unit.folder)
        except SlangNbError as error:
            unit.outdated = error.again()
            raise
        unit.module, unit.text, unit.imports, unit.outdated = fresh.module, fresh.text, fresh.imports, None


def make_source(text: str, label: str, first_line: int = 1, defines: tuple[tuple[str, str], ...] = ()) -> Source:
    """Make a Source of a person's text, cleaned of what cannot be seen."""
    return Source(normalise(text), label, first_line, defines)


def read_file(path: Path) -> Source:
    """Read a ``.slang`` file, or one that is included.

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
        remedy = "save it as UTF-8 text" if isinstance(error, UnicodeDecodeError) else ""
        raise CallError(f"{path} cannot be read: {error}", remedy=remedy) from error
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
