"""What the scales of live pictures say: ticks that differ, what the bars are, and the profile of what is in sight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import OpenNotebook
from lab import Notebook
from playwright.sync_api import Locator, expect

START = """%load_ext slangnb
import numpy as np, slangnb as sn
sn.show(offset=1e6 + np.linspace(-2, 2.5, 156).reshape(12, 13))"""
# The largest is far from what is looked at.
PROFILE = """steep = np.add.outer(10.0 * np.arange(40), np.arange(60.0))
steep[-1, -1] = 5000
sn.show(steep=sn.tensor(steep.astype(np.float32), grad=True))"""
OFFSET_AT, PROFILE_AT = range(2)

LISTEN = """() => { window.told = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function(said, x, y) {
    window.told.push(String(said));
    return draw.call(this, said, x, y);
  };
  window.hush = () => { CanvasRenderingContext2D.prototype.fillText = draw; return window.told; }; }"""

FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def opened(open_notebook: OpenNotebook) -> Iterator[Notebook]:
    made = open_notebook([START, PROFILE])
    for index in (OFFSET_AT, PROFILE_AT):
        made.activate(index)
        assert made.command("notebook:run-cell") is not False
    yield made
    made.end()


def live(opened: Notebook, index: int) -> Locator:
    found = opened.cell(index).locator(".snb").first
    expect(found).to_have_attribute("data-drawn", re.compile(r"\d+"))
    found.locator(".snb-stage").first.scroll_into_view_if_needed()
    return found


def written(view: Locator, act: Any) -> list[str]:
    """Give what an act writes on the canvases, in two frames."""
    view.page.evaluate(FRAMES)
    view.page.evaluate(LISTEN)
    act()
    view.page.evaluate(FRAMES)
    return view.page.evaluate("window.hush()")


def test_ticks_have_as_many_digits_as_tell_them_apart(opened: Notebook) -> None:
    view = live(opened, OFFSET_AT)
    found = written(view, view.get_by_role("button", name="zoom in").click)
    ticks = [said for said in found if len(said) >= 6]
    assert {"999999", "1000000", "1000001", "1000002"} <= set(ticks) and not any("e" in said for said in ticks)
    assert len(set(ticks)) == len(ticks)
    expect(view.locator(".snb-stats")).to_have_text("min 999998max 1000002.5mean 1000000.2norm 1.249e+07")


def test_bars_say_that_they_are_logarithmic(opened: Notebook) -> None:
    view = live(opened, OFFSET_AT)
    found = written(view, view.get_by_role("button", name="show all").click)
    assert found[found.index("log") + 1] == "count"


def test_a_profile_has_the_range_of_what_is_in_sight(opened: Notebook) -> None:
    view = live(opened, PROFILE_AT)
    view.locator("select[name=profile]").select_option("row")
    stage = view.locator(".snb-stage").first
    stage.focus()
    stage.press("Control+Home")
    expect(view.locator(".snb-readout")).to_contain_text("[0, 0]")
    whole = written(view, lambda: stage.press("ArrowRight"))
    assert whole[:2] == ["0", "59"]
    stage.press("Home")
    for _ in range(12):
        stage.press("+")
    # Four rows and four columns are left.
    near = written(view, lambda: stage.press("ArrowRight"))
    assert near[:2] == ["0", "3"]
