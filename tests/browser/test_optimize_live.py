"""The picture of a descent, while its cell runs and afterwards."""

from __future__ import annotations

import nbformat
from conftest import OpenNotebook
from lab import until

CELL = """%%slang
[Differentiable] float line(float a, float b, float x, float y) { float r = a * x + b - y; return r * r; }"""
# Goes on until the test has seen enough.
FIT = """import pathlib, numpy as np, slangnb as sn
x = np.linspace(-1, 1, 200, dtype=np.float32)
enough = lambda step, loss, params: pathlib.Path("enough").exists()
sn.optimize(line, {"a": 0.0, "b": 0.0}, {"x": x, "y": 2 * x + 1}, sn.Adam(lr=0.01), steps=10**6, callback=enough)"""


def test_the_picture_follows_the_loop_and_stays(notebook: OpenNotebook) -> None:
    opened = notebook(["%load_ext slangnb", CELL, FIT])
    for at in range(2):
        opened.activate(at)
        assert opened.command("notebook:run-cell") is not False
    opened.activate(2)
    opened.start("notebook:run-cell")
    pictures = opened.cell(2).locator("figure img[width]:visible")
    try:
        pictures.first.wait_for()
        first = pictures.first.get_attribute("src")
        until(lambda: pictures.first.get_attribute("src") != first, "the picture is drawn again while the cell runs")
        assert opened.count(2) is None
    finally:
        (opened.path.parent / "enough").touch()
        opened.finish()
        (opened.path.parent / "enough").unlink()
    outputs = nbformat.read(opened.save(), 4).cells[2].outputs
    assert [one.output_type for one in outputs] == ["display_data"]  # not again as the value of the cell
    assert "the callback ended it at step" in outputs[0].data["text/plain"]
