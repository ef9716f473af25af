"""Names of Slang functions that meant something in Python before: modules stay, the rest is replaced and said."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn


def run(shell: Any, text: str) -> Any:
    outcome = shell.run_cell(text, store_history=True)
    outcome.raise_error()
    return outcome.result


def said(shell: Any, text: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run a cell; give the notes behind its summary."""
    capsys.readouterr()
    run(shell, text)
    return capsys.readouterr().out.strip().split("; ")[1:]


def test_modules_stay(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "import numpy as np, slangnb as sn")
    notes = said(shell, "%%slang\nfloat np(float x) { return x; }\nfloat sn(float x) { return x; }", capsys)
    assert notes == [
        "`np` stays the module numpy: export it with -o np, or name the cell",
        "`sn` stays the module slangnb: export it with -o sn, or name the cell",
    ]
    assert shell.user_ns["np"] is np and shell.user_ns["sn"] is sn
    notes = said(shell, "%%slang own_np\nfloat np(float x) { return x + 1; }", capsys)
    assert notes == ["`np` stays the module numpy: call it as own_np['np']"]
    assert run(shell, "own_np['np'](1.0)") == 2.0
    notes = said(shell, "%%slang -o np\nfloat np(float x) { return x + 2; }", capsys)
    assert notes == ["`np` was the module numpy and is now the Slang function"]
    assert run(shell, "np(1.0)") == 3.0


def test_a_cell_is_not_called_as_a_module_is(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "import types as shapes")
    notes = said(shell, "%%slang shapes\npublic float max(float x) { return x; }", capsys)
    assert notes == [
        "`shapes` stays the module types: cells import it as `import shapes;` all the same",
        "`max` stays Python's own name: export it with -o max",
    ]
    assert shell.user_ns["shapes"] is types
    run(shell, "%%slang\nimport shapes;\nfloat more(float x) { return max(x) + 1; }")
    assert run(shell, "more(1.0)") == 2.0


def test_other_values_are_replaced_and_named(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(
        shell,
        "import numpy, slangnb\nx = slangnb.tensor([1.0])\na = numpy.ones(2)\nRay = type('Ray', (), {})\nz = None",
    )
    run(shell, "def g(): pass")
    cell = "%%slang\nfloat x(float v) { return v; }\nfloat a(float v) { return v; }\nfloat z(float v) { return v; }\n"
    cell += "float g(float v) { return v; }\nstruct Ray { float t; };\nfloat fresh(float v) { return v; }"
    assert said(shell, cell, capsys) == [
        "`x` was a tensor and is now the Slang function",
        "`a` was a numpy array and is now the Slang function",
        "`z` was None and is now the Slang function",
        "`g` was a Python function and is now the Slang function",
        "`Ray` was a class and is now the Slang struct",
    ]
    assert run(shell, "x(2.0)") == 2.0
    assert said(shell, cell + "// again", capsys) == []


def test_a_loaded_file_leaves_them_too(shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "named.slang"
    file.write_text("float np(float x) { return x; }\nfloat max(float x) { return x; }\nfloat v(float x) { return x; }")
    run(shell, "import numpy as np\nv = 1")
    assert said(shell, f"%slang load '{file}'", capsys) == [
        "`np` stays the module numpy: rename it in named.slang to call it",
        "`max` stays Python's own name: rename it in named.slang to call it",
        "`v` was an int and is now the Slang function",
    ]
    assert run(shell, "max(1, 2)") == 2 and shell.user_ns["np"] is np


def test_results_of_the_cell_before_it_was_changed(shell: Any) -> None:
    cell = "%%slang\n[Differentiable] float changed(float x) {{ return {} * x; }}"
    run(shell, "import numpy as np, slangnb as sn")
    run(shell, cell.format(2))
    run(shell, "x = sn.tensor([1, 2], grad=True); y = changed(x, _result='tensor').with_grads()")
    run(shell, "y.grad.copy_from_numpy(np.ones(2, np.float32))")
    run(shell, cell.format(2))  # run again as it is
    run(shell, "changed.bwds(x, _result=y)")
    assert run(shell, "x.grad.to_numpy().tolist()") == [2, 2]
    run(shell, cell.format(3))
    outcome = shell.run_cell("changed.bwds(x, _result=y)")
    assert str(outcome.error_in_exec).startswith("changed was compiled again after this result was computed")


@pytest.mark.parametrize("name", ["get_ipython", "lambda", "None", "_oh", "__name__"])
def test_what_ipython_needs_is_not_exported(shell: Any, capsys: pytest.CaptureFixture[str], name: str) -> None:
    before = shell.user_ns.get(name)
    text = f"float {name}(float x) {{ return 2 * x; }}"
    note = f"`{name}` stays Python's own name: rename it, or name the cell and write NAME[{name!r}]"
    assert said(shell, f"%%slang\n{text}", capsys) == [note]
    assert said(shell, f"%%slang -o {name}\n{text}", capsys) == [note]
    assert shell.user_ns.get(name) is before
    assert said(shell, f"%%slang own\n{text}", capsys) == [
        f"`{name}` stays Python's own name: call it as own[{name!r}]"
    ]
    assert run(shell, f"own[{name!r}](1.0)") == 2.0


def test_a_function_with_the_name_of_its_cell_is_called(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = "public float disc(float x) { return 2 * x; }\npublic float max(float x) { return x; }"
    assert said(shell, f"%%slang disc\n{text}", capsys) == [
        "`max` stays Python's own name: export it with -o max",
        "`disc` is the function: other cells import the module as `import disc;`",
    ]
    assert run(shell, "disc(2.0)") == 4.0
    run(shell, "%%slang\nimport disc;\nfloat more(float x) { return disc(x) + 1; }")
    assert run(shell, "more(2.0)") == 5.0
