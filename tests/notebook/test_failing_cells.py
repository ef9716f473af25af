"""A cell with a mistake fails for every tool that runs notebooks: nbclient, nbconvert, nbval."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

GOOD = ["%load_ext slangnb", "%%slang\nfloat f(float x)\n{   return x + 1;\n}", "f(1.0)"]
WRONG = {
    "source": ["%load_ext slangnb", "%%slang\nfloat f(float x)\n{   return x + yy;\n}"],
    "call": [*GOOD[:2], "f(y=1.0)"],
    "place": ["%load_ext slangnb", "# a comment\n%%slang\nfloat f(float x) { return x; }"],
    "empty": ["%load_ext slangnb", "%%slang"],
    "option": ["%load_ext slangnb", "%%slang --nonsense\nfloat f(float x) { return x; }"],
}


def notebook(cells: list[str]) -> nbformat.NotebookNode:
    return new_notebook(cells=[new_code_cell(c) for c in cells])


@pytest.mark.parametrize("kind", WRONG)
def test_nbclient(kind: str) -> None:
    nb = notebook(WRONG[kind])
    with pytest.raises(CellExecutionError) as caught:
        NotebookClient(nb, timeout=120).execute()
    assert caught.value.ename == {"source": "CompileError"}.get(kind, "CallError")
    shown = "\n".join(nb.cells[-1].outputs[-1].traceback)
    assert "remedy" in shown and "site-packages" not in shown
    if kind == "source":
        assert "line 3" in shown and "^^" in shown


def test_good_notebook_passes_nbclient() -> None:
    nb = notebook(GOOD)
    NotebookClient(nb, timeout=120).execute()
    assert nb.cells[2].outputs[0].data["text/plain"] == "2.0"


@pytest.mark.parametrize("tool", ["nbconvert", "nbval"])
def test_other_tools(tool: str, tmp_path: Path) -> None:
    command = {
        "nbconvert": ["nbconvert", "--to", "notebook", "--execute", "--stdout"],
        "nbval": ["pytest", "--nbval", "-q", "-o", "addopts=", "-p", "no:cacheprovider"],
    }[tool]
    results = {}
    for name, cells in (("good", GOOD), ("wrong", WRONG["source"])):
        path = tmp_path / f"{name}.ipynb"
        nb = notebook(cells)
        if name == "good":
            NotebookClient(nb, timeout=120).execute()
        nbformat.write(nb, path)
        results[name] = subprocess.run(
            [sys.executable, "-m", *command, str(path)], capture_output=True, text=True, cwd=tmp_path, check=False
        )
    assert results["good"].returncode == 0, results["good"].stdout + results["good"].stderr
    assert results["wrong"].returncode != 0


def test_a_function_of_another_cell_is_named_with_its_cell() -> None:
    cells = [
        "%load_ext slangnb",
        "%%slang tools\nfloat twice(float x) { return 2 * x; }",
        "%%slang\nfloat poly(float x) { return x * x; }",
        "%%slang\nfloat thrice(float x) { return twice(x) + x; }",
        "%%slang\nfloat g(float x) { return poly(x); }",
    ]
    nb = notebook(cells)
    NotebookClient(nb, timeout=120, allow_errors=True).execute()
    named, unnamed = ("\n".join(cell.outputs[-1].traceback) for cell in nb.cells[3:])
    assert "`twice` is in cell `tools`: write `import tools;` at the top" in named
    assert "`poly` is in In[3], which has no name: write `%%slang NAME` there, and `import NAME;` here" in unnamed
