"""What a person writes wrong in the first hour, and what the notebook answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import slangnb as sn
from slangnb.notebook import extension
from slangnb.notebook.commands import HELP
from slangnb.notebook.first_line import TWO_SIGNS, mend
from slangnb.notebook.options import target
from slangnb.runtime.current import session as current
from slangnb.runtime.current import set_session

CODE = "float f(float x) { return x; }\n"


def run(shell: Any, text: str) -> Any:
    outcome = shell.run_cell(text, store_history=True)
    outcome.raise_error()
    return outcome.result


def answer(shell: Any, text: str) -> tuple[str, str]:
    """Run a cell that fails; give the message and the remedy."""
    with pytest.raises(sn.CallError) as caught:
        run(shell, text)
    return caught.value.message, caught.value.remedy


@pytest.mark.parametrize(
    ("cell", "message", "remedy"),
    [
        (f"%%slang --chek\n{CODE}", "%%slang: there is no option --chek", "did you mean `--check`?"),
        (f"%%slang --zz\n{CODE}", "%%slang: there is no option --zz", "%%slang? shows all options"),
        (
            f"%%slang my cell\n{CODE}",
            "%%slang: the name of a cell is one word, not 'my cell'",
            "write `%%slang my_cell`; %%slang? shows all options",
        ),
        (
            f"%%slang --show hlls\n{CODE}",
            "there is no target 'hlls'",
            "one of slang, hlsl, glsl, spirv-asm, cuda, metal, wgsl",
        ),
        (
            "%slang float f(float x) { return x; }",
            "%slang: Slang code needs two signs",
            TWO_SIGNS,
        ),
        (f"%slang\n{CODE}", "%slang: Slang code needs two signs", TWO_SIGNS),
        (f"%slang --check\n[Differentiable]\n{CODE}", "%slang: Slang code needs two signs", TWO_SIGNS),
        ("%%slang reset", "the cell has no code below `%%slang reset`", "the command is `%slang reset`"),
    ],
)
def test_options_and_commands(
    shell: Any, cell: str, message: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(shell, cell) == (message, remedy)
    assert "compiled" not in capsys.readouterr().out


@pytest.mark.parametrize("cell", ["%%slang", "%%slang\n", "%%slang named\n\n  \n"])
def test_an_empty_cell(shell: Any, cell: str) -> None:
    message, remedy = answer(shell, cell)
    assert message == "the cell is empty: `%%slang` compiles the code below it"
    assert remedy.startswith("write a function there, as `float twice(float x)")


@pytest.mark.parametrize("cell", ["%%slang --help", "%%slang -h\nfloat f("])
def test_help_needs_no_code(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, cell)
    out = capsys.readouterr().out
    assert out.startswith("  %%slang [-b BACKEND] [-I DIR] [-D MACRO]")
    assert "-n NAME, --name NAME" in out and "NAME_OPTION" not in out and "<" not in out


def test_spirv_is_its_text() -> None:
    assert target("spirv") == target("spirv-asm") == "spirv-asm"


def test_files_that_are_not_there(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    message, remedy = answer(shell, "%slang load heat.slang")
    assert message == "there is no file heat.slang"
    assert remedy == f"there is no .slang file in the folder {tmp_path.name}, nor in `shaders`"
    (tmp_path / "shaders").mkdir()
    (tmp_path / "shaders" / "heat.slang").touch()
    assert answer(shell, "%slang load heat.slang")[1] == "did you mean `%slang load shaders/heat.slang`?"
    assert answer(shell, "%slang load shaders/haet.slang")[1] == "did you mean `%slang load shaders/heat.slang`?"
    assert answer(shell, "%slang load nope.slang")[1] == "there is shaders/heat.slang"
    (tmp_path / "own.slang").touch()
    assert answer(shell, "%slang load brdf.slang")[1] == "there are own.slang, shaders/heat.slang"


@pytest.mark.parametrize(
    "above", ["# the polynomial\n", "import os\n", "%matplotlib inline\n", "# it's\n\n", "x = 1  # {\n  "]
)
def test_lines_above_the_magic(shell: Any, above: str) -> None:
    message, remedy = answer(shell, f"{above}%%slang --check\n{CODE}")
    assert message == "`%%slang` must be the first line of the cell"
    assert remedy.startswith("move Python code into a cell of its own, and a comment below `%%slang`")


def test_blanks_before_the_magic(shell: Any) -> None:
    message, remedy = answer(shell, f"  %%slang\n{CODE}")
    assert (message, remedy) == ("`%%slang` must stand at the left edge of the cell", "remove the blanks before it")
    run(shell, f"\n\n%%slang\n{CODE}")
    assert run(shell, "f(2.0)") == 2.0


def test_python_that_speaks_of_it_is_python(shell: Any) -> None:
    run(shell, f"text = '''\n%%slang\n{CODE}'''")
    assert shell.user_ns["text"] == f"\n%%slang\n{CODE}"
    for cell in (["x = 1\n"], ["x = = 1\n"], []):
        assert mend(cell) == cell
    with pytest.raises(SyntaxError):
        run(shell, "x = = 1")


def test_a_command_above_wrong_python_is_no_slang(shell: Any) -> None:
    assert TWO_SIGNS == "write `%%slang` on the first line, the code below it"
    for below in ("x = = 1", "def g(x):\n    return f(x) +", "print({1: 2)"):
        with pytest.raises(SyntaxError):
            run(shell, f"%slang modules\n{below}")


def test_what_a_failed_cell_leaves(shell: Any) -> None:
    run(shell, f"%%slang\n{CODE}float g(float x) {{ return x; }}")
    wrong = "%%slang\nfloat f(float x) { return 2 * xx; }\n"
    for more, note in (
        ("float h(float x) { return x; }", "note: `f` is still the one compiled before"),
        ("float g(float x) { return x; }", "note: `f` and `g` are still the ones compiled before"),
    ):
        with pytest.raises(sn.CompileError) as caught:
            run(shell, wrong + more)
        assert caught.value.render(colour=False).splitlines()[-1] == note
    with pytest.raises(sn.CompileError) as caught:
        run(shell, wrong.replace(" f(", " new("))
    assert "note:" not in caught.value.render(colour=False)
    assert run(shell, "f(2.0)") == 2.0


@pytest.mark.parametrize("attributes", ['[shader("compute")] [numthreads(1, 1, 1)]', "[numthreads(64, 1, 1)]"])
def test_entry_points_are_not_called(shell: Any, capsys: pytest.CaptureFixture[str], attributes: str) -> None:
    entry = f"{attributes}\nvoid main(uint3 t : SV_DispatchThreadID) {{}}\n"
    run(shell, f"%%slang\n{entry}")
    assert capsys.readouterr().out.startswith(
        "compiled entry points, which are not called from Python: write a plain function, as `float twice("
    )
    run(shell, f"%%slang\n{entry}{CODE}")
    assert capsys.readouterr().out == "compiled f(x)\n"
    run(shell, '%%slang\n// [shader("compute")]')
    assert capsys.readouterr().out.startswith("compiled an empty module: ")


def test_unloading_says_that_the_device_is_closed(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shared = current()
    other = sn.Session(shared.backend.key, guard=False)
    set_session(other)
    try:
        extension.unload_ipython_extension(shell)
        closed = capsys.readouterr().out
        assert closed == "closed; functions and tensors of the old device are gone, run the cells again\n"
        extension.load_ipython_extension(shell)
        extension.unload_ipython_extension(shell)
        assert capsys.readouterr().out == ""
    finally:
        set_session(shared)


def test_a_flood_of_printing_is_cut(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, '%%slang -q\nimport sgl.device.print;\nvoid tell(int x) { print("x={}", x); }')
    capsys.readouterr()
    run(shell, "import numpy as np\ntell(np.arange(1300, dtype=np.int32))")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 201 and all(line.startswith("x=") for line in lines[:200])
    assert lines[200] == "… 1,100 more lines"
    run(shell, "tell(np.arange(200, dtype=np.int32))")
    assert len(capsys.readouterr().out.splitlines()) == 200


def test_help_names_pythons_side() -> None:
    words = HELP.split("import slangnb as sn\n")[1]
    named = {line.split("(")[0].removeprefix("sn.") for line in words.splitlines() if line.startswith("sn.")}
    seen = {"tensor", "show", "value_and_grad", "gradcheck", "Parameter", "explore", "optimize", "landscape"}
    assert named == seen
    assert seen <= set(dir(sn))


def test_a_notebook_without_torch_says_what_to_install(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Path(__file__).parents[2] / "notebooks" / "04-inside-pytorch.ipynb"
    first = next(c for c in json.loads(notebook.read_text("utf-8"))["cells"] if c["cell_type"] == "code")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match="this notebook needs PyTorch: run `%pip install torch` in a cell"):
        run(shell, "".join(first["source"]))
