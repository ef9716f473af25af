"""``f?`` and ``f??``: what they say, and in which colours."""

from __future__ import annotations

from typing import Any

import pytest

from slangnb.compiler.messages import plain
from slangnb.notebook.inspection import highlighted

SOURCE = "\n[Differentiable]\nfloat f(no_diff float x)  // scaled\n{\n\treturn x * 2.0;\n}\n\n"


@pytest.mark.parametrize("colours", ["neutral", "linux", "lightbg", "LightBG"])
def test_only_colours_are_added(colours: str) -> None:
    shown = highlighted(SOURCE, colours)
    assert plain(shown) == SOURCE
    for word in ("Differentiable", "float", "no_diff", "// scaled", "2.0"):
        before, _, after = shown.partition(word)
        assert before.endswith("m") and after.startswith("\x1b["), word


def test_without_colours() -> None:
    assert highlighted(SOURCE, "nocolor") == highlighted(SOURCE, "NoColor") == SOURCE


def described(shell: Any, name: str, level: int) -> str:
    return shell.object_inspect_mime(name, detail_level=level)["text/plain"]


def test_source_follows_the_shells_colours(shell: Any) -> None:
    shell.run_cell("%%slang\n" + SOURCE).raise_error()
    assert "return" not in described(shell, "f", 0)
    shell.colors = "linux"
    coloured = described(shell, "f", 1)
    assert "mreturn\x1b[" in coloured
    assert "return x * 2.0;" in plain(coloured)
    shell.colors = "nocolor"
    assert "\treturn x * 2.0;" in described(shell, "f", 1)


def test_other_objects_are_left_to_ipython(shell: Any) -> None:
    shell.run_cell("def g():\n    'Says nothing.'\n").raise_error()
    assert "Says nothing." in described(shell, "g", 0)
