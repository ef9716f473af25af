"""A live explored function in JupyterLab: sliders and probe by keyboard and pointer, and what the notebook stores."""

from __future__ import annotations

import re
from collections.abc import Iterator

import nbformat
import pytest
from conftest import OpenNotebook
from explored import at, readout
from lab import Notebook, until
from playwright.sync_api import expect
from test_accessibility import CHANGE_THEME, TALL_BODY, audit, said

START = """%load_ext slangnb
import slangnb as sn
m = sn.session().compile('''
[Differentiable] float line(float x, float a, float b, int n) { return a * x + b + n; }
[Differentiable] float3 spiral(float t, float f) { return float3(sin(f * t), cos(t), sqrt(t)); }
''')"""
LINE = """view = sn.explore(m.line, x=(-3, 3, 1.5), a=(0, 5, 2), b=0.5, n=(0, 4))
view"""
SPIRAL = "sn.explore(m.spiral, t=(-1, 3), f=(1, 5))"
VALUES = "print(view.values, view.model.probe)"
START_AT, LINE_AT, SPIRAL_AT, VALUES_AT = range(4)

# The colours of a canvas that are not transparent, and how many pixels have each.
COLOURS = """c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, n = {};
  for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) {
    const k = `${[...d.slice(i, i + 3)]}`; n[k] = (n[k] ?? 0) + 1;
  }
  return n; }"""


@pytest.fixture(scope="module")
def notebook(open_notebook: OpenNotebook) -> Iterator[Notebook]:
    made = open_notebook([START, LINE, SPIRAL, VALUES])
    assert made.run_all(), [made.text(i) for i in range(4)]
    yield made
    made.end()


def test_a_slider_moves_by_keys_and_the_curve_follows(notebook: Notebook) -> None:
    view = at(notebook, LINE_AT)
    expect(readout(view)).to_have_text("x = 1.5f = 5.5df/dx = 2")
    canvas = view.locator("canvas").first
    before = canvas.evaluate("c => c.toDataURL()")
    slider = view.get_by_role("slider", name="a")
    slider.focus()
    for _ in range(20):
        notebook.page.keyboard.press("ArrowRight")
    # 20 of 100 steps of a range of 5.
    expect(readout(view)).to_have_text("x = 1.5f = 7df/dx = 3")
    expect(slider).to_have_attribute("aria-valuetext", "3")
    assert canvas.evaluate("c => c.toDataURL()") != before
    expect(view.locator(".snb-stats")).to_contain_text("max 11.5 at x = 3")


def test_an_int_moves_in_whole_steps(notebook: Notebook) -> None:
    view = at(notebook, LINE_AT)
    view.get_by_role("slider", name="n").focus()
    notebook.page.keyboard.press("ArrowLeft")
    expect(readout(view)).to_have_text("x = 1.5f = 6df/dx = 3")


def test_the_probe_follows_keys_and_pointer(notebook: Notebook) -> None:
    view = at(notebook, LINE_AT)
    stage = view.locator(".snb-stage")
    stage.focus()
    notebook.page.keyboard.press("End")
    expect(readout(view)).to_have_text("x = 3f = 10.5df/dx = 3")
    notebook.page.keyboard.press("Shift+ArrowLeft")
    expect(readout(view)).to_contain_text("x = 2.85f = 10.05")
    box = stage.bounding_box()
    assert box is not None
    notebook.page.mouse.move(box["x"] + 56 + (box["width"] - 68) / 2, box["y"] + 60)
    expect(readout(view)).to_contain_text("x = 0f = 1.5")


def test_the_notebook_stores_where_it_stands(notebook: Notebook) -> None:
    at(notebook, LINE_AT)

    def kept() -> str:
        notebook.save()
        return nbformat.read(notebook.path, 4).cells[LINE_AT].outputs[0]["data"]["text/plain"]

    until(lambda: "x from -3 to 3, a = 3, n = 1, b = 0.5" in kept() and "at x = 0  f = 1.5" in kept(), "it is stored")
    page = nbformat.read(notebook.path, 4).cells[LINE_AT].outputs[0]["data"]["text/html"]
    assert re.search(
        r'<img src="data:image/\w+;base64,[^"]{1000,}" alt="line  float on [^"]*a = 3, n = 1, b = 0.5', page
    )
    assert "<script" not in page
    notebook.run_from(VALUES_AT)
    assert notebook.text(VALUES_AT).strip() == "{'b': 0.5, 'a': 3.0, 'n': 1} 200"


def test_dragging_redraws_on_the_way(notebook: Notebook) -> None:
    view = at(notebook, SPIRAL_AT)
    seen = int(view.get_attribute("data-seq") or 0)
    box = view.get_by_role("slider", name="f").bounding_box()
    assert box is not None
    mouse = notebook.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    for i in range(12):
        mouse.move(box["x"] + box["width"] * (0.5 + i / 40), box["y"] + box["height"] / 2)
        notebook.page.wait_for_timeout(30)
    until(lambda: int(view.get_attribute("data-seq") or 0) >= seen + 4, "several curves while the slider is held")
    mouse.up()
    # The slider has that name already.
    expect(readout(view)).to_have_text(re.compile(r"^t = \S+spiral = \(.*\)d spiral/dt = \(.*\)$"))
    names = view.locator("canvas").first.evaluate(COLOURS)
    # Above zero and below, in the tones of the still picture.
    assert names["243,194,155"] > 500
    assert names["168,203,226"] > 500


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_axe_finds_nothing(notebook: Notebook, theme: str) -> None:
    page, size = notebook.page, notebook.page.viewport_size
    assert size is not None
    style = page.add_style_tag(content=TALL_BODY)
    page.evaluate(CHANGE_THEME, theme)
    page.set_viewport_size({"width": size["width"], "height": 2400})
    at(notebook, LINE_AT)
    found = audit(page, ".snb-explore")
    page.set_viewport_size(size)
    style.evaluate("s => s.remove()")
    assert not found, said(found)
