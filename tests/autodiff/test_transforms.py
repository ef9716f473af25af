"""`value_and_grad` and `grad` against analysis and float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.fused.policy import per_thread

POLYNOMIAL = "[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }"
XS = np.array([1, 2, 3, 4], np.float32)


@pytest.fixture
def polynomial(session: Any) -> Any:
    return session.compile(POLYNOMIAL).polynomial


def test_numbers_and_numpy_come_back_as_they_went_in(polynomial: Any) -> None:
    value, grads = sn.value_and_grad(polynomial, wrt=("a", "x"))(a=2.0, b=8.0, c=-1.0, x=XS)
    assert value == 136.0 and grads["a"] == 30.0 and isinstance(grads["a"], float)
    assert isinstance(grads["x"], np.ndarray) and grads["x"].tolist() == [12, 16, 20, 24]


def test_tensors_come_back_as_tensors(polynomial: Any) -> None:
    import slangpy as spy

    a, x = sn.tensor([2.0]), sn.tensor(XS.reshape(2, 2))
    value, grads = sn.value_and_grad(polynomial, wrt=("a", "x"))(a, 8.0, -1.0, x)
    assert value == 136.0
    assert isinstance(grads["a"], spy.Tensor) and grads["a"].to_numpy().tolist() == [30]
    assert isinstance(grads["x"], spy.Tensor) and grads["x"].to_numpy().tolist() == [[12, 16], [20, 24]]


def test_single_name_and_default_and_mean(polynomial: Any) -> None:
    assert sn.grad(polynomial, wrt="x")(2.0, 8.0, -1.0, 3.0) == 20.0
    assert sn.grad(polynomial, wrt="x", reduce="mean")(2.0, 8.0, -1.0, XS).tolist() == [3, 4, 5, 6]
    value, grads = sn.value_and_grad(polynomial, reduce="mean")(2.0, 8.0, -1.0, XS)
    assert value == 34.0 and grads.keys() == {"a", "b", "c", "x"}
    assert (grads["a"], grads["b"], grads["c"]) == (7.5, 2.5, 1.0)


@pytest.mark.parametrize(
    "view", [XS[::-1], XS[::2], np.repeat(XS, 3)[::3], XS.astype(">f4")], ids=["rev", "step", "rep", "be"]
)
def test_any_layout(polynomial: Any, view: np.ndarray) -> None:
    assert sn.grad(polynomial, wrt="x")(2.0, 8.0, -1.0, view).tolist() == (4 * view + 8).tolist()
    sliced = sn.tensor(np.stack([view.astype(np.float32), view.astype(np.float32)]))[1]
    assert sn.grad(polynomial, wrt="x")(2.0, 8.0, -1.0, sliced).to_numpy().tolist() == (4 * view + 8).tolist()


@pytest.mark.parametrize("count", [1, 255, 256, 257, 100_003, 1 << 20])
def test_shared_parameter_is_accurate_and_repeatable(polynomial: Any, count: int) -> None:
    xs = np.random.default_rng(count).random(count).astype(np.float32)
    x = sn.tensor(xs)
    f = sn.value_and_grad(polynomial, wrt=("a", "x"))
    runs = [f(2.0, 8.0, -1.0, x) for _ in range(5)]
    exact = xs.astype(np.float64)
    value = (2 * exact**2 + 8 * exact - 1).sum()
    assert runs[0][0] == pytest.approx(value, rel=1e-6)
    assert runs[0][1]["a"] == pytest.approx((exact**2).sum(), rel=1e-6)
    assert len({(v, g["a"]) for v, g in runs}) == 1
    np.testing.assert_allclose(runs[0][1]["x"].to_numpy(), 4 * xs + 8, rtol=1e-6)


def test_sum_beyond_two_to_the_24_does_not_saturate(session: Any) -> None:
    f = session.compile("[Differentiable] float keep(float a, float x) { return a * x; }").keep
    ones = sn.tensor(np.ones((1 << 24) + (1 << 22), np.float32))
    assert sn.grad(f, wrt="a")(1.0, ones) == (1 << 24) + (1 << 22)  # float32 atomics stop at 2^24


def test_vectors_matrices_arrays(session: Any) -> None:
    f = session.compile("""
[Differentiable]
float3 mix_all(float3 n, float2x2 q, float w[3], no_diff int k) { return n * q[0][1] * w[2] * k; }
""").mix_all
    rng = np.random.default_rng(0)
    n, q, w = (rng.standard_normal(s).astype(np.float32) for s in ((7, 3), (2, 2), (7, 3)))
    value, grads = sn.value_and_grad(f)(n, q, w, 3)
    assert value == pytest.approx(float((n * q[0, 1] * w[:, 2:] * 3).sum()), rel=1e-5)
    right_q = np.zeros((2, 2))
    right_q[0, 1] = (n * w[:, 2:] * 3).sum()
    right_w = np.zeros((7, 3))
    right_w[:, 2] = (n * q[0, 1] * 3).sum(axis=1)
    np.testing.assert_allclose(grads["n"], np.broadcast_to(q[0, 1] * w[:, 2:] * 3, (7, 3)), rtol=1e-5)
    np.testing.assert_allclose(grads["q"], right_q, rtol=1e-5)
    np.testing.assert_allclose(grads["w"], right_w, rtol=1e-5, atol=1e-6)


def test_vector_tensors(session: Any) -> None:
    f = session.compile("[Differentiable] float length2(float3 v) { return dot(v, v); }").length2
    v = np.arange(12, dtype=np.float32).reshape(4, 3)
    for made in (sn.tensor(v), sn.tensor(v, dtype="float3")):
        assert sn.grad(f, wrt="v")(made).to_numpy().tolist() == (2 * v).tolist()


def test_double_gradients_are_exact_to_double(session: Any) -> None:
    """Case 012: SlangPy itself has no gradients of double tensors."""
    f = session.compile("[Differentiable] double cubic(double x) { return x * x * x; }").cubic
    x = np.array([1.0, 1.00000001, -3.0])
    np.testing.assert_allclose(sn.grad(f, wrt="x")(x), 3 * x * x, rtol=1e-15)


def test_rebuilt_function_gives_the_new_gradient(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float x) { return x * x; }", "rebuilt_grad").f
    g = sn.grad(f, wrt="x")
    assert g(3.0) == 6.0
    session.compile("[Differentiable] float f(float x) { return 5 * x; }", "rebuilt_grad")
    assert g(3.0) == 5.0


@pytest.mark.parametrize(
    ("wrt", "arguments", "message"),
    [
        ("y", {"a": 1.0, "b": 1.0, "c": 1.0, "x": XS}, "no parameter 'y'"),
        ("x", {"a": 1.0, "b": 1.0, "x": XS}, "'c' is missing"),
        ("x", {"a": 1.0, "b": 1.0, "c": 1.0, "x": XS.astype(np.float64)}, "float64, but the parameter is float"),
        ("x", {"a": 1.0, "b": XS[:3], "c": 1.0, "x": XS}, "equal shapes"),
        ("x", {"a": 1.0, "b": 1.0, "c": 1.0, "x": XS[:0]}, "'x' is empty"),
    ],
)
def test_wrong_calls(polynomial: Any, wrt: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sn.CallError, match=message):
        sn.grad(polynomial, wrt=wrt)(**arguments)


def test_what_has_no_derivative_is_refused(session: Any) -> None:
    m = session.compile("""
float plain(float x) { return x; }
[Differentiable] float held(no_diff float x, float y) { return x * y; }
[Differentiable] void through(inout float x) { x = x * x; }
""")
    with pytest.raises(sn.GradientError, match="plain is not differentiable"):
        sn.grad(m.plain)(1.0)
    with pytest.raises(sn.GradientError, match="'x': it is no_diff"):
        sn.grad(m.held, wrt="x")(1.0, 2.0)
    assert sn.grad(m.held)(3.0, 2.0) == {"y": 3.0}
    assert sn.grad(m.through)(3.0) == {"x": 6.0}
    with pytest.raises(sn.CallError, match="'sum' or 'mean'"):
        sn.grad(m.held, reduce="max")


def test_overloads_of_different_length(session: Any) -> None:
    f = session.compile("""
[Differentiable] float area(float w, float h) { return w * h; }
[Differentiable] float area(float r) { return 3 * r * r; }
""").area
    g = sn.grad(f)
    assert g(w=2.0, h=5.0) == {"w": 5.0, "h": 2.0}
    assert g(2.0) == {"r": 12.0}
    assert sn.gradcheck(f, 2.0).ok and sn.gradcheck(f, w=2.0, h=5.0).ok


def test_elements_per_thread() -> None:
    assert [per_thread(n, "cuda") for n in (1, 1 << 16, 1 << 18, 1 << 26, 1 << 30)] == [1, 1, 4, 16, 128]
