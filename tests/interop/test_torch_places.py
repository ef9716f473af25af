"""Torch's CPU tensors on a session of a card, and where results live."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def cuda(session: Any) -> Any:
    from slangnb.runtime.current import set_session
    from slangnb.runtime.session import Session

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


@pytest.mark.gpu
def test_a_tensor_of_another_card(session: Any) -> None:
    if session.backend.name != "cuda":
        pytest.skip("the session is not on CUDA")
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one card")
    f = session.compile("[Differentiable] float poly(float a, float x) { return a * x * x; }").poly
    x: Any = torch.tensor([1.0, 2.0, 3.0], device="cuda:1", requires_grad=True)
    a: Any = torch.tensor(2.0, device="cuda:1", requires_grad=True)
    here: Any = torch.tensor([1.0, 2.0], device="cuda:0", requires_grad=True)
    for _ in range(2):
        x.grad = a.grad = here.grad = None
        y: Any = f(a, x)
        y.sum().backward()
        f(3.0, here).sum().backward()
        grads: list[Any] = [t.grad for t in (x, a, here)]
        assert y.device == grads[0].device == x.device
        assert [y.tolist(), *(g.tolist() for g in grads)] == [[2, 8, 18], [4, 8, 12], 14, [6, 12]]
    with torch.cuda.device(1):
        for values in ((a, x), (3.0, here), (2.0, np.arange(3, dtype=np.float32))):
            with pytest.raises(sn.BackendError, match="another card"):
                f(*values)
        assert torch.cuda.current_device() == 1
    assert f(2.0, np.arange(3, dtype=np.float32), _result="numpy").tolist() == [0, 2, 8]
    with pytest.raises(sn.CallError, match="cuda:1"):
        f(torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1"))
