"""The folder in the user's cache that holds a Vulkan driver unpacked without root.

The folder is filled under another name and renamed when it is whole, so a half-made one is never seen.
"""

import contextlib
import ctypes
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from slangnb.devices.caches import cache_root
from slangnb.errors import BackendError

_MANIFEST = "slangnb.json"
_ICD = "lavapipe.json"
_STAGING = ".part"
#: Two copies of these in one process do not work; the system's own always serve.
_NEVER_PRELOAD = (
    "ld-",
    "libc.",
    "libm.",
    "libpthread.",
    "libdl.",
    "librt.",
    "libresolv.",
    "libstdc++.",
    "libgcc_s.",
)
#: Mesa's packages carry drivers and layers for hardware too; they are of no use here and are large.
_UNWANTED = ("libvulkan_*.so", "libVkLayer*.so")


@dataclass(frozen=True)
class Cache:
    """A whole, checked driver folder."""

    folder: Path
    icd: Path | None
    libraries: tuple[Path, ...]
    packages: Mapping[str, str]

    @property
    def provides(self) -> frozenset[str]:
        """Library names that the folder answers for, such as ``libX11.so.6``."""
        parents = {file.parent for file in self.libraries}
        return frozenset(entry.name for parent in parents for entry in parent.glob("*.so*"))


def cache_home(env: Mapping[str, str]) -> Path:
    """Return slangnb's folder for driver files below the user's cache folder."""
    return cache_root(env) / "vulkan"


def cache_folder(env: Mapping[str, str], release: str) -> Path:
    """Return where this machine's driver lies; homes shared by unlike machines keep one folder for each."""
    return cache_home(env) / f"{release}-{platform.machine()}"


def read_cache(folder: Path) -> Cache | None:
    """Return the driver in a folder, or None unless every file is there with the size it was written with."""
    try:
        data = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        sizes = {folder / name: int(size) for name, size in data["libraries"].items()}
        if any(file.stat().st_size != size for file, size in sizes.items()):
            return None
        icd = folder / data["icd"] if data["icd"] else None
        if icd is not None and not icd.is_file():
            return None
        return Cache(folder, icd, tuple(sizes), dict(data["packages"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


@contextlib.contextmanager
def locked(home: Path) -> Iterator[bool]:
    """Hold the lock that lets one process at a time install or unpack; yield whether it is really held.

    Raises
    ------
    BackendError
        If the folder cannot be made or written.
    """
    import fcntl  # not on Windows, where nothing is unpacked

    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / "lock").open("a")
    except OSError as error:
        raise unwritable(home, error) from error
    with lock:
        held = True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # some network file systems have no locks; the rename alone keeps readers safe
            held = False
        yield held


def fill_cache(folder: Path, fill: Callable[[Path], Mapping[str, str]], alone: bool) -> Cache:
    """Make the driver folder anew and put it in place in one step.

    Parameters
    ----------
    folder : Path
        The final folder.
    fill : callable
        Unpacks packages below the folder it is given, and returns their versions by name.
    alone : bool
        Whether the lock is held, so that unfinished folders of earlier, killed runs may be removed.

    Raises
    ------
    BackendError
        If the folder cannot be written, the disk is full, or an unpacked library cannot be loaded.
    """
    try:
        if alone:
            for left in folder.parent.glob(f"*{_STAGING}"):
                shutil.rmtree(left, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(suffix=_STAGING, dir=folder.parent))
    except OSError as error:
        raise unwritable(folder.parent, error) from error
    try:
        packages = fill(staging / "root")
        _finish(staging, packages)
        made = read_cache(staging)
        failed = preload(made) if made is not None else ("its files are not whole",)
        if failed:
            raise BackendError(
                f"the unpacked driver does not load here: {', '.join(failed)}",
                remedy="ask the machine's administrator to install the packages that `slangnb driver` names",
            )
        _put_in_place(staging, folder)
    except OSError as error:
        raise unwritable(folder.parent, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    done = read_cache(folder)
    if done is None:
        raise BackendError(f"the driver folder {folder} was changed while it was made", remedy="try again")
    return done


def preload(cache: Cache) -> tuple[str, ...]:
    """Load the folder's libraries into this process, and return the messages of those that do not load.

    Once a library is loaded, others that ask for it by name get it, so no search path needs to be set.
    """
    todo, errors = list(cache.libraries), []
    while todo:
        left, errors = [], []
        for file in todo:
            try:
                ctypes.CDLL(str(file))
            except OSError as error:  # most often one that needs another of the list first
                left.append(file)
                errors.append(str(error))
        if len(left) == len(todo):
            break
        todo = left
    return tuple(errors)


def is_preloaded(cache: Cache) -> bool:
    """Tell whether `preload` has run in this process."""
    for file in cache.libraries[-1:]:
        try:
            ctypes.CDLL(str(file), mode=os.RTLD_NOLOAD)
        except OSError:
            return False
    return True


def unwritable(folder: Path, error: OSError) -> BackendError:
    """Return the error to raise when the cache folder cannot be used."""
    return BackendError(
        f"cannot write the Vulkan driver to {folder}: {error.strerror or error}",
        remedy="let SLANGNB_CACHE or XDG_CACHE_HOME name a folder that you can write, with about 500 MB free, "
        "then run `slangnb driver --ensure`",
    )


def _finish(staging: Path, packages: Mapping[str, str]) -> None:
    """Remove what is not needed, and write the driver's manifest and ours."""
    root = staging / "root"
    source = next(iter(sorted(root.glob("usr/share/vulkan/icd.d/lvp_icd*.json"))), None)
    driver = next(iter(sorted(root.rglob("libvulkan_lvp.so"))), None)
    if source is not None and driver is not None:
        icd = json.loads(source.read_text(encoding="utf-8"))
        # Relative to the manifest, so that it stays right when the folder is renamed.
        icd["ICD"]["library_path"] = f"./{driver.relative_to(staging)}"
        (staging / _ICD).write_text(json.dumps(icd), encoding="utf-8")
    for pattern in _UNWANTED:
        for file in root.rglob(pattern):
            if file != driver:
                file.unlink()
    for name in ("usr/share", "usr/bin", "etc", "usr/lib/debug"):
        shutil.rmtree(root / name, ignore_errors=True)
    files = (file for file in sorted(root.rglob("*.so*")) if file.is_file() and not file.is_symlink())
    sizes = {
        str(file.relative_to(staging)): file.stat().st_size
        for file in files
        if not file.name.startswith(_NEVER_PRELOAD)
    }
    icd_name = _ICD if (staging / _ICD).exists() else None
    manifest = {"icd": icd_name, "libraries": sizes, "packages": dict(packages)}
    (staging / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _put_in_place(staging: Path, folder: Path) -> None:
    staging.chmod(0o755)
    if folder.exists():
        old = Path(tempfile.mkdtemp(suffix=_STAGING, dir=folder.parent))
        folder.rename(old / "old")
        shutil.rmtree(old, ignore_errors=True)
    try:
        staging.rename(folder)
    except OSError:
        if read_cache(folder) is None:  # without a lock another process may have been faster
            raise
