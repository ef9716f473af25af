"""What the notebook stores of a view after updates, in JupyterLab: the newest picture, under a live view that stays."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from typing import Any

import nbformat
import numpy as np
import pytest
from conftest import OpenNotebook
from lab import Lab, Notebook, open_lab, until
from nbconvert import HTMLExporter
from PIL import Image
from playwright.sync_api import Browser, Page, expect

START = """%load_ext slangnb
import asyncio, numpy as np, slangnb as sn
x = np.arange(40 * 60, dtype=np.float32).reshape(40, 60)
view = sn.show(x=x)
view"""
LIVE = """followed = sn.tensor(np.zeros((8, 9), np.float32), grad=True)
sn.show(followed=followed, live=True)"""
TWIN = "twins = [*globals().get('twins', []), sn.show(stack=stack)]\ntwins[-1]"
STACK = "stack = np.arange(5 * 30 * 20, dtype=np.float32).reshape(5, 30, 20)"
CHANGE = """x[:] = np.linspace(-3, 3, 60)
view.update()
followed.copy_from_numpy(np.full((8, 9), 3.25, np.float32))"""
# A slider goes on while the kernel draws: these come between the cells.
LATER = """def later():
    stack[:] += 1000
    twins[0].update()
asyncio.get_running_loop().call_later(0.3, later);"""
START_AT, LIVE_AT, _, TWIN_AT, OTHER_AT, CHANGE_AT, LATER_AT = range(7)


@pytest.fixture(scope="module")
def opened(open_notebook: OpenNotebook) -> Iterator[Notebook]:
    made = open_notebook([START, LIVE, STACK, TWIN, TWIN, CHANGE, LATER])
    for index in range(CHANGE_AT):
        made.activate(index)
        assert made.command("notebook:run-cell") is not False
    yield made
    made.end()


def data(opened: Notebook, index: int) -> dict[str, Any]:
    [output] = [o for o in opened.outputs(index) if "data" in o]
    assert set(output) <= {"output_type", "data", "metadata", "transient"}
    return output["data"]


def pixels(stored: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(stored))).convert("RGB"), int)


def live(opened: Notebook, index: int) -> Any:
    found = opened.cell(index).locator(".snb")
    expect(found).to_have_count(1)
    expect(found).to_have_attribute("data-seq", re.compile(r"\d+"))
    return found


def test_after_an_update_the_newest_picture_is_stored(opened: Notebook) -> None:
    before = data(opened, START_AT)
    view = live(opened, START_AT)
    view.evaluate("v => { v.dataset.mine = 'yes'; }")
    view.get_by_role("button", name="zoom in").click()
    view.locator(".snb-stage").first.focus()
    view.page.keyboard.press("ArrowRight")
    assert data(opened, LIVE_AT)["text/plain"].count("max 0")
    opened.activate(CHANGE_AT)
    opened.command("notebook:run-cell")
    until(lambda: "min -3" in data(opened, START_AT)["text/plain"], "the stored picture follows update()")
    until(lambda: "max 3.25" in data(opened, LIVE_AT)["text/plain"], "the stored picture follows a live view")
    after = data(opened, START_AT)
    assert "min -3" in after["text/html"] or "-3" in after["text/html"]
    assert np.abs(pixels(before["image/png"]) - pixels(after["image/png"])).max() > 50
    shown = after["text/html"].partition("base64,")[2].partition('"')[0]
    assert (pixels(after["image/png"]) == pixels(shown)).all()
    # The live view is the very same, with its zoom, and its keys go on.
    view = live(opened, START_AT)
    assert view.get_attribute("data-mine") == "yes"
    expect(view.locator(".snb-stage").first).to_have_class(re.compile("snb-zoomed"))
    expect(opened.cell(START_AT).locator("figure")).to_be_hidden()
    assert "min -3" in view.locator(".snb-stats").first.inner_text()


def test_focus_and_a_slider_that_is_dragged_stay(opened: Notebook) -> None:
    view = live(opened, TWIN_AT)
    opened.activate(LATER_AT)
    opened.command("notebook:run-cell")
    slider = view.get_by_role("slider")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    mouse = opened.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    until(lambda: "max 3999" in data(opened, TWIN_AT)["text/plain"], "the stored picture follows while one drags")
    assert slider.evaluate("s => document.activeElement === s")
    mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    expect(view.locator("output")).to_have_text("index 4 (0–4)")
    mouse.up()
    # Another view of the same numbers has a name of its own, and was not updated.
    assert "max 2999" in data(opened, OTHER_AT)["text/plain"]
    keys = [re.findall(r'data-slangnb-view="([^"]+)"', data(opened, i)["text/html"]) for i in (TWIN_AT, OTHER_AT)]
    assert keys[0] != keys[1] and keys[0][0].split("-")[0] == keys[1][0].split("-")[0]


def test_two_alike_find_their_places_after_the_page_was_loaded_again(
    opened: Notebook, lab: Lab, browser: Browser
) -> None:
    name = opened.save().name
    page = browser.new_page(viewport={"width": 1120, "height": 1000})
    open_lab(page, lab)
    again = Notebook(page, lab, name)
    for index, most in ((TWIN_AT, "max 3999"), (OTHER_AT, "max 2999")):
        expect(live(again, index).locator(".snb-stats").first).to_contain_text(most)
    page.close()


def test_saved_reopened_without_a_kernel_and_exported(
    opened: Notebook, lab: Lab, browser: Browser, tmp_path: Any
) -> None:
    saved = opened.save()
    notebook = nbformat.read(saved, 4)
    nbformat.validate(notebook)
    for index, said in ((START_AT, "min -3"), (LIVE_AT, "max 3.25")):
        [output] = notebook.cells[index].outputs
        assert said in output.data["text/plain"] and "transient" not in output
    page: Page = browser.new_page(viewport={"width": 1120, "height": 1000})
    html, _ = HTMLExporter().from_notebook_node(notebook)
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator("[data-slangnb-view] figure img:visible")).to_have_count(4)
    assert "value from -3 to 3" in (page.locator("figure img").first.get_attribute("alt") or "")
    page.close()
    page = browser.new_page(viewport={"width": 1120, "height": 1000})
    open_lab(page, lab)
    page.evaluate(
        """async path => {
      const panel = await window.jupyterapp.commands.execute('docmanager:open',
        { path, factory: 'Notebook', kernel: { name: null } });
      await panel.context.ready; await panel.revealed; }""",
        saved.name,
    )
    expect(page.locator("figure img").first).to_be_visible()
    assert "value from -3 to 3" in (page.locator("figure img").first.get_attribute("alt") or "")
    page.close()
