"""A live function over two axes in JupyterLab: its sliders and its probe, what is painted, and what is stored."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest
from conftest import OpenNotebook
from explored import at, readout
from lab import Notebook, until
from playwright.sync_api import Locator, expect
from test_accessibility import CHANGE_THEME, TALL_BODY, audit, said

START = """%load_ext slangnb
import slangnb as sn
m = sn.session().compile('''
[Differentiable] float saddle(float x, float y, float a, int n) { return a * x * y + n; }
[Differentiable] float ring(float2 p, float r) { return sqrt(p.x + r) + p.y; }
''')"""
SADDLE = """view = sn.explore(m.saddle, x=(-3, 3, 1.5), y=(-2, 2, 1), a=(0, 5, 2), n=(0, 4, 0), axes=("x", "y"))
view"""
RING = "sn.explore(m.ring, p=((-1, 1), (-1, 1)), r=(0, 1, 0.5))"
VALUES = "print(view.values, view.model.probe)"
START_AT, SADDLE_AT, RING_AT, VALUES_AT = range(4)

# The colour of the picture at a place of the stage, in CSS pixels; the place is that of a point (x, y) of the axes.
COLOUR = """(c, [x, y]) => { const r = c.width / c.clientWidth;
  return [...c.getContext('2d').getImageData(Math.round(x * r), Math.round(y * r), 1, 1).data]; }"""


@pytest.fixture(scope="module")
def notebook(open_notebook: OpenNotebook) -> Iterator[Notebook]:
    made = open_notebook([START, SADDLE, RING, VALUES])
    assert made.run_all(), [made.text(i) for i in range(4)]
    yield made
    made.end()


def picture(view: Locator) -> tuple[float, float, float, float]:
    """Give where the axes are on the stage, in CSS pixels: left, top, width, height."""
    wide = view.locator(".snb-stage").evaluate("s => s.clientWidth")
    inch = min(118, (wide - 56 - 14 - 13 - 58) / 5)
    return 56, 8, 5 * inch, inch * 5 / 1.5


def test_a_slider_moves_by_keys_and_the_field_follows(notebook: Notebook) -> None:
    view = at(notebook, SADDLE_AT)
    expect(readout(view)).to_have_text("x = 1.5y = 1f = 3df/dx = 2df/dy = 3")
    canvas = view.locator("canvas").first
    before = canvas.evaluate("c => c.toDataURL()")
    slider = view.get_by_role("slider", name="a")
    slider.focus()
    for _ in range(20):
        notebook.page.keyboard.press("ArrowRight")
    # 20 of 100 steps of a range of 5.
    expect(readout(view)).to_have_text("x = 1.5y = 1f = 4.5df/dx = 3df/dy = 4.5")
    assert canvas.evaluate("c => c.toDataURL()") != before
    expect(view.locator(".snb-stats")).to_contain_text("highest 18 at x = ")
    view.get_by_role("slider", name="n").focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(readout(view)).to_have_text("x = 1.5y = 1f = 5.5df/dx = 3df/dy = 4.5")


def test_the_probe_follows_keys_and_pointer(notebook: Notebook) -> None:
    view = at(notebook, SADDLE_AT)
    stage = view.locator(".snb-stage")
    stage.focus()
    notebook.page.keyboard.press("End")
    expect(readout(view)).to_contain_text("x = 3y = 1f = 10df/dx = 3df/dy = 9")
    # There is nothing beyond the edge.
    notebook.page.keyboard.press("ArrowRight")
    notebook.page.keyboard.press("Shift+ArrowDown")
    expect(readout(view)).to_contain_text("x = 3y = 0.5833")
    box, (left, top, wide, tall) = stage.bounding_box(), picture(view)
    assert box is not None
    # A quarter from the left, a quarter from the top.
    notebook.page.mouse.move(box["x"] + left + wide / 4, box["y"] + top + tall / 4)
    expect(readout(view)).to_contain_text("x = -1.5y = 1f = -3.5df/dx = 3df/dy = -4.5")


def test_colours_are_those_of_the_values(notebook: Notebook) -> None:
    view = at(notebook, SADDLE_AT)
    left, top, wide, tall = picture(view)
    canvas = view.locator("canvas").first
    corners = [canvas.evaluate(COLOUR, [left + wide * x, top + tall * y]) for x, y in ((0.004, 0.006), (0.996, 0.006))]
    # The lowest and the highest colour of the map: -18 and 18 of 3xy, top left and top right.
    assert corners[0][:3] == pytest.approx([68, 1, 84], abs=12)
    assert corners[1][:3] == pytest.approx([253, 231, 37], abs=12)


def test_the_notebook_stores_where_it_stands(notebook: Notebook) -> None:
    at(notebook, SADDLE_AT)

    def kept() -> str:
        notebook.save()
        return nbformat.read(notebook.path, 4).cells[SADDLE_AT].outputs[0]["data"]["text/plain"]

    until(lambda: "a = 3, n = 1" in kept() and "at x = -1.5  y = 1  f = -3.5" in kept(), "it is stored")
    page = nbformat.read(notebook.path, 4).cells[SADDLE_AT].outputs[0]["data"]["text/html"]
    assert "<script" not in page
    notebook.run_from(VALUES_AT)
    assert notebook.text(VALUES_AT).strip() == "{'a': 3.0, 'n': 1} 7008"


def test_what_has_no_value_is_blank(notebook: Notebook) -> None:
    view = at(notebook, RING_AT)
    expect(view.locator(".snb-caption")).to_contain_text("left blank: 2328 NaN")
    canvas = view.locator("canvas").first
    left, top, _, _ = picture(view)
    assert canvas.evaluate(COLOUR, [left + 20, top + 60])[3] == 0
    assert canvas.evaluate(COLOUR, [left + 300, top + 60])[3] == 255


def test_dragging_redraws_on_the_way(notebook: Notebook) -> None:
    view = at(notebook, RING_AT)
    seen = int(view.get_attribute("data-seq") or 0)
    box = view.get_by_role("slider", name="r").bounding_box()
    assert box is not None
    mouse = notebook.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    for i in range(12):
        mouse.move(box["x"] + box["width"] * (0.5 + i / 40), box["y"] + box["height"] / 2)
        notebook.page.wait_for_timeout(50)
    until(lambda: int(view.get_attribute("data-seq") or 0) >= seen + 4, "several fields while the slider is held")
    mouse.up()


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing(notebook: Notebook, theme: str) -> None:
    page, size = notebook.page, notebook.page.viewport_size
    assert size is not None
    style = page.add_style_tag(content=TALL_BODY)
    page.evaluate(CHANGE_THEME, theme)
    page.set_viewport_size({"width": size["width"], "height": 2400})
    at(notebook, SADDLE_AT)
    found = audit(page, ".snb-explore")
    page.set_viewport_size(size)
    style.evaluate("s => s.remove()")
    assert not found, said(found)
