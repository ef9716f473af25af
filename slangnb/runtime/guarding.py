"""Asks the guard before this process compiles, and turns its verdicts into errors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from slangnb.compiler.advice.crash import crash_hint
from slangnb.compiler.graph import Graph, Unit
from slangnb.compiler.reflection import FunctionInfo
from slangnb.compiler.source import Source
from slangnb.devices.caches import KnownGood
from slangnb.devices.guard import Guard, Verdict
from slangnb.devices.wire import UndescribableError, describe
from slangnb.errors import CompileError, Diagnostic
from slangnb.runtime.target import Step
from slangnb.runtime.translate import COMPILER_ERROR, compile_error

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


def check_module(guard: Guard, known: KnownGood, graph: Graph, unit: Unit, sources: Mapping[str, Source]) -> None:
    """Compile a module in the child.

    Raises
    ------
    CompileError
        If it does not compile, or if the compiler crashes or hangs on it.
    """
    key = kernel_key("module", unit.module)
    if key in known:
        return
    needed = [u for k in unit.imports.values() for u in graph.chain(k)]
    units = list({u.key: u for u in [*needed, unit]}.values())
    verdict = guard.check({"modules": request_modules(units)})
    if verdict.outcome == "ok":
        known.add(key)
    elif verdict.outcome == "error":
        raise compile_error(verdict.text, sources, graph.names(unit))
    else:
        raise _stopped(verdict, guard, f"while it read {unit.source.label}", unit.source, None)


def check_kernel(
    guard: Guard,
    known: KnownGood,
    units: Sequence[Unit],
    info: FunctionInfo,
    chain: tuple[Step, ...],
    backward: bool,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """Compile a kernel in the child.

    A call with values that cannot be described to the child (textures, buffers) goes unchecked. An error that is
    not the compiler's is left to this process, which meets it again and can say more about the arguments.

    Raises
    ------
    CompileError
        If the compiler reports an error, crashes or hangs.
    """
    try:
        steps = [(m, [describe(a) for a in a_], {k: describe(v) for k, v in kw.items()}) for m, a_, kw in chain]
        described = [describe(a) for a in args], {k: describe(v) for k, v in kwargs.items()}
    except UndescribableError:
        return
    key = kernel_key("kernel", [u.module for u in units], info.name, steps, backward, described)
    if key in known:
        return
    verdict = guard.check(
        {
            "modules": request_modules(units),
            "function": info.name,
            "own": info.own,
            "chain": steps,
            "backward": backward,
            "args": described[0],
            "kwargs": described[1],
        }
    )
    if verdict.outcome == "ok":
        known.add(key)
    elif verdict.outcome == "error":
        if COMPILER_ERROR.search(verdict.text):
            raise compile_error(verdict.text, {u.module: u.source for u in units})
    else:
        what = f"while it built the {'backward' if backward else 'forward'} pass of {info.name}"
        raise _stopped(verdict, guard, what, units[-1].source, info)


def check_text(
    guard: Guard,
    known: KnownGood,
    name: str,
    text: str,
    entry: str,
    units: Sequence[Unit],
    sources: Mapping[str, Source],
) -> None:
    """Compile a kernel that slangnb wrote itself in the child.

    Raises
    ------
    CompileError
        As `check_kernel`.
    """
    key = kernel_key("text", name, entry)
    if key in known:
        return
    modules = [*request_modules(units), (name, text, [u.module for u in units[-1:]])]
    verdict = guard.check({"modules": modules, "entry": entry})
    if verdict.outcome == "ok":
        known.add(key)
    elif verdict.outcome == "error":
        raise compile_error(verdict.text, sources)
    else:
        source = units[-1].source if units else Source("", "slangnb")
        raise _stopped(verdict, guard, "while it built the gradient kernel", source, None)


def _stopped(verdict: Verdict, guard: Guard, what: str, source: Source, info: FunctionInfo | None) -> CompileError:
    message = f"{_ENDS[verdict.outcome].format(seconds=guard.seconds)} {what}; the notebook's kernel is unharmed"
    hint = crash_hint(source, info.name) if info is not None else ""
    line = info.line if info is not None else 0
    remedy = (
        hint or "simplify the function step by step: run-time branches around tensor reads, loop conditions, nesting"
    )
    at = Diagnostic("error", "", message, source.label, line, 0, 1, source.line(line) if line else "", (), remedy)
    return CompileError([at])
