"""Views that are displayed in the cell whose loop changes them: they are drawn while it runs."""

from __future__ import annotations

import re

import nbformat
from conftest import OpenNotebook
from lab import until
from playwright.sync_api import expect

START = """%load_ext slangnb
import pathlib, time, ipywidgets, numpy as np, slangnb as sn
x = np.zeros((30, 40), np.float32)"""
# Goes on until the test has seen enough.
LOOP = """shown = [sn.show(x=x), sn.show(x=x, history=True)]
for one in shown:
    display(one)
display(shown[0].widget)
display(ipywidgets.VBox([sn.show(x=x).widget]))
while not pathlib.Path("enough").exists():
    x += 1
    for one in shown:
        one.update()
    time.sleep(0.05)"""
LOOP_AT = 1


def test_a_loop_is_seen_in_the_cell_that_displays_the_view(notebook: OpenNotebook) -> None:
    opened = notebook([START, LOOP])
    opened.activate(0)
    assert opened.command("notebook:run-cell") is not False
    opened.activate(LOOP_AT)
    opened.start("notebook:run-cell")
    views = opened.cell(LOOP_AT).locator(".snb")
    try:
        expect(views).to_have_count(4)
        for at in range(3):
            expect(views.nth(at)).to_have_attribute("data-drawn", re.compile(r"[1-9]\d"))
            expect(views.nth(at).locator(".snb-stats")).to_contain_text(re.compile(r"max [1-9]\d"))
            expect(views.nth(at).locator(".snb-controls")).to_be_visible()
        expect(views.nth(1).locator(".snb-player output")).to_have_text(re.compile(r"step [1-9]\d"))
        # The kernel does not know that this one is in the page: nothing is drawn, and there is nothing to choose.
        for part in (".snb-controls", ".snb-note"):
            expect(views.nth(3).locator(part)).to_be_hidden()
        assert opened.count(LOOP_AT) is None
    finally:
        (opened.path.parent / "enough").touch()
        opened.finish()
        (opened.path.parent / "enough").unlink()
    expect(views.nth(3).locator(".snb-controls")).to_be_visible()
    until(lambda: "max 0" not in opened.text(LOOP_AT), "the stored pictures follow")
    saved = nbformat.read(opened.save(), 4)
    assert "widgets" not in saved.metadata
    assert opened.path.stat().st_size < 400_000
