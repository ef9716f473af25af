"""Bring packages with apt: into the system as root, or unpacked into a folder without root."""

import os
import shutil
import subprocess
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path

from slangnb.devices.packages import OLDEST_MESA, Plan, backports_source, install_arguments
from slangnb.errors import BackendError

_SOURCES = Path("/etc/apt")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_BUSY = "Could not get lock"
_PATIENCE_S = 120.0
_PAUSE_S = 1.0
_COMMON = (
    "apt-get",
    "-q",
    "-oDPkg::Lock::Timeout=120",
    "-oAcquire::http::Timeout=30",
    "-oAcquire::https::Timeout=30",
    "-oAcquire::Retries=2",
    "-oAcquire::Languages=none",
)
_TARGETS = ("indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages")
#: The system's hooks after an update expect root and the system's own folders.
_NO_HOOKS = """\
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Update::Pre-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
"""


def install(plan: Plan, sources: Path = _SOURCES) -> None:
    """Install a plan's packages into the system; needs root.

    Parameters
    ----------
    plan : Plan
        A plan whose way is "system".
    sources : Path
        apt's configuration folder.

    Raises
    ------
    BackendError
        If apt cannot bring the packages; the message holds apt's last lines.
    """
    apt = (*_COMMON, "-oDpkg::Options::=--force-confold")
    _, notes = _update(apt)
    if plan.suite:
        added = sources / "sources.list.d" / f"slangnb-{plan.suite}.list"
        if line := _missing_source(apt, plan.suite, notes):
            _write_whole(added, line + "\n")
            _, notes = _update(apt)
            if _missing_source(apt, plan.suite, notes):
                added.unlink()  # no network, or a mirror without this suite: leave apt as it was
                raise _failed(f"apt found no {plan.suite} on its mirror", notes)
    ok, output = _run((*apt, *install_arguments(plan)))
    if not ok:
        raise _failed(f"apt could not install {', '.join(plan.packages)}", notes + output)


def unpack(plan: Plan, target: Path) -> dict[str, str]:
    """Download a plan's packages, and what they depend on, and unpack them below a folder; needs no root.

    Parameters
    ----------
    plan : Plan
        A plan whose way is "user cache".
    target : Path
        Folder to unpack into; made if missing. Lists and archives live beside it and are removed.

    Returns
    -------
    dict of str to str
        Versions of the unpacked packages by name.

    Raises
    ------
    BackendError
        If apt cannot bring the packages or one cannot be unpacked.
    OSError
        If the folder cannot be written.
    """
    work = target.parent / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True)
    target.mkdir(parents=True)
    main = work / "sources.list"
    system_list = _SOURCES / "sources.list"
    lines = system_list.read_text(encoding="utf-8") if system_list.exists() else ""
    main.write_text(lines, encoding="utf-8")
    (work / "hooks.conf").write_text(_NO_HOOKS, encoding="utf-8")
    apt = (
        *_COMMON,
        f"-c={work / 'hooks.conf'}",
        f"-oDir::Etc::sourcelist={main}",
        f"-oDir::State::lists={work / 'lists'}",
        f"-oDir::State::extended_states={work / 'states'}",
        f"-oDir::Cache={work / 'cache'}",
        "-oAPT::Sandbox::User=",
        "-oDebug::NoLocking=1",
    )
    _, notes = _update(apt)
    if plan.suite and (line := _missing_source(apt, plan.suite, notes)):
        main.write_text(f"{lines}\n{line}\n", encoding="utf-8")
        _, notes = _update(apt)
    command, *options = install_arguments(plan)
    # What the system has is downloaded again where we asked for it by name: its version may be too old.
    ok, output = _run((*apt, command, "--download-only", "--reinstall", *options))
    archives = sorted((work / "cache" / "archives").glob("*.deb"))
    if not ok or not archives:
        raise _failed(f"apt could not download {', '.join(plan.packages)}", notes + output)
    for archive in archives:
        ok, output = _run(("dpkg", "-x", str(archive), str(target)))
        if not ok:
            raise _failed(f"could not unpack {archive.name}", output)
    shutil.rmtree(work)
    names = [urllib.parse.unquote(archive.name).split("_") for archive in archives]
    return {parts[0]: parts[1] for parts in names if len(parts) > 1}


def mesa_version() -> str | None:
    """Return the version of the installed Mesa Vulkan package, or None if dpkg knows none."""
    query = ("dpkg-query", "-W", "-f=${db:Status-Status} ${Version}\\n", "mesa-vulkan-drivers")
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False)
    except OSError:
        return None
    for line in done.stdout.splitlines():
        state, _, version = line.partition(" ")
        if state == "installed":
            return version
    return None


def _update(apt: Sequence[str]) -> tuple[bool, str]:
    """Refresh apt's lists. Failing is not final: one dead source must not stop an installation."""
    return _run((*apt, "update"))


def _missing_source(apt: Sequence[str], suite: str, notes: str) -> str | None:
    ok, targets = _run((*apt, *_TARGETS))  # lists only what an update has fetched
    if not ok or not targets.strip():
        raise _failed(f"apt knows no packages, so Mesa {OLDEST_MESA} cannot be had", notes + targets)
    return backports_source(targets, suite, _KEYRING if _KEYRING.exists() else None)


def _run(command: Sequence[str]) -> tuple[bool, str]:
    """Run a command without prompts; wait while another process holds apt's locks."""
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1", "LC_ALL": "C"}
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        ok, output = _run_once(command, env)
        if ok or _BUSY not in output or time.monotonic() > give_up:
            return ok, output
        time.sleep(_PAUSE_S)


def _run_once(command: Sequence[str], env: Mapping[str, str]) -> tuple[bool, str]:
    try:
        done = subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BackendError(f"cannot run {command[0]}: {error.strerror}", remedy="install apt and dpkg") from error
    return done.returncode == 0, done.stdout


def _failed(message: str, output: str) -> BackendError:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("E:", "W:", "Err:", "dpkg"))] or lines
    tail = "\n".join(f"  {line}" for line in dict.fromkeys(telling[-6:]))
    if "No space left on device" in output or "enough free space" in output:
        remedy = "free about 500 MB on the disk, then run `slangnb driver --ensure`"
    elif "dpkg --configure -a" in output:
        remedy = "run `dpkg --configure -a`, as an earlier installation was interrupted, then try again"
    else:
        remedy = "check the network and apt's sources, then run `slangnb driver --ensure`"
    return BackendError(f"{message}\n{tail}" if tail else message, remedy=remedy)


def _write_whole(file: Path, text: str) -> None:
    part = file.with_name(f"{file.name}.part")  # apt reads only files whose names end in .list
    part.write_text(text, encoding="utf-8")
    part.replace(file)
