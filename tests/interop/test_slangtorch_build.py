"""Building: what is kept under which name, what is said meanwhile, and how it is stopped. Needs no CUDA."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from slangnb.compiler.source import Source
from slangnb.errors import BackendError, CompileError
from slangnb.interop.slangtorch import build as building
from slangnb.interop.slangtorch.build import Build, key, make, prune, said
from slangnb.interop.slangtorch.errors import build_error, call_error
from slangnb.interop.slangtorch.needs import Tools
from slangnb.interop.slangtorch.process import run
from slangnb.interop.slangtorch.sources import Sources

CELL = {"m_0123456789ab": Source("int a;\nint b;", "In[3]", 2)}
FACTS = ["python cpython-312 linux", "torch 2.9.1 12.8", "slangtorch 1.3.22", "gpu 90 "]


def chain(text: str = "float f() { return 1; }", **options: object) -> list[building.Unit]:
    return Sources([]).chain(Source(text, "In[3]", 2, **options), ())  # pyright: ignore[reportArgumentType]


# Names


def test_a_name_says_all_that_a_build_depends_on() -> None:
    same = key(chain(), FACTS, True)
    assert key(chain(), FACTS, True) == same
    others = [
        key(chain("float f() { return 2; }"), FACTS, True),
        key(chain(defines=(("N", "4"),)), FACTS, True),
        key(chain(), FACTS, False),
        *(key(chain(), [*FACTS[:k], "other", *FACTS[k + 1 :]], True) for k in range(4)),
    ]
    assert len({same, *others}) == len(others) + 1


def test_a_changed_import_gives_another_name(tmp_path: Path) -> None:
    names = []
    for factor in (1, 2, 1):
        (tmp_path / "lib.slang").write_text(f"public float g(float x) {{ return {factor} * x; }}")
        names.append(key(Sources([]).chain(Source("import lib;", "In[3]", 2), (tmp_path,)), FACTS, True))
    assert names[0] == names[2] != names[1]


# The build


@pytest.fixture
def build(tmp_path: Path) -> Build:
    folder = tmp_path / "0123456789ab"
    folder.mkdir()
    (folder / "m_0123456789ab.slang").write_text("int a;\nint b;")
    return Build(folder, folder / "m_0123456789ab.slang")


def python(code: str) -> Callable[[Build], None]:
    """Give a build that runs a program as ninja is run."""
    return lambda build: subprocess.run([sys.executable, "-c", code], cwd=build.folder, check=True) and None


def refusing(text: str) -> Callable[[Build], None]:
    def load(_build: Build) -> None:
        print("ninja says", file=sys.stderr)
        raise RuntimeError(text)

    return load


def test_a_build_that_succeeds_is_remembered(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    ticks: list[int] = []

    def load(given: Build) -> str:
        assert given is build and not build.done.exists()
        print("slangtorch prints warnings as they are", file=sys.stderr)
        time.sleep(0.1)
        return "module"

    assert make(build, Tools(), [], "warning: x", lambda: ticks.append(1), load) == "module"
    assert said(build) == "warning: x" and ticks
    assert capsys.readouterr() == ("", "")
    assert build.request() == {"fileName": str(build.file), "cudaFastMath": True, "skipNinjaCheck": True}


def test_a_build_that_fails_is_not(build: Build) -> None:
    units = Sources([]).chain(Source("int a;", "In[3]", 2), ())
    text = f'Error building extension "x": [1/3] nvcc\n{units[0].module}(2): error: identifier "yy" is undefined'
    with pytest.raises(CompileError, match="yy") as caught:
        make(build, Tools(), units, "", load=refusing(text))
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == ("In[3]", 2)
    assert not build.done.exists()


def test_a_crash_does_not_end_this_process(build: Build) -> None:
    with pytest.raises(BackendError, match=r"died with .*SIGKILL"):
        make(build, Tools(), [], "", load=python("import os; os.kill(os.getpid(), 9)"))


def test_a_time_limit(build: Build) -> None:
    start = time.monotonic()
    with pytest.raises(BackendError, match="no answer within"):
        make(build, Tools(), [], "", load=python("import time; time.sleep(60)"), seconds=0.3)
    assert time.monotonic() - start < 20


def test_a_lock_of_a_stopped_build_is_gone(build: Build) -> None:
    left = build.folder / ".slangtorch_cache" / "m" / "0" / "lock"
    left.parent.mkdir(parents=True)
    left.touch()
    make(build, Tools(), [], "", load=lambda _build: None)
    assert not left.exists()


def test_programs_are_found_while_it_builds(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin")
    seen: list[str] = []
    tools = Tools(ninja="/opt/a/ninja", nvcc="/opt/cuda/bin/nvcc")
    make(build, tools, [], "", load=lambda _build: seen.append(os.environ["PATH"]))
    assert seen[0].split(os.pathsep) == ["/bin", "/opt/a", "/opt/cuda/bin"]
    assert os.environ["PATH"] == "/bin"


def test_the_stop_button_ends_the_whole_tree(build: Build) -> None:
    """A grandchild in a group of its own, as ninja's compilers are."""
    marker = build.folder / "pid"
    inner = f"import os, time; os.setsid(); open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"

    def press() -> None:
        while not (marker.exists() and marker.read_text()):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        make(build, Tools(), [], "", load=python(outer))
    assert gone(int(marker.read_text())) and not build.done.exists()
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.02)
    assert threading.active_count() <= before  # no thread is left that would go on building
    make(build, Tools(), [], "", load=lambda _build: None)


def test_programs_that_run_at_the_same_time_are_stopped_too(tmp_path: Path) -> None:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    command = [sys.executable, "-c", "import os, time; open(str(os.getpid()), 'w').close(); time.sleep(60)"]
    with pytest.raises(KeyboardInterrupt):
        run([command, command], tmp_path, 60)
    assert all(gone(int(p.name)) for p in tmp_path.iterdir() if p.name.isdigit())


def gone(pid: int) -> bool:
    """Tell whether a process ends soon; one that nobody has waited for yet has ended."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_old_builds_go_first(tmp_path: Path) -> None:
    for age in range(4):
        folder = tmp_path / f"build{age}"
        folder.mkdir()
        (folder / "done.json").touch()
        os.utime(folder / "done.json", (1e9 - age, 1e9 - age))
    (tmp_path / "running").mkdir()  # not done: it may be at work
    prune(tmp_path, most=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["build0", "build1", "running"]


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("SLANGNB_CACHE", str(blocked))
    with pytest.raises(BackendError, match="SLANGNB_CACHE"):
        building.root()


def test_a_cache_whose_name_has_a_blank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLANGNB_CACHE", str(tmp_path / "a folder"))
    with pytest.raises(BackendError, match="without blanks"):
        building.root()


# What the tools say


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("x.cpp:5:10: fatal error: Python.h: No such file or directory", "Python.h", "python3-dev"),
        ("/a/b.h:6:10: fatal error: cusparse.h: No such file or directory", "cusparse.h", "CUDA toolkit"),
        (
            "Traceback:\nRuntimeError: The detected CUDA version (11.8) mismatches (12.8)\n",
            "The detected CUDA version (11.8)",
            "",
        ),
        ("OSError: CUDA_HOME environment variable is not set.", "CUDA_HOME environment variable is not set", ""),
        ("something odd\nlast line", "last line", ""),
    ],
)
def test_why_a_build_failed(text: str, message: str, remedy: str) -> None:
    error = build_error(text, CELL)
    assert isinstance(error, BackendError)
    assert message in error.message and remedy in error.remedy


@pytest.mark.parametrize("place", ["m_0123456789ab(3): error:", "m_0123456789ab:3:5: error:"])
def test_what_nvcc_refuses_is_placed(place: str) -> None:
    other = "/usr/include/x.h(7): error: and more"  # what follows from it
    text = f"[1/3] nvcc ...\n{place} no such thing\n{other}\nRuntimeError: Error building extension 'x'"
    error = build_error(text, CELL)
    assert isinstance(error, CompileError)
    (one,) = error.diagnostics
    assert (one.file, one.line, one.source) == ("In[3]", 3, "int b;") and "no such thing" in one.message


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("CUDA error: invalid configuration argument\nCUDA kernel errors might", "over 1024 threads", "several groups"),
        ("CUDA error: an illegal memory access was encountered", "behind the end", "restart the notebook's kernel"),
        ("Dimension out of range (expected to be in range of [-1, 0], but got 1)", "no size(1)", "2 dimensions"),
        ("input: tensor is not on CUDA device.", "'input' is not on the GPU", "input.cuda()"),
        ("grad: tensors with broadcasted dimensions are not supported", "'grad' is a broadcast tensor", "grad.clone("),
        ("input: tensor is not contiguous.", "'input' is not contiguous", "input.contiguous()"),
        ("f(): incompatible function arguments. The following ...", "not of the kinds", "float f(float x)"),
        ("odd\nthing", "f: odd", "float f(float x)"),
    ],
)
def test_calls_fail_in_one_line(text: str, message: str, remedy: str) -> None:
    error = call_error(RuntimeError(text), "f", "float f(float x)")
    assert message in error.message and "\n" not in error.message and remedy in error.remedy
