"""Torch's CPU tensors on a session of a card, and where results live."""

from __future__ import annotations

from typing import Any

import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def cuda(session: Any) -> Any:
    from slangnb.runtime.session import Session, set_session

    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    if session.backend.name == "cuda":
        yield session
        return
    made = Session("cuda")
    set_session(made)
    yield made
    set_session(session)
    made.close()


@pytest.mark.gpu
def test_cpu_tensors_on_a_cuda_session(cuda: Any) -> None:
    m = cuda.compile("[Differentiable] float poly(float a, float x) { return a * x * x + x; }")
    a, x = torch.tensor(2.0, requires_grad=True), torch.rand(5, requires_grad=True)
    y = m.poly(a, x)
    assert (y.device.type, y.requires_grad) == ("cpu", True)
    y.sum().backward()
    torch.testing.assert_close(x.grad, (4 * x + 1).detach())
    torch.testing.assert_close(a.grad, x.pow(2).sum().detach())


@pytest.mark.gpu
def test_numbers_may_live_elsewhere(cuda: Any) -> None:
    """As in torch, a tensor without dimensions on the CPU goes with tensors of a card."""
    m = cuda.compile("[Differentiable] float poly(float a, float x) { return a * x * x + x; }")
    a, x = torch.tensor(2.0, requires_grad=True), torch.rand(5, device="cuda")
    y = m.poly(a, x)
    assert y.device == x.device
    y.sum().backward()
    assert a.grad.device.type == "cpu"
    torch.testing.assert_close(a.grad, x.pow(2).sum().cpu())
    with pytest.raises(sn.CallError, match="is on cpu, another argument on cuda") as caught:
        m.poly(x, torch.rand(5))
    assert ".to('cuda:0')" in caught.value.remedy
