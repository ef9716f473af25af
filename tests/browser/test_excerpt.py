"""Code in an error message, as it is seen in JupyterLab's light and dark themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import OpenNotebook
from lab import Notebook

WRONG = """%%slang
[Differentiable] float f(float x) { return yy * 2.5f; } // half"""
THEME = """name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })
  .then(() => new Promise(done => setTimeout(done, 500)))"""
SWITCH = "([what, id]) => window.jupyterapp[what](id).then(() => null)"
# Of each coloured word: the word, and its contrast against all that lies behind it.
CONTRAST = """error => {
  const parts = colour => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const light = rgb => rgb.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = [];
  for (let e = error; e; e = e.parentElement) behind.unshift(parts(getComputedStyle(e).backgroundColor));
  const paper = behind.reduce((below, [r, g, b, a = 1]) => [r, g, b].map((c, i) => a * c + (1 - a) * below[i]),
    [255, 255, 255]);
  return [...error.querySelectorAll('span[style*=rgb]')].map(span => {
    const [one, other] = [light(parts(getComputedStyle(span).color)), light(paper)];
    return [span.textContent, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)];
  });
}"""


@pytest.fixture(scope="module")
def opened(open_notebook: OpenNotebook) -> Iterator[Notebook]:
    made = open_notebook(["%load_ext slangnb", WRONG])
    assert not made.run_all()
    yield made
    made.page.evaluate(THEME, "JupyterLab Light")
    made.end()


def contrasts(opened: Notebook) -> dict[str, float]:
    return dict(opened.cell(1).locator(".jp-OutputArea-output").last.evaluate(CONTRAST))


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_every_word_is_read(opened: Notebook, theme: str) -> None:
    opened.page.evaluate(THEME, theme)
    found = contrasts(opened)
    # Newer ones look for paths in errors, and cut the comment.
    assert {"float", "Differentiable", "2.5f"} <= set(found) and any("half" in word for word in found)
    assert min(found.values()) >= 4.5, found
    opened.page.evaluate(SWITCH, ["deactivatePlugin", "slangnb:theme"])
    try:
        assert 3 <= min(contrasts(opened).values()) < 4.5
    finally:
        opened.page.evaluate(SWITCH, ["activatePlugin", "slangnb:theme"])
    assert contrasts(opened) == found
