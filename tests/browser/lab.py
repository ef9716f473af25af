"""A real JupyterLab on loopback, and notebooks in it as a person uses them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Locator, Page

START_SECONDS = 60.0
POLL_SECONDS = 0.05
RUN_SECONDS = 60.0

_NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}

# Resolves with a kernel that answers: "idle" in the toolbar comes too early.
_OPEN = """async path => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
  await panel.context.ready;
  await panel.revealed;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  window.panel = panel;
  panel.content.widgets.forEach((cell, i) => cell.node.setAttribute('data-cell', i));
}"""

_START = """name => {
  window.ended = null;
  window.jupyterapp.commands.execute(name).then(
    result => { window.ended = { result }; },
    error => { window.ended = { result: String(error) }; },
  );
}"""

# Puts the first cell at the top; gives the bottom of the last cell.
_SCROLL_TO = """([first, last]) => {
  const cells = window.panel.content.widgets.map(w => w.node);
  const scrolled = cells[first].closest('.jp-WindowedPanel-outer');
  const top = scrolled.getBoundingClientRect().top;
  scrolled.scrollTop += cells[first].getBoundingClientRect().top - top - 8;
  return cells[last].getBoundingClientRect().bottom;
}"""


@dataclass(frozen=True, slots=True)
class Lab:
    """A running server.

    Attributes
    ----------
    url : str
        Its address, without the token.
    token : str
        What it asks for.
    root : Path
        The folder that it shows.
    """

    url: str
    token: str
    root: Path

    def request(self, path: str, method: str = "GET") -> bytes:
        """Ask the server's REST interface."""
        asked = urllib.request.Request(
            f"{self.url}/{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.read()

    def end_kernel(self, kernel: str) -> None:
        """Shut a kernel down; one that is gone already is no error."""
        with contextlib.suppress(urllib.error.HTTPError):
            self.request(f"api/kernels/{kernel}", "DELETE")


@contextlib.contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """Start JupyterLab with empty settings below `folder`; end it, and all that it started, in the end."""
    root = folder / "notebooks"
    root.mkdir(parents=True)
    news = folder / "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text(json.dumps(_NO_NEWS), encoding="utf-8")
    lab = Lab(f"http://127.0.0.1:{_free_port()}", secrets.token_hex(16), root)
    log = folder / "lab.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            _command(lab), env=_environment(folder), stdout=stream, stderr=subprocess.STDOUT
        )
    started: dict[int, psutil.Process] = {}
    try:
        _wait_for_answer(lab, process, log)
        yield lab
        started = {p.pid: p for p in psutil.Process(process.pid).children(recursive=True)}
    finally:
        process.terminate()  # the server shuts its kernels down, too
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for left in psutil.wait_procs(list(started.values()), timeout=5)[1]:
            with contextlib.suppress(psutil.Error):
                left.kill()


def _command(lab: Lab) -> list[str]:
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        f"--port={lab.url.rpartition(':')[2]}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={lab.token}",
        f"--ServerApp.root_dir={lab.root}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]


def _environment(folder: Path) -> dict[str, str]:
    """The user's own settings, kernels and extensions stay out of the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON"))}
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    return kept | {"JUPYTER_NO_CONFIG": "1"} | {k: str(folder / v) for k, v in folders.items()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for_answer(lab: Lab, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        try:
            return bool(lab.request("api/status"))
        except OSError:
            return False

    until(answers, "JupyterLab answers", START_SECONDS)


def until(condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Wait for a condition that no page can tell about."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(POLL_SECONDS)


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook of code cells."""
    made = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)


class Notebook:
    """A notebook that is open in a page of its own, with a kernel that answers.

    Parameters
    ----------
    page : Page
        An empty page.
    lab : Lab
        The server.
    name : str
        File in the server's folder.
    """

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page = page
        self.path = lab.root / name
        self._lab = lab
        page.set_default_timeout(RUN_SECONDS * 1000)
        page.goto(f"{lab.url}/lab/workspaces/t{secrets.token_hex(4)}?token={lab.token}")
        page.wait_for_function("window.jupyterapp")
        page.evaluate(_OPEN, name)
        self.kernel_id: str = self._kernel("id")

    def _kernel(self, what: str) -> Any:
        return self.page.evaluate(f"window.panel.sessionContext.session.kernel.{what}")

    def command(self, name: str, seconds: float = RUN_SECONDS) -> Any:
        """Run one of Lab's commands to its end."""
        self.start(name)
        return self.finish(seconds)

    def start(self, name: str) -> None:
        """Run one of Lab's commands, without waiting for it."""
        self.page.evaluate(_START, name)

    def finish(self, seconds: float = RUN_SECONDS) -> Any:
        """Wait for what `start` started, and give its result."""
        self.page.wait_for_function("window.ended", timeout=seconds * 1000)
        return self.page.evaluate("window.ended.result")

    def run_all(self) -> bool:
        """Run all cells to the end; False if Lab stopped at a cell that failed."""
        return self.command("notebook:run-all-cells")

    def start_all(self) -> None:
        """Run all cells, without waiting for them."""
        self.start("notebook:run-all-cells")

    def run_from(self, index: int, seconds: float = RUN_SECONDS) -> bool:
        """Run a cell and all below it."""
        self.page.evaluate("index => { window.panel.content.activeCellIndex = index; }", index)
        return self.command("notebook:run-all-below", seconds)

    def restart_and_run_all(self) -> None:
        """Choose that entry of the menu, and say yes to the question that Lab asks."""
        self.start("notebook:restart-run-all")
        self.page.locator(".jp-Dialog button.jp-mod-accept").click()
        self.finish()

    def interrupt(self) -> None:
        """Press the stop button: the command behind it."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")

    def cell(self, index: int) -> Locator:
        """Give the cell on the page, scrolled to where it is seen."""
        self.page.evaluate("index => window.panel.content.scrollToItem(index)", index)
        return self.page.locator(f"[data-cell='{index}']")

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Give what a cell has put out so far, as the notebook file would have it."""
        return self.page.evaluate(
            "index => window.panel.content.model.cells.get(index).outputs.toJSON()", index
        )

    def count(self, index: int) -> int | None:
        """Give the number in front of a cell; None if it has not run to its end."""
        return self.page.evaluate(
            "index => window.panel.content.model.cells.get(index).executionCount", index
        )

    def sources(self) -> list[str]:
        """Give the text of every cell."""
        return self.page.evaluate(
            "() => window.panel.content.widgets.map(w => w.model.sharedModel.getSource())"
        )

    def code_cells(self) -> list[int]:
        """Give the places of the code cells."""
        types = self.page.evaluate("() => window.panel.content.widgets.map(w => w.model.type)")
        return [i for i, kind in enumerate(types) if kind == "code"]

    def tags(self, index: int) -> list[str]:
        """Give the tags of a cell."""
        return self.page.evaluate(
            "index => window.panel.content.model.cells.get(index).getMetadata('tags') ?? []", index
        )

    def text(self, index: int) -> str:
        """Give what a cell printed, and the plain text of its results and errors."""
        return "".join(map(plain_text, self.outputs(index)))

    def wait_for_text(self, index: int, text: str) -> None:
        """Wait until a cell has put out a text, while it may still run."""
        until(lambda: text in self.text(index), f"{text!r} from cell {index}: {self.outputs(index)}")

    def screenshot(self, path: Path, first: int, last: int) -> None:
        """Take a picture of Lab from one cell to the end of another's outputs, as tall as that is."""
        page = self.page
        self.command("application:toggle-left-area")
        self.command("statusbar:toggle")
        self.command("application:toggle-mode")  # Lab's simple interface: no tabs
        page.evaluate("index => { window.panel.content.activeCellIndex = index; }", self.code_cells()[-1])
        page.mouse.move(0, 500)
        bottom = page.evaluate(_SCROLL_TO, [first, last])
        size = page.viewport_size
        assert size is not None
        page.set_viewport_size({"width": size["width"], "height": round(bottom) + 20})
        page.evaluate(_SCROLL_TO, [first, last])
        page.screenshot(path=path)
        page.set_viewport_size(size)

    def save(self) -> Path:
        """Save the notebook; give its file."""
        self.command("docmanager:save")
        return self.path

    def end(self, kill: int | None = None) -> None:
        """End the kernel; `kill` is the process id of one that would not listen."""
        if kill is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(kill, signal.SIGKILL)
        self._lab.end_kernel(self.kernel_id)
        self.page.context.close()


def plain_text(output: dict[str, Any]) -> str:
    """Give the plain text of one output."""
    if output["output_type"] == "stream":
        text = output["text"]
    elif output["output_type"] == "error":
        text = f"{output['ename']}: {output['evalue']}"
    else:
        text = output["data"].get("text/plain", "")
    return text if isinstance(text, str) else "".join(text)
