"""Says what this machine has, what works, and what to do about the rest."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from slangnb.devices import driver
from slangnb.devices.backend import ORDER, enumerate_backends, probe
from slangnb.devices.caches import cache_root, writable_folder
from slangnb.errors import BackendError

PACKAGES = ("slangnb", "slangpy", "numpy", "ipython", "ipywidgets", "anywidget", "jupyterlab", "matplotlib")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def report() -> str:
    """Give versions, driver, probes of all backends (afresh), caches, and a remedy for each thing missing.

    Examples
    --------
    >>> print(report().splitlines()[0])
    versions
    """
    lines = [
        "versions",
        f"  python     {platform.python_version()} on {platform.platform(terse=True)} ({sys.platform})",
    ]
    lines += [f"  {p:<10} {_version(p)}" for p in PACKAGES]
    state = driver.status()
    lines += ["", "driver", *(f"  {line}" for line in str(state).splitlines())]
    lines += ["", "backends (probed: forward and backward of a polynomial)"]
    try:
        found = [probe(b, fresh=True) for b in enumerate_backends()]
    except BackendError as error:
        found = []
        lines.append(f"  none: {error}")
    for b in found:
        lines.append(f"  {b.key:<9} {b.adapter:<40} {'works' if b.ok else 'refused: ' + b.reason}")
    absent = [k for k in ORDER if k not in {b.key for b in found}]
    lines.append(f"  not on this machine: {', '.join(absent)}")
    if not any(b.ok for b in found):
        lines.append(f"  remedy: {driver.remedy(state)}")
    root = cache_root()
    reason = writable_folder(root)
    lines += ["", "caches", f"  {root}" + (f"  cannot be written: {reason}" if reason else "")]
    if reason:
        lines.append("  remedy: free some space, or set SLANGNB_CACHE to a folder that can be written")
    return "\n".join(lines)
