"""Asks the guard before this process compiles, and turns its verdicts into errors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from slangnb.compiler.advice.crash import crash_hint
from slangnb.compiler.advice.loops import functions
from slangnb.compiler.graph import Graph, Unit
from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reflection import FunctionInfo
from slangnb.compiler.source import Source
from slangnb.devices.caches import KnownGood
from slangnb.devices.guard import Guard, Verdict
from slangnb.devices.wire import UndescribableError, describe
from slangnb.errors import CompileError, Diagnostic
from slangnb.runtime.target import Step
from slangnb.runtime.translate import COMPILER_ERROR, compile_error

#: In SlangPy's text when a driver takes no code that Slang made.
_PIPELINE = "createComputePipeline("
_ENDS = {
    "crash": "the Slang compiler crashed",
    "timeout": "the Slang compiler gave no answer within {seconds:g} s (timed out)",
    "memory": "the Slang compiler took more and more memory and was stopped",
}


def kernel_key(*parts: object) -> str:
    """Hash what a kernel depends on into a file name."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def request_modules(units: Sequence[Unit]) -> list[tuple[str, str, list[str]]]:
    """Give the modules to load, in order, each with the names to link."""
    names = {u.key: u.module for u in units}
    return [(u.module, u.text, [names[k] for k in u.imports.values() if k in names]) for u in units]


@dataclass
class Gate:
    """What new modules and kernels pass before this process compiles them.

    Attributes
    ----------
    guard : Guard
        The child that compiles first.
    known : KnownGood
        What has compiled before, which is not asked again.
    enabled : bool
        Whether anything is asked.
    """

    guard: Guard
    known: KnownGood
    enabled: bool = True
    _errors: dict[str, str] = field(default_factory=dict)

    def module(self, graph: Graph, unit: Unit, sources: Mapping[str, Source]) -> None:
        """Compile a module in the child.

        Raises
        ------
        CompileError
            If it does not compile, or if the compiler crashes or hangs on it.
        """
        self._ask(
            kernel_key("module", unit.module),
            {"modules": request_modules([*graph.needs(unit), unit])},
            lambda text: compile_error(text, sources, graph.names(unit)),
            lambda verdict: self._stopped(verdict, f"while it read {unit.source.label}", unit.source),
        )

    def kernel(
        self,
        units: Sequence[Unit],
        info: FunctionInfo,
        chain: tuple[Step, ...],
        backward: bool,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        """Compile SlangPy's kernel for a call in the child.

        A call with values that cannot be described to the child (see `describe`) goes unchecked. An error that is
        not the compiler's is left to this process, which meets it again and can say more about the arguments.

        Parameters
        ----------
        units : sequence of Unit
            The function's module, last, after all that it imports.
        info : FunctionInfo
        chain : tuple of Step
            How calls of the function were changed.
        backward : bool
            Whether it is the backward pass.
        args, kwargs : tuple, mapping
            Of the call.

        Raises
        ------
        CompileError
            If the compiler reports an error, crashes or hangs.
        """
        if not self.enabled:
            return
        try:
            exact = partial(describe, exact=True)  # numbers among changes to a call may be constants
            steps = [(m, [exact(a) for a in a_], {k: exact(v) for k, v in kw.items()}) for m, a_, kw in chain]
            described = [describe(a) for a in args], {k: describe(v) for k, v in kwargs.items()}
        except UndescribableError:
            return
        sources = {u.module: u.source for u in units}
        what = f"while it built the {'backward' if backward else 'forward'} pass of {info.name}"
        self._ask(
            kernel_key("kernel", [u.module for u in units], info.name, steps, backward, described),
            {
                "modules": request_modules(units),
                "function": info.name,
                "own": info.own,
                "chain": steps,
                "backward": backward,
                "args": described[0],
                "kwargs": described[1],
            },
            lambda text: _refused(text, sources, units[-1].source, info.name),
            lambda verdict: self._stopped(verdict, what, units[-1].source, info),
        )

    def text(self, name: str, text: str, entry: str, units: Sequence[Unit], sources: Mapping[str, Source]) -> None:
        """Compile a kernel that slangnb wrote itself in the child.

        Raises
        ------
        CompileError
            As `kernel`.
        """
        source = units[-1].source if units else Source("", "slangnb")
        derived = _derived(text, source) if units else ""
        self._ask(
            kernel_key("text", name, entry),
            {"modules": [*request_modules(units), (name, text, [u.module for u in units[-1:]])], "entry": entry},
            lambda said: _refused(said, sources, source, derived) or compile_error(said, sources),
            lambda verdict: self._stopped(verdict, "while it built the gradient kernel", source, hint_for=derived),
        )

    def _ask(
        self,
        key: str,
        request: dict[str, Any],
        on_error: Callable[[str], CompileError | None],
        stopped: Callable[[Verdict], CompileError],
    ) -> None:
        """Have the child compile what is not known; raise what is made of its verdict."""
        if not self.enabled or key in self.known:
            return
        # The compiler's errors stay the same; a crash, a hang or a lack of memory may have come from outside.
        verdict = Verdict("error", self._errors[key]) if key in self._errors else self.guard.check(request)
        if verdict.outcome == "ok":
            self.known.add(key)
            return
        if verdict.outcome == "error" and COMPILER_ERROR.search(verdict.text):
            self._errors[key] = verdict.text
        error = on_error(verdict.text) if verdict.outcome == "error" else stopped(verdict)
        if error is not None:
            raise error

    def _stopped(
        self, verdict: Verdict, what: str, source: Source, info: FunctionInfo | None = None, hint_for: str = ""
    ) -> CompileError:
        message = _ENDS[verdict.outcome].format(seconds=self.guard.seconds)
        suspect = info.name if info is not None else hint_for
        hint = crash_hint(source, suspect) if suspect else ""
        line = info.line if info is not None else 0
        at = Diagnostic(
            "error",
            "",
            f"{message} {what}; the notebook's kernel is unharmed",
            source.label,
            line,
            0,
            1,
            source.line(line) if line else "",
            (),
            hint
            or "simplify the function step by step: run-time branches around tensor reads, loop conditions, nesting",
        )
        return CompileError([at])


def _refused(text: str, sources: Mapping[str, Source], source: Source, suspect: str) -> CompileError | None:
    """Make an error of a compiler's or a driver's text, None of another; what a driver refuses is as a crash is."""
    by_driver = _PIPELINE in text
    if not by_driver and not COMPILER_ERROR.search(text):
        return None
    error = compile_error(text, sources)
    hint = crash_hint(source, suspect) if by_driver and suspect else ""
    return CompileError([replace(d, remedy=d.remedy or hint) for d in error.diagnostics])


def _derived(kernel: str, source: Source) -> str:
    """Name the function of a source that a kernel derives, "" if it derives none."""
    names = {f.name.rpartition("::")[2] for f in functions(declarations(source.text))}
    called = re.findall(r"\b(?:bwd|fwd)_diff\(\s*([\w.:]+)", kernel)
    return next((name for name in called if re.split(r"::|\.", name)[-1] in names), "")
