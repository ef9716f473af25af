"""A notebook of someone else's: JupyterLab takes styles and scripts out of its outputs, and views stay readable."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import numpy as np
import pytest
from lab import Lab, open_lab, paper_of
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Browser, Locator, Page, expect

from slangnb.views import show
from slangnb.views.array_source import pair_model
from slangnb.views.flow import FlowView
from slangnb.views.pair import PairView

# No cell of this notebook was run here: nothing in it is trusted.
OPEN = """async path => {
  const panel = await window.jupyterapp.commands.execute('docmanager:open',
    { path, factory: 'Notebook', kernel: { name: null } });
  await panel.context.ready; await panel.revealed;
  return panel.content.widgets.map(w => w.model.trusted); }"""
THEME = """name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })
  .then(() => new Promise(done => setTimeout(done, 500)))"""
SWITCH = "([what, id]) => window.jupyterapp[what](id).then(() => null)"
WHITE, DARK = [255] * 3, [17] * 3


def views() -> list[PairView | FlowView]:
    x = np.linspace(-1, 1, 96)[:, None] * np.linspace(0, 2, 144)
    return [PairView([pair_model(x, np.cos(9 * x), name="x")]), show(a=[1.0, 2.0], b=x, flow=True)]


@pytest.fixture(scope="module")
def foreign(lab: Lab, browser: Browser) -> Iterator[Page]:
    cells = []
    for view in views():
        data, metadata = view._repr_mimebundle_()
        cells.append(new_code_cell("", outputs=[new_output("display_data", data, metadata=metadata)]))
    made = new_notebook(cells=cells)
    # Lab would ask for a kernel.
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, lab.root / "foreign.ipynb")
    page = browser.new_page(viewport={"width": 1120, "height": 1000})
    open_lab(page, lab)
    assert page.evaluate(OPEN, "foreign.ipynb") == [False, False]
    yield page
    page.close()


def spoken(still: Locator) -> list[str]:
    """Give the names of the images that the browser tells screen readers of."""
    session = still.page.context.new_cdp_session(still.page)
    still.evaluate("e => { window.still = e; }")
    found = session.send("Runtime.evaluate", {"expression": "window.still"})
    tree = session.send("Accessibility.queryAXTree", {"objectId": found["result"]["objectId"], "role": "image"})
    session.detach()
    return [one["name"]["value"] for one in tree["nodes"] if not one["ignored"]]


@pytest.fixture(params=[0, 1], ids=["pair", "flow"])
def still(foreign: Page, request: pytest.FixtureRequest) -> Locator:
    found = foreign.locator(".jp-Notebook .slangnb-still").nth(request.param)
    expect(found).to_be_visible()
    return found


def test_it_follows_the_theme(foreign: Page, still: Locator) -> None:
    assert still.page.locator("[data-slangnb-view], .jp-Notebook style").count() == 0  # so it was not trusted
    light, dark = still.locator("img").all()
    foreign.evaluate(THEME, "JupyterLab Light")
    assert paper_of(still) == WHITE
    expect(dark).to_be_hidden()
    foreign.evaluate(THEME, "JupyterLab Dark")
    try:
        assert paper_of(still) == DARK
        # One lies exactly over the other, and only one is told to those who hear it.
        assert light.bounding_box() == dark.bounding_box()
        assert spoken(still) == [light.get_attribute("alt")]
        # Printed, it is dark on white.
        foreign.emulate_media(media="print")
        expect(dark).to_be_hidden()
    finally:
        foreign.emulate_media(media="screen")
        foreign.evaluate(THEME, "JupyterLab Light")


def test_it_is_light_where_the_plugin_is_off(foreign: Page, still: Locator) -> None:
    foreign.evaluate(THEME, "JupyterLab Dark")
    foreign.evaluate(SWITCH, ["deactivatePlugin", "slangnb:theme"])
    try:
        assert paper_of(still) == WHITE
        expect(still.locator("img").nth(1)).to_be_hidden()
        foreign.evaluate(SWITCH, ["activatePlugin", "slangnb:theme"])
        assert paper_of(still) == DARK
    finally:
        foreign.evaluate(THEME, "JupyterLab Light")
