"""``no_diff`` does not take the gradient of what has one: the lint says so, and Slang does so."""

from __future__ import annotations

from typing import Any

import pytest

import slangnb as sn
from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

HELPERS = "[Differentiable] float g(float x) { return x * x; }\nfloat h(float x) { return x * x; }\n"
#: The body, what the lint says to write, and the derivative at 3.
FORMS = {
    "a call": ("return no_diff g(x) * x;", "write `detach(g(x))`", 27.0),
    "in brackets": ("return no_diff(g(x)) * x;", "write `detach(g(x))`", 27.0),
    "built in": ("return no_diff max(x, 2.0) * x;", "write `detach(max(x, 2.0))`", 6.0),
    "a variable": ("no_diff float y = g(x); return y * x;", "write `detach(...)` around what `y` is", 27.0),
    "detached": ("return detach(g(x)) * x;", "", 9.0),
    "without a derivative": ("return no_diff h(x) * x;", "", 9.0),
    "a step": ("return no_diff floor(x) * x;", "", 3.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_has_a_gradient_keeps_it(session: Any, form: str) -> None:
    body, remedy, slope = FORMS[form]
    text = f"{HELPERS}[Differentiable] float f(float x) {{ {body} }}"
    said = lint(Source(text))
    assert [d.remedy for d in said] == ([remedy] if remedy else [])
    assert all("`no_diff` does not stop the gradient of" in d.message and d.line == 3 for d in said)
    f = session.compile(text, warn=False).f
    session.take_warnings()
    assert sn.grad(f, "x")(3.0) == slope


def test_parameters_and_functions_without_derivatives_are_not_meant() -> None:
    text = HELPERS + "[Differentiable] float f(no_diff float x, float y) { return x * y; }\n"
    assert lint(Source(text + "float k(float x) { return no_diff g(x); }")) == ()


@pytest.mark.parametrize("call", ["sqrt(2.0)", "whole(3)", "sin(y)", "(sin(detach(x)))", "fixed(x)"])
def test_calls_without_a_gradient_are_not_meant(call: str) -> None:
    text = (
        "[Differentiable] float whole(int k) { return k; }\n"
        "[Differentiable] float fixed(no_diff float a) { return a; }\n"
        f"[Differentiable] float f(float x, no_diff float y) {{ return x * no_diff {call}; }}"
    )
    assert lint(Source(text)) == ()


def test_methods_are_meant() -> None:
    text = (
        "struct S { float k; [Differentiable] float m(float x) { return k * x; } };\n"
        "[Differentiable] float f(no_diff S s, float x) { return x * no_diff s.m(x); }"
    )
    assert [d.remedy for d in lint(Source(text))] == ["write `detach(s.m(x))`"]
