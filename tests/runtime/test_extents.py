"""How arguments line up with a call: structs as dicts with fewer dimensions, and outputs that are too small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slangpy as spy
from slangpy.slangpy import Shape

import slangnb as sn

SOURCE = """
struct Inner : IDifferentiable { float a; };
struct Outer : IDifferentiable { Inner p; float b; };
[Differentiable] float times(Inner p, float x) { return p.a * x; }
[Differentiable] void line(Outer q, float x, out float y) { y = q.p.a * x + q.b; }
T scaled<T : __BuiltinFloatingPointType>(Inner p, T x) { return T(p.a) * x; }
void add(float x, inout float y) { y += x; }
void put(float x, out float y) { y = x; }
void put3(float x, out float3 y) { y = float3(x); }
void fill(float x, out Inner y) { y.a = x; }
float same(float x) { return x; }
"""
F = np.float32
X = np.array([1, 2, 3], F)


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


def back_to(gradient: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum a gradient over the dimensions along which a value of this shape was repeated."""
    full = (1,) * (gradient.ndim - len(shape)) + shape
    repeated = tuple(i for i, n in enumerate(full) if n == 1)
    return gradient.sum(repeated, keepdims=True).reshape(shape)


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [
        ((5,), (5,), (3, 5)),
        ((3,), (3,), (3, 3)),
        ((1, 5), (5,), (3, 5)),
        ((3, 1), (5,), (2, 3, 5)),
        ((5,), (3, 5), (2, 3, 5)),
        ((2, 3, 5), (5,), (3, 5)),
    ],
)
def test_fields_with_fewer_dimensions_than_the_call(module: Any, a: Any, b: Any, x: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, x = (rng.random(shape).astype(F) for shape in (a, b, x))
    right = a * x + b
    seed = rng.random(right.shape).astype(F)
    ta, tb, tx, y = (sn.tensor(v, grad=True) for v in (a, b, x, np.zeros_like(right)))
    fields = {"p": {"a": ta}, "b": tb}
    module.line(fields, tx, y)
    np.testing.assert_allclose(y.to_numpy(), right, rtol=1e-5)
    y.grad.copy_from_numpy(seed)
    module.line.bwds(fields, tx, y)
    for t, gradient in ((ta, seed * x), (tb, seed), (tx, seed * a)):
        np.testing.assert_allclose(t.grad.to_numpy(), back_to(gradient, t.shape.as_tuple()), rtol=1e-5)
    module.line({"p": {"a": a}, "b": b}, x, out := np.zeros_like(right))
    np.testing.assert_allclose(out, right, rtol=1e-5)


def test_fields_of_a_call_with_a_result(module: Any) -> None:
    a = np.arange(1, 6, dtype=F)
    x = np.ones((3, 5), F)
    for given in (a, sn.tensor(a, grad=True), sn.tensor(np.repeat(a, 2)).view(Shape(5), Shape(2))):
        np.testing.assert_array_equal(module.times({"a": given}, sn.tensor(x)).to_numpy(), a * x)


def test_fields_of_a_generic_function_are_refused(module: Any) -> None:
    x = sn.tensor(np.ones((3, 5), F))
    with pytest.raises(sn.CallError, match=r"scaled: the fields of a dict have 1 dimension, the call 2"):
        module.scaled({"a": sn.tensor(np.arange(1, 6, dtype=F))}, x)
    made = module.scaled({"a": sn.tensor(np.arange(1, 6, dtype=F)[None])}, x)
    np.testing.assert_array_equal(made.to_numpy(), np.tile(np.arange(1, 6, dtype=F), (3, 1)))


@pytest.mark.parametrize("kind", [np.asarray, sn.tensor])
def test_outputs_too_small_are_refused(module: Any, kind: Callable[[Any], Any]) -> None:
    x, x2, one = kind(X), kind(np.ones((2, 3), F)), kind(np.zeros(1, F))
    calls: list[tuple[str, str, Callable[[], Any]]] = [
        ("add: 'y'", "(1,)", lambda: module.add(x, one)),
        ("put: 'y'", "(1,)", lambda: module.put(x, one)),
        ("put3: 'y'", "()", lambda: module.put3(x, kind(np.zeros(3, F)))),
        ("fill: 'y.a'", "(1,)", lambda: module.fill(x, {"a": one})),
        ("same: '_result'", "(1,)", lambda: module.same(x, _result=one)),
        ("same: '_result'", "(3,)", lambda: module.same(x2, _result=kind(np.zeros(3, F)))),
        ("same: '_result'", "(2, 1)", lambda: module.same(x2, _result=kind(np.zeros((2, 1), F)))),
    ]
    for name, room, call in calls:
        with pytest.raises(sn.CallError) as caught:
            call()
        assert f"{name} has room for a call of shape {room}, but the call has shape" in str(caught.value)
    module.add(x, y := kind(np.ones(3, F)))
    assert np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y).tolist() == [2, 3, 4]
    module.put(kind(X[:1]), one)
    module.put(5.0, y)
    assert np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y).tolist() == [5, 5, 5]


def test_outputs_that_are_one_place_are_refused(module: Any) -> None:
    repeated = sn.tensor(np.zeros(1, F)).broadcast_to(Shape(3))
    with pytest.raises(sn.CallError, match="put: 'y' repeats its elements"):
        module.put(sn.tensor(X), repeated)
    with pytest.raises(sn.CallError, match="put: 'y' repeats its elements"):
        module.put(X, np.lib.stride_tricks.as_strided(np.zeros(1, F), (3,), (0,)))
    with pytest.raises(sn.CallError, match="put: 'y' holds one value"):
        module.put(X, spy.ValueRef(0.0))
    module.put(2.0, held := spy.ValueRef(0.0))
    assert held.value == 2.0


def test_an_output_too_small_after_a_right_call_is_refused(module: Any) -> None:
    x = sn.tensor(X)
    module.put(x, y := sn.tensor(np.zeros(3, F)))
    module.same(x, _result=y)
    small = sn.tensor(np.zeros(1, F))
    with pytest.raises(sn.CallError, match="put: 'y' has room for a call of shape"):
        module.put(x, small)
    with pytest.raises(sn.CallError, match="same: '_result' has room for a call of shape"):
        module.same(x, _result=small)
    assert small.to_numpy().tolist() == [0]
