"""Torch's modes and hooks around a call: what a kernel is not part of goes the way that torch knows, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = "[Differentiable] float cube(float x) { return x * x * x; }"


@pytest.fixture
def f(session: Any) -> Any:
    return session.compile(SOURCE).cube


def numbers(*shape: int) -> Any:
    return torch.linspace(0.5, 1.5, int(torch.Size(shape).numel())).reshape(shape)


def test_saved_tensors_of_another_layout(f: Any) -> None:
    whole = numbers(6, 8)
    x = whole.clone().requires_grad_()
    want = torch.zeros(6, 8)
    want[:, ::4] = 3 * whole[:, ::4] ** 2

    def gradient() -> Any:
        x.grad = None
        return f(x[:, ::4]).sum()

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.double(), lambda t: t.float().contiguous()):
        gradient().backward()
        assert torch.allclose(x.grad, want)
    gradient().backward()
    assert torch.allclose(x.grad, want)
    with torch.autograd.graph.save_on_cpu():
        gradient().backward()
    assert torch.allclose(x.grad, want)


def test_saved_tensors_of_another_type_are_refused(f: Any) -> None:
    x = numbers(5).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.double()):
        y = f(x).sum()
        with pytest.raises((sn.GradientError, sn.CallError)):
            y.backward()


@pytest.mark.parametrize("earlier", [0, 3])  # before and after the forward launch gives the gradients along
@pytest.mark.parametrize("change", ["shorter", "nothing", "freed"])
def test_data_that_is_replaced_before_the_backward_pass(f: Any, change: str, earlier: int) -> None:
    x = numbers(100).requires_grad_()
    for _ in range(earlier):
        f(x).sum().backward()
    y = f(x).sum()
    if change == "freed":
        with pytest.raises((sn.GradientError, RuntimeError)):  # torch itself refuses where numpy holds the memory, too
            x.untyped_storage().resize_(0)
            y.backward()
        return
    x.data = torch.ones(3 if change == "shorter" else 0)
    with pytest.raises(sn.GradientError, match="another tensor"):
        y.backward()


def test_function_transforms_around_a_call(f: Any) -> None:
    x, z = numbers(5), numbers(5) + 1
    assert torch.allclose(torch.func.grad(lambda z: (f(x) * z).sum())(z), x**3)
    with pytest.raises(RuntimeError, match="NYI"):  # torch has no such rule for any function of ours
        torch.func.functionalize(lambda z: f(x) * z)(z)
    y, dy = torch.func.jvp(lambda z: f(x) * z, (z,), (torch.ones(5),))
    assert torch.allclose(y, x**3 * z)
    assert torch.allclose(dy, x**3)


def test_forward_mode_is_refused(f: Any) -> None:
    from torch.autograd import forward_ad  # pyright: ignore[reportMissingImports]

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(numbers(5), torch.ones(5))
        with pytest.raises(sn.GradientError, match="forward mode"):
            f(dual)


def test_tensors_without_numbers(f: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode  # pyright: ignore[reportMissingImports]

    with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises((RuntimeError, sn.SlangNbError)):
        f(torch.ones(5))
    assert torch.allclose(f(numbers(5)), numbers(5) ** 3)


def test_a_gradient_may_be_changed_in_place(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float a, float b, float x) { return a * x + b * x * x; }").f
    a, b = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    f(a, b, numbers(50)).sum().backward()
    before = b.grad.item()
    a.grad.zero_().add_(7)
    assert b.grad.item() == before
    assert a.grad.item() == 7


@pytest.mark.parametrize("earlier", [0, 3])  # before and after the forward launch gives the gradients along
def test_batched_gradients_are_refused(f: Any, earlier: int) -> None:
    x = numbers(3).requires_grad_()
    for _ in range(earlier):
        f(x).sum().backward()
    with pytest.raises(sn.CallError, match=r"torch\.vmap does not go through the Slang function cube"):
        torch.autograd.grad(f(x), x, torch.eye(3), is_grads_batched=True)
    with pytest.raises(sn.CallError, match=r"torch\.vmap does not go through the Slang function cube"):
        torch.autograd.functional.jacobian(f, x, vectorize=True)
    jacobian: Any = torch.autograd.functional.jacobian(f, x)
    assert torch.allclose(jacobian.diagonal(), 3 * x.detach() ** 2)


def test_the_derivative_of_a_gradient_by_a_factor_of_the_result(f: Any) -> None:
    x, w = numbers(3).requires_grad_(), torch.tensor(2.0, requires_grad=True)
    (gradient,) = torch.autograd.grad((w * f(x)).sum(), x, create_graph=True)
    with pytest.raises(sn.GradientError, match="cannot differentiate the gradient") as caught:
        torch.autograd.grad(gradient.sum(), w)
    assert "what the result is multiplied with, sn.jvp(cube, primals, tangents)" in str(caught.value.remedy)
    _, found = sn.jvp(f, {"x": x.detach()}, {"x": torch.ones(3)})  # as the remedy says
    assert found.sum().item() == pytest.approx(3 * (x**2).sum().item())
