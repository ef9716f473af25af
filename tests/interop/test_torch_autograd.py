"""Slang functions inside torch's graph: right gradients, and what cannot be is refused in words."""

from __future__ import annotations

import gc
import importlib
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
import slangpy;
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
[Differentiable] double doubles(double a, double x) { return a * x * x; }
[Differentiable] half halves(half a, half x) { return a * x * x; }
[Differentiable] float3 scaled(float a, float3 v) { return v * a; }
[Differentiable] float2x2 squared(float2x2 k, float x) { return mul(k, k) * x; }
struct Light : IDifferentiable { float3 color; float power; int kind; }
[Differentiable] float lit(Light l, float3 n) { return dot(l.color, n) * l.power; }
[Differentiable] void sincos(float x, out float s, out float c) { s = sin(x); c = cos(x); }
[Differentiable] float both(float x, out float c) { c = cos(x); return sin(x); }
[Differentiable] float split(float3 v, out float3 doubled) { doubled = v * 2.0; return v.x + v.y + v.z; }
[Differentiable] void times(float x, inout float y) { y = y * x; }
[Differentiable] float power(float x, int n)
{
    float r = 1.0;
    [MaxIters(8)] for (int i = 0; i < n; i++) r *= x;
    return r;
}
[Differentiable] float pick(IDiffTensor<float, 1> w, int i, float x) { return w[i] * x; }
[Differentiable] float fixed(Tensor<float, 1> w, int i, float x) { return w[i] * x; }
[Differentiable] void squares(IDiffTensor<float, 1> w, int i, IWDiffTensor<float, 1> o) { o[i] = w[i] * w[i]; }
float plain(float x) { return x * 2; }
int rounded(float x) { return int(x); }
[Differentiable] float half_fixed(float a, no_diff float x) { return a * x; }
[Differentiable] T square<T : IFloat>(T x) { return x * x; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.fixture
def x() -> Any:
    torch.manual_seed(0)
    return torch.rand(6, requires_grad=True)


def leaf(numbers: Any) -> Any:
    return torch.tensor(numbers, requires_grad=True)


def gradients(y: Any, *inputs: Any) -> list[Any]:
    total = sum(v.pow(2).sum() for v in (y.values() if isinstance(y, dict) else [y]))
    return list(torch.autograd.grad(total, inputs))


def same(got: Any, right: Any, tolerance: float = 1e-5) -> None:
    for g, r in zip(got, right, strict=True):
        torch.testing.assert_close(g, r, rtol=tolerance, atol=tolerance)


def test_numbers_shared_by_all_elements(m: Any, x: Any) -> None:
    a = leaf(2.0)
    same(gradients(m.poly(a, x), a, x), gradients(a * x * x + x, a, x))


def test_broadcast_dimensions(m: Any) -> None:
    a, x = torch.rand(4, 1, requires_grad=True), torch.rand(3, 1, 5, requires_grad=True)
    same(gradients(m.poly(a, x), a, x), gradients(a * x * x + x, a, x))


def test_views_and_expanded_tensors(m: Any, x: Any) -> None:
    wide = x.reshape(2, 3).T
    same(gradients(m.poly(2.0, wide), x), gradients(2 * wide * wide + wide, x))
    many = x[:1].expand(7)
    same(gradients(m.poly(2.0, many), x), gradients(2 * many * many + many, x))


def test_the_gradient_has_the_type_of_its_number(m: Any, x: Any) -> None:
    a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    m.poly(a, x).sum().backward()
    assert a.grad.dtype == torch.float64
    assert abs(a.grad.item() - x.pow(2).sum().item()) < 1e-6


def test_vectors_matrices_and_structs(m: Any) -> None:
    a, v = leaf(2.0), torch.rand(4, 3, requires_grad=True)
    same(gradients(m.scaled(a, v), a, v), gradients(a * v, a, v))
    k, x = torch.rand(2, 2, requires_grad=True), torch.rand(5, requires_grad=True)
    same(gradients(m.squared(k, x), k, x), gradients((k @ k) * x[:, None, None], k, x))
    color, power = torch.rand(3, requires_grad=True), leaf(2.0)
    y = m.lit({"color": color, "power": power, "kind": 1}, v)
    same(gradients(y, color, power, v), gradients(v @ color * power, color, power, v))


def test_half(m: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16, requires_grad=True)
    m.halves(2.0, x).sum().backward()
    assert x.grad.dtype == torch.float16
    assert x.grad.tolist() == [4.0, 8.0, 12.0]


def test_integer_arguments(m: Any, x: Any) -> None:
    n = torch.tensor([0, 1, 2, 3, 4, 5])
    same(gradients(m.power(x, n), x), gradients(x**n, x))
    same(gradients(m.power(x, torch.tensor(3)), x), gradients(x**3, x))


def test_several_outputs(m: Any, x: Any) -> None:
    y = m.sincos(x)
    assert sorted(y) == ["c", "s"]
    same(gradients({"c": y["c"]}, x), gradients(torch.cos(x), x))  # the other one gets no gradient
    y = m.both(x)
    same(gradients(y, x), gradients({"c": torch.cos(x), "result": torch.sin(x)}, x))


def test_sums_of_vector_outputs(m: Any) -> None:
    v = torch.rand(4, 3, requires_grad=True)
    y = m.split(v)
    (y["doubled"].sum() + y["result"].mean()).backward()
    same([v.grad], [torch.full((4, 3), 2 + 1 / 4)])


def test_outputs_that_are_passed_are_filled_in_the_graph(m: Any, x: Any) -> None:
    s, c = torch.zeros(6), torch.zeros(6)
    assert m.sincos(x, s, c) is None
    same([s, c], [torch.sin(x), torch.cos(x)])
    same(gradients({"s": s, "c": c}, x), gradients({"s": torch.sin(x) + 0 * x, "c": torch.cos(x)}, x), 1e-4)
    y = torch.zeros(6)
    result = m.both(x, y)
    same([result, y], [torch.sin(x), torch.cos(x)])


def test_inout(m: Any, x: Any) -> None:
    start = torch.rand(6, requires_grad=True)
    y = start * 1
    assert m.times(x, y) is None
    same(gradients(y, x, start), gradients(start * x, x, start))
    with pytest.raises(sn.CallError, match="'y' is written to, but it is a leaf"):
        m.times(x, torch.rand(6, requires_grad=True))


def test_tensors_that_the_function_indexes(m: Any) -> None:
    w, x, i = torch.rand(4, requires_grad=True), torch.rand(3, requires_grad=True), torch.tensor([0, 1, 1])
    same(gradients(m.pick(w, i, x), w, x), gradients(w[i] * x, w, x))
    assert m.pick(w, 1, 2.0).shape == ()


def test_tensors_that_the_function_writes(m: Any) -> None:
    w, o = torch.rand(4, requires_grad=True), torch.zeros(4)
    m.squares(w, torch.arange(4), o)
    same([o], [w * w])
    same(gradients(o, w), gradients(w * w, w))


def test_generic_functions(m: Any, x: Any) -> None:
    same(gradients(m.square(x), x), gradients(x * x, x))
    same(gradients(m.square(x=x), x), gradients(x * x, x))


def test_empty_tensors(m: Any) -> None:
    a, x = leaf(2.0), torch.empty(0, requires_grad=True)
    m.poly(a, x).sum().backward()
    assert a.grad == 0
    assert x.grad.shape == (0,)


def test_second_derivatives_are_refused(m: Any, x: Any) -> None:
    (g,) = torch.autograd.grad(m.poly(2.0, x).sum(), x, create_graph=True)
    same([g], [4 * x + 1])
    with pytest.raises(sn.GradientError, match="cannot differentiate the gradient") as caught:
        g.sum().backward()
    assert "sn.hvp(poly" in caught.value.remedy


def test_functorch(m: Any, x: Any) -> None:
    with pytest.raises(sn.CallError, match=r"torch\.vmap does not go through the Slang function poly"):
        torch.vmap(lambda x: m.poly(2.0, x))(x)
    with pytest.raises(sn.CallError, match=r"torch\.vmap does not go through"):
        torch.func.jacrev(lambda x: m.poly(2.0, x))(x)
    with pytest.raises(sn.GradientError, match="forward mode does not go through") as caught:
        torch.func.jvp(lambda x: m.poly(2.0, x), (x,), (x,))
    assert "sn.jvp(poly" in caught.value.remedy
    same([torch.func.grad(lambda x: m.poly(2.0, x).sum())(x)], [4 * x + 1])


def test_no_grad(m: Any, x: Any) -> None:
    with torch.no_grad():
        assert not m.poly(2.0, x).requires_grad
        assert isinstance(m.poly(2.0, x, _result="numpy"), np.ndarray)
    with torch.inference_mode():
        assert not m.poly(2.0, x).requires_grad
    assert not m.poly(2.0, x.detach()).requires_grad
    assert not m.rounded(x).requires_grad


def test_results_that_would_leave_the_graph_are_refused(m: Any, x: Any) -> None:
    with pytest.raises(sn.GradientError, match="would leave torch's graph"):
        m.poly(2.0, x, _result="numpy")
    with pytest.raises(sn.GradientError, match="would leave torch's graph"):
        m.poly.return_type("numpy")(2.0, x)


def test_bwds_is_torchs_own(m: Any, x: Any) -> None:
    with pytest.raises(sn.GradientError, match="takes no torch tensors") as caught:
        m.poly.bwds(2.0, x)
    assert "y.backward()" in caught.value.remedy


def test_functions_without_a_derivative(m: Any, x: Any) -> None:
    y = m.plain(x)
    same([y], [2 * x])
    with pytest.raises(sn.GradientError, match="plain is not differentiable"):
        y.sum().backward()


def test_parameters_without_a_derivative(m: Any, session: Any, x: Any) -> None:
    a = leaf(2.0)
    m.half_fixed(a, x).sum().backward()
    assert x.grad is None
    assert abs(a.grad.item() - x.sum().item()) < 1e-5
    assert not m.half_fixed(2.0, x).requires_grad
    session.said.clear()
    w = torch.rand(6, requires_grad=True)
    with pytest.warns(sn.GradientWarning, match="'w' requires a gradient, but its parameter has type"):
        m.fixed(w, torch.arange(6), x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.fixed(w, torch.arange(6), x)  # said once


def test_other_kinds_of_gradients_are_refused(m: Any, x: Any) -> None:
    with pytest.raises(sn.GradientError, match=r"'a' is a sn\.Parameter"):
        m.poly(sn.Parameter(2.0), x)
    with pytest.raises(sn.GradientError, match="'a' is a SlangPy tensor with a gradient"):
        m.poly(sn.tensor([2.0], grad=True), x)


def test_hooks_and_retained_graphs(m: Any, x: Any) -> None:
    seen = []
    inner = x * 2
    inner.register_hook(lambda g: seen.append(g) or g * 10)
    y = m.power(inner, 2).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(seen) == 2
    same([x.grad], [2 * 10 * 8 * x])


def test_checkpoints(m: Any, x: Any) -> None:
    checkpoint = importlib.import_module("torch.utils.checkpoint").checkpoint

    checkpoint(lambda v: m.poly(2.0, v * 1), x, use_reentrant=False).sum().backward()
    same([x.grad], [4 * x + 1])


@pytest.mark.filterwarnings("ignore")
def test_compiled_by_torch(m: Any, x: Any) -> None:
    compiled = torch.compile(lambda x: (m.poly(2.0, x * 1) * 2).sum(), backend="eager")
    compiled(x).backward()
    same([x.grad], [2 * (4 * x + 1)])


def test_what_changes_after_the_call(m: Any, session: Any, x: Any) -> None:
    moved = x * 1
    y = m.power(moved, 2)
    with torch.no_grad():
        moved.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    fixed = np.full(6, 3, np.float32)
    y = m.poly(fixed, x)
    fixed[:] = 7
    same(torch.autograd.grad(y.sum(), x), [6 * x + 1])
    color, n = np.ones(3, np.float32), torch.rand(5, 3)
    power = torch.tensor(2.0, requires_grad=True)
    y = m.lit({"color": color, "power": power, "kind": 0}, n)
    color[:] = 7
    same(torch.autograd.grad(y.sum(), power), [n.sum()])
    seen = sn.tensor(np.full(6, 3, np.float32))
    y = m.poly(seen, x)
    m.poly(1.0, sn.tensor(np.ones(6, np.float32)), _result=seen)
    with pytest.raises(sn.GradientError, match="an argument changed after"):
        y.sum().backward()
    own = session.compile("[Differentiable] float own(float x) { return x * x; }", name="torch_own")
    y = own.own(x)
    session.compile("[Differentiable] float own(float x) { return x * x * x; }", name="torch_own")
    with pytest.raises(sn.GradientError, match="was compiled again"):
        y.sum().backward()


def test_the_graph_keeps_nothing_alive(m: Any) -> None:
    x = torch.rand(6, requires_grad=True)
    y = m.poly(2.0, x)
    watched = [weakref.ref(x), weakref.ref(y)]
    y.sum().backward()
    del x, y
    gc.collect()
    assert [w() for w in watched] == [None, None]
