"""Where a browser for the tests is taken from."""

from pathlib import Path

import pytest
from chromium import find_or_install, why_not_installable


@pytest.mark.parametrize(
    ("os_release", "root", "apt", "reason"),
    [
        ("ID=debian", True, True, ""),
        ('ID=raspbian\nID_LIKE="debian"', True, True, ""),
        ("ID=debian", False, True, "ask root"),
        ("ID=debian", True, False, "install chromium with this system's"),
        ("ID=ubuntu\nID_LIKE=debian", True, True, "Ubuntu's chromium package is a stub"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"', True, True, "Ubuntu's chromium package is a stub"),
        ("ID=fedora", True, False, "install chromium with this system's"),
    ],
)
def test_reason_for_each_system(os_release: str, root: bool, apt: bool, reason: str) -> None:
    said = why_not_installable(os_release, root, apt)
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


def test_named_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(browser))
    assert find_or_install() == (browser, "$CHROMIUM")
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    assert find_or_install() == (None, f"$CHROMIUM names no program: {tmp_path / 'none'}")


def test_snap_stub_is_no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "chromium-browser"
    stub.write_text("#!/bin/sh\nexec snap run chromium\n")
    stub.chmod(0o755)
    release = tmp_path / "os-release"
    release.write_text("ID=ubuntu\n")
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    browser, reason = find_or_install(release)
    assert browser is None
    assert reason.startswith("no Chromium: Ubuntu's chromium package is a stub")
    (tmp_path / "chromium").write_text("ELF")
    (tmp_path / "chromium").chmod(0o755)
    assert find_or_install(release) == (tmp_path / "chromium", "PATH")
