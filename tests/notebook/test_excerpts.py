"""Slang code in errors: coloured by our own lexer where IPython has colours, and the same text everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slangnb
from slangnb.errors import CompileError, Diagnostic, SlangNbError
from slangnb.notebook import display
from slangnb.notebook.excerpts import coloured

LINE = "\treturn x * 2.5f + yy; // twice"
ERROR = CompileError([Diagnostic("error", "E30015", "undefined identifier 'yy'.", "In[3]", 4, 20, 2, LINE)])
CODES = re.compile(r"\x1b\[[0-9;]*m")


def shown(error: SlangNbError) -> str:
    return "\n".join(error._render_traceback_())


@pytest.fixture
def painted(shell: Any) -> Any:
    """A shell with colours."""
    shell.colors = "linux"
    return shell


@given(st.text(max_size=60))
def test_only_colours_are_added(line: str) -> None:
    if "\x1b" not in line:
        assert CODES.sub("", coloured(line)) == line


def test_each_kind_of_word_has_its_colour() -> None:
    found = coloured("[Differentiable] float f(no_diff float x) { return 2.5f; } // half")
    for word, code in (
        ("Differentiable", "38;5;133"),
        ("float", "38;5;31"),
        ("no_diff", "1"),
        ("return", "1"),
        ("2.5f", "38;5;64"),
        ("// half", "38;5;244"),
    ):
        assert f"\x1b[{code}m{word}\x1b[0m" in found
    assert "\x1b" not in coloured("x + yy")


# White and JupyterLab's dark paper, and what it puts behind errors in its light and its dark theme.
LIGHT, DARK = [(255, 255, 255), (255, 221, 221)], [(17, 17, 17), (81, 31, 27)]


def luminance(rgb: tuple[int, ...]) -> float:
    parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def cube(code: int) -> tuple[int, ...]:
    if code >= 232:
        return (8 + 10 * (code - 232),) * 3
    return tuple((0, 95, 135, 175, 215, 255)[(code - 16) // k % 6] for k in (36, 6, 1))


def colours() -> set[tuple[int, ...]]:
    every = coloured("[Differentiable] float f(no_diff float x) { return 2.5f; } // half")
    return {cube(int(code)) for code in re.findall(r"38;5;(\d+)m", every)}


def test_colours_are_seen_on_light_and_on_dark() -> None:
    for colour in colours():
        assert min(contrast(colour, paper) for paper in LIGHT + DARK) >= 3


def test_no_colour_is_read_on_both_reds() -> None:
    # Between two papers, the best has the geometric mean of their luminances.
    assert contrast(LIGHT[1], DARK[1]) ** 0.5 < 3.3


def test_the_lab_extension_has_a_shade_of_each_for_each_theme() -> None:
    script = (Path(slangnb.__file__).parent / "labextension/static/theme.js").read_text("utf-8")
    found = re.findall(r"\['([\d,]+)', '#(\w{6})', '#(\w{6})'\]", script)
    assert {tuple(map(int, rgb.split(","))) for rgb, _, _ in found} == colours()
    for _, *shades in found:
        for shade, papers in zip(shades, (LIGHT, DARK), strict=True):
            assert min(contrast(tuple(bytes.fromhex(shade)), paper) for paper in papers) >= 4.5


def test_an_error_in_a_cell_is_coloured(painted: Any) -> None:
    found = shown(ERROR)
    assert "\x1b[1mreturn\x1b[0m" in found
    # Line numbers and carets stay as they are, and so does the text.
    assert CODES.sub("", found) == ERROR.render(colour=False)
    assert "  4 \x1b[2m|\x1b[0m     \x1b[1mreturn" in found and "\x1b[31m^^\x1b[0m" in found
    assert "\x1b" not in str(ERROR)


def test_no_colours_where_ipython_has_none(painted: Any) -> None:
    painted.colors = "nocolor"
    assert shown(ERROR) == ERROR.render(colour=False)
    assert "\x1b" not in shown(SlangNbError("wrong", remedy="right"))


def test_code_stays_plain_once_slangnb_is_unloaded(painted: Any) -> None:
    display.unregister(painted)
    assert "\x1b[1mreturn" not in shown(ERROR)
    assert "\x1b[31merror" in shown(ERROR)


def test_notes_are_coloured_too(painted: Any) -> None:
    note = Diagnostic("note", "", "see here", "In[2]", 1, 1, 5, "float g();")
    error = CompileError([Diagnostic("error", "", "wrong", "In[3]", 1, 1, 1, "int i;", (note,))])
    assert "\x1b[38;5;31mfloat\x1b[0m" in shown(error)


def test_outside_of_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert shown(ERROR) == ERROR.render(colour=True)
