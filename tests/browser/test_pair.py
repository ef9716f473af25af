"""The live pair view in JupyterLab: pointer, wheel, keys, sliders, themes, and a kernel that ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from conftest import OpenNotebook
from lab import Lab, Notebook, open_lab, until
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, expect

START = """%load_ext slangnb
import numpy as np, slangnb as sn
height = sn.tensor(np.arange(40 * 60, dtype=np.float32).reshape(40, 60), grad=True)
height.grad.copy_from_numpy(np.linspace(-1, 1, 2400, dtype=np.float32).reshape(40, 60))
view = sn.show(height=height)
view"""
STACK = """stack = np.arange(5 * 30 * 20, dtype=np.float32).reshape(5, 30, 20)
orange = np.tile(np.array([255, 128, 0], np.uint8), (6, 9, 1))
field = sn.tensor(np.zeros((6, 8, 2), np.float32), grad=True)
field.grad.copy_from_numpy(np.full((6, 8, 2), 0.1, np.float32))
sn.show(stack=stack, thin=np.zeros((1, 30, 20)), orange=orange, field=field)"""
WAVE = """t = np.linspace(0, 6, 100, dtype=np.float32)
wave = sn.tensor(np.sin(t), grad=True)
wave.grad.copy_from_numpy(np.cos(t))
few = sn.tensor([1, 2, 3, 4], grad=True)
few.grad.copy_from_numpy(np.array([12, 16, 20, -24], np.float32))
small = sn.tensor(np.ones((8, 60), np.float32), grad=True)
small.grad.copy_from_numpy(np.linspace(-0.001, 0.001, 480, dtype=np.float32).reshape(8, 60))
sn.show(wave=wave, few=few, small=small, odd=np.array([1, np.nan, np.inf, -np.inf, 2], np.float32))"""
BAD = """odd = sn.show(
    scalar=2.5, empty=np.zeros((0, 3)), nan=np.full((8, 9), np.nan), same=np.ones((8, 9)),
    half=np.ones((8, 9), np.float16),
    whole=np.arange(72).reshape(8, 9), truth=np.arange(72).reshape(8, 9) % 3 == 0, long=np.arange(9000.0),
    flow=False,
)
odd"""
LIVE = """followed = sn.tensor(np.zeros((8, 9), np.float32), grad=True)
sn.show(followed=followed, live=True)"""
BIG = """import time
big = np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32)
tensor = sn.tensor(big, grad=True)
pair = sn.show(big=tensor)
pair"""
RAMP = """%load_ext slangnb
import numpy as np, slangnb as sn
ramp = sn.tensor(np.zeros((31, 61), np.float32), grad=True)
ramp.grad.copy_from_numpy(np.tile(np.linspace(-1, 1, 61, dtype=np.float32), (31, 1)))
sn.show(ramp=ramp)"""
CHANGE = """height.copy_from_numpy(np.full((40, 60), 7.5, np.float32))
view.update()
followed.copy_from_numpy(np.full((8, 9), 3.25, np.float32))"""
LOOP = """begin = time.perf_counter()
while time.perf_counter() - begin < 2:
    pair.update()
    time.sleep(0.01)"""

# In this order: a cell is scrolled to before it is looked at.
HEIGHT, STACK_AT, WAVE_AT, BAD_AT, LIVE_AT, BIG_AT, CHANGE_AT, LOOP_AT = range(8)

# Canvases hold something that is not transparent.
DRAWN = """c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i]) n++; return n; }"""
# The colours of a ramp and of the scale below it, beside the line that marks 0 in their middle.
NEAR_ZERO = """stage => { const c = stage.querySelector('canvas'), k = window.devicePixelRatio;
  const x = (40 + (stage.clientWidth - 50) / 2 + 4) * k, g = c.getContext('2d');
  return [c.height * 0.3, c.height - 24 * k].map(y => [...g.getImageData(x, y, 1, 1).data]); }"""
CHANGE_THEME = "name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name }).then(() => null)"
NAMES = """root => [...root.querySelectorAll('button, select, input, [tabindex]')]
  .filter(e => e.offsetParent).map(e => [e.tagName, e.tabIndex,
    (e.getAttribute('aria-label') || e.closest('label')?.firstChild?.textContent || '').trim()])"""
COUNT = """root => { window.frames = 0;
  new MutationObserver(() => { window.frames++; })
    .observe(root, { attributes: true, attributeFilter: ['data-drawn'] }); }"""


# What is written from now on, with its ends and the width of its canvas, in pixels of the page.
LISTEN = """() => { window.written = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function(said, x, y) {
    const half = this.measureText(said).width / 2;
    window.written.push([String(said), x - half, x + half, this.canvas.clientWidth]);
    return draw.call(this, said, x, y);
  };
  window.deaf = () => { CanvasRenderingContext2D.prototype.fillText = draw; }; }"""


class Views:
    """A notebook of views, and what the browser complained about."""

    def __init__(self, notebook: Notebook, console: list[str]) -> None:
        self.notebook, self.console = notebook, console
        self.page = notebook.page

    def at(self, index: int, row: int = 0) -> Locator:
        """Give the live view of a cell, drawn and in sight."""
        found = self.notebook.cell(index).locator(".snb").nth(row)
        expect(found).to_have_attribute("data-seq", re.compile(r"\d+"))
        found.locator(".snb-stage, .snb-sentence").first.scroll_into_view_if_needed()
        return found

    def hover(self, view: Locator, x: float, y: float, panel: int = 0) -> None:
        """Move the pointer over a share of a panel's stage."""
        box = view.locator(".snb-stage").nth(panel).bounding_box()
        assert box is not None
        self.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])

    def readout(self, view: Locator) -> str:
        return view.locator(".snb-readout").inner_text()

    def wheel(self, view: Locator, times: int, direction: int = -1) -> None:
        self.page.keyboard.down("Control")
        for _ in range(times):
            self.page.mouse.wheel(0, 120 * direction)
        self.page.keyboard.up("Control")
        expect(view.locator(".snb-stage").first).to_have_class(
            re.compile("snb-zoomed") if direction < 0 else re.compile("")
        )


def is_labs_own(stack: str) -> bool:
    """Tell whether an error is one of JupyterLab's: its splash screen sometimes takes itself from the page twice.

    A frame of a widget, which comes from a blob, makes it ours.
    """
    frames = re.findall(r"at .*?(\w+:\S+?):\d+:\d+", stack)
    return "removeChild" in stack and bool(frames) and all("/static/lab/" in frame for frame in frames)


@pytest.fixture(scope="module")
def views(open_notebook: OpenNotebook) -> Iterator[Views]:
    opened = open_notebook([START, STACK, WAVE, BAD, LIVE, BIG, CHANGE, LOOP])
    console: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error":
            console.append(message.text)

    def failed(error: Error) -> None:
        if not is_labs_own(error.stack or ""):
            console.append(f"{error}\n{error.stack}")

    opened.page.on("console", heard)
    opened.page.on("pageerror", failed)
    for index in range(HEIGHT, CHANGE_AT):
        opened.activate(index)
        assert opened.command("notebook:run-cell") is not False
    yield Views(opened, console)
    opened.page.remove_listener("console", heard)
    opened.end()


@pytest.fixture(autouse=True)
def quiet(views: Views, request: pytest.FixtureRequest) -> Iterator[None]:
    """No test may leave an error in the browser's console."""
    yield
    # A kernel that ends closes its channels; Lab has forgotten them by then, and complains about those of any widget.
    ended = "kernel" in request.node.name
    assert [said for said in views.console if not (ended and said.startswith("Comm not found"))] == []


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def test_the_notebook_stores_the_still_picture_alone(views: Views) -> None:
    view = views.at(HEIGHT)
    expect(view).to_be_visible()
    kinds = [set(o["data"]) for o in views.notebook.outputs(HEIGHT) if "data" in o]
    assert kinds == [{"text/plain", "text/html", "image/png"}]
    expect(views.notebook.cell(HEIGHT).locator("figure")).to_be_hidden()


def test_hover_reads_both_in_both_panels(views: Views) -> None:
    view = views.at(HEIGHT)
    for panel in (0, 1):
        views.hover(view, 0.5, 0.3, panel)
        expect(view.locator(".snb-readout")).to_contain_text("gradient")
        row, column, value, gradient = numbers(views.readout(view))
        assert value == row * 60 + column
        assert gradient == pytest.approx(-1 + 2 * value / 2399, abs=1e-5)
        for over in view.locator(".snb-stage canvas:nth-child(2)").all():
            assert over.evaluate(DRAWN) > 100


def test_zoom_and_drag_are_linked_and_a_double_click_resets(views: Views) -> None:
    view = views.at(HEIGHT)
    views.hover(view, 0.5, 0.3)
    before = numbers(views.readout(view))
    views.wheel(view, 8)
    assert [bool(s.evaluate("s => s.classList.contains('snb-zoomed')")) for s in view.locator(".snb-stage").all()] == [
        True
    ] * 2
    views.hover(view, 0.51, 0.31)
    zoomed = numbers(views.readout(view))
    assert abs(zoomed[1] - before[1]) <= 2
    pictures = [c.evaluate("c => c.toDataURL()") for c in view.locator(".snb-stage canvas:nth-child(1)").all()]
    views.page.mouse.down()
    views.hover(view, 0.3, 0.31)
    views.page.mouse.up()
    views.page.wait_for_timeout(100)
    moved = [c.evaluate("c => c.toDataURL()") for c in view.locator(".snb-stage canvas:nth-child(1)").all()]
    assert all(a != b for a, b in zip(pictures, moved, strict=True))
    views.hover(view, 0.51, 0.32)
    assert numbers(views.readout(view))[1] > zoomed[1]
    view.locator(".snb-stage").first.dblclick(position={"x": 100, "y": 60})
    expect(view.locator(".snb-stage").first).not_to_have_class(re.compile("snb-zoomed"))
    view.get_by_role("button", name="zoom in").click()
    expect(view.locator(".snb-stage").nth(1)).to_have_class(re.compile("snb-zoomed"))
    view.get_by_role("button", name="show all").click()
    expect(view.get_by_role("button", name="zoom out")).to_be_disabled()


def test_the_wheel_alone_scrolls_the_page(views: Views) -> None:
    view = views.at(BIG_AT)
    expect(view.locator(".snb-hint")).to_have_text("or Ctrl + wheel")
    views.hover(view, 0.5, 0.3)
    for direction in (-1, 1):
        views.page.wait_for_timeout(400)
        before = view.bounding_box()
        assert before is not None
        views.page.mouse.wheel(0, 60 * direction)
        until(lambda y=before["y"]: (view.bounding_box() or {})["y"] != y, "the page scrolls")
        expect(view.locator(".snb-stage").first).not_to_have_class(re.compile("snb-zoomed"))


def test_keys_move_the_probe_and_it_is_announced(views: Views) -> None:
    view = views.at(HEIGHT)
    stage = view.locator(".snb-stage").first
    stage.focus()
    stage.press("Control+Home")
    expect(view.locator(".snb-readout")).to_contain_text("[0, 0]")
    for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown", "ArrowDown", "ArrowUp"):
        stage.press(key)
    expect(view.locator(".snb-readout")).to_contain_text("[10, 11]")
    expect(view.locator("[aria-live=polite]")).to_contain_text("10, 11: value 611, gradient -0.490621")
    stage.press("End")
    expect(view.locator(".snb-readout")).to_contain_text("[10, 59]")
    stage.press("Home")
    stage.press("ArrowLeft")
    expect(view.locator(".snb-readout")).to_contain_text("[10, 0]")


def test_sliders_choose_a_slice(views: Views) -> None:
    view = views.at(STACK_AT)
    views.hover(view, 0.5, 0.3)
    expect(view.locator(".snb-readout")).to_contain_text("[2, ")
    slider = view.get_by_role("slider", name="index on axis 0")
    slider.focus()
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(view.locator("output")).to_have_text("index 4 (0–4)")
    expect(view.locator(".snb-readout")).to_contain_text("[4, ")
    layer, row, column, value = numbers(views.readout(view))
    assert value == layer * 600 + row * 20 + column
    view.get_by_role("combobox", name="down").select_option("0")
    expect(view.locator("input[type=range]")).to_have_attribute("aria-label", "index on axis 1")


def test_a_slice_says_what_its_numbers_are_of(views: Views) -> None:
    expect(views.at(STACK_AT).locator(".snb-stats")).to_contain_text("whole tensor:min 0max 2999")
    expect(views.at(STACK_AT).locator(".snb-stats")).to_contain_text("(bars: this slice)")
    # An axis of one element is no choice, and all of the tensor is drawn.
    thin = views.at(STACK_AT, 1)
    expect(thin.locator("input[type=range]")).to_have_count(0)
    expect(thin.locator(".snb-stats")).not_to_contain_text("whole tensor")


def test_bytes_are_drawn_and_read_as_they_are(views: Views) -> None:
    view = views.at(STACK_AT, 2)
    views.hover(view, 0.5, 0.3)
    expect(view.locator(".snb-readout")).to_contain_text("value (255, 128, 0)")
    middle = """c => [...c.getContext('2d').getImageData(c.width / 2, c.height * 0.3, 1, 1).data]"""
    assert view.locator("canvas").first.evaluate(middle) == [255, 128, 0, 255]


def test_curves(views: Views) -> None:
    view = views.at(WAVE_AT)
    expect(view.locator(".snb-stage")).to_have_count(1)
    views.hover(view, 0.5, 0.3)
    index, value, gradient = numbers(views.readout(view))
    assert value**2 + gradient**2 == pytest.approx(1, abs=1e-4) and 0 < index < 99
    views.wheel(view, 4)
    view.locator(".snb-stage").dblclick(position={"x": 200, "y": 60})


def test_selects_change_the_picture(views: Views) -> None:
    view = views.at(HEIGHT)
    bases = view.locator(".snb-stage canvas:nth-child(1)")

    def pictures() -> list[Any]:
        return [c.evaluate("c => c.toDataURL()") for c in bases.all()]

    for name, option, changes in [
        *[("colours", "magma", 0), ("gradient", "magnitude", 1), ("gradient", "sign", 1), ("gradient", "signed", 1)],
        *[("limits", "shared", 1), ("scale", "symlog", 0), ("overlay", "contours", 0), ("profile", "row", 0)],
    ]:
        before = pictures()
        view.get_by_role("combobox", name=name).select_option(option)
        until(lambda before=before, i=changes: pictures()[i] != before[i], f"{name} {option} changes panel {changes}")
    for name, option in [
        ("colours", "viridis"),
        ("scale", "linear"),
        ("limits", "exact"),
        ("overlay", "none"),
        ("profile", "off"),
    ]:
        view.get_by_role("combobox", name=name).select_option(option)


def test_a_few_elements_stand_side_by_side_as_in_the_still_picture(views: Views) -> None:
    view = views.at(WAVE_AT, 1)
    expect(view.locator(".snb-title")).to_have_text(["value", "gradient"])
    for panel in (0, 1):
        views.hover(view, 0.4, 0.5, panel)
        expect(view.locator(".snb-readout")).to_contain_text("[1]   value 2   gradient 16")
    # Stems from zero: above it the colour of gradients above zero, below it the other.
    column = """(c, at) => { const d = c.getContext('2d').getImageData(Math.round(c.width * at), 0, 1, c.height).data;
      const seen = new Set();
      for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(`${[...d.slice(i, i + 3)]}`);
      return [...seen]; }"""
    gradient = view.locator(".snb-stage").nth(1).locator("canvas").first
    places = [(48 + (i + 0.5) / 4 * (w - 58)) / w for w in [gradient.evaluate("c => c.clientWidth")] for i in (0, 3)]
    drawn = [gradient.evaluate(column, place) for place in places]
    assert ["243,194,155" in one for one in drawn] == [True, False]
    assert ["168,203,226" in one for one in drawn] == [False, True]


def test_the_numbers_of_a_scale_are_whole(views: Views) -> None:
    view = views.at(WAVE_AT, 2)
    views.page.evaluate(LISTEN)
    view.locator("select[name=profile]").select_option("row")
    views.page.wait_for_function("window.written.some(([said]) => said === '0.001')")
    written = views.page.evaluate("window.deaf(), window.written")
    view.locator("select[name=profile]").select_option("off")
    left, right, width = next(place for said, *place in written if said == "0.001")
    assert 0 < left < right < width + 1  # part of a pixel


def test_stems_say_what_is_not_finite(views: Views) -> None:
    view = views.at(WAVE_AT, 3)
    views.page.evaluate(LISTEN)
    view.get_by_role("button", name="zoom in").click()
    views.page.wait_for_function("window.written.length >= 4")
    written = views.page.evaluate("window.deaf(), window.written")
    view.get_by_role("button", name="show all").click()
    assert {"NaN", "+Inf", "-Inf"} <= {said for said, *_ in written}


def test_arrows_are_for_vectors(views: Views) -> None:
    arrow = "select[name=overlay] option[value=arrows]"
    assert views.at(HEIGHT).locator(arrow).evaluate("o => o.hidden && o.disabled")
    view = views.at(STACK_AT, 3)
    assert view.locator(arrow).evaluate("o => !o.hidden && !o.disabled")
    before = view.locator("canvas").first.evaluate("c => c.toDataURL()")
    view.locator("select[name=overlay]").select_option("arrows")
    assert view.locator("canvas").first.evaluate("c => c.toDataURL()") != before
    # One component is no vector.
    view.locator("select[name=component]").select_option("0")
    expect(view.locator("select[name=overlay]")).to_have_value("none")
    view.locator("select[name=component]").select_option("")
    expect(view.locator("select[name=overlay]")).to_have_value("arrows")
    view.locator("select[name=overlay]").select_option("none")


def test_every_menu_says_what_it_does(views: Views) -> None:
    said = views.at(HEIGHT).locator(".snb-controls select").evaluate_all("all => all.map(s => s.title)")
    assert len(said) == 6 and all(len(one) > 20 for one in said)
    assert "lines where the gradient is equal" in said[4]
    for row, count in ((0, 3), (3, 1)):
        own = views.at(STACK_AT, row).locator(".snb-sliders :is(select, input)")
        assert all(len(one) > 20 for one in own.evaluate_all("all => all.map(s => s.title)"))
        assert own.count() == count


def test_every_control_is_reachable_and_named(views: Views) -> None:
    for index in (HEIGHT, STACK_AT, WAVE_AT):
        found = views.at(index).evaluate(NAMES)
        assert len(found) >= 4
        assert all(tab >= 0 and name for _, tab, name in found), found
    view = views.at(HEIGHT)
    for image in view.get_by_role("img").all():
        assert "value from 0 to 2399" in (image.get_attribute("aria-label") or "")


def test_bad_input_is_a_picture_or_a_sentence(views: Views) -> None:
    said = [views.at(BAD_AT, row).inner_text() for row in range(8)]
    assert "2.5" in said[0] and "no elements" in said[1] and "72 NaN" in said[2]
    views.page.set_viewport_size({"width": 420, "height": 1000})
    for row in range(2, 8):
        view = views.at(BAD_AT, row)
        assert view.locator("canvas").first.evaluate(DRAWN) > 100
        views.hover(view, 0.5, 0.3)
    views.page.set_viewport_size({"width": 1120, "height": 1000})


def test_panels_stack_in_a_narrow_window(views: Views) -> None:
    view = views.at(HEIGHT)
    tops = [b["y"] for s in view.locator(".snb-stage").all() if (b := s.bounding_box())]
    assert tops[0] == tops[1]
    views.page.set_viewport_size({"width": 560, "height": 1000})
    views.page.wait_for_timeout(300)
    tops = [b["y"] for s in views.at(HEIGHT).locator(".snb-stage").all() if (b := s.bounding_box())]
    assert tops[1] > tops[0] + 100
    views.page.set_viewport_size({"width": 1120, "height": 1000})


def test_themes(views: Views) -> None:
    def paper() -> str:
        return views.at(HEIGHT).evaluate("v => getComputedStyle(v).backgroundColor")

    def ink() -> str:
        return views.at(HEIGHT).locator("canvas").first.evaluate("c => c.toDataURL()")

    def zero() -> list[int]:
        middle = "c => [...c.getContext('2d').getImageData(c.width / 2, c.height * 0.3, 1, 1).data]"
        return views.at(LIVE_AT).locator("canvas").nth(2).evaluate(middle)

    light, drawn = paper(), ink()
    assert min(zero()) > 240
    views.page.evaluate(CHANGE_THEME, "JupyterLab Dark")
    until(lambda: paper() != light, "the paper is dark")
    until(lambda: ink() != drawn, "ticks are drawn in the ink of the dark theme")
    until(lambda: max(zero()[:3]) < 80, "zero of a gradient is dark")
    views.page.evaluate(CHANGE_THEME, "JupyterLab Light")
    until(lambda: ink() == drawn, "as before")


def test_a_picture_that_comes_in_a_dark_page_has_the_colours_of_its_scale(views: Views, notebook: OpenNotebook) -> None:
    views.page.evaluate(CHANGE_THEME, "JupyterLab Dark")
    try:
        opened = notebook([RAMP])
        assert opened.run_all()
        stage = opened.cell(0).locator(".snb-stage").nth(1)
        stage.scroll_into_view_if_needed()
        until(lambda: max(stage.evaluate(NEAR_ZERO)[1][:3]) < 80, "the scale is dark near 0")
        picture, scale = stage.evaluate(NEAR_ZERO)
        assert picture == pytest.approx(scale, abs=8)
    finally:
        views.page.evaluate(CHANGE_THEME, "JupyterLab Light")


def test_update_and_live(views: Views) -> None:
    views.hover(views.at(HEIGHT), 0.5, 0.3)
    views.notebook.activate(CHANGE_AT)
    views.notebook.command("notebook:run-cell")
    expect(views.at(HEIGHT).locator(".snb-readout")).to_contain_text("value 7.5")
    expect(views.at(HEIGHT).locator(".snb-stats").first).to_contain_text("min 7.5")
    expect(views.at(LIVE_AT).locator(".snb-stats").first).to_contain_text("max 3.25")


def test_twenty_frames_a_second(views: Views) -> None:
    views.at(BIG_AT).evaluate(COUNT)
    views.notebook.activate(LOOP_AT)
    views.notebook.command("notebook:run-cell")
    assert views.page.evaluate("window.frames") >= 40


# Last, since they end the kernel.
def test_a_new_kernel_brings_the_still_picture_back(views: Views) -> None:
    views.notebook.save()
    views.notebook.start("kernelmenu:restart")
    views.page.locator(".jp-Dialog button.jp-mod-accept").click()
    expect(views.notebook.cell(HEIGHT).locator("figure img").first).to_be_visible()
    assert views.page.locator(".snb").count() == 0


def test_reopened_without_a_kernel(views: Views, lab: Lab, browser: Browser) -> None:
    saved = views.notebook.path
    assert "widgets" not in nbformat.read(saved, 4).metadata
    page: Page = browser.new_page(viewport={"width": 1120, "height": 1000})
    open_lab(page, lab)
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    kernel = page.evaluate(
        """async path => {
      const panel = await window.jupyterapp.commands.execute('docmanager:open',
        { path, factory: 'Notebook', kernel: { name: null } });
      await panel.context.ready; await panel.revealed;
      return panel.sessionContext.session?.kernel?.id ?? null; }""",
        saved.name,
    )
    assert kernel is None
    pictures = page.locator("[data-slangnb-view] figure img")
    expect(pictures.first).to_be_visible()
    assert pictures.first.evaluate("async i => { await i.decode(); return i.naturalWidth; }") > 100
    assert "gradient from -1 to 1" in (pictures.first.get_attribute("alt") or "")
    assert page.locator(".snb").count() == 0
    assert complaints == []
    page.close()
