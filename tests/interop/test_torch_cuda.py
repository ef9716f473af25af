"""Torch tensors on the session's own card: the same memory, torch's stream, right values and gradients."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.gpu

SOURCE = """
struct Plane : IDifferentiable { float k; float3 n; }
[Differentiable] float poly(float a, float b, float c, float x) { return a * x * x + b * x + c; }
[Differentiable] float3 shade(float3 u, float t) { return u * t + float3(t * t); }
[Differentiable] double square(double a, double x) { return a * x * x; }
[Differentiable] half small(half a, half x) { return a * x * x; }
[Differentiable] float height(Plane p, float3 x) { return p.k * dot(p.n, x); }
[Differentiable] float two(float x, out float twice) { twice = 2 * x; return x * x; }
[Differentiable] float norm(float[4] w) { float s = 0.0; for (int i = 0; i < 4; i++) s += w[i] * w[i]; return s; }
[Differentiable] float logarithm(float x) { return log(x - 1.0); }
float times(int n, float x) { return n * x; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    if session.backend.name != "cuda":
        pytest.skip("the session is not on CUDA")
    return session.compile(SOURCE)


def is_shared(function: Any, *args: Any, **kwargs: Any) -> bool:
    from slangnb.interop.torch_quick import quick_call

    return quick_call(function, args, kwargs) is not None


def numbers(*shape: int, dtype: Any = None) -> Any:
    made = torch.from_numpy(np.random.default_rng(sum(shape)).uniform(-1, 1, shape))
    return made.to("cuda", dtype or torch.float32).requires_grad_()


def close(a: Any, b: Any, tol: float = 1e-6) -> bool:
    return bool(torch.allclose(a.double(), b.double(), rtol=tol, atol=tol))


def test_the_page_of_the_documentation(m: Any) -> None:
    x = torch.tensor([1, 2, 3, 4], dtype=torch.float32, device="cuda", requires_grad=True)
    assert is_shared(m.poly, a=2, b=8, c=-1, x=x)
    result = m.poly(a=2, b=8, c=-1, x=x)
    result.backward(torch.ones_like(result))
    assert result.tolist() == [9, 23, 41, 63]
    assert x.grad.tolist() == [12, 16, 20, 24]


def test_a_parameter_is_summed(m: Any) -> None:
    n = 1 << 22
    x, a = numbers(n), torch.tensor(2.0, device="cuda", requires_grad=True)
    m.poly(a, 8.0, -1.0, x).sum().backward()
    want = (x.detach().double() ** 2).sum()
    assert abs((a.grad.double() - want) / want) < 1e-6
    assert close(x.grad, 4 * x.detach() + 8)
    first, a.grad = a.grad.clone(), None
    m.poly(a, 8.0, -1.0, x).sum().backward()
    assert torch.equal(first, a.grad)  # the same bits


def test_vectors_and_seeds(m: Any) -> None:
    u, t = numbers(50, 3), numbers(50)
    w = numbers(50, 3).detach()
    y = m.shade(u, t)
    y.backward(w)
    assert is_shared(m.shade, u, t)
    assert close(y.detach(), u.detach() * t.detach()[:, None] + t.detach()[:, None] ** 2)
    assert close(u.grad, w * t.detach()[:, None])
    assert close(t.grad, (w * (u.detach() + 2 * t.detach()[:, None])).sum(1), 1e-5)
    u.grad = None
    m.shade(u, t).sum().backward()  # its seed is one number for all
    assert close(u.grad, t.detach()[:, None].expand(50, 3))
    m.shade(u, t).backward(w.flip(0).t().contiguous().t())  # a seed that does not lie in order
    assert close(u.grad, (w.flip(0) + 1) * t.detach()[:, None])


def test_negative_seeds(m: Any) -> None:
    x = numbers(6)
    y = m.poly(2.0, 1.0, 0.0, x)
    y.backward(torch._neg_view(torch.ones_like(y)))
    assert close(x.grad, -(4 * x.detach() + 1))
    x.grad = None
    y = m.poly(2.0, 1.0, 0.0, x)
    y.backward(torch._neg_view(torch.ones((), device="cuda").expand(6)))
    assert close(x.grad, -(4 * x.detach() + 1))


def test_layouts(m: Any) -> None:
    turned = numbers(6, 4).detach().t().requires_grad_()
    y = m.poly(2.0, 1.0, 0.0, turned)
    y.backward(torch.ones_like(y))
    assert is_shared(m.poly, 2.0, 1.0, 0.0, turned)
    assert y.shape == (4, 6)
    assert close(turned.grad, 4 * turned.detach() + 1)
    one = numbers(1)
    m.poly(2.0, 1.0, 0.0, one.expand(7)).sum().backward()
    assert close(one.grad, 7 * (4 * one.detach() + 1))
    a, x = numbers(6), numbers(4, 1)
    g = numbers(4, 6).detach()
    m.poly(a, 1.0, 0.0, x).backward(g)
    assert close(a.grad, (g * x.detach() ** 2).sum(0), 1e-5)
    assert close(x.grad, (g * (2 * a.detach() * x.detach() + 1)).sum(1, keepdim=True), 1e-5)
    part = numbers(10)
    m.poly(2.0, 1.0, 0.0, part[3:8]).sum().backward()
    want = torch.zeros(10, device="cuda")
    want[3:8] = 4 * part.detach()[3:8] + 1
    assert close(part.grad, want)


def test_types(m: Any) -> None:
    x, a = numbers(90, dtype=torch.float64), numbers(1, dtype=torch.float64)
    a = a.detach()[0].requires_grad_()
    m.square(a, x).sum().backward()
    assert a.grad.dtype is torch.float64
    assert close(a.grad, (x.detach() ** 2).sum(), 1e-14)
    assert close(x.grad, 2 * a.detach() * x.detach(), 1e-14)
    h, s = numbers(90, dtype=torch.float16), torch.tensor(3.0, dtype=torch.float16, device="cuda", requires_grad=True)
    m.small(s, h).sum().backward()
    assert s.grad.dtype is torch.float16
    assert close(s.grad, (h.detach().double() ** 2).sum(), 1e-3)
    w = numbers(5, 4)
    m.norm(w).sum().backward()
    assert close(w.grad, 2 * w.detach())
    assert m.times(3, torch.ones(2, device="cuda")).tolist() == [3, 3]


def test_structs_and_outputs(m: Any) -> None:
    k, n, x = torch.tensor(2.0, device="cuda", requires_grad=True), numbers(3), numbers(11, 3)
    assert is_shared(m.height, {"k": k, "n": n}, x)
    m.height({"k": k, "n": n}, x).sum().backward()
    assert close(k.grad, (x.detach() @ n.detach()).sum())
    assert close(n.grad, 2 * x.detach().sum(0))
    assert close(x.grad, (2 * n.detach()).expand(11, 3))
    v = numbers(8)
    found = m.two(v)
    assert sorted(found) == ["result", "twice"]
    (found["twice"].sum() + 3 * found["result"].sum()).backward()
    assert close(v.grad, 2 + 6 * v.detach())


def test_other_kinds_go_by_copies_or_are_refused(m: Any) -> None:
    x = torch.ones(4, device="cuda")
    assert not is_shared(m.times, torch.tensor(3, device="cuda"), x)  # it may say how often a loop runs
    assert m.times(torch.tensor(3, device="cuda"), x).tolist() == [3, 3, 3, 3]
    assert not is_shared(m.poly, 1.0, 0.0, 0.0, torch.ones(0, device="cuda"))
    assert m.poly(1.0, 0.0, 0.0, torch.ones(0, device="cuda")).shape == (0,)
    gone = torch.ones(4, device="cuda")
    m.poly(1.0, 0.0, 0.0, gone)
    gone.untyped_storage().resize_(0)
    with pytest.raises(sn.CallError):
        m.poly(1.0, 0.0, 0.0, gone)
    cpu = torch.tensor([1.0, 2.0], requires_grad=True)
    y = m.poly(2.0, 8.0, -1.0, cpu)
    y.sum().backward()
    assert y.device.type == "cpu"
    assert cpu.grad.tolist() == [12, 16]
    with pytest.raises(sn.CallError, match=r"x\.float\(\)"):
        m.poly(1.0, 0.0, 0.0, x.double())
    with pytest.raises(sn.CallError, match="vmap"):
        torch.vmap(lambda row: m.poly(1.0, 0.0, 0.0, row))(torch.ones(3, 4, device="cuda"))
    leaf = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(m.poly(1.0, 0.0, 0.0, leaf).sum(), leaf, create_graph=True)
    with pytest.raises(sn.GradientError, match="hvp"):
        g.sum().backward()


def test_a_gradient_that_is_not_finite_is_said(m: Any) -> None:
    x = torch.ones(4, device="cuda", requires_grad=True)
    with pytest.warns(sn.errors.GradientWarning, match="not finite"):
        m.logarithm(x).sum().backward()


def test_torch_sees_what_is_written_between(m: Any) -> None:
    x = numbers(4)
    y = m.poly(1.0, 0.0, 0.0, x)
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_function_compiled_again(session: Any) -> None:
    if session.backend.name != "cuda":
        pytest.skip("the session is not on CUDA")
    text = "[Differentiable] float f(float x) {{ return {} * x; }}"
    f = session.compile(text.format(2), name="again_on_cuda").f
    x = torch.ones(3, device="cuda", requires_grad=True)
    y = f(x)
    session.compile(text.format(5), name="again_on_cuda")
    assert f(x).tolist() == [5, 5, 5]
    with pytest.raises(sn.GradientError, match="compiled again"):
        y.sum().backward()


def test_streams(m: Any) -> None:
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for k in range(20):
            z = torch.full((1 << 22,), float(k), device="cuda", requires_grad=True)
            y = m.poly(1.0, 0.0, 0.0, z)
            y.sum().backward()
            assert (y == k * k).all()
            assert (z.grad == 2 * k).all()
    a = torch.tensor(1.0, device="cuda")
    total = sn.grad(m.poly, wrt="a")
    z = torch.ones(1 << 22, device="cuda")
    torch.cuda.synchronize()
    for k in range(20):  # the same memory for partial sums, on two streams in turn
        with torch.cuda.stream(side if k % 2 else torch.cuda.default_stream()):
            assert total(a=a, b=0.0, c=0.0, x=z).item() == 1 << 22


def test_transforms_stay_on_the_card(m: Any) -> None:
    x, a = numbers(1000).detach(), torch.tensor(2.0, device="cuda")
    value, grads = sn.value_and_grad(m.poly, wrt=("a", "x"))(a=a, b=8.0, c=-1.0, x=x)
    assert value.device.type == grads["a"].device.type == grads["x"].device.type == "cuda"
    d = x.double()
    assert close(value, (2 * d * d + 8 * d - 1).sum(), 1e-5)
    assert close(grads["a"], (d * d).sum())
    assert close(grads["x"], 4 * d + 8)
    value, da = sn.value_and_grad(m.poly, wrt="a", reduce="mean")(2.0, 8.0, -1.0, x)
    assert isinstance(da, float)
    assert da == pytest.approx((d * d).mean().item(), rel=1e-6)
    found = sn.grad(m.height)({"k": a, "n": x[:3]}, x[3:33].reshape(10, 3))
    assert close(found["p"]["k"], (x[3:33].reshape(10, 3) @ x[:3]).sum())


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_a_reduced_module(m: Any, reduce: str) -> None:
    x = numbers(5000)
    layer = sn.torch.SlangModule(m.poly, {"a": 2.0, "b": 8.0}, reduce=reduce).cuda()
    loss = layer(c=-1.0, x=x)
    (3 * loss).backward()
    d, n = x.detach().double(), 5000 if reduce == "mean" else 1
    assert close(loss.detach(), (2 * d * d + 8 * d - 1).sum() / n, 1e-5)
    assert close(layer.a.grad, 3 * (d * d).sum() / n)
    assert close(x.grad, 3 * (4 * d + 8) / n)


def test_other_threads(m: Any) -> None:
    found = []

    def work() -> None:
        x = torch.arange(4.0, device="cuda", requires_grad=True)
        y = m.poly(1.0, 0.0, 0.0, x)
        y.sum().backward()
        by_numpy = m.poly(1.0, 0.0, 0.0, np.arange(3, dtype=np.float32), _result="numpy")
        found.extend([y.tolist(), x.grad.tolist(), by_numpy.tolist()])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [[0, 1, 4, 9], [0, 2, 4, 6], [0, 1, 4]]


@pytest.mark.parametrize("count", [1 << 20, (1 << 20) - 4, 4096 + 3])
@pytest.mark.parametrize("start", [0, 1, 2, 4])
def test_pieces_that_begin_anywhere(m: Any, count: int, start: int) -> None:
    """A kernel that reads several numbers at once would stop the card at addresses that are no multiple of 16."""
    whole = numbers(count + 8)
    x = whole[start : start + count]
    y = m.poly(2.0, 8.0, -1.0, x)
    assert close(y, 2 * x.double() ** 2 + 8 * x.double() - 1)
    seed = numbers(count + 8).detach()[3 - start % 4 : count + 3 - start % 4]
    y.backward(seed)
    want = torch.zeros_like(whole).double()
    want[start : start + count] = seed.double() * (4 * x.double() + 8)
    assert close(whole.grad, want)
    u, t = whole[: count // 3 * 3].view(-1, 3), numbers(count // 3)
    value, grads = sn.value_and_grad(m.shade)(u, t)
    assert close(grads["t"], (u.double() + 2 * t.double()[:, None]).sum(1))
    assert close(grads["u"], t.double()[:, None].expand(-1, 3))
    assert value.item() == pytest.approx(
        (u.double() * t.double()[:, None] + t.double()[:, None] ** 2).sum().item(), rel=1e-5
    )
