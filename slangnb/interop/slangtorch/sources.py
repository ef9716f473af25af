"""Finds what a source for slangtorch imports, and writes all of it into one folder under names by content."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from slangnb.compiler.graph import Graph, Known, Unit
from slangnb.compiler.resolving import Resolver, opened, read_file
from slangnb.compiler.source import Source
from slangnb.runtime.current import has_session, session


class Sources:
    """Resolves imports to named cells and files as a session does; needs no device and compiles nothing.

    Parameters
    ----------
    cells : iterable of Unit
        What may be imported by name.

    Examples
    --------
    >>> units = Sources([]).chain(Source("float f(float x) { return x; }", "In[3]", 2), ())
    >>> [u.source.label for u in units], units[0].text.splitlines()[0] == f'#line 2 "{units[0].module}"'
    (['In[3]'], True)
    """

    def __init__(self, cells: Iterable[Unit]) -> None:
        self._graph = Graph()
        for unit in cells:
            self._graph.put(replace(unit, imports=dict(unit.imports)))
        self._resolver = Resolver(self._graph, self._file)
        self._reading: list[Path] = []

    def names(self, besides: Unit) -> Known:
        """Give what the unit `besides` could import, and what that declares."""
        return self._graph.names(besides)

    def chain(self, source: Source, include: tuple[Path, ...], folder: Path | None = None) -> list[Unit]:
        """Give the source's unit, last, after all that it imports.

        Raises
        ------
        CompileError
            For what the compiler would misreport (see `slangnb.compiler.advice.mistakes`).
        CallError
            If files import each other in a circle.
        """
        main = self._resolver.unit(source, None, include, folder)
        self._graph.put(main)
        chain = self._graph.chain(main.key)
        for unit in chain:  # a file may have changed since a cell that imports it was compiled
            self._resolver.refresh(unit)
        return chain

    def _file(self, path: Path) -> Unit:
        with opened(path, self._reading):
            unit = self._resolver.unit(read_file(path), str(path), (), path.parent)
        self._graph.put(unit)
        return unit


def current_sources() -> Sources:
    """Give the named cells of the current session, if there is one; makes none."""
    return Sources(session().units if has_session() else ())


def write(units: Iterable[Unit], folder: Path) -> Path:
    """Write each unit as a file, so that the compiler finds what is imported; give the path of the last."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder
    for unit in units:
        path = folder / f"{unit.module}.slang"
        if not path.exists():  # a newer time would make slangtorch build again; the name says the content
            put(path, unit.text)
    return path


def put(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees a part of it."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
