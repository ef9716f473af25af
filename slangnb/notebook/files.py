"""The ``.slang`` files near a notebook."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path

from slangnb.compiler.resolving import SEARCH


def slang_files(typed: str = "") -> list[str]:
    """Give the files in the folder that is typed, and without one those near the notebook; folders end with a slash."""
    folder = typed.rpartition("/")[0]
    if "/" in typed:
        here = Path(folder or "/").expanduser()
        return [f"{folder}/{p.name}" for p in _files(here)] + [f"{folder}/{p.name}/" for p in _folders(here)]
    near = [p.as_posix() for place in SEARCH for p in _files(place)]
    return near + [f"{p.name}/" for p in _folders(Path())]


def folders(typed: str = "") -> list[str]:
    """Give the folders in the folder that is typed, and without one those beside the notebook; with a slash behind."""
    folder, slash, _ = typed.rpartition("/")
    here = Path(folder or slash or ".").expanduser()
    return [f"{folder}{slash}{p.name}/" for p in _folders(here)] + ["../"] * (not slash)


def importable() -> list[str]:
    """Give the names by which cells import the files near the notebook."""
    return list(dict.fromkeys(p.stem for place in SEARCH for p in _files(place) if p.stem.isidentifier()))


def instead_of(path: str) -> str:
    """Say what to write for a file that is not there."""
    folder = path.rpartition("/")[0]
    found = [p.as_posix() for p in _files(Path(folder))] + [f for f in slang_files() if not f.endswith("/")]
    stems = {Path(f).stem: f for f in reversed(found)}
    close = difflib.get_close_matches(Path(path).stem, stems, 1, 0.5)
    if close:
        return f"did you mean `%slang load {shlex.quote(stems[close[0]])}`?"
    found = list(dict.fromkeys(found))
    if found:
        return f"there {'is' if len(found) == 1 else 'are'} {', '.join(found[:5])}" + ", ..." * (len(found) > 5)
    return f"there is no .slang file in the folder {Path.cwd().name}, nor in `shaders`"


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.slang"))


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith((".", "_")))
    except OSError:  # it is not there, or not ours to read
        return []
