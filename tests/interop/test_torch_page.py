"""SlangPy's page on PyTorch through slangnb, line by line, with torch on the CPU and the session's backend.

The page makes its device with ``create_torch_device`` and its tensors on a CUDA card; here the session's device and
torch's CPU take their places.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

EXAMPLE = """
[Differentiable]
float polynomial(float a, float b, float c, float x)
{
    return a * x * x + b * x + c;
}
"""


@pytest.fixture
def module(session: Any, tmp_path: Path) -> Any:
    (tmp_path / "example.slang").write_text(EXAMPLE)
    return session.load(tmp_path / "example.slang")


def test_the_page(module: Any) -> None:
    x = torch.tensor([1, 2, 3, 4], dtype=torch.float32, device="cpu", requires_grad=True)
    result = module.polynomial(a=2, b=8, c=-1, x=x)
    assert isinstance(result, torch.Tensor)
    assert (result.device, result.dtype, result.requires_grad) == (x.device, torch.float32, True)
    assert result.tolist() == [9.0, 23.0, 41.0, 63.0]
    result.backward(torch.ones_like(result))
    assert x.grad.tolist() == [12.0, 16.0, 20.0, 24.0]


def test_a_second_backward_adds_as_torch_does(module: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        module.polynomial(a=2, b=8, c=-1, x=x).sum().backward()
    assert x.grad.tolist() == [24.0, 32.0]
