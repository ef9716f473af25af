"""What is missing for slangtorch, and that nothing imports torch to say so."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from slangnb.interop.slangtorch.needs import Tools, find_ninja, find_nvcc, missing, needs_error, tools_without_torch

ALL = Tools("2.9.1", "1.3.22", "12.8", True, "/usr/bin/ninja", "/usr/local/cuda/bin/nvcc", "/usr/bin/c++")


def test_nothing_is_missing() -> None:
    assert missing(ALL) == []
    assert missing(replace(ALL, cuda=None, gpu=None)) == []  # torch has not been asked yet


@pytest.mark.parametrize(
    ("without", "what", "how"),
    [
        ({"torch": ""}, "PyTorch with CUDA", "slangnb[torch]"),
        ({"torch": "2.9.1+cpu", "cuda": "", "gpu": False}, "2.9.1+cpu is built without it", "pytorch.org"),
        ({"gpu": False}, "an NVIDIA GPU", "nvidia-smi"),
        ({"slangtorch": ""}, "slangtorch", "slangnb[torch]"),
        ({"ninja": ""}, "ninja", "pip install ninja"),
        ({"nvcc": ""}, "nvcc", "toolkit for CUDA 12.8"),
        ({"compiler": ""}, "C++ compiler", "g++"),
        ({"headers": False}, "Python's headers", "python3-dev"),
        ({"platform": "darwin"}, "an NVIDIA GPU", "Macs"),
    ],
)
def test_each_missing_thing_is_named_alone(without: dict[str, object], what: str, how: str) -> None:
    ((name, remedy),) = missing(replace(ALL, **without))  # pyright: ignore[reportArgumentType]
    assert what in name and how in remedy


def test_one_error_names_all(capsys: pytest.CaptureFixture[str]) -> None:
    error = needs_error(missing(Tools(compiler="/usr/bin/c++")), "CudaKernel")
    lines = error.render(colour=False).splitlines()
    assert lines[0] == "BackendError: [CudaKernel] is for slangtorch, which needs what is not here:"
    assert [line.split(":")[0].strip(" -") for line in lines[1:5]] == [
        "PyTorch with CUDA",
        "slangtorch",
        "ninja",
        "nvcc, the compiler of NVIDIA's CUDA toolkit",
    ]
    assert "every backend" in lines[-1]


def test_windows_finds_its_own_compiler() -> None:
    assert missing(replace(ALL, compiler="", platform="win32")) == []


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="programs have other names there")
def test_nvcc_is_found_as_torch_finds_it(tmp_path: Path) -> None:
    nvcc = executable(tmp_path / "cuda" / "bin" / "nvcc")
    assert find_nvcc({"CUDA_HOME": str(tmp_path / "cuda"), "PATH": ""}) == str(nvcc)
    assert find_nvcc({"CUDA_PATH": str(tmp_path / "cuda"), "PATH": ""}) == str(nvcc)
    assert find_nvcc({"PATH": str(nvcc.parent)}) == str(nvcc)
    assert find_nvcc({"CUDA_HOME": str(tmp_path / "nowhere"), "PATH": str(nvcc.parent)}) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="programs have other names there")
def test_ninja_is_found_beside_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ninja = executable(tmp_path / "bin" / "ninja")
    assert find_ninja({"PATH": str(ninja.parent)}) == str(ninja)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert find_ninja({"PATH": ""}) == str(ninja)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no apt")
def test_a_path_without_compilers(tmp_path: Path) -> None:
    found = tools_without_torch({"PATH": str(tmp_path), "CUDA_HOME": str(tmp_path)})
    assert found.nvcc == "" and found.compiler == ""
    assert {"a C++ compiler", "nvcc, the compiler of NVIDIA's CUDA toolkit"} <= {what for what, _ in missing(found)}


def test_looking_imports_nothing() -> None:
    code = (
        "import os, sys\n"
        "from slangnb.interop.slangtorch.needs import tools_without_torch\n"
        "import slangnb.interop.slangtorch.load, slangnb.notebook.magics, slangnb.interop.torch\n"
        "tools_without_torch(os.environ)\n"
        "print(sorted({'torch', 'slangtorch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
