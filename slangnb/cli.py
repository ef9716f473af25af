"""The command line: ``slangnb lab``, ``slangnb doctor``, ``slangnb driver``.

No command imports SlangPy before the driver is in place.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from slangnb.devices import driver
from slangnb.errors import SlangNbError

_FIRST_NOTEBOOK = Path("notebooks/01-first-gradient.ipynb")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, without the program's name; those of this process by default.

    Returns
    -------
    int
        The exit code: 0 for success, 1 for an error that was printed or a driver that is missing, 130 for
        an interrupt.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    # argparse would take what follows `--` for the notebook when none is named.
    cut = given.index("--") if "--" in given else len(given)
    options = _parser().parse_args(given[:cut])
    extra = given[cut + 1 :]
    try:
        if extra and options.command != "lab":
            raise SlangNbError(f"slangnb {options.command} takes nothing after `--`", remedy="leave it out")
        match options.command:
            case "lab":
                return _lab(options.notebook, extra)
            case "doctor":
                return _doctor()
            case _:
                return _driver(options.ensure)
    except SlangNbError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def lab_command(notebook: Path | None, extra: Sequence[str], root: bool) -> list[str]:
    """Return the command that starts JupyterLab.

    Its file browser shows this folder, and the address that it prints is that of the notebook.

    Parameters
    ----------
    notebook : Path or None
        The notebook to open. One from elsewhere is shown with its own folder.
    extra : sequence of str
        Further arguments for JupyterLab.
    root : bool
        Whether the user is root, whom Jupyter refuses unless told otherwise.

    Returns
    -------
    list of str
        Program and arguments.

    Examples
    --------
    >>> command = lab_command(Path("notebooks/a b.ipynb"), ["--no-browser"], root=False)
    >>> command[-2:]
    ['--LabApp.default_url=/lab/tree/notebooks/a%20b.ipynb', '--no-browser']
    """
    opened = [] if notebook is None else _opened(notebook, extra)
    allow = ["--allow-root"] if root and "--allow-root" not in extra else []
    return [sys.executable, "-m", "jupyterlab", *opened, *allow, *extra]


def _opened(notebook: Path, extra: Sequence[str]) -> list[str]:
    # Jupyter's own way of opening a file takes the file's folder for the root, and prints the address without the file.
    if any("root_dir" in one or "notebook-dir" in one for one in extra):
        return [str(notebook)]
    path, folder = notebook.resolve(), Path.cwd()
    folder = folder if path.is_relative_to(folder) else path.parent
    name = quote(path.relative_to(folder).as_posix())
    return [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{name}"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slangnb",
        description="Write, run and see differentiable Slang code in JupyterLab.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    lab = commands.add_parser(
        "lab",
        usage="slangnb lab [-h] [NOTEBOOK] [-- ARGUMENT ...]",
        help="start JupyterLab; install the software driver first if the machine has no usable one",
        description="Start JupyterLab. A machine without a GPU driver gets a software driver first.",
        epilog="What follows `--` goes to JupyterLab: slangnb lab -- --no-browser --port 9999",
    )
    lab.add_argument(
        "notebook",
        nargs="?",
        type=Path,
        metavar="NOTEBOOK",
        help=f"notebook to open; by default {_FIRST_NOTEBOOK} if it exists here",
    )
    commands.add_parser(
        "doctor",
        help="say what works on this machine, what does not, and what to do; changes nothing",
        description="Say what works on this machine, what does not, and what to do. Changes nothing.",
    )
    files = commands.add_parser(
        "driver",
        help="say which Vulkan driver and libraries are present; with --ensure install what is missing",
        description="Say which Vulkan driver and libraries are present, and which are missing.",
    )
    files.add_argument(
        "--ensure",
        action="store_true",
        help="install what is missing: as root with apt, otherwise into your cache folder",
    )
    return parser


def _lab(notebook: Path | None, extra: Sequence[str]) -> int:
    if notebook is not None and not notebook.exists():
        raise SlangNbError(f"there is no notebook {notebook}", remedy="leave it out to start an empty JupyterLab")
    if importlib.util.find_spec("jupyterlab") is None:
        raise SlangNbError("JupyterLab is not installed", remedy="run `pip install jupyterlab`")
    driver.ensure()
    if notebook is None and _FIRST_NOTEBOOK.exists():
        notebook = _FIRST_NOTEBOOK
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return _become(lab_command(notebook, extra, root))


def _doctor() -> int:
    from slangnb.devices import doctor  # asks SlangPy, which the other commands do without

    print(doctor.report())
    return 0


def _driver(install: bool) -> int:
    found = driver.ensure() if install else driver.status()
    print(found)
    if not found.ok:
        print(f"remedy:  {driver.remedy(found)}")
    return 0 if found.ok else 1


def _become(command: list[str]) -> int:
    """Run a command in place of this process, so that signals and the exit code are its own."""
    sys.stdout.flush()
    if sys.platform == "win32":  # there exec returns to the shell at once
        return subprocess.call(command)
    return os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
