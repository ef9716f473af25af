"""Each gradient is a tensor in its own right: what is done to one in place leaves the others alone."""

from typing import Any

import pytest

import slangnb as sn

torch = pytest.importorskip("torch")

SOURCE = """
[Differentiable] float line(float a, float b, float x) { return a * x + b * x * x; }
[Differentiable] float plane(float2 a, float2 b, float x) { return dot(a, b) * x; }
[Differentiable] double mixed(float a, double b, float x) { return a * x + b * x * x; }
"""


@pytest.fixture(scope="module")
def module(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.mark.parametrize("earlier", [0, 3])  # before and after the forward launch gives the gradients along
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "a", "b", "want"), [("line", 2.0, 3.0, 5.0), ("plane", [2.0, 3.0], [4.0, 5.0], [6.0, 9.0])]
)
def test_in_place_work(module: Any, name: str, a: Any, b: Any, want: Any, weighted: bool, earlier: int) -> None:
    f, x = getattr(module, name), torch.tensor([1.0, 2.0])
    weights = torch.tensor([1.0, 1.0]) if weighted else 1.0
    for _ in range(earlier + 1):
        a, b = (torch.tensor(torch.as_tensor(v).tolist(), requires_grad=True) for v in (a, b))
        (f(a, b, x) * weights).sum().backward()
    w = torch.tensor(1.0, requires_grad=True)
    later = (b.grad * w).sum()
    a.grad.zero_()
    later.backward()
    assert b.grad.tolist() == want
    a.grad.fill_(9)
    assert b.grad.tolist() == want


def test_transforms(module: Any) -> None:
    a, b = torch.tensor(2.0), torch.tensor(3.0)
    value, grads = sn.value_and_grad(module.line, ("a", "b"))(a=a, b=b, x=torch.tensor([1.0, 2.0]))
    w = torch.tensor(1.0, requires_grad=True)
    later = value * grads["b"] * w
    grads["a"].fill_(9)
    later.backward()
    assert w.grad.item() == 21 * 5
    assert grads["b"].tolist() == 5
    assert value.tolist() == 21


def test_types_stay(module: Any) -> None:
    b = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    for _ in range(4):
        a = torch.tensor(2.0, requires_grad=True)
        module.mixed(a, b, torch.tensor([1.0, 2.0])).sum().backward()
        assert a.grad.dtype is torch.float32
        assert a.grad.tolist() == 3
