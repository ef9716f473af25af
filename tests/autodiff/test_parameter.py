"""`sn.Parameter` on its own, and as an argument of `value_and_grad`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
struct Wave : IDifferentiable { float size; float2 where; };
[Differentiable] float scale(float a, float x) { return a * x * x; }
[Differentiable] half scale_half(half a, half x) { return a * x; }
[Differentiable] double scale_double(double a, double x) { return a * x * x; }
[Differentiable] float dot3(float3 v, float x) { return dot(v, v) * x; }
[Differentiable] float mat(float2x2 q, float x) { return (q[0][0] * q[1][1] - q[0][1] * q[1][0]) * x; }
[Differentiable] float list8(float w[8], float x)
{ float s = 0; for (int k = 0; k < 8; k++) s += w[k] * w[k] * (k + 1) * x; return s; }
[Differentiable] float wave(Wave w, float x) { return w.size * (w.where.x + w.where.y * x); }
"""
X = np.array([1, 2, 3, -1], np.float32)


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


# On its own


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (2.0, ()),
        ([1.0, 2.0, 3.0], (3,)),
        ([[1.0, 2.0], [3.0, 4.0]], (2, 2)),
        (np.arange(8.0), (8,)),
        (np.float32(2), ()),
    ],
)
def test_shape_value_and_dtype(value: Any, shape: tuple[int, ...]) -> None:
    p = sn.Parameter(value)
    assert p.shape == shape and p.grad is None and p.version == 0
    np.testing.assert_array_equal(p.value, value)
    assert p.dtype == ("double" if getattr(value, "dtype", None) == np.float64 else "float")
    assert isinstance(p.value, float) == (shape == ())


def test_the_value_is_a_copy_and_versions_count() -> None:
    data = np.array([1, 2, 3], np.float32)
    p = sn.Parameter(data)
    data[:] = 9
    p.value[:] = 9
    assert p.value.tolist() == [1, 2, 3] and p.version == 0
    p.value = [4, 5, 6]
    assert p.array.tolist() == [4, 5, 6] and p.version == 1
    with pytest.raises(ValueError, match="read-only"):
        p.array[0] = 1


@pytest.mark.parametrize("dtype", ["float", "half", "double", np.float16, np.float64, "float32"])
def test_asked_dtypes(dtype: Any) -> None:
    name = {np.float16: "half", np.float64: "double", "float32": "float"}.get(dtype, dtype)
    assert sn.Parameter(2, dtype=dtype).dtype == name


def test_wrong_values_are_refused() -> None:
    with pytest.raises(sn.CallError, match="empty"):
        sn.Parameter([])
    with pytest.raises(sn.CallError, match="no value for a Parameter"):
        sn.Parameter("two")
    for nothing in (None, [None, 1.0]):
        with pytest.raises(sn.CallError, match=r"^None is no value for a Parameter"):
            sn.Parameter(nothing)
    with pytest.raises(sn.CallError, match="no value for a Parameter"):
        sn.Parameter([[1.0], [2.0, 3.0]])
    with pytest.raises(sn.GradientError, match="a Parameter of int has no gradient"):
        sn.Parameter(2, dtype="int")
    with pytest.raises(sn.CallError, match="does not fit float3"):
        sn.Parameter([1.0, 2.0], dtype="float3")
    p = sn.Parameter([1.0, 2.0])
    with pytest.raises(sn.CallError, match=r"has shape \(2,\), the new value \(3,\)"):
        p.value = [1.0, 2.0, 3.0]
    assert p.array.tolist() == [1, 2] and p.version == 0


def test_gradients_are_replaced_or_added() -> None:
    p = sn.Parameter([1.0, 2.0])
    p.set_grad(np.array([1.0, 2.0]))
    p.set_grad(np.array([3.0, 4.0]))
    assert p.grad.tolist() == [3, 4]
    p.set_grad(np.array([1.0, 1.0]), accumulate=True)
    assert p.grad.tolist() == [4, 5]
    p.grad[:] = 0
    assert p.grad.tolist() == [4, 5]


# In value_and_grad: the gradient is a number or an array, as for a number or numpy


def test_number(module: Any) -> None:
    value, grads = sn.value_and_grad(module.scale)(sn.Parameter(2.0), X)
    assert value == 30.0 and grads["a"] == 15.0 and isinstance(grads["a"], float)
    assert grads["x"].tolist() == [4, 8, 12, -4]


def test_vector_matrix_and_array(module: Any) -> None:
    total = X.sum()
    v = sn.Parameter([1.0, 2.0, 3.0])
    assert sn.grad(module.dot3, "v")(v, X).tolist() == [2 * total, 4 * total, 6 * total]
    q = sn.Parameter([[1.0, 2.0], [3.0, 5.0]])
    assert sn.grad(module.mat, "q")(q, X).tolist() == [[5 * total, -3 * total], [-2 * total, total]]
    w = np.arange(8, dtype=np.float32)
    found = sn.grad(module.list8, "w")(sn.Parameter(w), X)
    assert found.tolist() == (2 * w * np.arange(1, 9) * total).tolist()


def test_half_and_double(module: Any) -> None:
    a = sn.Parameter(1.5, "half")
    value, grads = sn.value_and_grad(module.scale_half)(a, X.astype(np.float16))
    assert (value, grads["a"]) == (7.5, 5.0) and grads["x"].dtype == np.float16
    xs = np.random.default_rng(1).random(5000)
    found = sn.grad(module.scale_double, "a")(sn.Parameter(1 / 3, "double"), xs)
    assert found == pytest.approx((xs * xs).sum(), rel=1e-14)


def test_inside_a_struct(module: Any) -> None:
    wave = {"size": sn.Parameter(2.0), "where": sn.Parameter([3.0, 5.0])}
    value, grads = sn.value_and_grad(module.wave)(wave, X)
    assert value == 2 * (3 * 4 + 5 * 5)
    assert grads["w"]["size"] == 37.0 and grads["w"]["where"].tolist() == [8, 10]
    only = sn.grad(module.wave, "w")({"size": 2.0, "where": wave["where"]}, X)
    assert only["size"] == 37.0 and only["where"].tolist() == [8, 10]


def test_a_new_value_is_used_at_the_next_call(module: Any) -> None:
    a, f = sn.Parameter(2.0), sn.value_and_grad(module.scale)
    assert f(a, X)[0] == 30.0
    a.value = 4.0
    assert f(a, X)[0] == 60.0


def test_a_gradient_of_value_and_grad_is_not_written_to_the_parameter(module: Any) -> None:
    a = sn.Parameter(2.0)
    sn.grad(module.scale)(a, X)
    assert a.grad is None and a.version == 0


@pytest.mark.parametrize("power", [20, 22])
def test_accurate_and_the_same_bits_at_every_run(module: Any, power: int) -> None:
    xs = np.random.default_rng(power).random(1 << power).astype(np.float32)
    x, a, f = sn.tensor(xs), sn.Parameter(0.7), sn.value_and_grad(module.scale)
    runs = [f(a, x) for _ in range(10)]
    exact = (xs.astype(np.float64) ** 2).sum()
    assert runs[0][1]["a"] == pytest.approx(exact, rel=1e-6)
    assert runs[0][0] == pytest.approx(float(np.float32(0.7)) * exact, rel=1e-6)
    assert len({(value, grads["a"]) for value, grads in runs}) == 1


def test_array_gradient_is_accurate(module: Any) -> None:
    xs = np.random.default_rng(5).random(1 << 20).astype(np.float32)
    w = np.linspace(0.1, 1.0, 8).astype(np.float32)
    found = sn.grad(module.list8, "w")(sn.Parameter(w), sn.tensor(xs))
    right = 2 * w.astype(np.float64) * np.arange(1, 9) * xs.sum(dtype=np.float64)
    np.testing.assert_allclose(found, right, rtol=1e-6)


def test_nan_is_shown_and_said(session: Any) -> None:
    f = session.compile("[Differentiable] float nan_parameter(float a, float x) { return a * a * x; }").nan_parameter
    with (
        pytest.warns(sn.GradientWarning, match="'a' is not finite"),
        pytest.warns(sn.GradientWarning, match="'x' is not finite"),
    ):
        grads = sn.grad(f)(sn.Parameter(float("nan")), X)
    assert np.isnan(grads["a"]) and np.isnan(grads["x"]).all()


@pytest.mark.parametrize("dtype", ["float", "half"])
def test_a_sum_that_overflows_is_infinite_and_said(session: Any, dtype: str) -> None:
    name = f"overflow_{dtype}"
    f = session.compile(f"[Differentiable] {dtype} {name}({dtype} a, {dtype} x) {{ return a * x; }}")[name]
    largest = np.finfo(np.float16 if dtype == "half" else np.float32).max
    x = np.full(100, largest)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # of numpy: the person did not call numpy
        warnings.simplefilter("ignore", sn.GradientWarning)
        assert sn.grad(f, "a")(sn.Parameter(1.0, dtype), x) == np.inf


def test_wrong_parameters_are_refused(module: Any) -> None:
    with pytest.raises(sn.CallError, match=r"'v' has shape \(2,\), but float3"):
        sn.grad(module.dot3)(sn.Parameter([1.0, 2.0]), X)
    with pytest.raises(sn.CallError, match="'a' holds double, not float"):
        sn.grad(module.scale)(sn.Parameter(1.0, "double"), X)
    with pytest.raises(sn.CallError, match="equal shapes"):
        sn.grad(module.scale)(sn.Parameter([1.0, 2.0, 3.0]), X)


def test_pull_refuses_a_parameter_that_changed(module: Any) -> None:
    a = sn.Parameter(2.0)
    y, pull = sn.vjp(module.scale, a, X)
    assert y.tolist() == [2, 8, 18, 2] and pull()["a"] == 15.0
    a.value = 3.0
    with pytest.raises(sn.GradientError, match="changed after this result"):
        pull()


def test_the_same_parameter_for_two_arguments(module: Any) -> None:
    a = sn.Parameter(3.0)
    assert sn.value_and_grad(module.scale)(a, a) == (27.0, {"a": 9.0, "x": 18.0})
