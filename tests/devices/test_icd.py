"""Which Vulkan drivers count, told from their manifests alone."""

import json
from pathlib import Path

import pytest

from slangnb.devices import icd


def write_icd(folder: Path, name: str, library: str, api: str = "1.4.305") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps({"ICD": {"library_path": library, "api_version": api}}))
    return file


@pytest.mark.parametrize(
    ("library", "gpus", "fits"),
    [
        ("libGLX_nvidia.so.0", {"nvidia"}, True),
        ("libvulkan_intel.so", {"nvidia"}, False),
        ("libvulkan_intel.so", {"xe"}, True),
        ("libvulkan_radeon.so", {"amdgpu"}, True),
        ("libvulkan_radeon.so", set(), False),
        ("libvulkan_virtio.so", {"virtio_gpu"}, False),
        ("libvulkan_lvp.so", {"nvidia"}, False),
        ("libvulkan_newmaker.so", {"newmaker"}, True),
    ],
)
def test_driver_counts_only_with_its_gpu(library: str, gpus: set[str], fits: bool) -> None:
    assert icd.drives_gpu(icd.Icd(Path("a.json"), library), gpus) is fits


def test_manifests_that_cannot_work_are_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "vulkan" / "icd.d"
    write_icd(folder, "gone.json", "/nowhere/libvulkan_x.so")
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text("[]")
    good = write_icd(folder, "lvp.json", "libvulkan_lvp.so")
    env = {"XDG_DATA_DIRS": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "none")}
    found = [entry.path for entry in icd.installed_icds(env, tmp_path) if entry.path.is_relative_to(tmp_path)]
    assert found == [good]


def test_gpus_are_those_that_the_user_may_open(tmp_path: Path) -> None:
    dev, sys_ = tmp_path / "dev", tmp_path / "sys"
    (dev / "dri").mkdir(parents=True)
    (dev / "dri" / "renderD128").touch()
    (sys_ / "bus" / "i915").mkdir(parents=True)
    (sys_ / "class/drm/renderD128/device").mkdir(parents=True)
    (sys_ / "class/drm/renderD128/device/driver").symlink_to(sys_ / "bus" / "i915")
    assert icd.gpu_drivers(dev, sys_) == {"i915"}
    (dev / "nvidiactl").touch()
    assert icd.gpu_drivers(dev, sys_) == {"i915", "nvidia"}
