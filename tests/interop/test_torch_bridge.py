"""Torch's tensors of a card in a session that reaches the card by Vulkan: copies on the card, not through the host."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.current import set_session
from slangnb.runtime.session import Session

torch = pytest.importorskip("torch", reason="torch is not installed")

from slangnb.interop.torch_bridge import LEAST_BYTES, Bridge, bridge_of  # noqa: E402  (it imports torch)

MANY = LEAST_BYTES // 4 + 3
POLY = "[Differentiable] float poly(float a, float x) { return a * x * x + x; }"


def test_none_is_needed_for_tensors_of_the_host(session: Any) -> None:
    assert bridge_of(session, torch.device("cpu")) is None


@pytest.fixture(scope="module")
def vulkan(session: Any) -> Iterator[Any]:
    from slangnb.devices.backend import enumerate_backends

    if not torch.cuda.is_available() or not any(b.name == "vulkan" and not b.software for b in enumerate_backends()):
        pytest.skip("torch has no CUDA here, or the card no Vulkan")
    made = Session("vulkan")
    set_session(made)
    yield made
    set_session(session)
    made.close()


@pytest.fixture
def used(vulkan: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What goes over the bridge: ``"in"`` and ``"out"``."""
    found: list[str] = []
    for name, what in (("to_session", "in"), ("to_torch", "out")):
        way = getattr(Bridge, name)
        monkeypatch.setattr(Bridge, name, lambda self, t, way=way, what=what: (found.append(what), way(self, t))[1])
    return found


@pytest.mark.gpu
def test_calls_and_gradients(vulkan: Any, used: list[str]) -> None:
    f = vulkan.compile(POLY).poly
    a = torch.tensor(2.0, device="cuda", requires_grad=True)
    x = torch.randn(MANY, device="cuda", requires_grad=True)
    y = f(a, x)
    assert (y.device, y.requires_grad, used) == (x.device, True, ["in", "out"])
    torch.testing.assert_close(y, 2 * x**2 + x)
    seed = torch.randn(MANY, device="cuda")
    y.backward(seed)
    assert used == ["in", "out", "in", "in", "out"]
    torch.testing.assert_close(x.grad, seed * (4 * x + 1))
    want = (seed.double() * x.double() ** 2).sum()
    assert abs(a.grad.double() - want) <= 1e-6 * (seed.double() * x.double() ** 2).abs().sum()


@pytest.mark.gpu
def test_transforms(vulkan: Any, used: list[str]) -> None:
    f, x = vulkan.compile(POLY).poly, torch.randn(MANY, device="cuda")
    value, grads = sn.value_and_grad(f)(2.0, x)
    assert used == ["in", "out"]
    torch.testing.assert_close(grads["x"], 4 * x + 1)
    assert grads["a"] == pytest.approx((x.double() ** 2).sum().item(), rel=1e-6)
    assert float(value) == pytest.approx((2 * x.double() ** 2 + x.double()).sum().item(), rel=1e-6)


@pytest.mark.gpu
def test_many_calls_in_a_row(vulkan: Any) -> None:
    """Nothing waits on the host, so what torch writes next must not overtake the device."""
    f, x = vulkan.compile(POLY).poly, torch.randn(1 << 20, device="cuda")
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    for k in range(60):
        with torch.cuda.stream(streams[k % 2]):
            streams[k % 2].wait_stream(streams[1 - k % 2])
            z = x + k
            y = f(1.0, z)
            z.zero_()
            assert torch.equal(torch.isclose(y, (x + k) ** 2 + x + k, rtol=1e-5, atol=1e-4), torch.ones_like(x) > 0)


@pytest.mark.gpu
@pytest.mark.parametrize("change", ["strided", "expanded", "vector", "half", "integer", "small", "struct"])
def test_kinds_of_tensors(vulkan: Any, used: list[str], change: str) -> None:
    module = vulkan.compile(
        """
        struct Pair : IDifferentiable { float a; float b; }
        [Differentiable] float poly(float x) { return x * x + x; }
        [Differentiable] float norm(float3 v) { return dot(v, v); }
        [Differentiable] half halved(half x) { return x * x; }
        [Differentiable] float product(Pair p) { return p.a * p.b; }
        int next(int k) { return k + 1; }
        """
    )
    make = torch.Generator("cuda").manual_seed(0)
    x = torch.randn(MANY, 6, device="cuda", generator=make)
    if change == "vector":
        v = x[:, ::2].detach().requires_grad_()
        module.norm(v).sum().backward()
        torch.testing.assert_close(v.grad, 2 * v)
    elif change == "half":
        h = x.half().requires_grad_()
        module.halved(h).sum().backward()
        torch.testing.assert_close(h.grad, 2 * h)
    elif change == "integer":
        k = torch.arange(MANY, device="cuda", dtype=torch.int32)
        assert torch.equal(module.next(k), k + 1)
    elif change == "struct":
        a, b = x[:, 0].detach().requires_grad_(), x[:, 1].detach().requires_grad_()
        module.product({"a": a, "b": b}).sum().backward()
        torch.testing.assert_close(a.grad, b.detach())
        torch.testing.assert_close(b.grad, a.detach())
    else:
        x = (
            {"strided": x.T[1:, ::2], "expanded": x[0].expand(MANY, 6), "small": x[:5]}[change]
            .detach()
            .requires_grad_()
        )
        y = module.poly(x)
        torch.testing.assert_close(y, x**2 + x)
        y.mean().backward()
        torch.testing.assert_close(x.grad, (2 * x + 1) / x.numel())
    assert bool(used) == (change != "small")


@pytest.mark.gpu
def test_the_bridge_goes_with_the_session(vulkan: Any) -> None:
    made = Session("vulkan")
    y = made.compile(POLY).poly(2.0, torch.ones(MANY, device="cuda"))
    made.close()
    assert np.all(y.cpu().numpy() == 3)


@pytest.mark.gpu
def test_a_process_ends_in_order(vulkan: Any) -> None:
    code = f"""
import torch, slangnb as sn
s = sn.Session("vulkan")
x = torch.ones({MANY}, device="cuda", requires_grad=True)
y = s.compile({POLY!r}).poly(2.0, x)
y.sum().backward()
t = s.compile({POLY!r}).poly(2.0, sn.tensor(x.detach(), session=s))
print(s.device.supports_cuda_interop, x.grad[0].item(), torch.cuda.current_device())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()) == (0, ["True", "5.0", "0"]), done.stderr
