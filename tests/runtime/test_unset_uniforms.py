"""A uniform that a function reads and nobody set is 0: the call says so, once, and how to set it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.unset import unset_uniforms

TIME = "uniform float time;\nfloat sc(float x) { return x * time; }\nfloat two(float x) { return sc(x) + 1; }\n"


def test_the_first_call_says_it_and_what_is_said_is_so(session: Any) -> None:
    m = session.compile(TIME)
    told = r"two: time is a uniform and was not set: it is 0; write `two\.set\({'time': \.\.\.}\)\(x=\.\.\.\)`"
    with pytest.warns(UserWarning, match=told):
        assert m.two(x=1.0) == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert m.two(x=1.0) == 1.0 and m.sc(x=np.ones(3, np.float32), _result="numpy").tolist() == [0.0] * 3
        assert m.two.set({"time": 2.0})(x=1.0) == 3.0


@pytest.mark.parametrize("form", [lambda f: f.set(time=2.0), lambda f: f.set({"time": 2.0}), lambda f: f.set(_given)])
def test_what_is_set_in_any_form_is_not_warned_of(session: Any, form: Any) -> None:
    f = form(session.compile(TIME + f"// {form.__code__.co_names}{form.__code__.co_consts}").sc)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(x=3.0) == 6.0


def _given(_: Any) -> dict[str, float]:
    return {"time": 2.0}


def test_a_backward_call_and_several_uniforms(session: Any, ones: Any) -> None:
    f = session.compile("uniform float2 a; int b; [Differentiable] float f(float x) { return a.x + b + x; }").f
    x = sn.tensor([1.0], grad=True)
    y = ones(sn.tensor([1.0], grad=True))
    told = r"f: a and b are uniforms and were not set: .* `f\.set\({'a': \.\.\., 'b': \.\.\.}\)\.bwds\(x=\.\.\.\)`"
    with pytest.warns(UserWarning, match=told):
        f.bwds(x=x, _result=y)


def test_a_transform_takes_no_set(session: Any) -> None:
    f = session.compile("uniform float k, m; [Differentiable] float f(float x) { return k * m * x; }").f
    told = "f: k and m are uniforms and were not set: they are 0; grad takes no `.set`: make them parameters of f"
    with pytest.warns(UserWarning, match=told):
        assert sn.grad(f, "x")(2.0) == 0.0
    with pytest.raises(sn.GradientError, match=r"does not take a function changed by \.set"):
        sn.grad(f.set({"k": 2.0, "m": 1.0}), "x")(2.0)
    f = session.compile("[Differentiable] float f(float x, float k, float m) { return k * m * x; }").f
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.grad(f, "x")(2.0, 2.0, 3.0) == 6.0


def test_a_uniform_is_no_argument(session: Any) -> None:
    f = session.compile(TIME).sc
    with pytest.raises(sn.CallError, match="sc has no parameter 'time'") as caught:
        f(x=1.0, time=2.0)
    assert caught.value.remedy == "it is a uniform: write `sc.set({'time': 2.0})(x=...)`"
    assert f.set({"time": 2.0})(x=1.0) == 2.0


@pytest.mark.parametrize(
    "text",
    [
        "uniform float t; float f(float x) { return x; }",
        "uniform float t; float f(float t) { return t; }",
        "uniform float t; float f(float x) { float t = x; return t; }",
        "uniform float t; struct S { float t; }; float f(S s) { return s.t; }",
        "uniform float t; struct S { float t; float g() { return t; } }; float f(S s) { return s.g(); }",
        "uniform float t; float g() { return t; } float f(float x) { return x; }",
        "uniform float t; struct S { float a; float g() { return t; } }; float f(S s) { return s.a; }",
        "static float t; float f(float x) { return t; }",
        "static const float t = 1; float f(float x) { return t; }",
        "extern static const int t; float f(float x) { return t; }",
        "[SpecializationConstant] const int t = 1; float f(float x) { return t; }",
        "float t = 2; float f(float x) { return t; }",
        "uniform float t; float f(float x) { return x; /* t */ }",
        "Texture2D<float> t; float f(int3 x) { return t.Load(x); }",
    ],
)
def test_what_reads_no_uniform_or_is_not_sure_is_not_meant(text: str) -> None:
    assert unset_uniforms("f", [text], ()) == []


@pytest.mark.parametrize("body", ["return t;", "if (x > t) return 1; return 0;", "float y = sin(t); return y;"])
def test_what_reads_one_is_meant(body: str) -> None:
    assert unset_uniforms("f", [f"uniform float t; float f(float x) {{ {body} }}"], ()) == ["t"]
