"""The backends of this machine: which there are, which of them work, and which one to take.

A backend is *probed* in a child process: forward and backward of a known polynomial against its analytic
value. One that fails or crashes there is listed with the reason and refused.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType

from slangnb.devices import driver
from slangnb.devices.caches import cache_root
from slangnb.devices.cuda import driver_library
from slangnb.errors import BackendError

#: Order of the automatic choice.
ORDER = ("cuda", "vulkan", "metal", "d3d12", "software")
PLATFORMS = {"cuda": ("linux", "win32"), "metal": ("darwin",), "d3d12": ("win32",)}
SOFTWARE_ADAPTERS = ("llvmpipe", "lavapipe", "swiftshader", "microsoft basic render")
PROBE_SECONDS = 120
CPU_REASON = (
    "the CPU backend does not work in SlangPy 0.43: it reports zero dispatch groups, so every call fails; "
    "it is not supported here"
)


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to run Slang code on this machine.

    Attributes
    ----------
    name : {"cuda", "vulkan", "metal", "d3d12", "cpu"}
        SlangPy's device type.
    adapter : str
        Name of the card or of the software renderer.
    software : bool
        True for Vulkan on the CPU.
    luid : tuple of int
        What SlangPy tells adapters apart by.
    ok : bool or None
        Result of the probe; None before it.
    reason : str
        Why the probe failed.
    """

    name: str
    adapter: str
    software: bool = False
    luid: tuple[int, ...] = ()
    ok: bool | None = None
    reason: str = ""

    @property
    def key(self) -> str:
        """The word that ``use`` and ``-b`` take: the name, or ``software`` for Vulkan on the CPU."""
        return "software" if self.software else self.name


def is_software(adapter: str) -> bool:
    """Tell whether an adapter's name is that of a renderer on the CPU.

    Examples
    --------
    >>> is_software("llvmpipe (LLVM 19.1.7, 256 bits)"), is_software("NVIDIA H100 80GB HBM3")
    (True, False)
    """
    return adapter.lower().startswith(SOFTWARE_ADAPTERS)


def order(backends: list[Backend]) -> list[Backend]:
    """Sort backends by the automatic order; those that are not in it (CPU) are left out."""
    return sorted((b for b in backends if b.key in ORDER), key=lambda b: ORDER.index(b.key))


def enumerate_backends() -> list[Backend]:
    """List the adapters of this machine for each of SlangPy's device types, unprobed.

    Raises
    ------
    BackendError
        If SlangPy itself cannot be imported; the remedy says what is missing.
    """
    spy = import_slangpy()
    found = []
    for name in ("cuda", "vulkan", "metal", "d3d12", "cpu"):
        if sys.platform not in PLATFORMS.get(name, (sys.platform,)) or (name == "cuda" and not _has_cuda_driver()):
            continue
        try:
            adapters = spy.Device.enumerate_adapters(getattr(spy.DeviceType, name))
        except RuntimeError:  # no loader or no driver for this type
            continue
        for adapter in adapters:
            found.append(
                Backend(name, adapter.name, name == "vulkan" and is_software(adapter.name), tuple(adapter.luid))
            )
    return found


def _has_cuda_driver() -> bool:
    """Look for a real CUDA driver before SlangPy does: it writes to the console where there is only a stub."""
    try:
        return hasattr(driver_library(), "cuGetErrorString")
    except OSError:
        return False


def import_slangpy() -> ModuleType:
    """Import SlangPy once the driver is in place, or say what this machine lacks for it."""
    driver.activate()
    try:
        import slangpy
    except ImportError as error:
        raise BackendError(f"SlangPy cannot be imported: {error}", remedy=driver.remedy(driver.status())) from error
    return slangpy


def slangpy_version() -> str:
    """Give SlangPy's version: caches and verdicts of different ones are kept apart."""
    return str(getattr(import_slangpy(), "__version__", "unknown"))


def probe(backend: Backend, fresh: bool = False) -> Backend:
    """Run the polynomial forward and backward in a child process, and give the backend with the verdict.

    Parameters
    ----------
    backend : Backend
        What to try.
    fresh : bool
        Ignore a verdict remembered on disk. Only good verdicts are remembered, by SlangPy's version, the
        adapter and the driver files.
    """
    if backend.name == "cpu":
        return replace(backend, ok=False, reason=CPU_REASON)
    memory = cache_root() / "probes" / _probe_key(backend)
    if not fresh and memory.exists():
        return replace(backend, ok=True)
    command = [sys.executable, "-m", "slangnb.devices.child", "--probe", json.dumps(asdict(backend))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return replace(backend, ok=False, reason=f"the probe gave no answer in {PROBE_SECONDS} s")
    verdict = judge(done.returncode, done.stdout, done.stderr)
    if not verdict:
        try:
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory.touch()
        except OSError:
            pass  # an unwritable cache only costs the next probe
    return replace(backend, ok=not verdict, reason=verdict)


def judge(code: int, out: str, err: str) -> str:
    """Turn the end of a probe into a reason, empty if all is well.

    Examples
    --------
    >>> judge(0, '{"values": [9, 23, 41, 63], "gradient": [12, 16, 20, 24]}', "")
    ''
    >>> judge(-11, "", "")
    'the probe crashed (signal 11)'
    """
    if code < 0:
        return f"the probe crashed (signal {-code})"
    if code:
        lines = [line for line in err.strip().splitlines() if line.strip()]
        return lines[-1] if lines else f"the probe ended with exit code {code}"
    got = json.loads(out.strip().splitlines()[-1])
    right = {"values": [9, 23, 41, 63], "gradient": [12, 16, 20, 24]}
    return "" if got == right else f"wrong numbers: {got} instead of {right}"


def _probe_key(backend: Backend) -> str:
    files = [f"{p}:{p.stat().st_mtime_ns}" for p in map(Path, driver.status().icds) if p.exists()]
    text = json.dumps([slangpy_version(), backend.name, backend.adapter, *files])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def choose(wanted: str | None = None) -> Backend:
    """Give the first backend that passes its probe, or the wanted one.

    Parameters
    ----------
    wanted : str, optional
        ``"cuda"``, ``"vulkan"``, ``"metal"``, ``"d3d12"``, or ``"software"`` (Vulkan on the CPU).

    Raises
    ------
    BackendError
        If nothing works, if `wanted` is not a backend's name, or if it fails its probe.
    """
    if wanted is not None and wanted not in (*ORDER, "cpu"):
        raise BackendError(
            f"there is no backend {wanted!r}", remedy=f"write one of {', '.join(ORDER)}; `%slang devices` lists them"
        )
    backends = enumerate_backends()
    if wanted is None:
        candidates = order(backends)
    else:
        # "vulkan" means a card if there is one, else the CPU: the same notebook runs on both.
        candidates = [b for b in backends if b.key == wanted] or [b for b in backends if b.name == wanted]
    failed = []
    for candidate in candidates:
        verdict = probe(candidate)
        if verdict.ok:
            return verdict
        failed.append(verdict)
    raise _none_works(wanted, failed)


def _none_works(wanted: str | None, failed: list[Backend]) -> BackendError:
    tried = "; ".join(f"{b.key} ({b.adapter}): {b.reason}" for b in failed)
    if wanted and not failed:
        allowed = PLATFORMS.get(wanted)
        here = f" on this platform ({sys.platform})" if allowed and sys.platform not in allowed else ""
        return BackendError(
            f"there is no {wanted} adapter or driver{here}", remedy="`slangnb doctor` lists what this machine has"
        )
    if wanted:
        return BackendError(f"the {wanted} backend is unavailable: {tried}", remedy="take another one: %slang devices")
    message = f"no backend works: {tried}" if tried else "this machine has no GPU driver and no software Vulkan driver"
    return BackendError(message, remedy=driver.remedy(driver.status()))
