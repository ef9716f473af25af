"""``%%slang`` cells for slangtorch: which they are, what is said where it cannot run, and the line that is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import slangnb as sn
from slangnb.errors import Diagnostic
from slangnb.interop.slangtorch import load as slangtorch_load
from slangnb.notebook import torch_cells

CELL = """[AutoPyBindCUDA]
[CudaKernel]
void doubled(TensorView<float> x)
{
    uint i = cudaThreadIdx().x;
    if (i < x.size(0))
        x[i] = 2 * x[i];
}
"""


#: What a build shows.
LINES = [(f"compiling doubled(x) for PyTorch ...{rest}", rest == " 16.2 s") for rest in ("", " 1 s", " 16.2 s")]


class Built(dict[str, Any]):
    """Stands for a module: names and functions."""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the build, which needs CUDA; gives what it was asked, and may be told to build."""
    asked: list[Any] = []

    def compile_source(text: str, label: str, first_line: int, *rest: Any, **options: Any) -> slangtorch_load.Made:
        fresh = len(asked) == 0
        asked.append((text, label, first_line, *rest, options))
        if fresh and options["show"]:
            for line, finished in LINES:
                options["show"](line, finished)
        warning = Diagnostic("warning", "E1", "look here", label, 4)
        module: Any = Built(doubled=len(asked))
        return slangtorch_load.Made(module, (warning,) if "WARN" in text else (), "doubled(x)", fresh)

    monkeypatch.setattr(slangtorch_load, "compile_source", compile_source)
    return asked


def run(shell: Any, text: str) -> Any:
    outcome = shell.run_cell(text, store_history=True)
    outcome.raise_error()
    return outcome.result


def test_entry_points_become_names_and_one_line_is_printed(
    shell: Any, compiled: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%%slang kernels -D N=4 -I somewhere\n" + CELL)
    assert capsys.readouterr() == ("compiling doubled(x) for PyTorch ... 16.2 s\n", "")
    assert shell.user_ns["doubled"] == 1 and shell.user_ns["kernels"] == {"doubled": 1}
    text, label, first, defines, include, options = compiled[0]
    assert (text, label, first, defines, include) == (CELL, "In[1]", 2, {"N": "4"}, ("somewhere",))
    assert options["force"] is False
    run(shell, "%%slang\n" + CELL)
    assert capsys.readouterr() == ("compiled doubled(x)\n", "")


def test_quiet_time_force_and_only(shell: Any, compiled: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%slang -q --force\n" + CELL)
    assert capsys.readouterr() == ("", "")
    assert compiled[0][-1] == {"force": True, "show": None}
    run(shell, "%%slang --time\n" + CELL)
    out = capsys.readouterr().out
    assert out.startswith("compiled doubled(x)  (") and out.endswith(" ms)\n")
    with pytest.raises(sn.CallError, match="the cell defines no 'other'"):
        run(shell, "%%slang -o other\n" + CELL)


def test_warnings_are_printed(shell: Any, compiled: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%slang\n// WARN\n" + CELL)
    assert "warning[E1]: look here" in capsys.readouterr().out


def test_the_option_takes_a_cell_without_attributes(shell: Any, compiled: list[Any]) -> None:
    run(shell, "%%slang --torch\nimport kernels;")
    assert len(compiled) == 1
    run(shell, "%%slang\n// [CudaKernel]\nfloat plain_one(float x) { return x; }")
    assert len(compiled) == 1 and run(shell, "plain_one(2.0)") == 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-b vulkan", r"a cell with \[AutoPyBindCUDA\] runs on CUDA alone, not on 'vulkan'"),
        ("--check", "--check is not for a cell with"),
        ("--show hlsl", "--show is not for a cell with"),
    ],
)
def test_options_of_slangpy_are_refused(shell: Any, compiled: list[Any], options: str, message: str) -> None:
    with pytest.raises(sn.CallError, match=message):
        run(shell, f"%%slang {options}\n{CELL}")
    assert not compiled


def test_files_are_recognised(
    shell: Any, compiled: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernels.slang"
    file.write_text(CELL)
    run(shell, f"%slang load '{file}'")
    assert shell.user_ns["doubled"] == 1 and compiled[0][1:3] == ("kernels.slang", 1)
    assert compiled[0][-1]["folder"] == tmp_path.resolve()


def test_in_a_notebook_one_output_changes(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, bool]] = []

    def publish(data: Any, metadata: Any = None, *, transient: Any = None, update: bool = False, **_: Any) -> None:
        sent.append((data["text/plain"], update))
        ids.add(transient["display_id"])

    ids: set[str] = set()
    monkeypatch.setattr(shell.display_pub, "publish", publish)
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    show = torch_cells.shown(shell)
    for line, finished in LINES:
        show(line, finished)
    assert sent == [(LINES[0][0], False), (LINES[1][0], True), (LINES[2][0], True)] and len(ids) == 1


def test_what_is_missing_is_said_in_the_cell(shell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(sn.BackendError, match=r"(?s)\[AutoPyBindCUDA\] is for slangtorch.*nvcc, the compiler"):
        run(shell, "%%slang\n" + CELL)
    assert "doubled" not in shell.user_ns


def test_a_session_says_what_to_use(session: Any) -> None:
    with pytest.raises(sn.CallError, match=r"(?s)has \[AutoPyBindCUDA\].*sn.torch.load\(source\)"):
        session.compile(CELL)
