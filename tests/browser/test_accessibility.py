"""What axe-core finds in views: live in JupyterLab, saved as pages, and exported with a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import nbformat
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import OpenNotebook
from lab import Notebook
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Page, expect

from slangnb.views import show
from slangnb.views.array_source import pair_model
from slangnb.views.history import History

# Lab's body is as tall as nothing and cuts off the rest: axe-core takes all that is in it for hidden.
TALL_BODY = "body { height: 100vh !important; }"

# One row of each form: image, slices, curves, colours, a sentence, and none.
LIVE = """%load_ext slangnb
import numpy as np, slangnb as sn
height = sn.tensor(np.arange(2400, dtype=np.float32).reshape(40, 60), grad=True)
height.grad.copy_from_numpy(np.linspace(-1, 1, 2400, dtype=np.float32).reshape(40, 60))
wave = sn.tensor(np.sin(np.linspace(0, 6, 100)).astype(np.float32), grad=True)
wave.grad.copy_from_numpy(np.cos(np.linspace(0, 6, 100)).astype(np.float32))
stack = np.arange(3000, dtype=np.float32).reshape(5, 30, 20)
broken = np.where(np.arange(72).reshape(8, 9) % 7 == 0, np.nan, 1.0)
sn.show(height=height, wave=wave, stack=stack, broken=broken, number=2.5, none=np.zeros((0, 3)), flow=False)"""
ROWS = 6
STILL = """import numpy as np
from slangnb.views import show
show(height=np.arange(30.0).reshape(5, 6), broken=np.array([1.0, np.nan, 3.0]))"""

CHANGE_THEME = """name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })
  .then(() => new Promise(resolve => setTimeout(resolve, 400)))"""

Scheme = Literal["light", "dark"]


def audit(page: Page, where: str | None = None) -> list[dict[str, Any]]:
    """Give what axe-core finds below a selector, or on the whole page; what it cannot decide on contrast counts, too.

    All impacts count, from minor to critical.
    """
    results = Axe().run(page, where, options={}).response
    undecided = [v for v in results["incomplete"] if v["id"] == "color-contrast"]
    found = results["violations"] + undecided
    assert any(ratios(v) for v in results["passes"] + found), "axe-core measured no contrast"
    return found


def ratios(result: dict[str, Any]) -> list[float]:
    """Give the contrasts that a rule measured; it measures none where it takes an element for hidden."""
    data = [check["data"] for node in result["nodes"] for check in node["any"]]
    return [d["contrastRatio"] for d in data if isinstance(d, dict) and d.get("contrastRatio")]


def said(found: list[dict[str, Any]]) -> str:
    """Write what was found, for a person who mends it."""
    return "\n".join(
        f"{v['id']} ({v['impact']}): {n['target']} {n['html'][:160]}: {n['failureSummary']}"
        for v in found
        for n in v["nodes"]
    )


def unfold(page: Page) -> None:
    """Open what is folded away: numbers below pictures are audited too."""
    for details in page.locator("details").all():
        details.evaluate("d => { d.open = true; }")


@pytest.fixture
def sheet(browser: Browser) -> Iterator[Page]:
    """A page of its own, without a network."""
    made = browser.new_page()
    made.context.set_offline(True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def live(open_notebook: OpenNotebook) -> Iterator[Notebook]:
    opened = open_notebook([LIVE])
    assert opened.run_all(), opened.outputs(0)
    page, size = opened.page, opened.page.viewport_size
    assert size is not None
    style = page.add_style_tag(content=TALL_BODY)
    page.set_viewport_size({"width": size["width"], "height": 3200})  # axe-core measures what is in sight
    yield opened
    page.set_viewport_size(size)
    style.evaluate("s => s.remove()")
    opened.page.evaluate(CHANGE_THEME, "JupyterLab Light")
    opened.end()


def test_the_audit_finds_mistakes(sheet: Page) -> None:
    pale = "<p style='color:#bbb;background:#fff'>pale</p>"
    sheet.set_content(f"<html lang='en'><title>t</title><main><h1>t</h1><img src='data:,'>{pale}</main>")
    assert {v["id"] for v in audit(sheet)} == {"image-alt", "color-contrast"}
    assert [v["id"] for v in audit(sheet, "p")] == ["color-contrast"]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_live_view(live: Notebook, theme: str) -> None:
    live.page.evaluate(CHANGE_THEME, theme)
    views = live.cell(0).locator(".snb")
    expect(views).to_have_count(ROWS)
    for view in views.all():
        expect(view).to_have_attribute("data-seq", re.compile(r"\d+"))
    stage = views.first.locator(".snb-stage").first
    stage.focus()
    stage.press("Control+Home")
    expect(views.first.locator(".snb-readout")).to_contain_text("[0, 0]")
    found = audit(live.page, ".snb")
    assert not found, said(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("flow", [False, True])
def test_saved_page(sheet: Page, tmp_path: Path, scheme: Scheme, flow: bool) -> None:
    rows = {"x": np.arange(30.0).reshape(5, 6), "broken": np.array([1.0, np.nan, 3.0]), "number": 2.5}
    view = show(**rows, flow=True) if flow else show(**rows)
    sheet.emulate_media(color_scheme=scheme)
    sheet.goto(view.save(tmp_path / "x.html").as_uri())
    unfold(sheet)
    found = audit(sheet)
    assert not found, said(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_exported_notebook(sheet: Page, tmp_path: Path, theme: Scheme) -> None:
    book = new_notebook(cells=[new_code_cell(STILL)])
    NotebookClient(book, timeout=60, kernel_name="python3").execute()
    nbformat.validate(book)
    text, _ = HTMLExporter(theme=theme).from_notebook_node(book)
    page = tmp_path / "exported.html"
    page.write_text(text, encoding="utf-8")
    sheet.goto(page.as_uri(), wait_until="domcontentloaded")
    unfold(sheet)
    found = audit(sheet, "[data-slangnb-view]")
    assert not found, said(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_history_page(sheet: Page, tmp_path: Path, scheme: Scheme) -> None:
    history = History(title="descent")
    for step in range(4):
        history.add([pair_model(np.array([[1.0, 0.5**step]] * 3), np.array([[0.0, 2.0]] * 3), name="x")])
    sheet.emulate_media(color_scheme=scheme)
    sheet.goto(history.save(tmp_path / "h.html").as_uri())
    expect(sheet.get_by_role("slider")).to_be_visible()
    found = audit(sheet)
    assert not found, said(found)


def test_history_page_without_scripts(browser: Browser, tmp_path: Path) -> None:
    history = History(title="descent")
    history.add([pair_model(np.ones((3, 2)), name="x")])
    text = history.save(tmp_path / "h.html").read_text(encoding="utf-8")
    still = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    page = browser.new_page()
    try:
        page.set_content(still)
        expect(page.locator(".still img").first).to_be_visible()
        unfold(page)
        found = audit(page)
        assert not found, said(found)
    finally:
        page.close()
