"""What the audit refuses is refused for torch tensors too: at the first call, and at later ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
[Differentiable] float power(float x) { return pow(x, 2.0); }
[Differentiable] float grow(float x)
{ float a = x; float t = 0; [MaxIters(4)] while (t < x) { a *= x; t += 1; } return a; }
[Differentiable] float pair(float z[3], int k) { return z[0] * z[k]; }
"""
#: Arguments that are right, the gradient of the sum for them, and arguments that are refused.
CASES = {
    "power": (torch.tensor([2.0, 3.0]), 2 * np.array([2.0, 3.0]), torch.tensor([2.0, -3.0])),
    "grow": (torch.tensor([1.5, 1.0]), [3 * 1.5**2, 2.0], torch.tensor([1.5, 6.5])),
}


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE, warn=False)


@pytest.fixture
def device(session: Any) -> str:
    return "cuda" if session.backend.name == "cuda" else "cpu"


@pytest.mark.parametrize("way", ["backward", "module", "grad"])
@pytest.mark.parametrize("name", CASES)
def test_numbers_that_turn_bad(m: Any, device: str, name: str, way: str) -> None:
    fine, right, bad = CASES[name]
    f, layer = m[name], sn.torch.SlangModule(m[name], {}, reduce="sum")

    def slope(x: Any) -> Any:
        if way == "grad":
            return sn.grad(f, "x")(x.to(device))
        x = x.to(device, copy=True).requires_grad_()
        (layer(x=x) if way == "module" else f(x).sum()).backward()
        return x.grad

    for _ in range(7):
        np.testing.assert_allclose(slope(fine).cpu().numpy(), right, rtol=1e-5)
    for _ in range(2):
        with pytest.raises(sn.GradientError, match=r"pow of a negative number|MaxIters"):
            slope(bad)  # the eighth call, and then every one
    np.testing.assert_allclose(slope(fine).cpu().numpy(), right, rtol=1e-5)


def test_whole_numbers_of_tensors(m: Any, device: str) -> None:
    z = torch.tensor([2.0, 3.0, 4.0], device=device, requires_grad=True)
    k = torch.tensor([1, 2, 1], dtype=torch.int32, device=device)
    m.pair(z, k).sum().backward()
    assert z.grad.tolist() == [10, 4, 2]
    with pytest.raises(sn.GradientError, match="two indices"):
        m.pair(z, k - 1).sum().backward()
