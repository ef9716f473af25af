"""Transforms take torch tensors, and give torch tensors back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
import slangpy;
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
struct Light : IDifferentiable { float3 color; float power; }
[Differentiable] float lit(Light l, float3 n) { return dot(l.color, n) * l.power; }
[Differentiable] float pick(IDiffTensor<float, 1> w, int i, float x) { return w[i] * x; }
[Differentiable] void sincos(float x, out float s, out float c) { s = sin(x); c = cos(x); }
[Differentiable] T square<T : IFloat>(T x) { return x * x; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.fixture
def x() -> Any:
    return torch.tensor([1.0, 2.0, 3.0])


def test_value_and_grad(m: Any, x: Any) -> None:
    of = sn.value_and_grad(m.poly)
    for a in (2.0, 3.0):  # the second call is of the same kind
        value, grads = of(a=torch.tensor(a), x=x.requires_grad_())
        assert value == 14 * a + 6
        assert isinstance(grads["x"], torch.Tensor)
        assert (grads["a"].item(), grads["a"].shape) == (14.0, ())
        assert grads["x"].tolist() == [2 * a * v + 1 for v in (1, 2, 3)]
    value, grad = sn.value_and_grad(m.poly, wrt="x", reduce="mean")(2.0, x)
    assert value == pytest.approx(34 / 3)
    torch.testing.assert_close(grad, torch.tensor([5.0, 9.0, 13.0]) / 3)


def test_each_gradient_is_of_its_arguments_kind(m: Any, x: Any) -> None:
    grads = sn.grad(m.poly)(a=np.full(3, 2, np.float32), x=x)
    assert isinstance(grads["a"], np.ndarray)
    assert isinstance(grads["x"], torch.Tensor)
    grads = sn.grad(m.poly)(2.0, x)
    assert isinstance(grads["a"], float)
    wide = sn.grad(m.poly, wrt="x")(2.0, torch.ones(3, 1).expand(3, 4))
    assert wide.shape == (3, 4)


def test_structs_and_indexed_tensors(m: Any) -> None:
    n = torch.rand(5, 3)
    grads = sn.grad(m.lit)(l={"color": torch.ones(3), "power": torch.tensor(2.0)}, n=n)
    torch.testing.assert_close(grads["l"]["color"], 2 * n.sum(0))
    torch.testing.assert_close(grads["l"]["power"], n.sum())
    torch.testing.assert_close(grads["n"], torch.full((5, 3), 2.0))
    grads = sn.grad(m.pick)(torch.rand(4), torch.tensor([0, 1, 1]), torch.ones(3))
    assert grads["w"].tolist() == [1.0, 2.0, 0.0, 0.0]


def test_seeds(m: Any, x: Any) -> None:
    seed = torch.tensor([1.0, 0.0, 2.0])
    assert sn.grad(m.poly, wrt="x", seed=seed)(2.0, x).tolist() == [5.0, 0.0, 26.0]
    assert sn.grad(m.poly, wrt="x", seed=seed)(2.0, x.numpy()).tolist() == [5.0, 0.0, 26.0]


def test_jvp(m: Any, x: Any) -> None:
    y, dy = sn.jvp(m.poly, {"a": 2.0, "x": x}, {"x": torch.ones(3)})
    assert (y.tolist(), dy.tolist()) == ([3.0, 10.0, 21.0], [5.0, 9.0, 13.0])
    y, dy = sn.jvp(m.poly, {"a": 2.0, "x": x.numpy()}, {"x": torch.ones(3)})
    assert dy.tolist() == [5.0, 9.0, 13.0]


def test_vjp(m: Any, x: Any) -> None:
    y, pull = sn.vjp(m.poly, torch.tensor(2.0), x)
    assert y.tolist() == [3.0, 10.0, 21.0]
    grads = pull(torch.tensor([1.0, 10.0, 0.0]))
    assert (grads["a"].item(), grads["x"].tolist()) == (41.0, [5.0, 90.0, 0.0])
    y, pull = sn.vjp(m.sincos, x)
    assert sorted(y) == ["c", "s"]
    torch.testing.assert_close(pull({"s": torch.ones(3), "c": None})["x"], torch.cos(x))


def test_hvp(m: Any, x: Any) -> None:
    assert sn.hvp(m.poly, wrt="x")(2.0, x, v=torch.ones(3)).tolist() == [4.0, 4.0, 4.0]
    found = sn.hvp(m.poly)(a=2.0, x=x, v={"x": torch.ones(3)})
    assert (found["a"], found["x"].tolist()) == (12.0, [4.0, 4.0, 4.0])


def test_hvp_of_a_parameter_called_v(session: Any, x: Any) -> None:
    f = session.compile("[Differentiable] float called_v(float v, float x) { return v * x * x; }").called_v
    found = sn.hvp(f)(3.0, x, v={"x": torch.ones(3)})
    assert found["x"].tolist() == [6.0, 6.0, 6.0] and found["v"] == pytest.approx(2 * float(x.sum()))


def test_generic_functions_by_position(m: Any, x: Any) -> None:
    assert sn.grad(m.square)(x)["x"].tolist() == [2.0, 4.0, 6.0]


def test_refusals(m: Any, x: Any) -> None:
    with pytest.raises(sn.CallError, match="no parameter 'q'"):
        sn.grad(m.poly, wrt="q")(2.0, x)
    with pytest.raises(sn.CallError, match="'x' holds float64") as caught:
        sn.grad(m.poly)(2.0, x.double())
    assert "x.float()" in caught.value.remedy
    with pytest.raises(sn.CallError, match="transforms take no _result"):
        sn.grad(m.poly)(2.0, x, _result="numpy")
    with pytest.raises(sn.CallError, match="is empty"):
        sn.grad(m.poly)(2.0, torch.empty(0))


def test_gradcheck(session: Any, m: Any, x: Any) -> None:
    report = sn.gradcheck(m.poly, a=torch.tensor(2.0, requires_grad=True), x=x.requires_grad_())
    assert report.ok and list(report.verdicts) == ["a", "x"]
    wrong = session.compile("""
[BackwardDerivative(bad)] float cube(float x) { return x * x * x; }
void bad(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }
""").cube
    assert not sn.gradcheck(wrong, x).ok
