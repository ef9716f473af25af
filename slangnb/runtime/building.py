"""Compiles units on a device, each once, and the kernels that call them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangnb.compiler.advice.lint import lint
from slangnb.compiler.advice.remedies import with_remedies
from slangnb.compiler.diagnostics import parse
from slangnb.compiler.graph import Graph, Unit
from slangnb.compiler.loading import Loaded, load, slangpy_errors
from slangnb.compiler.reflection import ModuleInfo, reflect
from slangnb.compiler.source import Source
from slangnb.compiler.torch_source import torch_mark
from slangnb.devices.log import captured_log
from slangnb.errors import CallError, CompileError, Diagnostic
from slangnb.runtime.guarding import Gate
from slangnb.runtime.translate import compile_error

if TYPE_CHECKING:
    import slangpy

#: A loop makes fewer rounds than its [MaxIters(n)] says: no harm, and right where it stands beside a longer loop.
_LARGE_MAX_ITERS = "E30519"


@dataclass
class Builder:
    """Builds the units of one device.

    Attributes
    ----------
    device : slangpy.Device
        Where modules are loaded.
    graph : Graph
        The units of the session.
    gate : Gate
        What units and kernels pass before they are compiled here.
    """

    device: slangpy.Device
    graph: Graph
    gate: Gate
    sources: dict[str, Source] = field(default_factory=dict)
    _built: dict[str, tuple[Loaded, ModuleInfo]] = field(default_factory=dict)
    _failed: dict[str, CompileError] = field(default_factory=dict)
    _logs: dict[str, str] = field(default_factory=dict)
    _warnings: dict[Diagnostic, None] = field(default_factory=dict)
    _kernels: dict[str, slangpy.ComputeKernel] = field(default_factory=dict)

    def build(self, unit: Unit) -> None:
        """Compile a unit and all that it imports, unless these very texts were compiled before.

        Raises
        ------
        CompileError
            With the compiler's diagnostics and remedies.
        CallError
            If the text of one is not up to date, because a file could not be read.
        """
        for one in (*self.graph.needs(unit), unit):
            self._build(one)

    def _build(self, unit: Unit) -> None:
        if unit.outdated is not None:
            raise unit.outdated.again()
        self.sources[unit.module] = unit.source
        if unit.module in self._built:
            return
        if unit.module in self._failed:  # Slang refuses a name that failed once, even with the same text
            raise CompileError(self._failed[unit.module].diagnostics)
        self.gate.module(self.graph, unit, self.sources)
        link = [self._built[self.graph[k].module][0] for k in unit.imports.values()]
        with captured_log() as log:
            try:
                loaded = load(self.device, unit.module, unit.text, link)
            except slangpy_errors() as error:
                self._failed[unit.module] = compile_error(str(error), self.sources, self.graph.names(unit))
                raise self._failed[unit.module] from error
            self._logs[unit.module] = log.text()
        self._refuse_missing_returns(unit, self._said(unit))
        self._built[unit.module] = loaded, reflect(loaded, unit.source.text, unit.source.first_line)
        self.warn(unit)

    def warn(self, unit: Unit) -> None:
        """Note the warnings of a built unit, for `take_warnings`, in the words of the cell that it is now."""
        warnings = [d for d in self._said(unit) if d.severity == "warning" and d.code != _LARGE_MAX_ITERS]
        said = with_remedies(warnings, self.sources)
        self._warnings |= dict.fromkeys((*said, *lint(unit.source)))

    def _said(self, unit: Unit) -> tuple[Diagnostic, ...]:
        log = self._logs[unit.module]
        return parse(log, self.sources) if log else ()

    def _refuse_missing_returns(self, unit: Unit, said: tuple[Diagnostic, ...]) -> None:
        """A path without return is an error for Vulkan, and any value at all on CUDA: an error everywhere."""
        found = [replace(d, severity="error") for d in said if d.code == "E41010"]
        if found:
            self._failed[unit.module] = CompileError(with_remedies(found, self.sources))
            raise self._failed[unit.module]

    def kernel(self, text: str, entry: str, units: list[Unit]) -> slangpy.ComputeKernel:
        """Compile a compute kernel that imports the last of `units`; the same text gives the same kernel."""
        name = hashlib.sha256(text.encode()).hexdigest()[:40]
        if name not in self._kernels:
            self.gate.text(name, text, entry, units, self.sources)
            with captured_log() as log:
                try:
                    made = self.device.load_module_from_source(name, text)
                    needed = [self._built[u.module][0].raw for u in units]
                    program = self.device.link_program([made, *needed], [made.entry_point(entry)])
                    self._kernels[name] = self.device.create_compute_kernel(program)
                except slangpy_errors() as error:
                    raise compile_error(log.before(error), self.sources) from error
        return self._kernels[name]

    def result(self, unit: Unit) -> tuple[Loaded, ModuleInfo]:
        """Give the loaded module of a built unit."""
        return self._built[unit.module]

    def take_warnings(self) -> list[Diagnostic]:
        """Give the warnings since the last time, without repetitions."""
        self._warnings, taken = {}, self._warnings
        return list(taken)


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
