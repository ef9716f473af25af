"""Builds a source once and keeps what came out by its content; loads what was kept."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slangnb.compiler.graph import Unit
from slangnb.compiler.source import content_hash
from slangnb.devices.caches import cache_root, writable_folder
from slangnb.errors import BackendError
from slangnb.interop.slangtorch.errors import build_error
from slangnb.interop.slangtorch.needs import Tools
from slangnb.interop.slangtorch.process import in_background
from slangnb.interop.slangtorch.sources import put

#: A kernel may take its compiler minutes; nothing sensible takes longer.
BUILD_SECONDS = 1200.0
#: Builds that are kept, each a few MB; the ones used longest ago go first.
MOST_KEPT = 64
_DONE = "done.json"


@dataclass(frozen=True, slots=True)
class Build:
    """One source in the cache: its folder, its file, and how it is built."""

    folder: Path
    file: Path
    fast_math: bool = True

    @property
    def done(self) -> Path:
        """What is there once the build has succeeded: it holds what the compiler said."""
        return self.folder / _DONE

    def request(self) -> dict[str, Any]:
        """Give the arguments of ``slangtorch.loadModule``."""
        # The folder's name says all that the build depends on, so ninja need not look for changes.
        return {"fileName": str(self.file), "cudaFastMath": self.fast_math, "skipNinjaCheck": True}


def key(units: Sequence[Unit], facts: Sequence[str], fast_math: bool) -> str:
    """Give the name of a build: a hash of the texts, and of the machine and versions that it is for.

    Examples
    --------
    >>> key([], ["torch 2.9"], True) == key([], ["torch 2.10"], True)
    False
    """
    return content_hash(*(u.module + u.text for u in units), "", *facts, str(fast_math))


def machine_facts(torch: Any) -> list[str]:
    """Give what a built extension fits: versions of Python, torch, CUDA and slangtorch, and the kind of GPU."""
    kind = "".join(map(str, torch.cuda.get_device_capability()))
    return [
        f"python {sys.implementation.cache_tag} {sys.platform}",
        f"torch {torch.__version__} {torch.version.cuda}",
        f"slangtorch {version('slangtorch')}",
        f"gpu {kind} {os.environ.get('TORCH_CUDA_ARCH_LIST', '')}",
    ]


def root() -> Path:
    """Give the folder of all builds.

    Raises
    ------
    BackendError
        If nothing can be written there.
    """
    folder = cache_root() / "slangtorch"
    if any(c.isspace() for c in str(folder)):
        raise BackendError(
            f"slangtorch 1.3 cannot build in {folder}: it takes a blank for the end of a name",
            remedy="set SLANGNB_CACHE to a folder without blanks in its path",
        )
    reason = writable_folder(folder)
    if reason:
        raise BackendError(
            f"slangnb cannot write its cache folder {folder} ({reason}), and slangtorch builds there",
            remedy="free some space there, or set SLANGNB_CACHE to another folder",
        )
    return folder


@contextlib.contextmanager
def alone(build: Build) -> Iterator[None]:
    """Keep other notebooks from building the same at the same time; the lock ends with the process that holds it."""
    from filelock import FileLock  # pyright: ignore[reportMissingImports] - slangtorch brings it

    with FileLock(build.folder.with_suffix(".lock"), poll_interval=0.1):
        yield


def make(
    build: Build,
    tools: Tools,
    units: Sequence[Unit],
    said: str,
    tick: Callable[[], None] = lambda: None,
    load: Callable[[Build], Any] | None = None,
    seconds: float = BUILD_SECONDS,
) -> Any:
    """Build and load; slangtorch runs each compiler as a process, so that a crash of one is an error.

    Parameters
    ----------
    build : Build
        What to build; nobody else must be at it, see `alone`.
    tools : Tools
        What this machine has.
    units : sequence of Unit
        The sources, for messages.
    said : str
        What the Slang compiler said, kept for the next time.
    tick : callable
        Called many times a second while it builds.
    load : callable, optional
        In place of `load`.
    seconds : float
        Time limit.

    Returns
    -------
    module
        As slangtorch gives it.

    Raises
    ------
    CompileError, BackendError
        If it fails.
    KeyboardInterrupt
        If the person stops the cell; all compilers are ended.
    """
    # An interrupted build leaves half-written files, and a lock of torch's on which the next would wait forever.
    shutil.rmtree(build.folder / ".slangtorch_cache", ignore_errors=True)
    with on_path(tools.ninja, tools.nvcc):
        outcome = in_background(lambda: (load or load_built)(build), build.folder, seconds, tick)
    if outcome.late:
        raise BackendError(f"the compilers gave no answer within {seconds:g} s and were stopped")
    if outcome.error is not None:
        text = f"{outcome.printed}\n{type(outcome.error).__name__}: {outcome.error}"
        raise build_error(text, {u.module: u.source for u in units}) from outcome.error
    put(build.done, json.dumps({"said": said}))
    return outcome.value


@contextlib.contextmanager
def on_path(*programs: str) -> Iterator[None]:
    """Let torch find programs by PATH meanwhile."""
    before = os.environ.get("PATH", "")
    folders = [str(Path(program).parent) for program in programs if program]
    more = [f for f in dict.fromkeys(folders) if f not in before.split(os.pathsep)]
    os.environ["PATH"] = os.pathsep.join([before, *more])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def said(build: Build) -> str:
    """Give what the Slang compiler said when this was built."""
    return json.loads(build.done.read_text(encoding="utf-8"))["said"]


def load_built(build: Build) -> Any:
    """Load a build by slangtorch, which builds what is not there yet."""
    import slangtorch  # pyright: ignore[reportMissingImports]

    if build.done.exists():
        build.done.touch()
    return slangtorch.loadModule(**build.request())  # pyright: ignore[reportAttributeAccessIssue]


def prune(folder: Path, most: int = MOST_KEPT) -> None:
    """Remove the builds used longest ago. One that is loaded somewhere goes on working."""
    finished = sorted(folder.glob(f"*/{_DONE}"), key=_last_used, reverse=True)
    for old in finished[most:]:
        shutil.rmtree(old.parent, ignore_errors=True)
        old.parent.with_suffix(".lock").unlink(missing_ok=True)


def _last_used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process has just removed it
        return 0.0
