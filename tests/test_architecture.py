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
ORDER = ["errors", "compiler", "devices", "runtime", "autodiff", "interop", "views", "optim", "notebook", "cli"]
MODULES = sorted(PACKAGE.rglob("*.py"))
#: Modules that import each other: a model and the figure that draws it late.
CYCLES = [
    {"views.flow", "views.flow_figure"},
    {"views.scatter", "views.scatter_figure"},
]
#: Private names of others that are read, and why.
PRIVATE = {
    "os._exit": "ends a child process without its parent's cleaning up",
    "sys._getframe": "the caller's line, for a warning",
    "torch._C": "what says how torch computes now is not public, and the public way to its stream is slow",
    "parser._option_string_actions": "argparse does not list its options otherwise",
}
#: A module has none but private names, since Slang functions may have any; these are read within its room.
OF_MODULES = {"_key", "_label", "_adopt", "_break"}


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


def imports_of(path: Path) -> set[str]:
    """Give the modules of slangnb that a module imports, anywhere but for its types alone."""
    tree, found = ast.parse(path.read_text()), set()
    typing = {
        id(n)
        for i in ast.walk(tree)
        if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.dump(i.test)
        for statement in i.body
        for n in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in typing or not node.module:
            continue
        for name in (node.module, *(f"{node.module}.{a.name}" for a in node.names)):
            if (PACKAGE.parent / name.replace(".", "/")).with_suffix(".py") in MODULES:
                found.add(name)
    return found


def cycles() -> list[set[str]]:
    """Give the groups of modules that import each other, directly or by others."""
    names = {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts): imports_of(p) for p in MODULES}
    reached = {name: set(found) for name, found in names.items()}
    changed = True
    while changed:
        changed = False
        for found in reached.values():
            more = found.union(*(reached[n] for n in found))
            changed |= len(more) > len(found)
            found |= more
    groups = {frozenset(n for n in found if name in reached[n]) for name, found in reached.items() if name in found}
    return sorted(map(set, groups), key=sorted)


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


def test_modules_import_each_other_in_views_alone() -> None:
    assert [{n.removeprefix("slangnb.") for n in group} for group in cycles()] == CYCLES


def private_reads(path: Path) -> set[str]:
    """Give the private attributes of other objects that a module reads; not Jupyter's ``_repr_html_`` and its kin."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.endswith("_"):
            continue
        if ast.unparse(node.value) in ("self", "cls", "super()"):
            continue
        if room(path) == "runtime" and node.attr in OF_MODULES:
            continue
        found.add(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_reads_what_is_private_to_another(path: Path) -> None:
    assert private_reads(path) <= set(PRIVATE)


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
