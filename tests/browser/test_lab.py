"""What a person sees in JupyterLab: the first notebook, mistakes, and the stop button."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from conftest import OpenNotebook
from lab import Notebook, children, plain_text, until
from playwright.sync_api import Browser, Locator, expect

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "notebooks/01-first-gradient.ipynb"
SCREENSHOT = ROOT / "notebooks/images/first-gradient.png"

VALUES = re.compile(r"\[ ?9\. 23\. 41\. 63\.\]")
SLOPES = re.compile(r"\[12\. 16\. 20\. 24\.\]")

START = """%load_ext slangnb
import os
import numpy as np
import slangpy as spy
import slangnb as sn
print(os.getpid())"""
POLYNOMIAL = """%%slang
[Differentiable]
float polynomial(float a, float b, float c, float x)
{
    return (a * x + b) * x + c;
}
"""
CALL = """x = sn.tensor([1, 2, 3, 4], grad=True)
y = polynomial(a=2, b=8, c=-1, x=x, _result="tensor").with_grads()
y.grad.copy_from_numpy(np.ones(4, dtype=np.float32))
polynomial.bwds(a=2, b=8, c=-1, x=x, _result=y)
print(y.to_numpy(), x.grad.to_numpy(), os.getpid())"""


@dataclass(frozen=True, slots=True)
class Tour:
    """The first notebook after Run All.

    Attributes
    ----------
    notebook : Notebook
        It is still open.
    outputs : dict
        What each code cell put out.
    saved : Path
        The file, saved from Lab.
    """

    notebook: Notebook
    outputs: dict[int, list[dict[str, Any]]]
    saved: Path


@pytest.fixture(scope="module")
def tour(open_notebook: OpenNotebook) -> Iterator[Tour]:
    """Open the first notebook and run it."""
    opened = open_notebook(TOUR)
    opened.run_all()
    yield Tour(opened, all_outputs(opened), opened.save())
    opened.end()


def all_outputs(notebook: Notebook) -> dict[int, list[dict[str, Any]]]:
    return {i: notebook.outputs(i) for i in notebook.code_cells()}


def errors(outputs: list[dict[str, Any]]) -> list[str]:
    return [o["ename"] for o in outputs if o["output_type"] == "error"]


SEEN = "figure img:visible, .snb canvas[role=img]:visible"
# A still picture, or the canvas that covers it where the kernel lives; an image that could not be decoded has no size.
SIZE = """async e => {
  if (e instanceof HTMLCanvasElement) return [e.width, e.height];
  await e.decode();
  return [e.naturalWidth, e.naturalHeight];
}"""


def size_of(picture: Locator) -> list[int]:
    """Give the natural size of a picture; zeros, if it could not be decoded."""
    return picture.evaluate(SIZE)


def check_picture(picture: Locator) -> None:
    """Value and gradient are on the page, for the eye and for a screen reader."""
    expect(picture).to_be_visible()
    assert min(size_of(picture)) > 100
    said = picture.get_attribute("alt") or picture.get_attribute("aria-label") or ""
    assert "value" in said and "gradient" in said and "24" in said, said


def test_tour_runs_to_its_end(tour: Tour) -> None:
    cells = tour.notebook.code_cells()
    assert [tour.notebook.count(i) for i in cells] == list(range(1, len(cells) + 1))
    failed = {i: errors(tour.outputs[i]) for i in cells}
    for i in cells:
        assert len(failed[i]) == ("raises-exception" in tour.notebook.tags(i)), (i, tour.outputs[i])
    said = ["".join(map(plain_text, o)) for o in tour.outputs.values()]
    assert any(VALUES.search(text) for text in said)
    assert any(SLOPES.search(text) for text in said)


def test_tour_shows_a_picture_early(tour: Tour, tmp_path: Path) -> None:
    early = tour.notebook.code_cells()[:4]
    shown = [i for i in early if any("image/png" in o.get("data", {}) for o in tour.outputs[i])]
    assert shown, "no picture in the first four cells"
    check_picture(tour.notebook.cell(shown[0]).locator(SEEN).first)
    taken = SCREENSHOT if os.environ.get("SLANGNB_SCREENSHOT") == "1" else tmp_path / SCREENSHOT.name
    taken.parent.mkdir(exist_ok=True)
    tour.notebook.screenshot(taken, early[0], shown[0])
    assert 20_000 < taken.stat().st_size < 400_000


def test_typed_by_hand(notebook: OpenNotebook) -> None:
    opened = notebook([START + "\nimport sys; print(sys.prefix)", POLYNOMIAL, CALL])
    assert opened.run_all(), opened.outputs(2)
    assert opened.text(0).split()[-1] == sys.prefix
    assert "polynomial" in opened.text(1)
    printed = opened.cell(2).locator(".jp-OutputArea-output").inner_text()
    assert VALUES.search(printed) and SLOPES.search(printed), printed


def test_mistake_is_answered_at_its_line(notebook: OpenNotebook) -> None:
    wrong = "%%slang\nfloat twice(float x)\n{ return 2.0 * y; }\n"
    opened = notebook([START, wrong, "print('not reached')"])
    assert not opened.run_all()
    assert errors(opened.outputs(0)) == [], opened.outputs(0)
    shown = opened.cell(1).locator(".jp-OutputArea-output")
    lines = shown.inner_text().splitlines()
    assert any(line.endswith(f"In[{opened.count(1)}], line 3") for line in lines), lines
    at = next(i for i, line in enumerate(lines) if "^" in line)
    assert lines[at - 1].lstrip().startswith("3 |")
    assert lines[at].index("^") == lines[at - 1].index("y")
    assert "remedy: " in lines[at + 1]
    assert shown.locator(".ansi-red-fg", has_text="^").count() == 1
    assert shown.locator(".ansi-green-fg", has_text="remedy").count() == 1
    assert "Traceback" not in shown.inner_text()
    assert opened.count(2) is None and opened.outputs(2) == []


HANGS = """%%slang
import "slangpy";

[Differentiable]
float slope(int at, IDiffTensor<float, 1> heights, no_diff int last)
{
    float rise = 0.0;
    if (at < last)
    {
        float here = heights[at];
        rise = (heights[at + 1] - here) * here;
    }
    return rise;
}
"""
HANGING_CALL = """heights = sn.tensor([1, 2, 4, 7], grad=True)
where = spy.grid((4,))
rises = slope(where, heights, 3, _result="tensor").with_grads()
rises.grad.copy_from_numpy(np.ones(4, dtype=np.float32))
print("backward")
slope.bwds(where, heights, 3, _result=rises)"""


def compiler_of(kernel: int) -> psutil.Process:
    """Find the child process that compiles for a kernel."""
    return next(p for p in children(kernel) if "--guard" in p.cmdline())


def test_stop_button_ends_a_compile_that_hangs(notebook: OpenNotebook) -> None:
    opened = notebook([START, POLYNOMIAL, HANGS, HANGING_CALL, CALL])
    opened.start_all()
    opened.wait_for_text(3, "backward")
    kernel = int(opened.text(0))
    compiler = compiler_of(kernel)
    before = compiler.cpu_times().user

    def busy() -> bool:
        assert not errors(opened.outputs(3)), opened.outputs(3)
        return compiler.cpu_times().user > before + 2  # a compile that ends takes a tenth of this

    until(busy, "the compiler hangs")
    opened.interrupt()
    assert opened.finish(5) is False
    assert errors(opened.outputs(3)) == ["KeyboardInterrupt"]
    assert "KeyboardInterrupt" in opened.cell(3).locator(".jp-OutputArea-output").last.inner_text()
    until(lambda: not compiler.is_running(), "the compiler is stopped", 5)
    assert opened.run_from(4), opened.outputs(4)
    assert VALUES.search(opened.text(4)) and SLOPES.search(opened.text(4))
    assert opened.text(4).endswith(f" {kernel}\n")


# The sequence meets `stop` once in 2^32 rounds, and must do so x times: years.
SPINS = """%%slang
void spin(int x, uint stop, out uint y)
{
    y = stop;
    while (x > 0)
    {
        y = y * 1664525u + 1013904223u;
        if (y == stop)
            x--;
    }
}
"""
SPINNING_CALL = """x = sn.tensor(np.full(4, 2**30, dtype=np.int32))
y = sn.tensor(np.zeros(4, dtype=np.uint32))
print("spins")
spin(x, 12345, y)"""


def test_stop_button_gives_python_back_from_an_endless_kernel(notebook: OpenNotebook) -> None:
    opened = notebook([START, SPINS, SPINNING_CALL, "print(1 + 1, os.getpid())"])
    opened.start_all()
    opened.wait_for_text(0, "\n")
    kernel = int(opened.text(0))
    try:
        opened.wait_for_text(2, "spins")
        process = psutil.Process(kernel)
        before = process.cpu_times().user

        def busy() -> bool:
            assert opened.count(2) is None, opened.outputs(2)
            return process.cpu_times().user > before + 2

        until(busy, "the device computes")
        opened.interrupt()  # once
        assert opened.finish(5) is False
        assert errors(opened.outputs(2)) == ["Interrupted"]
        said = "\n".join(line for o in opened.outputs(2) for line in o.get("traceback", []))
        assert "still runs the kernel" in said
        assert "site-packages" not in said  # no frames of libraries
        assert opened.run_from(3, 5), opened.outputs(3)
        assert opened.text(3) == f"2 {kernel}\n"
    finally:
        opened.end(kill=kernel)


CRASHES = """%%slang
[Differentiable]
float growth(float x)
{
    float r = x;
    int i = 0;
    [MaxIters(6)]
    while (i < 6 && r < 3.0)
    {
        r = 1.25 * r + x;
        i++;
    }
    return r;
}
"""
CRASHING_CALL = """x = sn.tensor([0.5, 1, 2], grad=True)
r = growth(x, _result="tensor").with_grads()
r.grad.copy_from_numpy(np.ones(3, dtype=np.float32))
growth.bwds(x, _result=r)"""


def test_crash_of_the_compiler_is_an_error_in_the_cell(notebook: OpenNotebook) -> None:
    opened = notebook([START, POLYNOMIAL, CRASHES, CRASHING_CALL, CALL])
    assert not opened.run_all()
    kernel = opened.text(0).strip()
    assert errors(opened.outputs(3)) == ["CompileError"]
    assert "crashed" in opened.text(3) and "`&&`" in opened.text(3)
    assert opened.run_from(4), opened.outputs(4)
    assert VALUES.search(opened.text(4)) and SLOPES.search(opened.text(4))
    assert opened.text(4).endswith(f" {kernel}\n")


def test_unloading_brings_the_still_picture_back(notebook: OpenNotebook) -> None:
    opened = notebook([START + "\nsn.show(x=np.eye(8), live=True)", "%unload_ext slangnb"])
    opened.start("notebook:run-cell")
    canvas = opened.cell(0).locator(".snb canvas[role=img]")
    expect(canvas).to_be_visible()
    expect(opened.cell(0).locator("figure img").first).to_be_hidden()
    assert opened.run_from(1), opened.outputs(1)
    expect(opened.cell(0).locator("figure img").first).to_be_visible()
    expect(canvas).to_have_count(0)


def test_restart_and_run_all_twice(tour: Tour) -> None:
    for _ in range(2):
        tour.notebook.restart_and_run_all()
        assert all_outputs(tour.notebook) == tour.outputs


def test_exported_page_shows_the_picture(tour: Tour, browser: Browser, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "html",
        "--output-dir",
        str(tmp_path),
        str(tour.saved),
    ]
    subprocess.run(command, check=True, capture_output=True)
    exported = tmp_path / tour.saved.with_suffix(".html").name
    page = browser.new_page()
    try:
        page.context.set_offline(True)
        page.goto(exported.as_uri(), wait_until="domcontentloaded")
        pictures = page.locator(".jp-OutputArea-output img:visible")
        expected = sum("image/png" in o.get("data", {}) for outputs in tour.outputs.values() for o in outputs)
        assert pictures.count() == expected > 0
        check_picture(pictures.first)
        assert all(min(size_of(pictures.nth(i))) > 100 for i in range(expected))
        assert page.locator(".jp-OutputArea-output script").count() == 0
    finally:
        page.close()
    for cell in nbformat.read(tour.saved, 4).cells:
        for output in cell.get("outputs", []):
            assert "<script" not in output.get("data", {}).get("text/html", "")
