"""The modules of a session: built, kept as long as they can be called, and rebuilt with what they import."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import RLock

from slangnb.compiler.graph import Graph, Unit
from slangnb.compiler.resolving import Resolver, opened, read_file
from slangnb.compiler.source import Source
from slangnb.errors import CallError, CompileError, SlangNbError
from slangnb.runtime.building import Builder
from slangnb.runtime.module import Module


class Library:
    """Named cells and loaded files, and cells without a name while their functions are held.

    Parameters
    ----------
    make : callable
        Label and key -> an empty module.
    """

    #: What builds on the session's device; see `take`.
    builder: Builder

    def __init__(self, make: Callable[[str, str], Module]) -> None:
        self.graph = Graph()  # what is compiled, and what imports what
        #: Held by who compiles: threads take turns.
        self.turn = RLock()
        self._resolver = Resolver(self.graph, self._need_file)
        self._make = make
        self._modules: dict[str, Module] = {}
        self._unnamed: weakref.WeakValueDictionary[str, Module] = weakref.WeakValueDictionary()
        self._reading: list[Path] = []
        self._broken: list[tuple[str, SlangNbError]] = []

    @property
    def modules(self) -> Mapping[str, Module]:
        """Named cells and loaded files, by name or path."""
        return dict(self._modules)

    def build_on(self, builder: Builder) -> dict[str, SlangNbError]:
        """Build everything with another builder; give what does not compile with it, by key. `take` goes on with it."""
        failed: dict[str, SlangNbError] = {}
        for key in self._alive():
            try:
                builder.build(self.graph[key])
            except (CallError, CompileError) as error:
                failed[key] = error.again()
        return failed

    def take(self, builder: Builder, failed: Mapping[str, SlangNbError]) -> None:
        """Mean what `build_on` built, from now on; what failed says so when it is called."""
        self.builder = builder
        for key, module in self._alive().items():
            if key in failed:
                self._break(module, failed[key])
            else:
                self._publish(self.graph[key], module)

    def compile(self, source: Source, name: str | None, include: tuple[Path, ...], force: bool) -> Module:
        """Compile a cell; see `Session.compile`."""
        with self.turn:
            return self._warned(self._install(self._resolver.unit(source, name, include), name is not None, force))

    def load(self, file: Path, force: bool) -> Module:
        """Compile a file; see `Session.load`."""
        with self.turn:
            return self._warned(self._load(file, force))

    def _load(self, file: Path, force: bool) -> Module:
        with opened(file, self._reading):
            unit = self._resolver.unit(read_file(file), str(file), (), file.parent)
        return self._install(unit, True, force)

    def break_all(self, reason: SlangNbError) -> None:
        """Have all modules mean nothing."""
        for module in self._alive().values():
            module._break(reason)

    def take_broken(self) -> list[tuple[str, SlangNbError]]:
        """Give the modules that do not compile any more since this was last asked, with the reason."""
        self._broken, broken = [], self._broken
        return broken

    def _need_file(self, path: Path) -> Unit:
        self._load(path, False)
        return self.graph[str(path)]

    def _warned(self, module: Module) -> Module:
        """Note the warnings of what a person asked for, though it was built before; not those of what it imports."""
        self.builder.warn(self.graph[module._key])
        return module

    def _install(self, unit: Unit, keep: bool, force: bool) -> Module:
        before = self.graph.get(unit.key)
        if force:
            self._resolver.rename(unit)
        kept = self._modules if keep else self._unnamed
        module = kept.get(unit.key)
        changed = before is None or before.module != unit.module
        self.builder.build(unit)  # raises CompileError before anything has changed
        self.graph.put(unit)
        if module is None:
            kept[unit.key] = module = self._make(unit.source.label, unit.key)
            if not keep:
                weakref.finalize(module, self.graph.remove, unit.key)
        self._publish(unit, module)
        if changed:
            self._rebuild_dependents(unit.key)
        return module

    def _publish(self, unit: Unit, module: Module) -> None:
        loaded, info = self.builder.result(unit)
        module._adopt(loaded, info, unit.source.label)

    def _rebuild_dependents(self, key: str) -> None:
        """Build again what imports `key`; what does not compile any more says so when it is called."""
        alive = self._alive()
        for unit in self.graph.dependents(key):
            if (module := alive.get(unit.key)) is None:
                continue
            try:
                self._resolver.refresh(unit)
                self.builder.build(unit)
            except SlangNbError as error:
                self._break(module, error.again())
                continue
            self._publish(unit, module)

    def _break(self, module: Module, reason: SlangNbError) -> None:
        module._break(reason)
        self._broken.append((module._label, reason))

    def _alive(self) -> dict[str, Module]:
        # `items` leaves out what the garbage collector takes meanwhile; `dict(self._unnamed)` would raise KeyError.
        return {**self._modules, **dict(self._unnamed.items())}
