"""What slangtorch's compiler says, at the person's own lines. Needs slangtorch, but neither CUDA nor torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from slangtorch_here import KERNELS, SQUARE, has_compiler

from slangnb.compiler.source import Source
from slangnb.errors import CallError, CompileError, Diagnostic
from slangnb.interop.slangtorch.needs import find_compiler
from slangnb.interop.slangtorch.process import Outcome
from slangnb.interop.slangtorch.sources import Sources, current_sources, write
from slangnb.interop.slangtorch.translate import check, judge

compiled_here = pytest.mark.skipif(not has_compiler(), reason="slangtorch is not installed")
Compile = Callable[..., tuple[Diagnostic, ...]]


@pytest.fixture
def compile_cell(tmp_path: Path) -> Compile:
    """Translate a cell as ``%%slang`` in ``In[3]`` would; gives the warnings."""

    def run(
        text: str, defines: tuple[tuple[str, str], ...] = (), include: tuple[Path, ...] = ()
    ) -> tuple[Diagnostic, ...]:
        sources = current_sources()
        units = sources.chain(Source(text, "In[3]", 2, defines), include)
        file = write(units, tmp_path / "build")
        compiler = find_compiler(os.environ)
        assert compiler is not None
        return check(compiler, file, {u.module: u.source for u in units}, 60, sources.names(units[-1]))[0]

    return run


def only_error(compile_cell: Compile, text: str) -> Diagnostic:
    with pytest.raises(CompileError) as caught:
        compile_cell(text)
    return caught.value.diagnostics[0]


@compiled_here
def test_the_square_of_the_documentation_translates(compile_cell: Compile) -> None:
    assert compile_cell(SQUARE) == ()
    assert compile_cell(KERNELS, (("OFFSET", "10"),)) == ()


@compiled_here
def test_a_macro_that_is_not_given(compile_cell: Compile) -> None:
    one = only_error(compile_cell, KERNELS)
    assert (one.code, one.source.strip()) == ("E30015", "output[i] = scale.by * input[i] + scale.plus + OFFSET;")


@compiled_here
@pytest.mark.parametrize(
    ("right", "wrong", "marked", "remedy"),
    [
        ("return x * x;", "return x * yy;", "yy", "declare `yy`"),
        ("__bwd_diff(square)", "__bwd_diff(squre)", "squre", "did you mean `square`?"),
        ("float result = square(input", "float result = sqare(input", "sqare", "did you mean `square`?"),
        ("input.load(globalIdx.x, globalIdx.y));\n    output", "input.lod(globalIdx.x));\n    output", "lod", ""),
        ("uint3(1);\n    let groupSize = uint3(result", "uint3(1)\n    let groupSize = uint3(result", "", "write `;`"),
    ],
)
def test_mistakes_are_placed(compile_cell: Compile, right: str, wrong: str, marked: str, remedy: str) -> None:
    text = SQUARE.replace(right, wrong)
    assert text != SQUARE
    one = only_error(compile_cell, text)
    assert one.file == "In[3]" and one.severity == "error"
    assert one.source == text.split("\n")[one.line - 2]
    assert one.source[one.column - 1 :][: one.length].strip() == marked
    assert remedy in one.remedy


@compiled_here
def test_a_size_without_a_name(compile_cell: Compile) -> None:
    text = SQUARE.replace("(square_fwd_kernel, blockCount, groupSize)", "(square_fwd_kernel, uint3(1), groupSize)")
    one = only_error(compile_cell, text)
    assert one.remedy == "give the size a name first: `let groupSize = uint3(...);`, and pass that"


@compiled_here
def test_results_that_python_cannot_take(compile_cell: Compile) -> None:
    text = "[TorchEntryPoint]\nTuple<TorchTensor<float>, int> f(TorchTensor<float> x) { return makeTuple(x, 1); }"
    one = only_error(compile_cell, text)
    assert (one.code, one.line) == ("E55101", 3) and "a struct of TorchTensors" in one.remedy


@compiled_here
def test_a_misspelt_attribute(compile_cell: Compile) -> None:
    with pytest.raises(CompileError) as caught:
        compile_cell(SQUARE.replace("[TorchEntryPoint]", "[TorchEntrypoint]", 1))
    first, second = caught.value.diagnostics
    assert (first.code, first.line) == ("E42001", 20) and "mark the function with [TorchEntryPoint]" in first.remedy
    assert (second.code, second.line) == ("E31000", 19) and "[TorchEntryPoint]" in second.remedy


@compiled_here
def test_a_missing_return_is_an_error(compile_cell: Compile) -> None:
    one = only_error(compile_cell, "[TorchEntryPoint]\nint f(TorchTensor<float> x)\n{\n    int y = 1;\n}")
    assert (one.code, one.severity, one.line) == ("E41010", "error", 3) and "add a `return`" in one.remedy


@compiled_here
def test_a_crash_of_the_compiler_is_an_error(compile_cell: Compile) -> None:
    one = only_error(compile_cell, "[AutoPyBindCUDA]\nvoid f(TensorView<float> x) { x[0] = 1; }")
    assert "crashed while it read In[3]; the notebook's kernel is unharmed" in one.message


@compiled_here
def test_imports_and_includes(compile_cell: Compile, tmp_path: Path) -> None:
    (tmp_path / "lib.slang").write_text("public float tripled(float x) { return 3 * x; }")
    (tmp_path / "limits.h").write_text("#define LIMIT 4")
    text = 'import lib;\n#include "limits.h"\n' + SQUARE.replace("return x * x;", "return tripled(x) * LIMIT;")
    text = text.replace("[BackwardDifferentiable]", "[BackwardDifferentiable] [TreatAsDifferentiable]")
    text = text.replace("tripled(x)", "no_diff(tripled(x))")
    assert compile_cell(text, include=(tmp_path,)) == ()
    (tmp_path / "lib.slang").write_text("public float tripled(float x) { return 3 * xx; }")
    one = only_error(lambda t: compile_cell(t, include=(tmp_path,)), text)
    assert (one.file, one.line, one.column) == ("lib.slang", 1, 44)


@compiled_here
def test_cells_of_the_session_are_imported(compile_cell: Compile, session: object) -> None:
    from slangnb.runtime.session import Session

    assert isinstance(session, Session)
    session.compile("public float halved(float x) { return x / 2; }", "torch_cell_helpers")
    text = SQUARE.replace("[BackwardDiff", "import torch_cell_helpers;\n[BackwardDiff")
    text = text.replace("float result = square(", "float result = halved(")
    assert compile_cell(text) == ()
    one = only_error(compile_cell, SQUARE.replace("float result = square(", "float result = halvd("))
    assert one.code == "E30015"


def test_files_that_import_each_other(tmp_path: Path) -> None:
    (tmp_path / "one.slang").write_text("import two;")
    (tmp_path / "two.slang").write_text("import one;")
    with pytest.raises(CallError, match=r"circle: one\.slang -> two\.slang -> one\.slang"):
        Sources([]).chain(Source("import one;", "In[3]", 2), (tmp_path,))


def test_a_file_of_the_same_content_keeps_its_time(tmp_path: Path) -> None:
    units = Sources([]).chain(Source("float f() { return 1; }", "In[3]", 2), ())
    path = write(units, tmp_path)
    before = path.stat().st_mtime_ns
    assert write(units, tmp_path) == path and path.stat().st_mtime_ns == before


# What the runs mean

CELL = {"m_0123456789ab": Source("int a;", "In[3]", 2)}
GOOD = Outcome(0, "")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Outcome(-11, ""), "crashed while it read In[3]"),
        (Outcome(0xC0000005, ""), "crashed"),
        (Outcome(None, ""), "gave no answer within 60 s"),
        (Outcome(7, ""), "failed with status 7"),
    ],
)
def test_how_the_compiler_may_end(bad: Outcome, message: str) -> None:
    with pytest.raises(CompileError, match=message.replace("[", r"\[")):
        judge([bad, GOOD], CELL, 60)


def test_both_runs_report_once() -> None:
    text = "warning[E30081]: implicit conversion not recommended\n --> m_0123456789ab:2:5\n  |\n"
    text += "2 | int a;\n  |     ^ implicit conversion from 'float' to 'int' is not recommended"
    found, kept = judge([Outcome(0, text), Outcome(0, text)], CELL, 60)
    assert [(d.line, d.severity) for d in found] == [(2, "warning")] and "E30081" in kept


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for the compiler")
def test_a_compiler_that_never_ends(tmp_path: Path) -> None:
    fake = tmp_path / "slangc"
    fake.write_text("#!/bin/sh\nsleep 60\n")
    fake.chmod(0o755)
    with pytest.raises(CompileError, match="timed out"):
        check(fake, tmp_path / "x.slang", CELL, 0.2)
