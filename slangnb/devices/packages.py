"""Decide which packages a machine needs for SlangPy and for software Vulkan, and how to bring them.

Everything here is a pure function of text and flags, so the plan for one system can be tested on any other.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from slangnb.errors import BackendError

ATOMIC = "libatomic.so.1"
X11 = "libX11.so.6"
LOADER = "libvulkan.so.1"
DRIVER = "Vulkan driver"

#: The first Mesa whose software driver has all that SlangPy asks for when it creates a device.
OLDEST_MESA = 24

Family = Literal["apt", "dnf", "pacman", "zypper", "apk", "macos", "windows", "other"]
Way = Literal["nothing", "system", "user cache", "by hand"]

_FAMILIES: dict[str, Family] = {
    "debian": "apt",
    "ubuntu": "apt",
    "fedora": "dnf",
    "rhel": "dnf",
    "centos": "dnf",
    "arch": "pacman",
    "suse": "zypper",
    "opensuse": "zypper",
    "alpine": "apk",
}
_PACKAGES: dict[Family, dict[str, str]] = {
    "apt": {ATOMIC: "libatomic1", X11: "libx11-6", LOADER: "libvulkan1", DRIVER: "mesa-vulkan-drivers"},
    "dnf": {ATOMIC: "libatomic", X11: "libX11", LOADER: "vulkan-loader", DRIVER: "mesa-vulkan-drivers"},
    "pacman": {ATOMIC: "gcc-libs", X11: "libx11", LOADER: "vulkan-icd-loader", DRIVER: "vulkan-swrast"},
    "zypper": {ATOMIC: "libatomic1", X11: "libX11-6", LOADER: "libvulkan1", DRIVER: "libvulkan_lvp"},
    "apk": {ATOMIC: "libatomic", X11: "libx11", LOADER: "vulkan-loader", DRIVER: "mesa-vulkan-swrast"},
}
_INSTALL: dict[Family, str] = {
    "apt": "apt-get install --no-install-recommends",
    "dnf": "dnf install",
    "pacman": "pacman -S --needed",
    "zypper": "zypper install",
    "apk": "apk add",
}
_BY_HAND: dict[Family, str] = {
    "macos": "brew install vulkan-loader molten-vk",
    "windows": "winget install KhronosGroup.VulkanRT",
    "other": "install Mesa's lavapipe (software Vulkan, 24 or later), Vulkan's loader, libX11, libatomic",
}
#: Releases whose own Mesa is too old, and where a newer one is to be had.
_NEWER_MESA = {"bookworm": "bookworm-backports"}


@dataclass(frozen=True)
class System:
    """The operating system, as far as installing packages is concerned."""

    family: Family
    name: str
    release: str
    codename: str = ""
    root: bool = False


@dataclass(frozen=True)
class Plan:
    """What to do about missing parts: the way, the packages, and the apt suite to take them from."""

    way: Way
    packages: tuple[str, ...] = ()
    suite: str | None = None


def describe_system(os_release: str, platform: str, root: bool, has_tool: Callable[[str], bool]) -> System:
    """Name the system from the text of ``/etc/os-release``.

    Parameters
    ----------
    os_release : str
        Text of ``/etc/os-release``; empty where there is none.
    platform : str
        ``sys.platform``.
    root : bool
        Whether the user may write to the whole system.
    has_tool : callable
        Tells whether a program is on the PATH.

    Returns
    -------
    System
        The family is "other" for a Linux that is not known, or whose apt is missing.

    Examples
    --------
    >>> describe_system("ID=debian\\nVERSION_ID=12", "linux", True, lambda tool: True).family
    'apt'
    """
    if platform == "darwin":
        return System("macos", "macOS", "macos", root=root)
    if platform == "win32":
        return System("windows", "Windows", "windows", root=root)
    pairs = (line.partition("=") for line in os_release.splitlines() if "=" in line and line[:1] != "#")
    fields = {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}
    words = [fields.get("ID", "linux"), *fields.get("ID_LIKE", "").split()]
    families: list[Family] = [_FAMILIES[key] for word in words if (key := word.split("-")[0]) in _FAMILIES]
    family: Family = families[0] if families else "other"
    if family == "apt" and not (has_tool("apt-get") and has_tool("dpkg")):
        family = "other"
    version = fields.get("VERSION_ID") or "rolling"
    return System(
        family=family,
        name=fields.get("PRETTY_NAME") or words[0],
        release=f"{words[0]}-{version}".replace("/", "-"),
        codename=fields.get("DEBIAN_CODENAME") or fields.get("VERSION_CODENAME", ""),
        root=root,
    )


def packages_for(system: System, missing: Iterable[str]) -> tuple[str, ...]:
    """Translate missing parts to the system's package names, the driver first."""
    names = _PACKAGES.get(system.family, {})
    parts = set(missing)
    return tuple(names[part] for part in (DRIVER, LOADER, ATOMIC, X11) if part in parts and part in names)


def make_plan(system: System, missing: Iterable[str]) -> Plan:
    """Choose how the missing parts are brought.

    Parameters
    ----------
    system : System
        The system, from `describe_system`.
    missing : iterable of str
        Parts that the system lacks: `ATOMIC`, `X11`, `LOADER`, `DRIVER`.

    Returns
    -------
    Plan
        "system" installs with apt as root; "user cache" unpacks the same packages without root; "by hand"
        leaves it to the user; "nothing" where nothing is missing.

    Examples
    --------
    >>> make_plan(System("apt", "Debian 12", "debian-12", "bookworm", root=True), [DRIVER]).suite
    'bookworm-backports'
    """
    parts = tuple(missing)
    if not parts:
        return Plan("nothing")
    if system.family != "apt":
        return Plan("by hand", packages_for(system, parts))
    # The suite also decides about dependencies, so it is named only when the driver itself is wanted.
    suite = _NEWER_MESA.get(system.codename) if DRIVER in parts else None
    return Plan("system" if system.root else "user cache", packages_for(system, parts), suite)


def install_arguments(plan: Plan) -> tuple[str, ...]:
    """Return apt-get's arguments that install a plan's packages."""
    suite = ("-t", plan.suite) if plan.suite else ()
    return ("install", "-y", "--no-install-recommends", *suite, *plan.packages)


def commands_by_hand(system: System, missing: Iterable[str]) -> str:
    """Return the command that the user types to install the missing parts with the system's own tool."""
    plan = make_plan(system, missing)
    if system.family not in _INSTALL:
        return _BY_HAND[system.family]
    suite = f" -t {plan.suite}" if plan.suite else ""
    sudo = "" if system.root else "sudo "
    return f"{sudo}{_INSTALL[system.family]}{suite} {' '.join(plan.packages)}"


def backports_source(targets: str, suite: str, keyring: PurePath | None) -> str | None:
    """Return the line for apt's sources that adds a backports suite, or None if apt has it already.

    Parameters
    ----------
    targets : str
        Lines ``RELEASE URI`` of the sources that apt knows.
    suite : str
        For example ``bookworm-backports``; it lies on the mirror that serves ``bookworm``.
    keyring : PurePath or None
        The archive's key file, where the system has one.

    Raises
    ------
    BackendError
        If no mirror of the base release is among apt's sources.
    """
    known = [(words[0], words[1]) for line in targets.splitlines() if len(words := line.split()) >= 2]
    if any(release == suite for release, _ in known):
        return None
    base = suite.removesuffix("-backports")
    mirror = next((uri for release, uri in known if release == base), None)
    if mirror is None:
        raise BackendError(
            f"Mesa {OLDEST_MESA} or later is in {suite}, but apt knows no mirror of {base}",
            remedy=f"add {base} and {suite} to apt's sources, then run `slangnb driver --ensure`",
        )
    signed = f"[signed-by={keyring}] " if keyring else ""
    return f"deb {signed}{mirror} {suite} main"


def mesa_is_recent(version: str | None, api_version: str) -> bool:
    """Tell whether Mesa's software driver is recent enough for SlangPy.

    Parameters
    ----------
    version : str or None
        The package's version, such as ``25.0.7-2~bpo12+1``; None where no package tells it.
    api_version : str
        ``api_version`` of the driver's manifest. Its last number grows with every Mesa, and tells the age
        where no package does.
    """
    upstream = (version or "").rpartition(":")[2].partition(".")[0]
    if upstream.isdigit():
        return int(upstream) >= OLDEST_MESA
    patch = api_version.rpartition(".")[2]
    return patch.isdigit() and int(patch) >= 270
