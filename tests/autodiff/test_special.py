"""Transforms of generic functions and methods, and tuning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.fused.measured import CANDIDATES, Tuned

X = np.array([1, 2, 3], np.float32)
SOURCE = """
[Differentiable] T square<T : __BuiltinFloatingPointType>(T x) { return x * x; }
[Differentiable] float weighted<let N : int>(float x[N], float a)
{
    float sum = 0.0;
    [ForceUnroll] for (int i = 0; i < N; i++) sum += x[i] * x[i] * a;
    return sum;
}
struct Light : IDifferentiable
{
    float power;
    float3 at;
    [Differentiable] float intensity(float x) { return power * x * x + at.y; }
    [Differentiable] static float twice(float x) { return 2 * x; }
    float plain(float x) { return x; }
}
"""


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_are_found_from_the_arguments(module: Any, dtype: Any) -> None:
    value, grads = sn.value_and_grad(module.square)(X.astype(dtype))
    assert value == 14.0 and grads["x"].tolist() == [2, 4, 6] and grads["x"].dtype == dtype


def test_sizes_are_found_from_the_arguments(module: Any) -> None:
    for n in (2, 5):
        value, grads = sn.value_and_grad(module.weighted)(np.ones((4, n), np.float32), 3.0)
        assert value == 12.0 * n and grads["a"] == 4.0 * n and grads["x"].tolist() == np.full((4, n), 6).tolist()


def test_generic_with_types_written(module: Any) -> None:
    f = module["square<float>"]
    assert sn.grad(f)(3.0) == {"x": 6.0}
    assert sn.jvp(f, {"x": X}, {"x": 1.0})[1].tolist() == [2, 4, 6]
    assert sn.hvp(f, "x")(X, v=1.0).tolist() == [2, 2, 2]
    with pytest.raises(sn.CallError, match=r"call it as m.square"):
        f(3.0)
    with pytest.raises(sn.GradientError, match="cannot tell which"):
        sn.grad(module.square)(module)


def test_generic_overloads_are_refused(session: Any) -> None:
    one = "[Differentiable] T both<T : __BuiltinFloatingPointType>(T x) { return x * x; }"
    two = "[Differentiable] T both<T : __BuiltinFloatingPointType>(T x, T y) { return x * y; }"
    m = session.compile(f"{one}\n{two}")
    with pytest.raises(sn.GradientError, match="both is overloaded or generic; grad cannot tell which is meant"):
        sn.grad(m.both)(x=2.0)


def test_generic_function_that_is_gone_says_so(session: Any) -> None:
    text = "[Differentiable] T {}<T : __BuiltinFloatingPointType>(T x) {{ return x * x; }}"
    f = session.compile(text.format("gone"), "generic_gone").gone
    session.compile(text.format("other"), "generic_gone")
    with pytest.raises(sn.CallError, match="gone is no longer defined in generic_gone"):
        sn.grad(f)(x=2.0)


def test_methods(module: Any) -> None:
    light = {"power": 2.0, "at": [1.0, 2.0, 3.0]}
    value, grads = sn.value_and_grad(module["Light::intensity"])(self=light, x=X)
    assert value == 2 * 14 + 3 * 2 and grads["self"]["power"] == 14.0
    assert grads["self"]["at"].tolist() == [0, 3, 0] and grads["x"].tolist() == [4, 8, 12]
    assert sn.grad(module["Light::twice"])(x=5.0) == {"x": 2.0}
    with pytest.raises(sn.GradientError, match="plain is not differentiable"):
        sn.grad(module["Light::plain"])(self=light, x=1.0)
    with pytest.raises(KeyError, match="no function 'Light::missing'"):
        module["Light::missing"]


def test_rebuilt_method_is_the_new_one(session: Any) -> None:
    text = "struct S : IDifferentiable {{ float a; [Differentiable] float f(float x) {{ return {} * a * x; }} }}"
    m = session.compile(text.format(2), "rebuilt_method")
    assert sn.grad(m["S::f"])(self={"a": 1.0}, x=1.0)["x"] == 2.0
    session.compile(text.format(7), "rebuilt_method")
    assert sn.grad(m["S::f"])(self={"a": 1.0}, x=1.0)["x"] == 7.0


def test_tuning_is_remembered(session: Any, monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.setattr(session, "tuned", Tuned(tmp_path / "tuning.json"))
    f = session.compile("[Differentiable] float tuned(float a, float x) { return a * x * x; }").tuned
    x = sn.tensor(np.ones(5000, np.float32))
    value, grads = sn.value_and_grad(f, "a", tune=True)(2.0, x)
    assert (value, grads) == (10000.0, 5000.0)
    again = Tuned(tmp_path / "tuning.json")
    assert len(again._found) == 1 and set(again._found.values()) <= set(CANDIDATES)
    assert sn.value_and_grad(f, "a")(2.0, x) == (10000.0, 5000.0)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint16"])
def test_whole_numbers_of_all_types_tell_the_type(session: Any, dtype: str) -> None:
    m = session.compile(
        "[Differentiable] float scaled_by<T : __BuiltinIntegerType>(no_diff T n, float x) { return n.toInt() * x * x; }"
    )
    grad = sn.grad(m.scaled_by, "x")(n=np.array([1, 2], dtype), x=np.array([3, 4], np.float32))
    assert grad.tolist() == [6, 16]
