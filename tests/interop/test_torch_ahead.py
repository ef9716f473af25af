"""Small calls in a loop: the forward launch gives the gradients along, and they are those of the usual way."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
[Differentiable] float3 turned(float a, float3 v) { return float3(a) * v.yzx; }
[Differentiable] half halves(half a, half x) { return a * x * x; }
[Differentiable] double doubles(float a, double x) { return double(a) * x * x; }
[Differentiable] float inside(float x) { half h = half(x); return float(h * h); }
[Differentiable] float root(float x) { return sqrt(x); }
"""


@pytest.fixture
def m(session: Any) -> Any:
    if not session.host_memory and session.backend.name != "cuda":
        pytest.skip("torch shares no memory with this backend")
    return session.compile(SOURCE, name="m")


@pytest.fixture
def device(session: Any) -> str:
    return "cuda" if session.backend.name == "cuda" else "cpu"


@pytest.fixture
def a(device: str) -> Any:
    return torch.tensor(2.0, device=device, requires_grad=True)


@pytest.fixture
def x(device: str) -> Any:
    return torch.tensor([0.5, -1.0, 3.0], device=device, requires_grad=True)


def prepared(f: Any, *args: Any, reduce: str = "", **kwargs: Any) -> Any:
    """Give what was prepared for such a call."""
    from slangnb.interop.torch_quick import quick_call

    quick = quick_call(f, args, kwargs, reduce)
    assert quick is not None
    return quick.call


def ahead(f: Any, *args: Any) -> bool:
    """Tell whether the next forward launch gives the gradients along."""
    return prepared(f, *args).ahead is not None


def forget(*tensors: Any) -> None:
    for t in tensors:
        t.grad = None


def train(f: Any, *args: Any, rounds: int = 3) -> None:
    for _ in range(rounds):
        f(*args).sum().backward()
    forget(*args)


def test_the_third_step_needs_one_launch_and_gives_the_same(m: Any, a: Any, x: Any) -> None:
    found = []
    for k in range(4):
        assert ahead(m.poly, a, x) == (k > 1)
        forget(a, x)
        m.poly(a, x).sum().backward()
        found.append((a.grad.item(), x.grad.tolist()))
    assert found == [(10.25, [3.0, -3.0, 13.0])] * 4


def test_gradients_follow_what_is_made_of_the_result(m: Any, a: Any, x: Any) -> None:
    train(m.poly, a, x)
    (3 * m.poly(a, x).mean()).backward()
    assert (a.grad.item(), x.grad.tolist()) == (10.25, [3.0, -3.0, 13.0])
    forget(a, x)
    weights = torch.tensor([1.0, 0.0, 2.0], device=x.device)
    (m.poly(a, x) * weights).sum().backward()  # the usual way
    assert (a.grad.item(), x.grad.tolist()) == (18.25, [3.0, 0.0, 26.0])
    forget(a, x)
    m.poly(a, x).sum().neg().backward()
    assert a.grad.item() == -10.25


@pytest.mark.parametrize(("reduce", "share"), [("sum", 1), ("mean", 3)])
def test_a_module_with_a_sum(m: Any, a: Any, x: Any, reduce: str, share: int) -> None:
    layer = sn.torch.SlangModule(m.poly, {}, reduce=reduce)
    for _ in range(4):
        forget(a, x)
        loss = layer(a=a, x=x)
        loss.backward()
        assert loss.item() == pytest.approx((2 * 10.25 + 2.5) / share, rel=1e-6)
        assert a.grad.item() == pytest.approx(10.25 / share, rel=1e-6)
        assert x.grad.tolist() == pytest.approx([3.0 / share, -3.0 / share, 13.0 / share], rel=1e-6)
    loss = layer(a=a, x=x)
    loss += 1.0  # in place
    loss.backward()
    assert loss.item() == pytest.approx((2 * 10.25 + 2.5) / share + 1, rel=1e-6)


def test_vectors_and_types_of_both_precisions(m: Any, a: Any, device: str) -> None:
    v = torch.tensor([[1.0, 2.0, 3.0]], device=device, requires_grad=True)
    train(m.turned, a, v)
    assert ahead(m.turned, a, v)
    m.turned(a, v).sum().backward()
    assert (a.grad.item(), v.grad.tolist()) == (6.0, [[2.0, 2.0, 2.0]])
    forget(a)
    d = torch.tensor([1.5, 2.0], dtype=torch.float64, device=device, requires_grad=True)
    train(m.doubles, a, d)
    m.doubles(a, d).sum().backward()
    assert (a.grad.dtype, a.grad.item(), d.grad.tolist()) == (torch.float32, 6.25, [6.0, 8.0])


def test_half_precision_takes_its_seed_into_the_kernel(m: Any, device: str) -> None:
    a = torch.tensor(2.0**-12, dtype=torch.float16, device=device, requires_grad=True)
    x = torch.tensor([2.0**-13], dtype=torch.float16, device=device, requires_grad=True)
    train(m.halves, a, x)
    assert not ahead(m.halves, a, x)
    (m.halves(a, x) * 1024).sum().backward()  # 2^-26 alone is no number of half precision
    assert a.grad.item() == 2.0**-16
    x = torch.tensor([2.0**-13], device=device, requires_grad=True)
    train(m.inside, x)
    assert not ahead(m.inside, x)


def test_large_calls_go_the_usual_way(m: Any, a: Any, device: str) -> None:
    from slangnb.interop.torch_ahead import MOST

    x = torch.ones(MOST + 1, device=device, requires_grad=True)
    train(m.poly, a, x)
    assert not ahead(m.poly, a, x)


@pytest.fixture
def many(device: str) -> Any:
    from slangnb.interop.torch_ahead import MOST

    return torch.linspace(-1, 1, MOST + 5, device=device).requires_grad_()


def right(a: Any, x: Any) -> tuple[float, float, Any]:
    """Give value and gradients of the sum of poly in float64."""
    x = x.detach().double()
    return float((a.item() * x * x + x).sum()), float((x * x).sum()), 2 * a.item() * x + 1


@pytest.mark.parametrize("factor", [1.0, 3.0, 0.001, -1.0])
def test_large_sums_give_their_gradients_along(m: Any, a: Any, many: Any, factor: float) -> None:
    layer = sn.torch.SlangModule(m.poly, {}, reduce="sum")
    value, da, dx = right(a, many)
    for _ in range(4):
        forget(a, many)
        loss = layer(a=a, x=many)
        (factor * loss).backward()
        assert loss.item() == pytest.approx(value, rel=1e-6)
        assert a.grad.item() == pytest.approx(factor * da, rel=1e-6)
        torch.testing.assert_close(many.grad.double(), factor * dx, rtol=1e-6, atol=1e-6 * abs(factor))
    found = prepared(m.poly, reduce="sum", a=a, x=many).ahead
    assert found is not None
    assert found.unasked == 0


@pytest.mark.parametrize("factor", [1.0, -3.0])
def test_the_kernel_that_scales_on_a_card(
    session: Any, m: Any, a: Any, many: Any, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slangnb.interop import torch_ahead

    if not session.host_memory:
        pytest.skip("on a card, all large gradients are scaled by it")
    layer = sn.torch.SlangModule(m.poly, {}, reduce="sum")
    for _ in range(3):
        layer(a, many).backward()
    found = prepared(m.poly, reduce="sum", a=a, x=many).ahead
    found.scale = torch_ahead.Scale(session, [("float", 1), ("float", many.numel())], "float")
    monkeypatch.setattr(torch_ahead, "raw_stream", lambda index: 0)
    monkeypatch.setattr(torch, "_foreach_mul_", None)
    forget(a, many)
    (factor * layer(a, many)).backward()
    _, da, dx = right(a, many)
    assert a.grad.item() == pytest.approx(factor * da, rel=1e-6)
    torch.testing.assert_close(many.grad.double(), factor * dx, rtol=1e-6, atol=1e-6)
    minus = torch._neg_view(torch.tensor(factor))  # its memory holds the other sign
    (only,) = torch.autograd.grad(layer(a, many), a, minus)
    assert only.item() == pytest.approx(-factor * da, rel=1e-6)
    both = torch.autograd.grad(layer(a, many), (a, many), minus)
    assert both[0].item() == pytest.approx(-factor * da, rel=1e-6)


def test_gradients_along_live_no_longer_than_they_are_needed(m: Any, a: Any, x: Any) -> None:
    layer = sn.torch.SlangModule(m.poly, {}, reduce="sum")
    for _ in range(3):
        layer(a, x).backward()
    gc.disable()
    loss = layer(a, x)
    given = weakref.ref(loss.grad_fn.given)
    del loss
    gone = given() is None
    gc.enable()
    assert gone  # at once: a loop of forward passes would fill the card until the garbage is collected
    train(m.poly, a, x)
    y = m.poly(a, x)
    (y * torch.ones_like(y)).sum().backward()  # the usual way
    assert y.grad_fn.given.found == []


def test_a_closed_session_is_said(session: Any) -> None:
    own = sn.Session(session.backend.key, guard=False)
    x = torch.ones(3, device="cuda" if session.backend.name == "cuda" else "cpu", requires_grad=True)
    y = own.compile(SOURCE, name="m").root(x).sum()
    own.close()
    with pytest.raises(sn.BackendError, match="this session is closed"):
        y.backward()


def test_gradients_of_large_sums_are_not_copied(m: Any, a: Any, many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from slangnb.interop.torch_ahead import Given

    layer, places = sn.torch.SlangModule(m.poly, {}, reduce="mean"), []
    way: Any = Given.gradients

    def watched(self: Any, wanted: Any, seed: Any) -> Any:
        found = way(self, wanted, seed)
        places.append([g.data_ptr() for g in found])
        return found

    monkeypatch.setattr(Given, "gradients", watched)
    for _ in range(4):
        forget(a, many)
        layer(a, many).backward()
    assert len(places) == 2
    assert places[-1] == [a.grad.data_ptr(), many.grad.data_ptr()]


def test_a_graph_of_a_large_sum_twice(m: Any, a: Any, many: Any) -> None:
    layer = sn.torch.SlangModule(m.poly, {}, reduce="sum")
    for _ in range(3):
        layer(a, many).backward()
    forget(a, many)
    loss = layer(a, many)
    loss.backward(retain_graph=True)
    first = many.grad
    (other,) = torch.autograd.grad(loss, many)
    assert torch.equal(first, other)
    assert first.data_ptr() != other.data_ptr()


@pytest.mark.parametrize("large", [False, True])
def test_forward_passes_alone_stop_giving_gradients_along(m: Any, a: Any, x: Any, many: Any, large: bool) -> None:
    layer, x = sn.torch.SlangModule(m.poly, {}, reduce="sum"), many if large else x
    for _ in range(3):
        layer(a, x).backward()
    losses = [layer(a, x) for _ in range(10)]
    along = [loss.grad_fn.given is not None for loss in losses]
    assert sum(along) == (1 if large else 8)
    assert sorted(along, reverse=True) == along
    losses[-1].backward()
    assert layer(a, x).grad_fn.given is not None


def test_some_gradients_alone_and_twice_of_one_graph(m: Any, a: Any, x: Any) -> None:
    train(m.poly, a, x)
    y = m.poly(a, x).sum()
    (only,) = torch.autograd.grad(y, x, retain_graph=True)
    (other,) = torch.autograd.grad(y, a)
    assert (only.tolist(), other.item()) == ([3.0, -3.0, 13.0], 10.25)


def test_second_derivatives_are_refused_as_before(m: Any, a: Any, x: Any) -> None:
    train(m.poly, a, x)
    (da,) = torch.autograd.grad(m.poly(a, x).sum(), a, create_graph=True)
    with pytest.raises(sn.GradientError, match="cannot differentiate the gradient of a Slang function again"):
        da.backward()


def test_what_changed_in_between_is_refused_as_before(m: Any, a: Any, x: Any) -> None:
    train(m.poly, a, x)
    y = m.poly(a, x).sum()
    with torch.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_function_compiled_again_is_refused_as_before(session: Any, m: Any, a: Any, x: Any) -> None:
    train(m.poly, a, x)
    y = m.poly(a, x).sum()
    session.compile(SOURCE.replace("+ x;", "+ 2 * x;"), name="m")
    with pytest.raises(sn.GradientError, match="compiled again"):
        y.backward()


def test_a_forward_pass_alone_says_nothing_of_gradients(m: Any, x: Any) -> None:
    train(m.root, x.detach().abs().requires_grad_())
    zero = torch.zeros(3, device=x.device, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert m.root(zero).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "part", [lambda t: t.t(), lambda t: t[::2], lambda t: t[:, 1:]], ids=["turned", "every other", "shifted"]
)
def test_hooks_that_keep_tensors_in_another_layout(m: Any, a: Any, device: str, part: Any) -> None:
    base = torch.arange(1.0, 21.0, device=device).reshape(4, 5)
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.clone(memory_format=torch.contiguous_format), lambda t: t
    )
    for _ in range(4):
        forget(a)
        leaf = base.clone().requires_grad_()
        with hooks:
            y = m.poly(a, part(leaf))
        y.sum().backward()
        right = base.clone().requires_grad_()
        (2 * part(right) ** 2 + part(right)).sum().backward()
        torch.testing.assert_close(y, 2 * part(base) ** 2 + part(base))
        torch.testing.assert_close(leaf.grad, right.grad)
        torch.testing.assert_close(a.grad, (part(base) ** 2).sum())
