"""Transforms used in the wrong way say how to write it; what they make has a repr without an address."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.kernelcode import kernel_code

SOURCE = """
struct Plain { float a; };
[Differentiable] float scale(float a, float x) { return a * x * x; }
[Differentiable] float still(float x, float y) { return 0.0 * x + y * y; }
[Differentiable] float count(no_diff float x) { return x; }
[Differentiable] int rounded(float x) { return int(x); }
[Differentiable] float counted(float x, int n) { return n * x; }
float plain(float x) { return x; }
float over(float a) { return a; }
float over(float a, float b) { return a + b; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


ONES = np.ones(3, np.float32)
HOW_JVP_COUNTED = "sn.jvp(counted, dict(x=..., n=...), dict(x=...))"
HOW_JVP = "sn.jvp(scale, dict(a=..., x=...), dict(x=...))"
CELL = "write it in a %%slang cell: [Differentiable] float f(float x) { return x * x; }"
NAME_X = 'name the argument, and give the values after it: sn.{}(scale, wrt="{}")({})'
TAKES = "grad takes a function of a Slang module, not"


@pytest.mark.parametrize(
    ("call", "message", "remedy"),
    [
        (lambda m: sn.jvp(m.scale, (1.0,), (1.0,)), "jvp takes the arguments as a dict by name", HOW_JVP),  # pyright: ignore[reportArgumentType]
        (lambda m: sn.jvp(m.counted, (1.0,), (1.0,)), "jvp takes the arguments as a dict by name", HOW_JVP_COUNTED),  # pyright: ignore[reportArgumentType]
        (lambda m: sn.jvp(m.scale, {"a": 1.0, "x": 1.0}, 1.0), "jvp takes the tangents as a dict by name", HOW_JVP),  # pyright: ignore[reportArgumentType]
        (lambda m: sn.grad(lambda x: x * x), f"{TAKES} a Python function", CELL),  # pyright: ignore[reportArgumentType]
        (lambda m: sn.grad(np.sin), f"{TAKES} a Python function", CELL),  # pyright: ignore[reportArgumentType]
        (
            lambda m: sn.grad(sn.grad(m.scale)),  # pyright: ignore[reportArgumentType]
            f"{TAKES} another transform",
            "for second derivatives use sn.hvp(f, wrt=...)",
        ),
        (lambda m: sn.grad(3), f"{TAKES} an int", "sn.grad(f) takes the name that a %%slang cell defines"),  # pyright: ignore[reportArgumentType]
        (
            lambda m: sn.grad(m.scale)(1.0, 2.0, _result="numpy"),
            "grad takes no _result",
            "leave it out; what comes back is of the kind that came in",
        ),
        (
            lambda m: sn.grad(m.scale, "a", "x"),
            "grad: reduce must be 'sum' or 'mean', not 'x'",
            "write reduce='mean', or leave it out for the sum; several names go into one wrt=('a', 'x')",
        ),
        (
            lambda m: sn.grad(m.scale, np.zeros(2)),  # pyright: ignore[reportArgumentType]
            "grad: wrt takes names of arguments, not a numpy array",
            NAME_X.format("grad", "x", "a=..., x=..."),
        ),
        (
            lambda m: sn.value_and_grad(m.scale, sn.tensor(np.zeros(2, np.float32))),  # pyright: ignore[reportArgumentType]
            "value_and_grad: wrt takes names of arguments, not a Tensor",
            NAME_X.format("value_and_grad", "x", "a=..., x=..."),
        ),
        (
            lambda m: sn.grad(m.scale, wrt=0),  # pyright: ignore[reportArgumentType]
            "grad: wrt takes names of arguments, not an int",
            NAME_X.format("grad", "a", "a=..., x=..."),
        ),
        (
            lambda m: sn.hvp(m.scale, wrt=[3]),  # pyright: ignore[reportArgumentType]
            "hvp: wrt takes names of arguments, not an int",
            NAME_X.format("hvp", "x", "a=..., x=..., v=..."),
        ),
        (
            lambda m: sn.grad(m.scale, wrt=("x", 0)),  # pyright: ignore[reportArgumentType]
            "grad: wrt takes names of arguments, not an int",
            NAME_X.format("grad", "a", "a=..., x=..."),
        ),
        (
            lambda m: sn.grad(m.scale, wrt="a, x")(2.0, ONES),
            "scale has no parameter 'a, x'",
            "write wrt=('a', 'x')",
        ),
        (
            lambda m: sn.grad(m.scale, wrt=()),
            "grad: wrt is empty, so nothing is differentiated",
            NAME_X.format("grad", "x", "a=..., x=..."),
        ),
        (
            lambda m: sn.jvp(m.scale, {"a": 2.0, "x": ONES}, {"x": np.ones(3)}),
            "scale: the tangent of 'x' is an array of float64, but the parameter is float",
            "cast it: tangent.astype(np.float32)",
        ),
        (
            lambda m: sn.jvp(m.scale, {"a": 2.0, "x": ONES}, {"a": "1"}),
            "scale: jvp does not take this call: the tangent of 'a' is a str",
            "",
        ),
        (
            lambda m: sn.jvp(m.scale, {"a": 2.0, "x": np.ones(3)}, {"x": ONES}),
            "scale: 'x' is an array of float64, but the parameter is float",
            "cast it: x.astype(np.float32)",
        ),
        (
            lambda m: sn.jvp(m.scale, {"a": 2.0, "x": ONES}, {"y": ONES}),
            "scale has no parameter 'y'",
            "the tangents may name a, x",
        ),
        (
            lambda m: sn.vjp(m.scale, 2.0, ONES)[1](np.ones(3)),
            "scale: the seed is an array of float64, but the parameter is float",
            "cast it: seed.astype(np.float32)",
        ),
        (
            lambda m: sn.hvp(m.scale, wrt="x")(2.0, ONES, v=np.ones(3)),
            "scale: v is an array of float64, but the parameter is float",
            "cast it: v.astype(np.float32)",
        ),
        (
            lambda m: sn.hvp(m.scale)(2.0, ONES, v={"a": 1.0, "x": "a"}),
            "scale: hvp does not take this call: v['x'] is a str",
            "",
        ),
        (
            lambda m: sn.hvp(m.scale, wrt="x")(2.0, np.ones(3), v=ONES),
            "scale: 'x' is an array of float64, but the parameter is float",
            "cast it: x.astype(np.float32)",
        ),
        (
            lambda m: sn.grad(m.scale, 2.0, 8.0, 1.0),  # pyright: ignore[reportCallIssue]
            "grad: too many positional arguments",
            NAME_X.format("grad", "x", "a=..., x=..."),
        ),
        (
            lambda m: sn.grad(m.scale, argnums=0),  # pyright: ignore[reportCallIssue]
            "grad: got an unexpected keyword argument 'argnums'",
            NAME_X.format("grad", "a", "a=..., x=..."),
        ),
        (
            lambda m: sn.grad(m.count)(1.0),
            "count: there is no argument to take a gradient of",
            "declare a parameter float (and not no_diff), or its struct as `struct ... : IDifferentiable`",
        ),
        (
            lambda m: sn.grad(m.rounded)(1.0),
            "rounded returns int, which has no derivative",
            "return a float type, or write it to an out parameter or a WDiffTensor",
        ),
        (
            lambda m: sn.Parameter([1, 2], dtype="float3"),
            "a value of shape (2,) does not fit float3",
            "give it 3 numbers, or write dtype='float'",
        ),
        (
            lambda m: sn.tensor(None),
            "a tensor holds numbers, not None",
            "pass numbers, lists of numbers, or an array",
        ),
        (
            lambda m: sn.tensor(["a", 1]),
            "a tensor holds numbers, not a list with a str in it",
            "pass numbers, lists of numbers, or an array",
        ),
        (
            lambda m: sn.tensor({"a": 1.0}),
            "a tensor holds numbers, not a dict",
            "make one of each value; a function takes the dict itself for a struct",
        ),
        (lambda m: sn.tensor(m.scale), "a tensor holds numbers, not a Function", "call it first: sn.tensor(f(...))"),
        (
            lambda m: sn.tensor(x for x in (1, 2)),
            "a tensor holds numbers, not a generator",
            "write sn.tensor(list(...))",
        ),
        (
            lambda m: sn.tensor([True, False]),
            "SlangPy 0.43 has no tensors of bool",
            "pass the numpy array itself to a bool parameter; for a tensor of int np.asarray(data, np.int32)",
        ),
        (
            lambda m: sn.tensor([1, 2], dtype="float3"),
            "data of shape (2,) does not fit float3: its last dimension must be 3",
            "give each 3 numbers, as data.reshape(-1, 3) does, or write dtype='float'",
        ),
    ],
)
def test_wrong_uses(m: Any, call: Any, message: str, remedy: str) -> None:
    with pytest.raises(sn.CallError) as caught:
        call(m)
    assert (caught.value.message, caught.value.remedy) == (message, remedy)


def test_code_of_overloads(m: Any) -> None:
    with pytest.raises(sn.CallError) as caught:
        kernel_code(m.over)
    assert caught.value.remedy == "write a function that calls over with the types you mean, and ask for its code"


def test_code_of_a_backward_pass_that_is_not_there(m: Any) -> None:
    with pytest.raises(sn.GradientError, match="plain is not differentiable, so it has no backward pass") as caught:
        kernel_code(m.plain, backward=True)
    assert caught.value.remedy == "write [Differentiable] above plain and run its cell"
    assert "plain" in kernel_code(m.plain)


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for the compiler")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "slangc made no glsl code: {fake} ended with status 3, and said nothing"),
        ("echo 'no such thing: é' >&2; exit 1", "slangc made no glsl code: no such thing: é"),
    ],
)
def test_code_by_a_compiler_that_fails(
    m: Any, script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "slangc"
    fake.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setattr("slangnb.runtime.kernelcode.find_slangc", lambda: str(fake))
    with pytest.raises(sn.CallError) as caught:
        kernel_code(m.plain, "glsl")
    assert caught.value.message == said.format(fake=fake)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("backward", "; the backward pass is scale.bwds(..., _result=y)"),
        ("fwds", "; forward mode is sn.jvp(scale, ...)"),
        ("forward", "; call scale(...) itself; forward mode is sn.jvp(scale, ...)"),
        ("grad", "; write sn.grad(scale)(...)"),
        ("retrun_type", "; did you mean 'return_type'?"),
        ("nonsense", ""),
    ],
)
def test_attributes_that_there_are_not(m: Any, name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(m.scale, name)
    assert str(caught.value) == f"the slang function scale has no attribute {name!r}{hint}"
    assert m.scale.append_to  # SlangPy's own are there


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gradchek", "; did you mean 'gradcheck'?"),
        ("Tensor", "; did you mean 'tensor'?"),
        ("history", "; write sn.show(x, history=True)"),
        ("live", "; write sn.show(x, live=True)"),
        ("compile", "; write a %%slang cell, or sn.session().compile(source)"),
        ("zeros", "; write sn.tensor(np.zeros(...))"),
        ("plot", "; write sn.show(x)"),
        ("minimize", "; write sn.optimize(loss, params={'a': 2.0}, data={'x': x})"),
        ("landscap", "; did you mean 'landscape'?"),
        ("jit", "; none is needed: a %%slang cell is compiled"),
        ("nonsense", ""),
    ],
)
def test_names_that_there_are_not(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(sn, name)
    assert str(caught.value) == f"module 'slangnb' has no attribute {name!r}{hint}"


def test_what_completion_offers(m: Any) -> None:
    offered = dir(m.scale)
    assert {"bwds", "map", "return_type"} <= set(offered)
    assert all(hasattr(m.scale, name) for name in offered)
    assert not {"target", "steps", "info"} & set(offered)  # ours
    assert dir(sn.grad(m.scale)) == []


def test_reprs_without_addresses(m: Any) -> None:
    assert repr(sn.grad(m.scale)) == "<slang grad of scale>"
    assert repr(sn.value_and_grad(m.scale, ("a", "x"))) == "<slang value_and_grad of scale with respect to a, x>"
    assert repr(sn.hvp(m.scale, "x")) == "<slang hvp of scale with respect to x>"
    _, pull = sn.vjp(m.scale, 1.0, 2.0)
    assert repr(pull) == "<slang pull of scale>" and pull() == {"a": 4.0, "x": 4.0}
    assert pull.__doc__ and "gradients of the arguments" in pull.__doc__


def test_gradcheck_says_what_changes_nothing(m: Any) -> None:
    report = sn.gradcheck(m.still, x=[1.0, 2.0], y=3.0)
    lines = str(report).splitlines()
    assert lines[1] == "  x: right, 2 of 2 entries checked; the function does not change with it"
    assert lines[2] == "  y: right, 1 of 1 entries checked"
    assert report.verdicts["x"].still and not report.verdicts["y"].still
