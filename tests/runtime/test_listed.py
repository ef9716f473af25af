"""Lists and tuples of numbers as arguments: arrays of the parameter's type, or a refusal that names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
import "slangpy";
struct Ball { float r; float2 at; };
[Differentiable] float scale(float a, float x) { return a * x * x; }
float total(float3 v) { return v.x + v.y + v.z; }
float wide(double3 v) { return float(v.x + v.y + v.z); }
float last(float a[3]) { return a[2]; }
float corner(float2x2 m) { return m[0][0] + m[1][1]; }
int twice(int i) { return 2 * i; }
int flag(bool b) { return b ? 1 : 0; }
float pick(int i, Tensor<float, 1> t) { return t[i]; }
float two(int2 i, Tensor<float, 1> t) { return 10 * t[i.x] + t[i.y]; }
float volume(Ball b) { return b.r + b.at.x; }
[Differentiable] float times(int i, float x) { return i * x; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def numbers(found: Any) -> Any:
    return found.to_numpy().tolist()


def test_lists_for_a_number(m: Any) -> None:
    for x in ([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0], (1, 2, 3, 4), (1.0, 2, 3.0, 4), [np.float64(1), 2, np.int8(3), 4]):
        assert numbers(m.scale(2, x)) == [2, 8, 18, 32]
    assert numbers(m.scale(2, [1, 2.5])) == [2, 12.5]
    assert numbers(m.scale(2, [[1.0, 2.0], [3, 4]])) == [[2, 8], [18, 32]]
    assert numbers(m.scale(x=(1, 2), a=[1.0, 3.0])) == [1, 12]
    assert m.scale(2, [], _result="numpy").shape == (0,)
    x = sn.tensor([1, 2], grad=True)
    y = m.scale([3, 4], x, _result="tensor").with_grads()
    y.grad.copy_from_numpy(np.ones(2, np.float32))
    m.scale.bwds([3, 4], x, _result=y)
    assert x.grad.to_numpy().tolist() == [6, 16]


def test_lists_for_other_types(m: Any) -> None:
    assert (m.total([1, 2, 3]), m.total((1, 2, 3)), m.wide([1, 2, 3]), m.last((1, 2, 3))) == (6, 6, 6, 3)
    assert numbers(m.total([[1, 2, 3], (4, 5, 6)])) == [6, 15] and numbers(m.last([[1, 2, 3], [4, 5, 6]])) == [3, 6]
    assert m.corner([[1, 2], [3, 4]]) == 5
    assert numbers(m.twice([1, 2])) == [2, 4] and numbers(m.flag([1, False])) == [1, 0]
    assert numbers(m.volume({"r": [1, 2], "at": (3, 0)})) == [4, 5]


def test_lists_beside_an_indexed_tensor(m: Any) -> None:
    """SlangPy 0.43 reads the first int for all elements of a list."""
    import slangpy as spy

    t = sn.tensor([1.0, 2.0, 3.0])
    assert numbers(m.pick([2, 1], t)) == [3, 2]
    assert numbers(m.two([spy.int2(0, 1), spy.int2(1, 2)], t)) == [12, 23]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.scale(2, [1.0, "a"]), "scale: 'x' holds 'a', but the parameter is float"),
        (lambda m: m.scale(2, [[1.0], [None]]), "scale: 'x' holds None, but the parameter is float"),
        (lambda m: m.scale(2, [[1.0, 2.0], [3.0]]), "scale: 'x' holds lists of different lengths"),
        (lambda m: m.twice([1, 2.5]), "twice: 'i' holds a float (2.5), but the parameter is int"),
        (lambda m: m.twice([1, 2**40]), "twice: 'i' holds 1099511627776, but int holds -2147483648 to 2147483647"),
        (lambda m: m.flag([1, 2]), "flag: 'b' holds 2, but bool holds 0 to 1"),
        (lambda m: m.last([1.0, 2.0]), "last: 'a' has 2 elements, but float[3] needs 3"),
        (lambda m: m.total([[1, 2]]), "total: a row of 'v' has 2 elements, but float3 needs 3"),
        (lambda m: m.volume({"r": [1, "b"], "at": (1, 2)}), "volume: 'b.r' holds 'b', but the parameter is float"),
        (lambda m: sn.grad(m.times)([1.5, 2.5], 2.0), "times: 'i' holds a float (1.5), but the parameter is int"),
    ],
)
def test_lists_that_do_not_fit(m: Any, call: Any, said: str) -> None:
    with pytest.raises(sn.CallError) as caught:
        call(m)
    assert caught.value.message == said and caught.value.remedy


def test_nan_for_an_int(m: Any) -> None:
    with pytest.raises(sn.CallError, match=r"'i' is a float \(nan\), but the parameter is int"):
        m.twice(float("nan"))


def test_gradients_of_lists_through_slangpy(session: Any) -> None:
    fill = session.compile(
        'import "slangpy"; [Differentiable] void fill(int i, float x, WDiffTensor<float, 1> t) { t[i] = x * x; }'
    ).fill
    grads = sn.grad(fill)([0, 1, 2], [2.0, 3.0, 4.0], sn.tensor([1.0, 2.0, 3.0], grad=True))
    assert grads["x"].tolist() == [4, 6, 8]
