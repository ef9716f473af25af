"""Has slangtorch's compiler read a source before anything is built, and maps what it says to the person's lines."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from slangnb.compiler.advice.remedies import with_remedies
from slangnb.compiler.diagnostics import parse
from slangnb.compiler.graph import Known
from slangnb.compiler.source import Source
from slangnb.compiler.torch_source import ENTRY
from slangnb.errors import CompileError, Diagnostic
from slangnb.interop.slangtorch.process import Outcome, run

#: What slangtorch makes of one source: functions for Python, and kernels.
TARGETS = ("torch-binding", "cuda")
_SIZE = re.compile(r"of type 'vector<uint,3>', got 'no_diff vector<uint,3>'")
#: A path without return is no error for the compiler, and any value at all for the caller.
_MISSING_RETURN = "E41010"

# Code, pattern of the message, remedy; for what only these sources have.
_ADVICE = (
    ("E30019", _SIZE, "give the size a name first: `let groupSize = uint3(...);`, and pass that"),
    ("E42001", None, f"mark the function with [{ENTRY}]; a kernel takes TensorView, and gets it from a TorchTensor"),
    ("E55101", None, "return a TorchTensor, or a struct of TorchTensors: Python gets a tuple"),
    ("E31000", re.compile("attribute"), "those for PyTorch are [TorchEntryPoint], [CudaKernel] and [AutoPyBindCUDA]"),
)


def check(
    compiler: Path, file: Path, sources: Mapping[str, Source], seconds: float, known: Known | None = None
) -> tuple[tuple[Diagnostic, ...], str]:
    """Compile a file to C++ and CUDA text, which is thrown away.

    Parameters
    ----------
    compiler : Path
        ``slangc``.
    file : Path
        The source as `slangnb.interop.slangtorch.sources.write` wrote it.
    sources : mapping of str to Source
        What the person wrote, by module name; the last is the file's.
    seconds : float
        Time limit.
    known : mapping of str to names, optional
        What could be imported, and what it declares.

    Returns
    -------
    diagnostics : tuple of Diagnostic
        Warnings.
    text : str
        The compiler's own words, from which `warnings` makes them again.

    Raises
    ------
    CompileError
        If it does not compile, or the compiler crashes or gives no answer.
    """
    with tempfile.TemporaryDirectory(prefix="slangnb-") as folder:
        commands = [
            [str(compiler), str(file), "-target", target, "-o", str(Path(folder, target)), "-ignore-capabilities"]
            for target in TARGETS
        ]
        done = run(commands, Path(folder), seconds)
    return judge(done, sources, seconds, known)


def judge(
    done: Sequence[Outcome], sources: Mapping[str, Source], seconds: float, known: Known | None = None
) -> tuple[tuple[Diagnostic, ...], str]:
    """Decide what the compiler's runs mean; see `check`."""
    text = "\n".join(one.text for one in done)
    found = diagnostics(text, sources, known)
    errors = [d for d in found if d.severity == "error"]
    source = list(sources.values())[-1]
    for one in done:
        if one.status is None:
            raise CompileError([_stopped(source, f"gave no answer within {seconds:g} s (timed out)")])
        if one.crashed:
            raise CompileError([*errors, _stopped(source, "crashed")])
    if errors or any(one.status for one in done):
        raise CompileError(found or [_stopped(source, f"failed with status {done[0].status}")])
    return found, text


def diagnostics(text: str, sources: Mapping[str, Source], known: Known | None = None) -> tuple[Diagnostic, ...]:
    """Read the compiler's text.

    Examples
    --------
    >>> text = "warning[E41010]: non-void function does not return in all cases\\n --> m_0123456789ab:2:5\\n"
    >>> text += "  |\\n2 | int f() { }\\n  |     ^ non-void function does not return in all cases"
    >>> diagnostics(text, {"m_0123456789ab": Source("int f() { }", "In[3]", 2)})[0].severity
    'error'
    """
    if not text.strip():
        return ()
    found = [
        replace(d, severity="error") if d.code == _MISSING_RETURN else d
        for d in parse(text, sources)
        if d.code or d.severity == "error"
    ]
    return with_remedies(map(_advised, found), sources, known)


def _advised(d: Diagnostic) -> Diagnostic:
    for code, pattern, remedy in _ADVICE:
        if d.code == code and (pattern is None or pattern.search(d.message)):
            return replace(d, remedy=remedy)
    return d


def _stopped(source: Source, how: str) -> Diagnostic:
    return Diagnostic(
        "error",
        "",
        f"slangtorch's compiler {how} while it read {source.label}; the notebook's kernel is unharmed",
        source.label,
        remedy="leave out one function after the other to find the one that it cannot take",
    )
