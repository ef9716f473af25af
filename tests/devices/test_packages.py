"""The plan for each system: pure text in, packages and commands out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slangnb.devices import packages
from slangnb.devices.packages import ATOMIC, DRIVER, LOADER, X11, Plan, System
from slangnb.errors import BackendError

EVERYTHING = (DRIVER, ATOMIC, X11, LOADER)
OS_RELEASE = {
    "debian 12": 'PRETTY_NAME="Debian 12"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
    "debian 13": 'PRETTY_NAME="Debian 13"\nID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n',
    "ubuntu 24.04": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n',
    "fedora": "PRETTY_NAME=Fedora\nID=fedora\nVERSION_ID=41\n",
    "rocky": 'PRETTY_NAME=Rocky\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n',
    "arch": "PRETTY_NAME=Arch\nID=arch\n",
    "suse": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\nVERSION_ID="20260101"\n',
    "alpine": "PRETTY_NAME=Alpine\nID=alpine\nVERSION_ID=3.21\n",
    "void": "PRETTY_NAME=Void\nID=void\n",
}


def system_of(name: str, root: bool = False, tools: Callable[[str], bool] = lambda tool: True) -> System:
    platform = {"macos": "darwin", "windows": "win32"}.get(name, "linux")
    return packages.describe_system(OS_RELEASE.get(name, ""), platform, root, tools)


@pytest.mark.parametrize(
    ("name", "root", "plan"),
    [
        ("debian 12", True, ("system", "bookworm-backports")),
        ("debian 12", False, ("user cache", "bookworm-backports")),
        ("debian 13", True, ("system", None)),
        ("debian 13", False, ("user cache", None)),
        ("ubuntu 24.04", True, ("system", None)),
        ("ubuntu 24.04", False, ("user cache", None)),
        ("fedora", True, ("by hand", None)),
        ("arch", False, ("by hand", None)),
        ("macos", False, ("by hand", None)),
        ("windows", False, ("by hand", None)),
        ("void", True, ("by hand", None)),
    ],
)
def test_plan_for_each_system(name: str, root: bool, plan: tuple[str, str | None]) -> None:
    made = packages.make_plan(system_of(name, root), EVERYTHING)
    assert (made.way, made.suite) == plan


def test_nothing_missing_needs_no_plan() -> None:
    assert packages.make_plan(system_of("debian 12", True), ()) == Plan("nothing")


def test_small_libraries_alone_do_not_come_from_backports() -> None:
    plan = packages.make_plan(system_of("debian 12", True), (ATOMIC, X11))
    assert plan == Plan("system", ("libatomic1", "libx11-6"), None)


def test_debian_without_apt_is_left_to_the_user() -> None:
    assert system_of("debian 13", tools=lambda tool: tool == "apt-get").family == "other"


@pytest.mark.parametrize(
    ("name", "root", "command"),
    [
        (
            "debian 12",
            False,
            "sudo apt-get install --no-install-recommends -t bookworm-backports "
            "mesa-vulkan-drivers libvulkan1 libatomic1 libx11-6",
        ),
        (
            "debian 13",
            True,
            "apt-get install --no-install-recommends mesa-vulkan-drivers libvulkan1 libatomic1 libx11-6",
        ),
        ("fedora", False, "sudo dnf install mesa-vulkan-drivers vulkan-loader libatomic libX11"),
        ("rocky", True, "dnf install mesa-vulkan-drivers vulkan-loader libatomic libX11"),
        ("arch", False, "sudo pacman -S --needed vulkan-swrast vulkan-icd-loader gcc-libs libx11"),
        ("suse", False, "sudo zypper install libvulkan_lvp libvulkan1 libatomic1 libX11-6"),
        ("alpine", True, "apk add mesa-vulkan-swrast vulkan-loader libatomic libx11"),
        ("macos", False, "brew install vulkan-loader molten-vk"),
        ("windows", False, "winget install KhronosGroup.VulkanRT"),
    ],
)
def test_command_by_hand(name: str, root: bool, command: str) -> None:
    assert packages.commands_by_hand(system_of(name, root), EVERYTHING) == command


def test_backports_come_from_the_mirror_in_use() -> None:
    targets = "bookworm-updates http://m/d/\nbookworm http://mirror.example/debian/\n"
    line = packages.backports_source(targets, "bookworm-backports", Path("/k.gpg"))
    assert line == "deb [signed-by=/k.gpg] http://mirror.example/debian/ bookworm-backports main"
    assert packages.backports_source(targets + "bookworm-backports http://x/\n", "bookworm-backports", None) is None
    with pytest.raises(BackendError, match="apt knows no mirror of bookworm"):
        packages.backports_source("trixie http://m/\n", "bookworm-backports", None)


@pytest.mark.parametrize(
    ("version", "api", "recent"),
    [
        ("22.3.6-1+deb12u1", "1.3.230", False),
        ("25.0.7-2~bpo12+1", "1.4.305", True),
        ("1:24.0.0-1", "1.3.274", True),
        ("23.2.1-1ubuntu3.1~22.04.3", "1.3.255", False),
        (None, "1.3.230", False),
        (None, "1.4.305", True),
        (None, "", False),
    ],
)
def test_age_of_mesa(version: str | None, api: str, recent: bool) -> None:
    assert packages.mesa_is_recent(version, api) is recent
