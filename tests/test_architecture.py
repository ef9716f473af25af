"""The house: which folder may import which, what is imported when, and how large a module may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import slangnb

PACKAGE = Path(slangnb.__file__).parent
#: A folder may import what stands left of it, and itself.
ORDER = ["errors", "compiler", "devices", "runtime", "autodiff", "interop", "views", "notebook", "cli"]
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Give the rooms of slangnb that a module imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "slangnb" else [f"slangnb.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("slangnb.")}
    return found


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room(p) != "__init__"], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_arrows_run_one_way(path: Path) -> None:
    allowed = ORDER[: ORDER.index(room(path)) + 1]
    assert imported(path) <= set(allowed)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_are_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def loaded_by(statement: str) -> set[str]:
    """Give the top-level modules in a fresh interpreter after a statement."""
    code = f"{statement}; import sys; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_slangnb_loads_nothing_heavy() -> None:
    assert not {"slangpy", "numpy", "IPython", "matplotlib", "ipywidgets", "torch"} & loaded_by("import slangnb")


def test_the_library_works_without_a_notebook() -> None:
    heavy = {"IPython", "ipywidgets", "matplotlib", "torch"}
    assert not heavy & loaded_by("import slangnb.runtime.session, slangnb.compiler.advice.remedies")


def test_the_driver_imports_nothing_heavy() -> None:
    assert not {"slangpy", "numpy", "IPython"} & loaded_by("import slangnb.devices.driver, slangnb.cli")


def test_the_public_surface() -> None:
    assert all(hasattr(slangnb, name) for name in slangnb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        slangnb.nonsense  # noqa: B018
