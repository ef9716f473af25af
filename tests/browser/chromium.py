"""Find a Chromium for the browser tests, or bring one where that is simple."""

import os
import shutil
import subprocess
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PACKAGES = ("chromium", "fonts-dejavu-core")


def find_or_install(os_release: Path = Path("/etc/os-release")) -> tuple[Path | None, str]:
    """Find Chromium; as root on Debian install it if it is missing.

    ``$CHROMIUM`` names the browser; otherwise the PATH is searched.

    Returns
    -------
    tuple of (Path or None) and str
        The browser, and where it comes from; or None, and why there is none, for ``pytest.skip``.
    """
    if named := os.environ.get("CHROMIUM"):
        file = shutil.which(named)
        return (Path(file), "$CHROMIUM") if file else (None, f"$CHROMIUM names no program: {named}")
    if found := find():
        return found, "PATH"
    text = os_release.read_text(encoding="utf-8") if os_release.exists() else ""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if reason := why_not_installable(text, root, shutil.which("apt-get") is not None):
        return None, f"no Chromium: {reason}"
    reason = _install()
    found = find()
    return (found, "installed with apt-get") if found else (None, f"no Chromium: {reason}")


def find() -> Path | None:
    """Return the first Chromium on the PATH that is a real program."""
    for name in NAMES:
        file = shutil.which(name)
        if file and not _is_snap_stub(Path(file)):
            return Path(file)
    return None


def why_not_installable(os_release: str, root: bool, apt: bool) -> str:
    """Say why Chromium is not installed here; empty if apt can bring it.

    Parameters
    ----------
    os_release : str
        Text of ``/etc/os-release``.
    root : bool
        Whether this is root.
    apt : bool
        Whether apt-get is on the PATH.
    """
    lines = [line.partition("=") for line in os_release.splitlines()]
    fields = {key: value.strip("\"'") for key, _, value in lines}
    words = {fields.get("ID", ""), *fields.get("ID_LIKE", "").split()}
    if "ubuntu" in words:
        return "Ubuntu's chromium package is a stub that starts a snap; install google-chrome or set CHROMIUM"
    if "debian" not in words or not apt:
        return "install chromium with this system's package manager or set CHROMIUM"
    if not root:
        return "ask root to run `apt-get install chromium`, or set CHROMIUM"
    return ""


def _is_snap_stub(file: Path) -> bool:
    """Ubuntu's stub is a small shell script that calls snap, which is absent in most containers."""
    with file.open("rb") as stream:
        start = stream.read(4096)
    return start.startswith(b"#!") and b"snap" in start and shutil.which("snap") is None


def _install() -> str:
    """Install Chromium with apt-get, and return apt's last error, if there is one."""
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    output = ""
    for command in (("update",), ("install", "-y", "--no-install-recommends", *_PACKAGES)):
        done = subprocess.run(
            ("apt-get", "-q", "-oDPkg::Lock::Timeout=120", *command),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        output = done.stdout
    errors = [line for line in output.splitlines() if line.startswith("E:")]
    return errors[-1] if errors else "apt-get brought none"
