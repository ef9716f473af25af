"""Slang in JupyterLab's editors: colours, comments, brackets, and what happens when the highlighting fails."""

from __future__ import annotations

import filecmp
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import OpenNotebook
from lab import Lab, Notebook, open_lab, until
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route, expect

import slangnb

SOURCE = Path(slangnb.__file__).parent / "labextension"
INSTALLED = Path(sys.prefix) / "share/jupyter/labextensions/slangnb"
PLUGIN = "slangnb:highlight"

SLANG = """%%slang net -b vulkan
// Not a "string".
import slangpy;
#define RATE 0.5
[Differentiable]
public float[N] scaled<let N : int>(IDiffTensor<float, 2> w, no_diff float x[N])
{
    Array<Array<float, 3>, 4> a;  /* over
    two lines */
    return w[0, 1] * bwd_diff(square)(this.p, true) + "text";
}"""
PYTHON = """import numpy as np
def float3(x):  # struct
    return np.float32(x) + this"""
MARKDOWN = """A fence:

```slang
[Differentiable] float f(no_diff float x) { return x; }  // note
```
"""

#: Words of the cell above, and the variables of Lab's theme that colour them.
COLOURS = {
    "%%slang": "meta",
    "-b": "attribute",
    '// Not a "string".': "comment",
    "import": "keyword",
    "#define": "meta",
    "0.5": "number",
    "Differentiable": "attribute",
    "public": "keyword",
    "float": "builtin",
    "scaled": "def",
    "let": "keyword",
    "IDiffTensor": "builtin",
    "no_diff": "keyword",
    "    two lines */": "comment",
    "bwd_diff": "keyword",
    "true": "atom",
    '"text"': "string",
}

# The words that are coloured: text, class, colour.
_SPANS = """node => [...node.querySelectorAll('.cm-line span, pre span')].map(
  s => [s.textContent, s.className, getComputedStyle(s).color])"""
# The colour that a variable of the theme stands for.
_COLOUR = """variable => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(--jp-mirror-editor-${variable}-color)`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}"""
_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme }).then(() => null)"
_SWITCH = "([what, id]) => window.jupyterapp[what](id).then(() => null)"
_OPEN_FILE = """path => window.jupyterapp.commands.execute('docmanager:open', { path })
  .then(widget => widget.context.ready.then(() => [widget.id, widget.content.model.mimeType]))"""
_CLOSE_FILE = """id => [...window.jupyterapp.shell.widgets('main')].find(w => w.id === id).dispose()"""


def highlighted(node: Locator) -> dict[str, tuple[str, str]]:
    """Give class and colour of each coloured word; of the first, where a word stands twice."""
    found: dict[str, tuple[str, str]] = {}
    for text, name, colour in node.evaluate(_SPANS):
        found.setdefault(text, (name, colour))
    return found


def colour(page: Page, variable: str) -> str:
    return page.evaluate(_COLOUR, variable)


def choose_theme(page: Page, theme: str) -> None:
    """Change the theme, and wait until Lab has taken its splash away: it stumbles over a second one."""
    page.evaluate(_THEME, theme)
    light = "false" if "Dark" in theme else "true"
    expect(page.locator(f"body[data-jp-theme-light={light}]")).to_be_attached()
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)


def wait_for_word(cell: Locator, word: str, there: bool = True) -> None:
    """Wait until an editor has coloured a word, or has stopped to."""
    until(lambda: (word in highlighted(cell)) is there, f"{word!r} coloured: {there}", 10)


def write(path: Path) -> Path:
    cells = [new_code_cell(SLANG), new_code_cell(PYTHON), new_markdown_cell(MARKDOWN), new_code_cell("x = 1")]
    made = new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)
    return path


@pytest.fixture(scope="module")
def opened(open_notebook: OpenNotebook, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """A notebook with a Slang cell, a Python cell, a Markdown cell and a cell to type in."""
    one = open_notebook(write(tmp_path_factory.mktemp("highlight") / "highlight.ipynb"))
    wait_for_word(one.cell(0), "%%slang")
    wait_for_word(one.cell(1), "def")
    yield one
    one.end()


@pytest.fixture(autouse=True)
def no_complaints(page: Page) -> Iterator[None]:
    """No test leaves an error in the browser's console."""
    said: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" or (message.type == "warning" and "slangnb" in message.text):
            said.append(message.text)

    def hear_error(error: Any) -> None:
        said.append(f"{error}\n{error.stack}")

    page.on("console", hear)
    page.on("pageerror", hear_error)
    yield
    page.remove_listener("console", hear)
    page.remove_listener("pageerror", hear_error)
    assert [text for text in said if not text.startswith("Failed to load resource")] == []


@pytest.fixture
def typed(opened: Notebook) -> Iterator[Locator]:
    """The editor of the last cell, empty and with the cursor in it."""
    cell = opened.cell(3)
    cell.locator(".cm-content").click()
    opened.page.keyboard.press("Control+a")
    opened.page.keyboard.press("Delete")
    yield cell
    opened.page.keyboard.press("Escape")


def test_installed_files_are_those_of_the_source() -> None:
    compared = filecmp.dircmp(SOURCE, INSTALLED)
    same = [compared, *compared.subdirs.values()]
    stale = [name for one in same for name in (*one.left_only, *one.diff_files)]
    assert stale == [], "install slangnb again: `pip install -e .` copies the extension, it does not link it"


def test_lab_lists_the_extension() -> None:
    command = [sys.executable, "-m", "jupyter", "labextension", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in (done.stdout + done.stderr).splitlines() if " slangnb v" in line)
    assert "enabled" in line and "OK" in line, line


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_slang_cell_has_the_themes_colours(opened: Notebook, page: Page, theme: str) -> None:
    choose_theme(page, theme)
    try:
        keyword = colour(page, "keyword")
        until(lambda: highlighted(opened.cell(1))["def"][1] == keyword, f"the colours of {theme}")
        shown = highlighted(opened.cell(0))
        assert {word: shown[word][1] for word in COLOURS} == {word: colour(page, v) for word, v in COLOURS.items()}
        assert len({colour(page, v) for v in ("keyword", "comment", "string", "def", "meta")}) == 5
        assert shown["no_diff"][0] == highlighted(opened.cell(1))["def"][0]  # the class that Python's keywords have
        assert shown["Differentiable"][0] != shown["no_diff"][0]
        assert not {"N", "x", "w", "a", "square", "RATE"} & set(shown)
    finally:
        choose_theme(page, "JupyterLab Light")


def test_switched_off_and_on_again(opened: Notebook, page: Page) -> None:
    slang, python = highlighted(opened.cell(0)), highlighted(opened.cell(1))
    assert {"import", "def", "return"} <= set(python) and "this" not in python
    page.evaluate(_SWITCH, ["deactivatePlugin", PLUGIN])
    try:
        wait_for_word(opened.cell(0), "%%slang", False)
        assert "no_diff" not in highlighted(opened.cell(0))
        assert highlighted(opened.cell(1)) == python  # so it has been Lab's own all the time
    finally:
        page.evaluate(_SWITCH, ["activatePlugin", PLUGIN])
    wait_for_word(opened.cell(0), "%%slang")
    assert highlighted(opened.cell(0)) == slang


def test_typing_highlights_again(typed: Locator, page: Page) -> None:
    page.keyboard.type("no_diff float y")
    wait_for_word(typed, "no_diff", False)
    page.keyboard.press("Home")
    page.keyboard.type("%%slang")
    page.keyboard.press("Enter")
    wait_for_word(typed, "no_diff")
    keyword = highlighted(typed)["no_diff"]
    assert keyword[1] == colour(page, "keyword")
    page.keyboard.type("/* ")
    wait_for_word(typed, "/* no_diff float y")
    page.keyboard.type("*/ ")
    wait_for_word(typed, "no_diff")
    page.keyboard.press("Control+End")
    page.keyboard.type("; struct")
    wait_for_word(typed, "struct")
    assert highlighted(typed)["struct"] == keyword
    page.keyboard.press("Control+Home")
    page.keyboard.press("Delete")  # `%slang` is no cell magic
    wait_for_word(typed, "struct", False)
    page.keyboard.type("%")
    wait_for_word(typed, "struct")


def test_blank_lines_before_the_magic(typed: Locator, page: Page) -> None:
    page.keyboard.insert_text("\n\n  %%slang -q\n  struct A {};")  # IPython takes this as a Slang cell, too
    wait_for_word(typed, "struct")
    assert highlighted(typed)["%%slang"][1] == colour(page, "meta")


def text_of(editor: Locator) -> str:
    return editor.locator(".cm-content").inner_text()


def test_comments_are_toggled(typed: Locator, page: Page) -> None:
    page.keyboard.insert_text("%%slang\nfloat y;")
    page.keyboard.press("Control+/")
    until(lambda: text_of(typed) == "%%slang\n// float y;", "a Slang comment")
    page.keyboard.press("Control+/")
    until(lambda: text_of(typed) == "%%slang\nfloat y;", "no comment")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("y = 1")
    page.keyboard.press("Control+/")
    until(lambda: text_of(typed) == "# y = 1", "a Python comment")


def test_brackets_are_matched(typed: Locator, page: Page) -> None:
    page.keyboard.insert_text("%%slang\nfloat f() { return g(1); /* } */ }")
    marked = typed.locator(".cm-matchingBracket")
    expect(marked).to_have_text(["{", "}"])
    first, last = (marked.nth(i).bounding_box() for i in range(2))
    assert first and last and last["x"] - first["x"] > 100  # the brace in the comment is none


def test_a_new_line_is_indented(typed: Locator, page: Page) -> None:
    page.keyboard.insert_text("%%slang\nfloat f()\n{")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("return 1;")
    assert text_of(typed).splitlines()[-1] == "    return 1;"


def test_fence_in_markdown(opened: Notebook, page: Page) -> None:
    rendered = opened.cell(2).locator(".jp-RenderedMarkdown")
    wait_for_word(rendered, "no_diff")
    shown = highlighted(rendered)
    assert shown["no_diff"][1] == shown["return"][1] == colour(page, "keyword")
    assert shown["// note"][1] == colour(page, "comment")
    rendered.dblclick()
    editor = opened.cell(2).locator(".jp-Editor")
    wait_for_word(editor, "no_diff")
    assert highlighted(editor)["no_diff"][1] == colour(page, "keyword")


def test_slang_file(lab: Lab, page: Page) -> None:
    (lab.root / "net.slang").write_text(SLANG.partition("\n")[2], "utf-8")
    panel, mime = page.evaluate(_OPEN_FILE, "net.slang")
    try:
        assert mime == "text/x-slang"
        editor = page.locator(f"#{panel} .jp-FileEditor")
        wait_for_word(editor, "no_diff")
        assert highlighted(editor)["no_diff"][1] == colour(page, "keyword")
        editor.locator(".cm-line").first.click()
        page.keyboard.press("Control+/")
        until(lambda: text_of(editor).startswith('Not a "string".'), "the comment is taken off")
        page.keyboard.press("Control+z")
    finally:
        page.evaluate(_CLOSE_FILE, panel)


def test_a_host_that_shares_nothing_has_no_highlighting(page: Page) -> None:
    # Voila is such a host. The page has its plugins already; what follows makes no others.
    asked = """async () => {
      const container = window._JUPYTERLAB.slangnb;
      container.init({});
      return (await container.get('./extension'))().default.map(plugin => plugin.id);
    }"""
    assert page.evaluate(asked.replace("container.init({});", "")) == [PLUGIN, "slangnb:theme"]
    assert page.evaluate(asked) == ["slangnb:theme"]


FAULTS = {
    "tokenizer.js": lambda text: text.replace(
        "function name(", "function name() { throw new Error('at fault'); }\nfunction _("
    ),
    "words.js": lambda text: text.replace("export const KEYWORDS", "export const NOTHING"),
    "plugin.js": lambda text: "this is no JavaScript",
}


@pytest.mark.parametrize("file", FAULTS)
def test_a_fault_leaves_the_notebook_as_it_is(lab: Lab, browser: Browser, tmp_path: Path, file: str) -> None:
    page = browser.new_page(viewport={"width": 1120, "height": 1000})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))

    def spoil(route: Route) -> None:
        spoilt = FAULTS[file]((SOURCE / "static" / file).read_text("utf-8"))
        route.fulfill(body=spoilt, content_type="text/javascript")

    page.route(f"**/extensions/slangnb/static/{file}", spoil)
    try:
        open_lab(page, lab)
        path = write(lab.root / f"fault-{file}.ipynb")
        one = Notebook(page, lab, path.name)
        try:
            assert SLANG in text_of(one.cell(0)).replace("\xa0", " ")
            wait_for_word(one.cell(1), "def")
            assert "no_diff" not in highlighted(one.cell(0))
            if file == "tokenizer.js":  # what went well before is still coloured
                assert "%%slang" in highlighted(one.cell(0))
            one.cell(0).locator(".cm-content").click()
            page.keyboard.press("Control+End")
            page.keyboard.type(" // typed")
            until(lambda: text_of(one.cell(0)).endswith("// typed"), "typing works")
        finally:
            one.end()
        assert faults == []
    finally:
        page.close()
