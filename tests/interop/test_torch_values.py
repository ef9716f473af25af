"""Torch tensors of every kind as arguments: what is taken, what is refused, and with which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
import slangpy;
float twice(float x) { return x * 2; }
int next(int x) { return x + 1; }
int flag(bool x) { return x ? 1 : 0; }
[Differentiable] float pick(bool b, float x) { return b ? 2 * x : x * x; }
[Differentiable] float scale(float a, float x) { return a * x; }
[Differentiable] half halves(half a, half x) { return a * x * x; }
[Differentiable] double doubles(double a, double x) { return a * x * x; }
[Differentiable] float3 scaled(float a, float3 v) { return v * a; }
[Differentiable] float2x2 squared(float2x2 k, float x) { return mul(k, k) * x; }
struct Light : IDifferentiable { float3 color; float power; }
[Differentiable] float lit(Light l, float3 n) { return dot(l.color, n) * l.power; }
float at(Tensor<float, 1> w, int i) { return w[i]; }
float either(float x) { return x; }
int either(int x) { return x + 1; }
T same<T : IFloat>(T x) { return x; }
Light light(float x) { return { float3(x, x, x), x }; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def test_results_are_torch_tensors_of_the_functions_types(m: Any) -> None:
    assert m.twice(torch.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert m.twice(torch.tensor(3.0)).dtype == torch.float32
    assert m.twice(torch.tensor(3.0)).shape == ()
    assert m.next(torch.tensor([1, 2], dtype=torch.int32)).dtype == torch.int32
    assert m.halves(2.0, torch.tensor([3.0, 4.0]).half()).dtype == torch.float16
    assert m.doubles(2.0, torch.tensor([3.0]).double()).dtype == torch.float64


def test_generic_and_overloaded_functions(m: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    assert m.same(x).tolist() == [1.0, 2.0]
    assert m.same(x=x).tolist() == [1.0, 2.0]
    assert m.either(x).tolist() == [1.0, 2.0]
    assert m.either(torch.tensor([1, 2], dtype=torch.int32)).tolist() == [2, 3]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[:, ::2],
        lambda x: x[1:, 1:],
        lambda x: x.flip(0),
        lambda x: x[:1].expand(3, 6),
        lambda x: torch.nn.Parameter(x),
        lambda x: x.reshape(3, 2, 3).permute(2, 0, 1),
    ],
    ids=["transposed", "strided", "offset", "flipped", "expanded", "Parameter", "permuted"],
)
def test_views(m: Any, view: Any) -> None:
    x = view(torch.arange(18.0).reshape(3, 6))
    assert torch.equal(m.twice(x), x * 2)


def test_a_tensor_with_a_negative_bit(m: Any) -> None:
    assert m.twice(torch.tensor([1 + 2j]).conj().imag).tolist() == [-4.0]


def test_vectors_and_matrices_take_the_last_axes(m: Any) -> None:
    v, k, x = torch.rand(4, 3), torch.rand(2, 2), torch.rand(5)
    assert torch.equal(m.scaled(2.0, v), v * 2)
    assert torch.allclose(m.squared(k, x), (k @ k) * x[:, None, None])
    with pytest.raises(sn.CallError, match="needs"):
        m.scaled(2.0, torch.rand(4, 2))


def test_structs_of_tensors(m: Any) -> None:
    color, n = torch.rand(3), torch.rand(5, 3)
    y = m.lit({"color": color, "power": torch.tensor(2.0)}, n)
    assert torch.allclose(y, n @ color * 2)
    with pytest.raises(sn.CallError, match="lit: 'l' is a torch tensor, but the parameter is the struct Light"):
        m.lit(color, n)
    with pytest.raises(sn.CallError, match="no such field"):
        m.lit({"colour": color, "power": 1.0}, n)


def test_tensors_that_the_function_indexes(m: Any) -> None:
    w = torch.rand(4)
    assert torch.equal(m.at(w, torch.tensor([3, 0])), w[[3, 0]])


def test_integers_are_cast_if_they_fit(m: Any) -> None:
    assert m.next(torch.tensor([1, 2])).tolist() == [2, 3]  # int64
    with pytest.raises(sn.CallError, match="'x' goes from 1 to 1099511627776, which int cannot hold"):
        m.next(torch.tensor([1, 2**40]))


@pytest.mark.parametrize(
    ("make", "message", "remedy"),
    [
        (lambda: torch.rand(2).double(), "twice: 'x' holds float64, but the parameter is float", "x.float()"),
        (lambda: torch.rand(2).half(), "'x' holds float16", "x.float()"),
        (lambda: torch.arange(2), "'x' holds int64", "x.float()"),
        (lambda: torch.rand(2) > 0.5, "'x' holds bool", "x.float()"),
        (lambda: torch.ones(2).to(torch.float8_e4m3fn), "float8_e4m3fn, which Slang does not have", "x.float()"),
        (lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "nested tensor", "x.to_padded_tensor"),
        (lambda: torch.rand(2).bfloat16(), "bfloat16, which Slang does not have", "x.float()"),
        (lambda: torch.zeros(2, dtype=torch.cfloat), "twice: 'x' is complex", "view_as_real"),
        (lambda: torch.rand(2).to_sparse(), "torch.sparse_coo", "x.to_dense()"),
        (lambda: torch.empty(2, device="meta"), "meta device", ""),
        (lambda: [torch.rand(2), torch.rand(2)], "list of torch tensors", "torch.stack"),
    ],
)
def test_refused_kinds(m: Any, make: Any, message: str, remedy: str) -> None:
    with pytest.raises(sn.CallError, match=message) as caught:
        m.twice(make())
    assert remedy in caught.value.remedy


def test_bools(m: Any) -> None:
    assert m.flag(torch.tensor([True, False, True])).tolist() == [1, 0, 1]
    assert m.flag(torch.tensor(True)).tolist() == 1
    x = torch.tensor([3.0, 4.0, 5.0, 6.0], requires_grad=True)
    y = m.pick(x.detach() % 2 > 0, x)
    assert y.tolist() == [6, 16, 10, 36]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 8, 2, 12]
    assert sn.grad(m.pick)(x.detach() % 2 > 0, x.detach())["x"].tolist() == [2, 8, 2, 12]
    with pytest.raises(sn.CallError, match="'x' holds int32, but the parameter is bool") as caught:
        m.flag(torch.tensor([1, 0]).int())
    assert caught.value.remedy == "cast it: x.bool()"


def test_structs_out_are_refused(m: Any) -> None:
    with pytest.raises(sn.CallError, match="light gives structs"):
        m.light(torch.rand(2))


def test_numbers_of_any_type_without_dimensions(m: Any) -> None:
    """As in torch: 0 dimensions do not widen the other arguments' type."""
    x = torch.tensor([1.0, 2.0])
    for a in (torch.tensor(2.0).double(), torch.tensor(2), torch.tensor(2.0).half(), torch.tensor(2.0).bfloat16()):
        assert m.scale(a, x).tolist() == [2.0, 4.0]
    with pytest.raises(sn.CallError, match="'x' is a float"):
        m.next(torch.tensor(2.0))


def test_empty_tensors_give_empty_results(m: Any) -> None:
    assert m.twice(torch.empty(3, 0)).shape == (3, 0)
    y = m.scaled(torch.tensor(2.0), torch.empty(0, 3))
    assert (y.shape, y.dtype) == ((0, 3), torch.float32)


def test_mixed_with_numpy_and_slangpy(m: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    assert m.scale(np.array([2.0, 3.0], np.float32), x).tolist() == [2.0, 6.0]
    assert m.scale(sn.tensor([2.0, 3.0]), x).tolist() == [2.0, 6.0]
    assert m.scale(sn.Parameter(2.0), x).tolist() == [2.0, 4.0]


def test_another_kind_of_result_on_request(m: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    assert isinstance(m.twice(x, _result="numpy"), np.ndarray)
    assert m.twice(x, _result="tensor").to_numpy().tolist() == [2.0, 4.0]
    assert isinstance(m.twice.return_type("numpy")(x), np.ndarray)
    y = torch.zeros(2)
    assert m.twice(x, _result=y) is None
    assert y.tolist() == [2.0, 4.0]
    with pytest.raises(sn.CallError, match=r"'_result' is float32 of shape \(3,\), but the result is"):
        m.twice(x, _result=torch.zeros(3))
    with pytest.raises(sn.CallError, match="a result that is a torch tensor"):
        m.twice(x, _result=np.zeros(2, np.float32))


def test_errors_are_those_of_other_calls(m: Any) -> None:
    x = torch.rand(2)
    with pytest.raises(sn.CallError, match="no parameter 'y'"):
        m.twice(y=x)
    with pytest.raises(sn.CallError, match="'x' is missing"):
        m.scale(x)
    with pytest.raises(sn.CallError, match="takes 1 argument"):
        m.twice.map()(x, x, x)
    with pytest.raises(sn.CallError, match="shape"):
        m.scale(torch.rand(3), x)


def test_other_calls_are_as_before(m: Any) -> None:
    x = np.array([1.0, 2.0], np.float32)
    m.twice(torch.from_numpy(x))
    assert m.twice(x, _result="numpy").tolist() == [2.0, 4.0]
    assert m.twice(3.0) == 6.0
    m.twice(torch.from_numpy(x))
    assert m.twice(3.0) == 6.0


def test_a_tensor_whose_memory_was_freed(m: Any) -> None:
    """Torch itself crashes when it reads such a tensor."""
    x = torch.zeros(1000) + 1
    x.untyped_storage().resize_(0)
    with pytest.raises(sn.CallError, match="twice: 'x' has no memory any more"):
        m.twice(x)
    assert m.twice(torch.empty(0)).shape == (0,)


def test_autocast_is_answered_with_the_cast(m: Any) -> None:
    """Under autocast torch's layers give bfloat16; a Slang function says what to do, and does not round by itself."""
    layer, x = torch.nn.Linear(3, 4), torch.rand(2, 3)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(x)
        with pytest.raises(sn.CallError, match="twice: 'x' holds bfloat16") as caught:
            m.twice(y)
        assert caught.value.remedy == "cast it: x.float()"
        z = m.scale(torch.tensor(2.0), y.float())
        assert z.dtype == torch.float32
        (z.sum() * 2).backward()
    torch.testing.assert_close(layer.bias.grad, torch.full((4,), 8.0))
