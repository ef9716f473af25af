"""What a beginner gets wrong in a call is answered in our words, with what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import slangnb as sn

SOURCE = """
import "slangpy";
struct Ball { float r; };
[Differentiable] float poly(float a, float b, float c, float x) { return a * x * x + b * x + c; }
float pick(int i, Tensor<float, 1> t) { return t[i]; }
[Differentiable] float pull(int i, IDiffTensor<float, 1> t) { return t[i]; }
float first(int i, Tensor<float2, 1> t) { return t[i].x; }
float two(int2 i, Tensor<float, 1> t) { return t[i.x] + t[i.y]; }
float volume(Ball b) { return b.r; }
float over(float a) { return a; }
float over(float a, float b) { return a + b; }
"""
TAKES = "poly takes 4 arguments, 5 were given"
NUMBER = "pass a number, or for many a list, an array or a tensor"
AS_FLOAT = "cast it: t = sn.tensor(t, dtype='float')"


DECLARED = "declare the parameter as float"
FLAGS = "int whole(int n) { return n; } int chosen(bool on) { return int(on); }"


@pytest.mark.parametrize(
    ("call", "message", "remedy"),
    [
        (lambda m: m.whole(1.5), "whole: 'n' is a float (1.5), but the parameter is int", f"pass 2, or {DECLARED}"),
        (lambda m: m.whole(3.0), "whole: 'n' is a float (3.0), but the parameter is int", "pass 3"),
        (lambda m: m.chosen(1.5), "chosen: 'on' is a float (1.5), but the parameter is bool", "pass True or False"),
    ],
)
def test_a_float_for_a_whole_number(session: Any, call: Any, message: str, remedy: str) -> None:
    check(session.compile(FLAGS), call, message, remedy)


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def t() -> Any:
    return sn.tensor([1.0, 2.0, 3.0])


def check(m: Any, call: Any, message: str, remedy: str) -> None:
    with pytest.raises(sn.CallError) as caught:
        call(m)
    assert (caught.value.message, caught.value.remedy) == (message, remedy)


SHAPES = """
float same(float x) { return x; }
float add(float a, float b) { return a + b; }
[Differentiable] float3 turn(float3 v) { return v; }
void fill(float x, out float y) { y = x; }
void more(inout float y) { y += 1; }
float load(float* p) { return p[1]; }
"""
EQUAL = "give equal shapes, or 1 in a dimension that is repeated"
NEEDS_3 = "but float3 needs its last dimension to be 3"
POINTER = "declare it as `Tensor<float, 1> p`, with `import slangpy;`, and pass a tensor"


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("call", "message", "remedy"),
    [
        (
            lambda m: m.same(zeros(4), _result=np.zeros(4)),
            "same: '_result' is an array of float64, but the function returns float",
            "make it of that type: np.zeros(4, np.float32)",
        ),
        (
            lambda m: m.fill(zeros(2, 3), np.zeros((2, 3))),
            "fill: 'y' is an array of float64, but the parameter is float",
            "make it of that type: np.zeros((2, 3), np.float32)",
        ),
        (
            lambda m: m.more(np.zeros(3)),
            "more: 'y' is an array of float64, but the parameter is float",
            "cast it before the call, which writes to it: y = y.astype(np.float32)",
        ),
        (lambda m: m.same(zeros(4), result="numpy"), "same has no parameter 'result'", "did you mean '_result'?"),
        (lambda m: m.same(zeros(4), out=zeros(4)), "same has no parameter 'out'", "did you mean '_result'?"),
        (lambda m: m.same(X=zeros(4)), "same has no parameter 'X'", "did you mean 'x'?"),
        (
            lambda m: m.fill(zeros(4), out=zeros(4)),
            "fill has no parameter 'out'",
            "its signature is void fill(float x, out float y)",
        ),
        (lambda m: m.turn(zeros(3, 5)), f"turn: 'v' has shape (3, 5), {NEEDS_3}", "pass v.T"),
        (lambda m: m.turn(zeros(6)), f"turn: 'v' has shape (6,), {NEEDS_3}", "pass v.reshape(-1, 3)"),
        (
            lambda m: m.turn(zeros(3, 4, 5)),
            f"turn: 'v' has shape (3, 4, 5), {NEEDS_3}",
            "pass np.moveaxis(v, 0, -1)",
        ),
        (
            lambda m: m.turn(sn.tensor(zeros(3, 4, 5))),
            f"turn: 'v' has shape (3, 4, 5), {NEEDS_3}",
            "pass sn.tensor(np.moveaxis(v.to_numpy(), 0, -1))",
        ),
        (
            lambda m: m.turn([[1, 2], [3, 4], [5, 6]]),
            "turn: a row of 'v' has 2 elements, but float3 needs 3",
            "write np.stack(v, axis=-1)",
        ),
        (
            lambda m: m.turn([[1, 2], [3, 4]]),
            "turn: a row of 'v' has 2 elements, but float3 needs 3",
            "write lists of 3 numbers",
        ),
        (
            lambda m: m.turn(zeros(5, 4)),
            f"turn: 'v' has shape (5, 4), {NEEDS_3}",
            "give it a shape that ends with (3,)",
        ),
        (
            lambda m: m.turn(sn.tensor(zeros(3, 5))),
            f"turn: 'v' has shape (3, 5), {NEEDS_3}",
            "pass sn.tensor(v.to_numpy().T)",
        ),
        (
            lambda m: sn.grad(m.turn)(zeros(3, 5)),
            f"turn: 'v' has shape (3, 5), {NEEDS_3}",
            "pass v.T",
        ),
        (lambda m: m.add(zeros(4), zeros(3)), "add: 'b' has shape (3,), the other arguments (4,)", EQUAL),
        (
            lambda m: m.add(sn.tensor(zeros(4)), sn.tensor(zeros(3))),
            "add: 'b' has shape (3,), the other arguments (4,)",
            EQUAL,
        ),
        (
            lambda m: m.add(zeros(4, 2), zeros(4)),
            "add: 'b' has shape (4,), the other arguments (4, 2)",
            "sizes are compared from the last dimension on: give 'b' the shape (4, 1)",
        ),
        (lambda m: m.load(zeros(3)), "load: 'p' is a numpy array, but the parameter is a pointer, float*", POINTER),
        (
            lambda m: m.load(sn.tensor(zeros(3))),
            "load: 'p' is a Tensor, but the parameter is a pointer, float*",
            POINTER,
        ),
        (
            lambda _: sn.tensor([[1, 2], [3]]),
            "the data holds lists of different lengths",
            "give each of its lists as many numbers",
        ),
        (
            lambda _: sn.tensor(zeros(3), requires_grad=True),  # pyright: ignore[reportCallIssue]
            "tensor: got an unexpected keyword argument 'requires_grad'",
            "write grad=True",
        ),
        (
            lambda _: sn.tensor(zeros(3), device="cuda"),  # pyright: ignore[reportCallIssue]
            "tensor: got an unexpected keyword argument 'device'",
            "leave it out: the tensor goes to the session's device, which `%slang use` chooses",
        ),
    ],
)
def test_shapes_types_and_names(session: Any, call: Any, message: str, remedy: str) -> None:
    check(session.compile(SHAPES), call, message, remedy)


def test_pointers_take_what_has_an_address(session: Any) -> None:
    m = session.compile(SHAPES)
    held = sn.tensor(np.array([7, 8], np.float32))
    assert m.load(held.storage) == 8 and m.load(held.storage.device_address) == 8


IS_INT = "'t' is a 1-dimensional tensor of int, but the parameter is"


@pytest.mark.parametrize(
    ("call", "message", "remedy"),
    [
        (lambda m: m.pick(0, sn.tensor([1, 2])), f"pick: {IS_INT} Tensor<float, 1>", AS_FLOAT),
        (lambda m: m.pull(0, sn.tensor([1, 2])), f"pull: {IS_INT} IDiffTensor<float, 1>", AS_FLOAT),
        (lambda m: sn.grad(m.pull)(0, sn.tensor([1, 2])), f"pull: {IS_INT} IDiffTensor<float, 1>", AS_FLOAT),
        (
            lambda m: m.pick(0, sn.tensor(np.ones(2))),
            "pick: 't' is a 1-dimensional tensor of double, but the parameter is Tensor<float, 1>",
            AS_FLOAT,
        ),
        (
            lambda m: m.first(0, t()),
            "first: 't' is a 1-dimensional tensor of float, but the parameter is Tensor<vector<float,2>, 1>",
            "cast it: t = sn.tensor(t, dtype='float2')",
        ),
        (
            lambda m: m.pick(0, np.ones(3, np.float32)),
            "pick: 't' is a numpy array, but the parameter is Tensor<float, 1>",
            AS_FLOAT,
        ),
        (lambda m: m.pick(0, [1.0, 2.0]), "pick: 't' is a list, but the parameter is Tensor<float, 1>", AS_FLOAT),
        (
            lambda m: m.pick(0, 2.0),
            "pick: 't' is a float, but the parameter is Tensor<float, 1>",
            "pass a tensor, as sn.tensor(...) makes it",
        ),
    ],
)
def test_indexed_tensors(m: Any, call: Any, message: str, remedy: str) -> None:
    check(m, call, message, remedy)


def test_the_cast_that_is_named_works(m: Any) -> None:
    assert m.pick(1, sn.tensor(sn.tensor([1, 2]), dtype="float")) == 2


@pytest.mark.parametrize(
    ("call", "message", "remedy"),
    [
        (
            lambda m: m.pick(spy.grid(3), t()),
            "pick: 'i' is a grid of 3 dimensions, but the parameter is int",
            "spy.grid(3) has 3 dimensions; for 3 elements write spy.grid((3,))",
        ),
        (
            lambda m: m.pick(spy.grid((3, 3)), t()),
            "pick: 'i' is a grid of 2 dimensions, but the parameter is int",
            "give a size for each of its dimensions: spy.grid((n,))",
        ),
        (
            lambda m: m.two(spy.grid((3,)), t()),
            "two: 'i' is a grid of 1 dimension, but the parameter is int2",
            "give a size for each of its dimensions: spy.grid((n, m))",
        ),
        (
            lambda m: m.volume({"r": 1.0}, spy.grid((3,))),
            "volume takes 1 argument, 2 were given",
            "its signature is float volume(Ball b)",
        ),
        (
            lambda m: m.poly(2, 8, -1, spy.grid((3,))),
            "poly: 'x' is a grid of 1 dimension, but the parameter is float",
            "a grid counts elements: make the parameter an int or a uint",
        ),
    ],
)
def test_grids(m: Any, call: Any, message: str, remedy: str) -> None:
    check(m, call, message, remedy)


SIGNATURE = "its signature is float poly(float a, float b, float c, float x)"


@pytest.mark.parametrize(
    ("call", "message", "remedy"),
    [
        (lambda f: f(2, 8, -1, 3, 4), TAKES, SIGNATURE),
        (lambda f: f(2, 8, -1, 3, t()), TAKES, SIGNATURE),
        (lambda f: sn.grad(f)(2, 8, -1, 3, 4), TAKES, SIGNATURE),
        (lambda f: f(2, 8, -1, 3, a=3), "poly: argument 'a' is given twice", None),
        (lambda f: f(2, 8, -1, "hello"), "poly: 'x' is a text ('hello'), but the parameter is float", NUMBER),
        (lambda f: f(2, 8, -1, None), "poly: 'x' is None, but the parameter is float", NUMBER),
        (lambda f: f(2, 8, -1, range(3)), "poly: 'x' is a range, but the parameter is float", NUMBER),
        (
            lambda f: f(2, 8, -1, 3, _result="tenso"),
            "poly: there is no kind of result 'tenso'",
            "did you mean 'tensor'?",
        ),
        (
            lambda f: f.return_type("xyz")(2, 8, -1, 3),
            "poly: there is no kind of result 'xyz'",
            "write 'numpy', 'tensor', 'texture', or pass a tensor",
        ),
        (lambda f: f.return_type(list)(2, 8, -1, t()), "poly: the result cannot be made a list", None),
        (lambda f: f(2, 8, -1, 3, _result=float), "poly: the result cannot be made a float", None),
        (lambda f: f.map(z=(0,))(2, 8, -1, t()), "poly has no parameter 'z'", SIGNATURE),
        (
            lambda f: f.map(x=(0,))(2, 8, -1, t()),
            "poly: .map names 'x', which the call passes by position",
            "pass it by name, too: poly.map(x=...)(..., x=...)",
        ),
        (
            lambda f: f.map((), (), (), (0,))(2, 8, c=-1, x=t()),
            "poly: .map speaks of 4 arguments by position, the call passes 2",
            None,
        ),
    ],
)
def test_calls(m: Any, call: Any, message: str, remedy: str | None) -> None:
    with pytest.raises(sn.CallError) as caught:
        call(m.poly)
    assert caught.value.message == message
    assert caught.value.remedy == remedy if remedy else caught.value.remedy


def test_maps_that_fit(m: Any) -> None:
    for call in (m.poly.map(x=(0,)), m.poly.map((), x=(0,)), m.poly.map(x="float")):
        assert call(2, 8, -1, x=t()).to_numpy().tolist() == [9, 23, 41]


def test_results_that_there_are(m: Any) -> None:
    for kind in ("numpy", np.ndarray):
        assert m.poly(2, 8, -1, t(), _result=kind).tolist() == [9, 23, 41]
    assert m.poly.return_type(spy.Tensor)(2, 8, -1, t()).to_numpy().tolist() == [9, 23, 41]


def test_no_overload(m: Any) -> None:
    listed = "there are:\n  float over(float a)\n  float over(float a, float b)"
    check(m, lambda m: m.over(1, 2, 3), f"no overload of over takes 3 arguments; {listed}", PASS_ONE)
    check(m, lambda m: m.over(1, q=3), f"no overload of over takes 1 argument by position and 'q'; {listed}", PASS_ONE)


def test_defaults_are_not_taken(session: Any) -> None:
    m = session.compile("float shift(float a, float x, int n = 2, float by = 0.5f) { return a * x * n + by; }")
    signature = "its signature is float shift(float a, float x, int n, float by)"
    told = f"SlangPy takes no defaults: pass what is declared as `n = 2`, `by = 0.5f`; {signature}"
    check(m, lambda m: m.shift(1.0, 2.0), "shift: arguments 'n' and 'by' are missing", told)
    check(m, lambda m: m.shift(1.0, n=2, by=0.5), "shift: argument 'x' is missing", signature)


PASS_ONE = "pass the arguments of one of them"


def test_structs(m: Any) -> None:
    check(m, lambda m: m.volume(1.0), "volume: 'b' is a float, but the parameter is Ball", "pass {'r': ...}")
