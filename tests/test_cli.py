"""The command line, as a person meets it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slangnb import cli

REPO = Path(__file__).resolve().parents[1]


def slangnb(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "slangnb.cli", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(REPO), "COLUMNS": "120"} | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["lab", "doctor", "driver"]),
        (["lab", "--help"], ["NOTEBOOK", "-- --no-browser"]),
        (["driver", "--help"], ["--ensure", "cache folder"]),
        (["doctor", "--help"], ["Changes nothing"]),
    ],
)
def test_help(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    done = slangnb(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [word for word in words if word not in done.stdout] == []


@pytest.mark.parametrize("arguments", [[], ["labs"], ["driver", "--nope"]])
def test_wrong_usage(arguments: list[str], tmp_path: Path) -> None:
    done = slangnb(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: slangnb")


def test_error_is_message_and_remedy_without_traceback(tmp_path: Path) -> None:
    done = slangnb("lab", "absent.ipynb", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("there is no notebook absent.ipynb\nremedy: leave it out to start an empty JupyterLab\n")


def test_driver_prints_the_status(tmp_path: Path) -> None:
    done = slangnb("driver", cwd=tmp_path)
    titles = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert titles[:3] == ["system", "present", "missing"]
    assert done.returncode == (0 if "missing: nothing" in done.stdout else 1)
    assert ("remedy" in titles) == (done.returncode == 1)


def test_driver_that_the_user_chose_badly(tmp_path: Path) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("other systems need no driver files")
    done = slangnb("driver", "--ensure", cwd=tmp_path, VK_DRIVER_FILES=str(tmp_path / "no.json"))
    if done.returncode == 0:
        pytest.skip("CUDA makes the Vulkan driver needless here")
    assert "VK_DRIVER_FILES names no driver that exists" in done.stderr
    assert "remedy: unset VK_DRIVER_FILES" in done.stderr
    assert "Traceback" not in done.stderr


def test_extra_arguments_are_for_lab_only(tmp_path: Path) -> None:
    done = slangnb("driver", "--", "--ensure", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "slangnb driver takes nothing after `--`")


def test_lab_command_for_root_and_others() -> None:
    start = [sys.executable, "-m", "jupyterlab"]
    assert cli.lab_command(None, [], root=False) == start
    assert cli.lab_command(None, ["--port", "9"], root=True) == [*start, "--allow-root", "--port", "9"]
    assert cli.lab_command(None, ["--allow-root"], root=True) == [*start, "--allow-root"]


def test_lab_shows_this_folder_and_prints_the_address_of_the_notebook(tmp_path: Path) -> None:
    def opened(notebook: Path, *extra: str) -> list[str]:
        return cli.lab_command(notebook, extra, root=False)[3:]

    here = f"--ServerApp.root_dir={Path.cwd()}"
    assert opened(Path("notebooks/a b.ipynb")) == [here, "--LabApp.default_url=/lab/tree/notebooks/a%20b.ipynb"]
    assert opened(Path.cwd() / "a.ipynb") == [here, "--LabApp.default_url=/lab/tree/a.ipynb"]
    elsewhere = [f"--ServerApp.root_dir={tmp_path}", "--LabApp.default_url=/lab/tree/a.ipynb"]
    assert opened(tmp_path / "a.ipynb") == elsewhere
    # Who names a folder gets it.
    assert opened(Path("a.ipynb"), "--notebook-dir=b") == ["a.ipynb", "--notebook-dir=b"]


@pytest.mark.parametrize(
    ("files", "arguments", "opened"),
    [
        (["notebooks/01-first-gradient.ipynb"], ["lab"], "notebooks/01-first-gradient.ipynb"),
        (["notebooks/01-first-gradient.ipynb", "b.ipynb"], ["lab", "b.ipynb"], "b.ipynb"),
        ([], ["lab"], []),
        (["b.ipynb"], ["lab", "--", "b.ipynb"], ["b.ipynb"]),
        ([], ["lab", "--", "--no-browser"], ["--no-browser"]),
    ],
)
def test_lab_ensures_the_driver_and_opens_the_notebook(
    files: list[str],
    arguments: list[str],
    opened: str | list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    steps: list[object] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.driver, "ensure", lambda: steps.append("ensure"))
    monkeypatch.setattr(cli.os, "execv", lambda program, command: steps.append(command) or 0)
    monkeypatch.setattr(cli.os, "geteuid", lambda: 1000)
    assert cli.main(arguments) == 0
    if isinstance(opened, str):
        opened = [f"--ServerApp.root_dir={Path.cwd()}", f"--LabApp.default_url=/lab/tree/{opened}"]
    assert steps == ["ensure", [sys.executable, "-m", "jupyterlab", *opened]]


def test_driver_command_imports_no_slangpy(tmp_path: Path) -> None:
    code = "import sys; from slangnb import cli; cli.main(['driver']); print('slangpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False"
