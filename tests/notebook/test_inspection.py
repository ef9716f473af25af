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


def test_it_says_how_python_calls_the_function(shell: Any) -> None:
    shell.run_cell(
        "%%slang\nstruct Ball { float r; };\n"
        "[Differentiable] float poly(no_diff float a, float3 v, out float w) { w = a; return a * v.x; }\n"
        "void keep(Ball b, int n, out float w) { w = b.r * n; }\n"
        "float over(float a) { return a; }\nfloat over(float a, float b) { return a; }"
    ).raise_error()
    assert (
        plain(described(shell, "poly", 0))
        .rstrip()
        .endswith(
            "In Python: poly(a=2.0, v=[2.0, 2.0, 2.0], w=array)\n"
            "With an array or a tensor for any argument it gives a tensor,\n"
            "or an array with _result='numpy'.\n"
            'Gradient: sn.grad(poly, wrt="v")(a=2.0, v=[2.0, 2.0, 2.0])'
        )
    )
    assert shell.user_ns["keep"].__doc__.endswith("From In[0].\n\nIn Python: keep(b={'r': ...}, n=2, w=array)")
    assert "In Python" not in shell.user_ns["over"].__doc__
    shell.run_cell("import numpy as np, slangnb as sn\narray = np.zeros(4, np.float32)").raise_error()
    for line in shell.user_ns["poly"].__doc__.splitlines():
        label, _, code = line.partition(": ")
        if label == "In Python":
            shell.run_cell(code).raise_error()
            assert shell.user_ns["array"].tolist() == [2.0] * 4
        if label == "Gradient":
            assert shell.run_cell(code).result.tolist() == [2.0, 0.0, 0.0]
