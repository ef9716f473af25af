"""Slang code in errors: coloured by our own lexer where IPython has colours, and the same text everywhere."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_colours_are_read_on_light_and_on_dark() -> None:
    def luminance(rgb: tuple[int, ...]) -> float:
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    def cube(code: int) -> tuple[int, ...]:
        if code >= 232:
            return (8 + 10 * (code - 232),) * 3
        return tuple((0, 95, 135, 175, 215, 255)[(code - 16) // k % 6] for k in (36, 6, 1))

    every = coloured("[Differentiable] float f(no_diff float x) { return 2.5f; } // half")
    # White, JupyterLab's dark paper, and what it puts behind errors in its light and its dark theme.
    papers = [(255, 255, 255), (17, 17, 17), (255, 221, 221), (81, 31, 27)]
    for code in set(re.findall(r"38;5;(\d+)m", every)):
        for paper in papers:
            light, dark = sorted((luminance(cube(int(code))), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3


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
