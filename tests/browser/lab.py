"""A real JupyterLab on loopback, and notebooks in it as a person uses them."""

from __future__ import annotations

import contextlib
import io
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
from PIL import Image
from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as PageTimeoutError

START_SECONDS = 60.0
POLL_SECONDS = 0.05
RUN_SECONDS = 60.0

_NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}

# Resolves with a kernel that answers: "idle" in the toolbar comes too early.
_OPEN = """async path => {
  const app = window.jupyterapp;
  const panel = await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
  await panel.context.ready;
  await panel.revealed;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  panel.content.widgets.forEach((cell, i) => cell.node.setAttribute('data-cell', i));
  (window.panels ??= {})[path] = panel;
  return [panel.id, panel.sessionContext.session.kernel.id];
}"""

# Lab's commands are for the notebook in front.
_START = """(panel, name) => {
  const app = window.jupyterapp;
  app.shell.activateById(panel.id);
  panel.ended = null;
  app.commands.execute(name).then(
    result => { panel.ended = { result }; },
    error => { panel.ended = { result: String(error) }; },
  );
}"""

_CLOSE = """panel => {
  panel.context.model.dirty = false;
  panel.dispose();
}"""

# Puts the first cell at the top; gives the bottom of the last cell.
_SCROLL_TO = """(panel, [first, last]) => {
  const cells = panel.content.widgets.map(w => w.node);
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
        process = subprocess.Popen(_command(lab), env=_environment(folder), stdout=stream, stderr=subprocess.STDOUT)
    try:
        _wait_for_answer(lab, process, log)
        yield lab
    finally:
        started = children(process.pid)
        process.terminate()  # the server shuts its kernels down, too
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for left in psutil.wait_procs(started, timeout=5)[1]:
            with contextlib.suppress(psutil.Error):
                left.kill()


def children(pid: int) -> list[psutil.Process]:
    """Give all that a process has started, and they in turn; none, if it is gone."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


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


def open_lab(page: Page, lab: Lab) -> None:
    """Bring up Lab's own page, in a workspace of its own."""
    page.set_default_timeout(RUN_SECONDS * 1000)
    page.goto(f"{lab.url}/lab/workspaces/t{secrets.token_hex(4)}?token={lab.token}")
    page.wait_for_function("window.jupyterapp")
    page.evaluate("() => window.jupyterapp.restored.then(() => null)")


class Notebook:
    """A notebook that is open in Lab, with a kernel that answers.

    Parameters
    ----------
    page : Page
        Lab's page.
    lab : Lab
        The server.
    name : str
        File in the server's folder.
    """

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page = page
        self.path = lab.root / name
        self._lab = lab
        self._panel, self._kernel_id = page.evaluate(_OPEN, name)

    def _ask(self, function: str, argument: Any = None) -> Any:
        """Call a JavaScript function with this notebook's panel and an argument."""
        call = f"([path, argument]) => ({function})(window.panels[path], argument)"
        return self.page.evaluate(call, [self.path.name, argument])

    def command(self, name: str, seconds: float = RUN_SECONDS) -> Any:
        """Run one of Lab's commands to its end."""
        self.start(name)
        return self.finish(seconds)

    def start(self, name: str) -> None:
        """Run one of Lab's commands, without waiting for it."""
        self._ask(_START, name)

    def finish(self, seconds: float = RUN_SECONDS) -> Any:
        """Wait for what `start` started, and give its result."""
        ended = "path => window.panels[path].ended"
        try:
            self.page.wait_for_function(ended, arg=self.path.name, timeout=seconds * 1000)
        except PageTimeoutError:
            raise AssertionError(f"not ended within {seconds:g} s") from None
        return self._ask("panel => panel.ended.result")

    def run_all(self) -> bool:
        """Run all cells to the end; False if Lab stopped at a cell that failed."""
        return self.command("notebook:run-all-cells")

    def start_all(self) -> None:
        """Run all cells, without waiting for them."""
        self.start("notebook:run-all-cells")

    def run_from(self, index: int, seconds: float = RUN_SECONDS) -> bool:
        """Run a cell and all below it."""
        self.activate(index)
        return self.command("notebook:run-all-below", seconds)

    def restart_and_run_all(self) -> None:
        """Choose that entry of the menu, and say yes to the question that Lab asks."""
        self.start("notebook:restart-run-all")
        self.page.locator(".jp-Dialog button.jp-mod-accept").click()
        self.finish()

    def interrupt(self) -> None:
        """Press the stop button."""
        self.page.locator(f"#{self._panel} [data-command='notebook:interrupt-kernel']").click()

    def activate(self, index: int) -> None:
        """Make a cell the active one."""
        self._ask("(panel, index) => { panel.content.activeCellIndex = index; }", index)

    def cell(self, index: int) -> Locator:
        """Give the cell on the page, scrolled to where it is seen."""
        self._ask("(panel, index) => panel.content.scrollToItem(index)", index)
        return self.page.locator(f"#{self._panel} [data-cell='{index}']")

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Give what a cell has put out so far, as the notebook file would have it."""
        return self._ask("(panel, index) => panel.content.model.cells.get(index).outputs.toJSON()", index)

    def count(self, index: int) -> int | None:
        """Give the number in front of a cell; None if it has not run to its end."""
        return self._ask("(panel, index) => panel.content.model.cells.get(index).executionCount", index)

    def code_cells(self) -> list[int]:
        """Give the places of the code cells."""
        types = self._ask("panel => panel.content.widgets.map(w => w.model.type)")
        return [i for i, kind in enumerate(types) if kind == "code"]

    def tags(self, index: int) -> list[str]:
        """Give the tags of a cell."""
        return self._ask("(panel, index) => panel.content.model.cells.get(index).getMetadata('tags')", index) or []

    def text(self, index: int) -> str:
        """Give what a cell printed, and the plain text of its results and errors."""
        return "".join(map(plain_text, self.outputs(index)))

    def wait_for_text(self, index: int, text: str) -> None:
        """Wait until a cell has put out a text, while it may still run; an error ends the wait."""

        def seen() -> bool:
            outputs = self.outputs(index)
            assert all(o["output_type"] != "error" for o in outputs), outputs
            return text in self.text(index)

        until(seen, f"{text!r} from cell {index}")

    def screenshot(self, path: Path, first: int, last: int) -> None:
        """Take a picture of Lab from one cell to the end of another's outputs, as tall as that is."""
        size = self.page.viewport_size
        assert size is not None
        self._toggle_frame()
        self.activate(self.code_cells()[-1])
        self.page.mouse.move(0, 500)
        bottom = self._ask(_SCROLL_TO, [first, last])
        self.page.set_viewport_size({"width": size["width"], "height": round(bottom) + 4})
        self._ask(_SCROLL_TO, [first, last])
        self.page.screenshot(path=path)
        self.page.set_viewport_size(size)
        self._toggle_frame()

    def _toggle_frame(self) -> None:
        """Hide what surrounds the notebook, or show it again: Lab's simple interface has no tabs."""
        for name in ("application:toggle-left-area", "statusbar:toggle", "application:toggle-mode"):
            self.command(name)

    def save(self) -> Path:
        """Save the notebook; give its file."""
        self.command("docmanager:save")
        return self.path

    def end(self, kill: int | None = None) -> None:
        """Close the notebook and end its kernel; `kill` is the process id of one that would not listen."""
        self._ask(_CLOSE)
        if kill is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(kill, signal.SIGKILL)
        self._lab.end_kernel(self._kernel_id)


def plain_text(output: dict[str, Any]) -> str:
    """Give the plain text of one output."""
    if output["output_type"] == "stream":
        text = output["text"]
    elif output["output_type"] == "error":
        text = f"{output['ename']}: {output['evalue']}"
    else:
        text = output["data"].get("text/plain", "")
    return text if isinstance(text, str) else "".join(text)


def paper_of(picture: Locator) -> list[int]:
    """Give the colour near the top left corner of a picture, as it is seen on the screen."""
    picture.scroll_into_view_if_needed()
    seen = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    return list(seen.tobytes()[3 * (12 * seen.width + 12) :][:3])
