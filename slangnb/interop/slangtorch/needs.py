"""Says what building for PyTorch needs that this machine has not, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from slangnb.errors import BackendError

EXTRA = "pip install 'slangnb[torch]'"
ELSEWHERE = (
    "the same function without these attributes, in a plain %%slang cell, runs on every backend, and takes torch "
    "tensors with gradients"
)


@dataclass(frozen=True, slots=True)
class Tools:
    """What this machine has: versions and paths, "" for what is missing.

    Attributes
    ----------
    torch, slangtorch : str
        Versions.
    cuda : str or None
        The CUDA version that torch is built for; None while torch has not been asked.
    gpu : bool or None
        Whether torch sees a GPU; None while torch has not been asked.
    ninja, nvcc, compiler : str
        Paths of the programs.
    headers : bool
        Whether Python's own headers are there.
    platform : str
        As ``sys.platform``.
    """

    torch: str = ""
    slangtorch: str = ""
    cuda: str | None = None
    gpu: bool | None = None
    ninja: str = ""
    nvcc: str = ""
    compiler: str = ""
    headers: bool = True
    platform: str = "linux"


def missing(tools: Tools) -> list[tuple[str, str]]:
    """Give what is missing and how to get it, the first to get first.

    Examples
    --------
    >>> tools = Tools("2.9.1", "1.3.22", "12.8", True, "/usr/bin/ninja", "", "/usr/bin/c++")
    >>> missing(tools)[0][0]
    "nvcc, the compiler of NVIDIA's CUDA toolkit"
    """
    if tools.platform == "darwin":
        return [("an NVIDIA GPU", "there is none for Macs")]
    found: list[tuple[str, str]] = []
    if not tools.torch:
        found.append(("PyTorch with CUDA", EXTRA))
    elif tools.cuda == "":
        found.append((f"CUDA in PyTorch: {tools.torch} is built without it", "pytorch.org/get-started has the command"))
    elif tools.gpu is False:
        found.append(("an NVIDIA GPU that PyTorch sees", "`nvidia-smi` says whether its driver works"))
    if not tools.slangtorch:
        found.append(("slangtorch", EXTRA))
    if not tools.ninja:
        found.append(("ninja", "pip install ninja"))
    if not tools.nvcc:
        exact = f"CUDA {tools.cuda}" if tools.cuda else "CUDA"
        how = f"install the toolkit for {exact} (developer.nvidia.com/cuda-downloads); if it is there, set CUDA_HOME"
        found.append(("nvcc, the compiler of NVIDIA's CUDA toolkit", how))
    if not tools.compiler and tools.platform != "win32":  # there, slangtorch looks for it itself
        found.append(("a C++ compiler", "apt install g++"))
    if not tools.headers:
        found.append(("Python's headers", "apt install python3-dev"))
    return found


def needs_error(lacking: list[tuple[str, str]], mark: str) -> BackendError:
    """Make one error of all that is missing.

    Examples
    --------
    >>> print(needs_error([("ninja", "pip install ninja")], "TorchEntryPoint").message)
    [TorchEntryPoint] is for slangtorch, which needs what is not here:
      - ninja: pip install ninja
    """
    lines = [f"  - {what}: {how}" for what, how in lacking]
    head = f"[{mark}] is for slangtorch, which needs what is not here:"
    return BackendError("\n".join([head, *lines]), remedy=ELSEWHERE)


def tools_without_torch(environment: Mapping[str, str]) -> Tools:
    """Look at this machine; imports neither torch nor slangtorch."""
    return Tools(
        torch=_version("torch"),
        slangtorch=_version("slangtorch") if slangtorch_folder() else "",
        ninja=find_ninja(environment),
        nvcc=find_nvcc(environment),
        compiler=shutil.which(environment.get("CXX", "c++"), path=environment.get("PATH")) or "",
        headers=Path(sysconfig.get_path("include"), "Python.h").exists(),
        platform=sys.platform,
    )


def find_nvcc(environment: Mapping[str, str]) -> str:
    """Give the path of ``nvcc`` as torch finds it: CUDA_HOME, then PATH, then the usual folder."""
    name = "nvcc.exe" if sys.platform == "win32" else "nvcc"
    home = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    if home:
        inside = Path(home, "bin", name)
        return str(inside) if inside.exists() else ""
    on_path = shutil.which(name, path=environment.get("PATH"))
    usual = Path("/usr/local/cuda/bin", name)
    return on_path or (str(usual) if usual.exists() else "")


def find_ninja(environment: Mapping[str, str]) -> str:
    """Give the path of ``ninja``: on PATH, or in Python's own folder, which is not on PATH in every notebook."""
    beside = os.pathsep.join(dict.fromkeys([str(Path(sys.executable).parent), sysconfig.get_path("scripts")]))
    return shutil.which("ninja", path=environment.get("PATH")) or shutil.which("ninja", path=beside) or ""


def slangtorch_folder() -> Path | None:
    """Give where the slangtorch package lies, without importing it."""
    spec = importlib.util.find_spec("slangtorch")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def find_compiler(environment: Mapping[str, str]) -> Path | None:
    """Give the path of the ``slangc`` that slangtorch uses."""
    if "SLANGC_PATH" in environment:
        return Path(environment["SLANGC_PATH"])
    folder = slangtorch_folder()
    return folder / "bin" / ("slangc.exe" if sys.platform == "win32" else "slangc") if folder else None


def _version(package: str) -> str:
    if importlib.util.find_spec(package) is None:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"  # it can be imported all the same
