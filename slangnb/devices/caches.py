"""Where compiled modules and kernels, and a driver, are kept on disk between kernels of the notebook."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

#: Twice what SlangPy's kernel cache may grow to.
LEAST_FREE_BYTES = 256 << 20


def cache_root(env: Mapping[str, str] = os.environ) -> Path:
    """Give the user's cache folder for slangnb; the folder need not exist.

    ``SLANGNB_CACHE`` in the environment `env` overrides the platform's own place.

    Examples
    --------
    >>> cache_root().name
    'slangnb'
    """
    override = env.get("SLANGNB_CACHE")
    if override:
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "slangnb"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "slangnb"
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slangnb"


def writable_folder(path: Path) -> str:
    """Make a folder and write to it once; give the reason if that fails, else an empty text.

    Space for the whole kernel cache is asked for: SlangPy maps it into memory, and a disk that fills up under a
    mapping ends the process.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(path).free
        if free < LEAST_FREE_BYTES:
            return f"only {free >> 20} MiB are free"
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def kernel_caches(version: str, backend: str) -> tuple[Path, Path] | None:
    """Give the folders for Slang modules and for compiled kernels, or None where none can be written.

    Without them everything works, only each kernel of the notebook compiles anew; this is said once.

    Parameters
    ----------
    version : str
        SlangPy's version: caches of different versions are kept apart.
    backend : str
        Name of the backend.
    """
    base = cache_root() / f"slangpy-{version}" / backend
    modules, kernels = base / "modules", base / "kernels"
    for folder in (modules, kernels):
        reason = writable_folder(folder)
        if reason:
            warnings.warn(
                f"slangnb cannot write its cache folder {folder} ({reason}): kernels are compiled anew in "
                "each session. Free some space there, or set SLANGNB_CACHE to another folder.",
                stacklevel=2,
            )
            return None
    return modules, kernels


class KnownGood:
    """Remembers on disk which kernels have compiled before, so that the guard need not try them again.

    A compile is deterministic for one version of SlangPy and one backend; a kernel that compiled in a child
    once does not crash the compiler later. Each is an empty file named by a hash, which is safe between
    processes.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def __contains__(self, key: str) -> bool:
        if key in self._seen:
            return True
        if self._folder is not None and (self._folder / key).exists():
            self._seen.add(key)
            return True
        return False

    def add(self, key: str) -> None:
        """Remember `key`; where the disk refuses, only this process remembers it."""
        self._seen.add(key)
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / key).touch()
        except OSError:
            self._folder = None


def tuning_file(backend: str) -> Path:
    """Give the file of what was measured on this backend."""
    return cache_root() / "tuning" / f"{backend}.json"


def known_good(version: str, backend: str) -> KnownGood:
    """Give the store of kernels that have compiled before on this backend."""
    return KnownGood(cache_root() / f"slangpy-{version}" / backend / "guard")
