"""Give a machine without a GPU a software Vulkan driver, and SlangPy the libraries that its import needs.

`status` looks, `ensure` installs what is missing, `activate` makes a driver that was unpacked without root
usable in this process. Nothing here imports SlangPy: all of it runs before SlangPy can be imported.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from slangnb.devices import apt, driver_cache, icd, packages
from slangnb.devices.packages import ATOMIC, DRIVER, LOADER, X11, System
from slangnb.errors import BackendError

_ENSURE = "slangnb driver --ensure"
_MESA_PACKAGE = "mesa-vulkan-drivers"


@dataclass(frozen=True)
class DriverStatus:
    """What this machine has of what SlangPy needs.

    Attributes
    ----------
    kind : {"system", "user cache"} or None
        "system" if the system has all of it, "user cache" if the rest was unpacked there, None if parts are
        missing.
    present, missing : tuple of str
        Parts by name: three libraries and a Vulkan driver that SlangPy can use.
    icds : tuple of Path
        Manifests of the usable Vulkan drivers. Empty where CUDA, Metal or Direct3D makes one needless.
    mesa : str or None
        Version of the software driver, if it is known.
    note : str
        Why a driver that is there does not count; empty if there is nothing to say.
    system : System
        The operating system.
    """

    kind: Literal["system", "user cache"] | None
    present: tuple[str, ...]
    missing: tuple[str, ...]
    icds: tuple[Path, ...]
    mesa: str | None
    note: str
    system: System

    @property
    def ok(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def __str__(self) -> str:
        nothing = "nothing" if self.missing else "nothing is needed"
        lines = [
            f"system:  {self.system.name}",
            f"present: {', '.join(self.present) or nothing}",
            f"missing: {', '.join(self.missing) or 'nothing'}",
        ]
        lines += [f"driver:  {path}" for path in self.icds]
        lines += [f"Mesa:    {self.mesa}"] if self.mesa else []
        lines += [f"from:    {self.kind}"] if self.kind else []
        lines += [f"note:    {self.note}"] if self.note else []
        return "\n".join(lines)


@dataclass(frozen=True)
class _Found:
    """What the system itself has, without the user's cache."""

    missing: tuple[str, ...]
    icds: tuple[Path, ...] = ()
    mesa: str | None = None
    note: str = ""
    chosen: bool = False  # the user names the driver in VK_DRIVER_FILES
    wanted: tuple[str, ...] = (DRIVER, LOADER, ATOMIC, X11)


def status() -> DriverStatus:
    """Look at what is present and what is missing. Installs nothing; takes milliseconds.

    Returns
    -------
    DriverStatus
        What is there.

    Examples
    --------
    >>> status().system.family in ("apt", "dnf", "pacman", "zypper", "apk", "macos", "windows", "other")
    True
    """
    system = this_system()
    if not _needs_files(system):
        return DriverStatus("system", (), (), (), None, "", system)
    found = _look(os.environ)
    cache = driver_cache.read_cache(this_folder(system)) if found.missing else None
    if cache is not None:
        found = _add_cache(found, cache)
    present = tuple(part for part in found.wanted if part not in found.missing)
    kind = None if found.missing else "user cache" if cache is not None else "system"
    return DriverStatus(kind, present, found.missing, found.icds, found.mesa, found.note, system)


def ensure(quiet: bool = False) -> DriverStatus:
    """Install what is missing: with apt as root, or unpacked into the user's cache folder without root.

    Safe to call again, and from several processes at once. A machine with a usable GPU driver is left
    alone, but for the small libraries that SlangPy's import needs.

    Parameters
    ----------
    quiet : bool
        Do not say on stderr what is being installed.

    Returns
    -------
    DriverStatus
        The status afterwards; nothing is missing.

    Raises
    ------
    BackendError
        If the parts cannot be brought. Message and remedy say what to do.
    """
    now = status()
    if now.ok:
        return now
    unwanted_driver = DRIVER in now.missing and _chosen_by_user(os.environ)
    if unwanted_driver or packages.make_plan(now.system, now.missing).way == "by hand":
        raise BackendError(_summary(now), remedy=remedy(now))
    folder = this_folder(now.system)
    with driver_cache.locked(folder.parent) as held:
        now = status()
        if now.ok:  # another process was faster
            return now
        plan = packages.make_plan(now.system, _look(os.environ).missing)
        if not quiet:
            where = f"into {folder}" if plan.way == "user cache" else "with apt-get"
            print(f"slangnb: bringing {', '.join(plan.packages)} {where}, once ...", file=sys.stderr, flush=True)
        if plan.way == "system":
            apt.install(plan)
        else:
            driver_cache.fill_cache(folder, lambda target: apt.unpack(plan, target), alone=held)
    after = status()
    if not after.ok:
        raise BackendError(_summary(after), remedy=remedy(after))
    return after


def activate() -> None:
    """Make a driver from the user's cache usable in this process; call it before SlangPy is imported.

    Loads the unpacked libraries and points the Vulkan loader at the driver. Child processes inherit the
    pointer but not the libraries, so they call this too. Does nothing where the system has what is needed,
    and nothing twice.
    """
    if not sys.platform.startswith("linux"):
        return
    folder = this_folder(this_system())
    cache = driver_cache.read_cache(folder)
    if cache is None:
        return
    inherited = cache.icd is not None and os.environ.get("VK_DRIVER_FILES") == str(cache.icd)
    if inherited and driver_cache.is_preloaded(cache):
        return
    if not inherited and not _look(os.environ).missing:
        return
    driver_cache.preload(cache)
    if cache.icd is not None and not _chosen_by_user(os.environ):
        os.environ["VK_DRIVER_FILES"] = str(cache.icd)


def remedy(status: DriverStatus) -> str:
    """Say what to type to get the missing parts; empty if nothing is missing.

    Parameters
    ----------
    status : DriverStatus
        From `driver.status()`.

    Returns
    -------
    str
        One line.
    """
    if status.ok:
        return ""
    if DRIVER in status.missing and _chosen_by_user(os.environ):
        return "unset VK_DRIVER_FILES and VK_ICD_FILENAMES, or let them name a driver that exists and is recent"
    by_hand = packages.commands_by_hand(status.system, status.missing)
    if status.system.family == "apt":
        return f"run `{_ENSURE}`, which needs no root; or install by hand: `{by_hand}`"
    return by_hand if status.system.family == "other" else f"run `{by_hand}`"


def this_system() -> System:
    """Describe the system that this process runs on."""
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        text = ""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return packages.describe_system(text, sys.platform, root, lambda tool: shutil.which(tool) is not None)


def this_folder(system: System) -> Path:
    """Return the folder of this user's cache that holds, or would hold, the driver."""
    return driver_cache.cache_folder(os.environ, system.release)


def library_loads(name: str) -> bool:
    """Tell whether the dynamic linker finds a library, by loading it; SlangPy would load the same one."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _needs_files(system: System) -> bool:
    return system.family not in ("macos", "windows")


def _look(env: Mapping[str, str]) -> _Found:
    """Look at the system, leaving out what lies in the user's cache."""
    chosen = _chosen_by_user(env)
    if not chosen:  # our own setting, perhaps inherited, is not the user's choice
        env = {key: env[key] for key in env if key not in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")}
    found = icd.installed_icds(env, Path.home())
    gpus = icd.gpu_drivers()
    hardware = [entry.path for entry in found if icd.drives_gpu(entry, gpus)]
    if chosen:
        hardware = [entry.path for entry in found if not entry.lavapipe]
    software = next((entry for entry in found if entry.lavapipe), None)
    libraries = [name for name in (ATOMIC, X11) if not library_loads(name)]
    loader = library_loads(LOADER)
    if not (hardware and loader) and "nvidia" in gpus and library_loads("libcuda.so.1"):
        return _Found(tuple(libraries), wanted=(ATOMIC, X11))  # CUDA serves, as in most GPU containers
    libraries += [] if loader else [LOADER]
    if hardware:
        return _Found(tuple(libraries), tuple(hardware), chosen=chosen)
    if software is None:
        note = "VK_DRIVER_FILES names no driver that exists" if chosen else ""
        return _Found((DRIVER, *libraries), note=note, chosen=chosen)
    mesa = apt.mesa_version()
    if not packages.mesa_is_recent(mesa, software.api_version):
        version = mesa or f"for Vulkan {software.api_version}"
        note = f"the installed Mesa {version} is too old: SlangPy needs Mesa {packages.OLDEST_MESA} or later"
        return _Found((DRIVER, *libraries), mesa=mesa, note=note, chosen=chosen)
    return _Found(tuple(libraries), (software.path,), mesa, chosen=chosen)


def _chosen_by_user(env: Mapping[str, str]) -> bool:
    home = driver_cache.cache_home(env)
    return any(not file.is_relative_to(home) for file in icd.chosen_files(env))


def _add_cache(found: _Found, cache: driver_cache.Cache) -> _Found:
    """Count what the user's cache adds to what the system has."""
    provides = cache.provides | ({DRIVER} if cache.icd is not None and not found.chosen else set[str]())
    missing = tuple(part for part in found.missing if part not in provides)
    if cache.icd is not None and DRIVER in found.missing and DRIVER not in missing:
        mesa = cache.packages.get(_MESA_PACKAGE)
        return replace(found, missing=missing, icds=(cache.icd,), mesa=mesa, note="")
    return replace(found, missing=missing)


def _summary(status: DriverStatus) -> str:
    note = f" ({status.note})" if status.note else ""
    return f"missing on {status.system.name}: {', '.join(status.missing)}{note}"
