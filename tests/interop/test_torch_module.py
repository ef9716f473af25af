"""`sn.torch.SlangModule`: a Slang function as a layer."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
struct Light : IDifferentiable { float3 color; float power; }
[Differentiable] float lit(Light l, float3 n) { return dot(l.color, n) * l.power; }
[Differentiable] float layer(float[4] w, float bias, float[4] x)
{
    float sum = bias;
    [ForceUnroll] for (int i = 0; i < 4; i++) sum += w[i] * x[i];
    return sum / (1.0 + exp(-sum));
}
[Differentiable] float odd(float type, float forward, float x) { return type * x + forward; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


class Net(torch.nn.Module):
    """A net with one layer that is torch's or Slang's."""

    def __init__(self, last: Any) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(2, 4), last

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.first(x)))


class Plain(torch.nn.Module):
    def __init__(self, w: Any, bias: Any) -> None:
        super().__init__()
        self.w, self.bias = torch.nn.Parameter(w), torch.nn.Parameter(bias)

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.silu(x @ self.w + self.bias)


def trained(net: Any, x: Any, y: Any) -> float:
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    loss = torch.tensor(0.0)
    for _ in range(200):
        optimiser.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        optimiser.step()
    return loss.item()


def test_training_ends_where_torch_alone_ends(m: Any) -> None:
    torch.manual_seed(0)
    x, w, bias = torch.rand(64, 2), torch.randn(4), torch.tensor(0.1)
    y = torch.sin(3 * x[:, 0]) * x[:, 1]
    plain = Net(Plain(w.clone(), bias.clone()))
    slang = Net(sn.torch.SlangModule(m.layer, params={"w": w, "bias": bias}))
    slang.first.load_state_dict(plain.first.state_dict())
    before = (plain(x) - y).pow(2).mean().item()
    ends = trained(plain, x, y), trained(slang, x, y)
    assert ends[0] < before / 5
    assert abs(ends[0] - ends[1]) < 1e-4
    torch.testing.assert_close(slang(x), plain(x), atol=1e-3, rtol=1e-3)


def test_state_dict_round_trip(m: Any) -> None:
    made = sn.torch.SlangModule(m.lit, params={"l": {"color": [0.2, 0.5, 0.9], "power": 2.0}})
    assert sorted(made.state_dict()) == ["l.color", "l.power"]
    file = io.BytesIO()
    torch.save(made.state_dict(), file)
    file.seek(0)
    other = sn.torch.SlangModule(m.lit, params={"l": {"color": np.zeros(3), "power": 0}})
    other.load_state_dict(torch.load(file))
    n = torch.rand(5, 3)
    assert torch.equal(other(n), made(n))


def test_copies_train_apart(m: Any) -> None:
    made = sn.torch.SlangModule(m.layer, params={"w": torch.zeros(4), "bias": 1.0})
    other = copy.deepcopy(made)
    with torch.no_grad():
        other.bias.add_(1)
    assert (made.bias.item(), other.bias.item()) == (1.0, 2.0)
    assert not torch.equal(made(torch.zeros(2, 4)), other(torch.zeros(2, 4)))
    with pytest.raises(TypeError, match="state_dict"):
        pickle.dumps(made)


def test_starting_values(m: Any) -> None:
    own = torch.nn.Parameter(torch.ones(4))
    made = sn.torch.SlangModule(m.layer, params={"w": own, "bias": sn.Parameter(0.5)})
    assert made.w is own
    assert (made.bias.item(), made.bias.requires_grad) == (0.5, True)
    frozen = sn.torch.SlangModule(m.layer, params={"w": own.detach().clone(), "bias": 0.0}).requires_grad_(False)
    assert not frozen(torch.ones(2, 4)).requires_grad


def test_names_that_torch_has_taken(m: Any) -> None:
    made = sn.torch.SlangModule(m.odd, params={"type": 2.0, "forward": 1.0})
    assert made(torch.tensor([3.0])).item() == 7.0
    assert sorted(made.state_dict()) == ["param_forward", "param_type"]


def test_refusals(m: Any) -> None:
    with pytest.raises(sn.CallError, match="lit has no parameter 'q'") as caught:
        sn.torch.SlangModule(m.lit, params={"q": 1.0})
    assert caught.value.remedy == "params may name l, n"
    with pytest.raises(sn.CallError, match="takes a function of a Slang module"):
        sn.torch.SlangModule(torch.sin, params={})  # pyright: ignore[reportArgumentType]
    with pytest.raises(sn.CallError, match="'bias' is no value"):
        sn.torch.SlangModule(m.layer, params={"bias": "much"})
    made = sn.torch.SlangModule(m.layer, params={"w": torch.zeros(4), "bias": 0.0})
    with pytest.raises(sn.CallError, match="'w' is given twice"):
        made(torch.zeros(4), w=torch.zeros(4))
    with pytest.raises(sn.CallError, match="takes 1 arguments beside its params, 2 were given"):
        made(torch.zeros(4), torch.zeros(4))


def test_moving_the_module_to_another_type_is_noticed(m: Any) -> None:
    made = sn.torch.SlangModule(m.layer, params={"w": torch.zeros(4), "bias": 0.0}).double()
    with pytest.raises(sn.CallError, match="'w' holds float64"):
        made(torch.zeros(2, 4))


@pytest.mark.parametrize(("reduce", "count"), [("sum", 1), ("mean", 5)])
def test_reduced_to_a_loss(m: Any, reduce: Any, count: int) -> None:
    x = torch.linspace(-1, 1, 5, requires_grad=True)
    loss = sn.torch.SlangModule(m.odd, {"type": 3.0}, reduce=reduce)
    value = loss(forward=2.0, x=x)
    (2 * value).backward()
    assert value.shape == ()
    assert value.item() == pytest.approx(10 / count)
    assert x.grad.tolist() == pytest.approx([6 / count] * 5)
    assert loss.param_type.grad.item() == pytest.approx(0.0, abs=1e-6)


def test_a_mean_of_vectors_is_that_of_the_elements(session: Any) -> None:
    f = session.compile("[Differentiable] float3 three(float x) { return float3(x, 2 * x, 3 * x); }").three
    x = torch.tensor([1.0, 2.0, 3.0])
    want = sn.value_and_grad(f, reduce="mean")(x=x.numpy())[0]
    assert want == 12
    assert sn.torch.SlangModule(f, {}, reduce="mean")(x=x).item() == want


def test_reduce_by_another_word(m: Any) -> None:
    with pytest.raises(sn.CallError, match="'sum' or 'mean'"):
        sn.torch.SlangModule(m.odd, {}, reduce="max")


def test_one_graph_break_under_torch_compile(session: Any) -> None:
    counters = pytest.importorskip("torch._dynamo.utils").counters
    f = session.compile("[Differentiable] float f(float a, float x) { return a * x * x; }").f
    layer = sn.torch.SlangModule(f, {"a": 2.0})
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(lambda x: layer(x).sum() * 2, backend="eager")
    for _ in range(4):
        assert compiled(torch.tensor([1.0, 2.0])).item() == 20
    assert sum(counters["graph_break"].values()) == 1
    compiled(torch.tensor([1.0, 2.0])).backward()
    assert layer.a.grad.item() == 10
