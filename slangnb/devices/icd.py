"""Find the Vulkan drivers on this machine by their manifests ("ICD" files), without loading any of them."""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Part of a driver library's name, and the kernel drivers whose devices it can use. virtio and gfxstream
#: answer only with help of the host, which no file tells, so they never count.
_KERNEL_DRIVERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("nvidia", ("nvidia",)),
    ("nouveau", ("nouveau",)),
    ("radeon", ("amdgpu", "radeon")),
    ("amdvlk", ("amdgpu",)),
    ("intel", ("i915", "xe")),
    ("broadcom", ("v3d", "vc4")),
    ("freedreno", ("msm",)),
    ("panfrost", ("panfrost", "panthor")),
    ("asahi", ("asahi",)),
    ("powervr", ("powervr", "pvrsrvkm")),
    ("dzn", ("dxg",)),
    ("virtio", ()),
    ("gfxstream", ()),
    ("swiftshader", ()),
    ("libvulkan_lvp", ()),
)


@dataclass(frozen=True)
class Icd:
    """One Vulkan driver's manifest."""

    path: Path
    library: str
    api_version: str = ""

    @property
    def lavapipe(self) -> bool:
        """Whether this is Mesa's software driver."""
        return "libvulkan_lvp" in self.library


def chosen_files(env: Mapping[str, str]) -> list[Path]:
    """Return the manifests that the user chose through the Vulkan loader's own variables."""
    text = env.get("VK_DRIVER_FILES") or env.get("VK_ICD_FILENAMES") or ""
    return [Path(part) for part in text.split(os.pathsep) if part]


def search_folders(env: Mapping[str, str], home: Path) -> list[Path]:
    """Return the folders in which the Vulkan loader looks for manifests, in its order."""

    def parts(name: str, default: str) -> list[str]:
        return [part for part in (env.get(name) or default).split(os.pathsep) if part]

    bases = [
        env.get("XDG_CONFIG_HOME") or str(home / ".config"),
        *parts("XDG_CONFIG_DIRS", "/etc/xdg"),
        "/etc",
        env.get("XDG_DATA_HOME") or str(home / ".local/share"),
        *parts("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
    ]
    return [Path(base, "vulkan", "icd.d") for base in dict.fromkeys(bases)]


def read_icd(path: Path) -> Icd | None:
    """Read one manifest; None if it is missing, malformed, or names a library file that is not there."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))["ICD"]
        icd = Icd(path, str(body["library_path"]), str(body.get("api_version", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # A bare name is looked up by the dynamic linker; a name with a slash is relative to the manifest.
    if "/" in icd.library and not (path.parent / icd.library).exists():
        return None
    return icd


def installed_icds(env: Mapping[str, str], home: Path) -> list[Icd]:
    """Return the drivers that the Vulkan loader would find on this system."""
    chosen = chosen_files(env)
    files = chosen or [file for folder in search_folders(env, home) for file in sorted(folder.glob("*.json"))]
    return [icd for file in files if (icd := read_icd(file)) is not None]


def gpu_drivers(dev: Path = Path("/dev"), sys: Path = Path("/sys")) -> frozenset[str]:
    """Return the names of the kernel drivers of the GPUs that this user may open."""

    def usable(node: Path) -> bool:
        return os.access(node, os.R_OK | os.W_OK)

    found = {name for name, node in (("nvidia", "nvidiactl"), ("dxg", "dxg")) if usable(dev / node)}
    for node in dev.glob("dri/renderD*"):
        driver = sys / "class/drm" / node.name / "device/driver"
        if usable(node) and driver.exists():
            found.add(driver.resolve().name)
    return frozenset(found)


def drives_gpu(icd: Icd, gpus: Collection[str]) -> bool:
    """Tell whether a driver fits one of the machine's GPUs. A maker not known here fits any GPU.

    Examples
    --------
    >>> drives_gpu(Icd(Path("intel_icd.json"), "libvulkan_intel.so"), {"nvidia"})
    False
    """
    name = icd.library.lower()
    for part, drivers in _KERNEL_DRIVERS:
        if part in name:
            return any(driver in gpus for driver in drivers)
    return bool(gpus)
