"""A history in JupyterLab: its slider, its button to play, and steps that come while it is seen.

And the views that stay still, in both themes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import OpenNotebook
from lab import Notebook, paper_of
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

START = """%load_ext slangnb
import numpy as np, slangnb as sn
a, b = np.arange(12.0).reshape(3, 4), np.arange(5.0)
history = sn.show(a=a, b=b, history=True)
for _ in range(7):
    a += 1
    b *= 0.5
    history.update()
history"""
MORE = """a += 100
history.update()"""
FLOW = "sn.show(p=np.arange(6.0), q=np.linspace(-1, 1, 900).reshape(30, 30), flow=True)"
SCATTER = """t = sn.tensor(np.arange(6, dtype=np.float32), grad=True)
sn.show(t, kind="scatter")"""
LARGE = """large = np.zeros((1200, 1000))
large[7, 1] = 9
sn.show(large=large, line=np.arange(100_001.0), history=True)"""
HISTORY_AT, MORE_AT, FLOW_AT, SCATTER_AT, LARGE_AT = range(5)

LINE = r"\[0\]   value \(0, \d+\)   \(smallest and largest of \d+ elements\)"
THEME = """name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })
  .then(() => new Promise(done => setTimeout(done, 500)))"""


@pytest.fixture(scope="module")
def opened(open_notebook: OpenNotebook) -> Iterator[Notebook]:
    made = open_notebook([START, MORE, FLOW, SCATTER, LARGE])
    console: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error":
            console.append(message.text)

    made.page.on("console", heard)
    for index in (HISTORY_AT, FLOW_AT, SCATTER_AT, LARGE_AT):
        made.activate(index)
        assert made.command("notebook:run-cell") is not False
    yield made
    made.page.remove_listener("console", heard)
    made.page.evaluate(THEME, "JupyterLab Light")
    made.end()
    assert console == []


@pytest.fixture
def rows(opened: Notebook) -> Locator:
    """Both tensors of the history, at its last step."""
    found = opened.cell(HISTORY_AT).locator(".snb")
    expect(found).to_have_count(2)
    for row in found.all():
        expect(row).to_have_attribute("data-seq", re.compile(r"\d+"))
    slider = found.last.get_by_role("slider", name="step")
    slider.focus()
    slider.press("End")
    return found


def said(rows: Locator) -> Locator:
    return rows.last.locator(".snb-player output")


def test_it_opens_at_the_last_step(rows: Locator, opened: Notebook) -> None:
    expect(said(rows)).to_have_text("step 7")
    expect(rows.first.locator(".snb-stats")).to_contain_text("max 18")
    expect(rows.last.locator(".snb-stats")).to_contain_text("max 0.03125")
    expect(opened.cell(HISTORY_AT).locator("figure")).to_be_hidden()
    # One slider for all tensors.
    expect(rows.first.locator(".snb-player")).to_have_count(0)


def test_the_slider_goes_to_a_step_of_all_tensors(rows: Locator) -> None:
    slider = rows.last.get_by_role("slider", name="step")
    slider.press("Home")
    expect(said(rows)).to_have_text("step 0")
    expect(slider).to_have_attribute("aria-valuetext", "step 0, 1 of 8")
    expect(rows.first.locator(".snb-stats")).to_contain_text("max 11")
    expect(rows.last.locator(".snb-stats")).to_contain_text("max 4")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(said(rows)).to_have_text("step 2")
    expect(rows.first.locator(".snb-stats")).to_contain_text("max 13")
    box = slider.bounding_box()
    assert box is not None
    slider.click(position={"x": box["width"] * 4 / 7, "y": box["height"] / 2})
    expect(rows.first.locator(".snb-stats")).to_contain_text("max 15")


def test_the_button_plays_from_the_start_to_the_end(rows: Locator) -> None:
    button = rows.last.get_by_role("button", name="play the steps")
    status = rows.last.locator("[role=status]")
    button.focus()
    button.press("Space")
    expect(rows.last.get_by_role("button", name="pause")).to_be_focused()
    expect(status).to_have_text("playing")
    expect(rows.first.locator(".snb-stats")).to_contain_text("max 11")
    expect(said(rows)).to_have_text("step 7")
    expect(rows.first.locator(".snb-stats")).to_contain_text("max 18")
    expect(status).to_have_text("end, step 7")
    expect(button).to_be_visible()


def test_playing_stops_where_the_button_is_pressed(rows: Locator) -> None:
    rows.last.get_by_role("button", name="play the steps").click()
    rows.page.wait_for_timeout(400)
    rows.last.get_by_role("button", name="pause").click()
    stopped = said(rows).inner_text()
    assert stopped != "step 7"
    rows.page.wait_for_timeout(700)
    expect(said(rows)).to_have_text(stopped)
    expect(rows.last.locator("[role=status]")).to_have_text(f"paused, {stopped}")


def test_a_probe_stays_where_it_is_over_the_steps(rows: Locator) -> None:
    stage = rows.first.locator(".snb-stage").first
    stage.focus()
    stage.press("Control+End")
    readout = rows.first.locator(".snb-readout")
    expect(readout).to_contain_text("[2, 3]   value 18")
    rows.last.get_by_role("slider", name="step").press("Home")
    expect(readout).to_contain_text("[2, 3]   value 11")


def test_steps_that_come_later_are_followed(rows: Locator, opened: Notebook) -> None:
    opened.activate(MORE_AT)
    assert opened.command("notebook:run-cell") is not False
    opened.cell(HISTORY_AT)
    expect(said(rows)).to_have_text("step 8")
    expect(rows.first.locator(".snb-stats")).to_contain_text("max 118")


def test_a_probe_says_where_several_elements_were_kept_as_one(opened: Notebook) -> None:
    rows = opened.cell(LARGE_AT).locator(".snb")
    expect(rows).to_have_count(2)
    for row, known in ((0, r"\[0, 0\]   value 0   \(most extreme of \d × \d elements\)"), (1, LINE)):
        view = rows.nth(row)
        expect(view).to_have_attribute("data-seq", re.compile(r"\d+"))
        stage = view.locator(".snb-stage").first
        stage.focus()
        stage.press("Control+Home")
        expect(view.locator(".snb-readout")).to_have_text(re.compile(known))
        # What is seen is said, too.
        expect(view.locator("[aria-live]").first).to_contain_text("elements)")


@pytest.mark.parametrize("index", [FLOW_AT, SCATTER_AT])
@pytest.mark.parametrize(("theme", "paper"), [("JupyterLab Light", [255] * 3), ("JupyterLab Dark", [17] * 3)])
def test_still_pictures_follow_the_theme(opened: Notebook, index: int, theme: str, paper: list[int]) -> None:
    opened.page.evaluate(THEME, theme)
    picture = opened.cell(index).locator("figure .slangnb-still")
    expect(picture).to_be_visible()
    assert paper_of(picture) == paper


@pytest.mark.parametrize(("scheme", "paper"), [("light", [255] * 3), ("dark", [17] * 3)])
def test_a_saved_page_follows_the_reader(page: Page, tmp_path: Any, scheme: Any, paper: list[int]) -> None:
    from slangnb.views import show

    address = show(x=[1.0, 2.0], y=[3.0], flow=True).save(tmp_path / "flow.html").as_uri()
    assert page.context.browser is not None
    context = page.context.browser.new_context(offline=True, color_scheme=scheme)
    reader = context.new_page()
    reader.goto(address)
    assert paper_of(reader.locator("figure .slangnb-still")) == paper
    # Printed, it is dark on white.
    reader.emulate_media(media="print")
    assert paper_of(reader.locator("figure .slangnb-still")) == [255] * 3
    context.close()
