"""A cached launch serves only calls like the one it was made for: kinds of arguments, seeds, targets, sizes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.fused.plans import kind_of

SOURCE = """
struct P : IDifferentiable { float k; float x; }
[Differentiable] float line(float a, float x) { return a * x * x + x; }
[Differentiable] float part(P p) { return p.k * p.x; }
[Differentiable] float2 pair(float2 v, float t) { return v * t; }
[Differentiable] float two(float x, out float y) { y = 2 * x; return 3 * x; }
"""


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def test_dicts_of_a_subclass(m: Any) -> None:
    f = sn.value_and_grad(m.part)
    for n in (2000, 10, 3000):
        p = OrderedDict(k=2.0, x=np.ones(n, np.float32))
        assert f(p)[0] == 2.0 * n
        assert f(p)[1]["p"]["x"].shape == (n,)


def test_lists_of_arrays(m: Any) -> None:
    f = sn.value_and_grad(m.line, wrt="a")
    for n in (30, 50, 10):
        assert f(a=2.0, x=np.stack([np.ones(n, np.float32)] * 2))[0] == 3 * 2 * n
    assert kind_of([np.ones(3)] * 2) != kind_of([np.ones(4)] * 2)


def test_a_masked_array_is_refused_after_a_plain_one(m: Any) -> None:
    f = sn.value_and_grad(m.line)
    f(2.0, np.ones(3, np.float32))
    with pytest.raises(sn.CallError, match="masked"):
        f(2.0, np.ma.array(np.ones(3, np.float32), mask=[False, True, False]))


def test_seeds_that_change_in_place(m: Any) -> None:
    seed = np.ones(1000, np.float32)
    f = sn.value_and_grad(m.line, wrt="x", seed=seed)
    x = np.ones(1000, np.float32)
    np.testing.assert_array_equal(f(1.0, x)[1], np.full(1000, 3))
    seed[:] = 2
    np.testing.assert_array_equal(f(1.0, x)[1], np.full(1000, 6))
    seed.resize(10, refcheck=False)
    with pytest.raises(sn.CallError, match=r"seed has shape \(10,\)"):
        f(1.0, x)
    weights = {"y": np.ones(5, np.float32), "result": None}
    g = sn.grad(m.two, wrt="x", seed=weights)
    ones = np.ones(5, np.float32)
    np.testing.assert_array_equal(g(ones), np.full(5, 2))
    weights["y"] = np.full(5, 10, np.float32)
    np.testing.assert_array_equal(g(ones), np.full(5, 20))


def test_gradients_go_to_the_view_that_is_given(session: Any, m: Any) -> None:
    n = 4

    def tensor(values: Any) -> Any:
        return sn.tensor(np.asarray(values, np.float32), session=session)

    for step, offset in ((1, 0), (2, 0), (1, 0), (3, 1), (2, 2), (1, 4)):
        whole, da = tensor(np.zeros(3 * n)), tensor([0.0])
        x = tensor([1, 2, 3, 4]).with_grads(None, whole.view((n,), (step,), offset), zero=False)
        a = tensor([2.0]).with_grads(None, da, zero=False)
        y = m.line(a, x, _result="tensor").with_grads(tensor(np.ones(n)), None, zero=False)
        m.line.bwds(a, x, _result=y)
        want = np.zeros(3 * n)
        want[offset : offset + n * step : step] = 4 * np.arange(1, 5) + 1
        np.testing.assert_array_equal(whole.to_numpy(), want)
        assert da.to_numpy().tolist() == [30.0]


def test_none_is_no_number(m: Any) -> None:
    with pytest.raises(sn.CallError, match="holds None, but the parameter is float2"):
        sn.value_and_grad(m.pair)(v=[1.0, None], t=np.ones(3, np.float32))


def test_a_session_beside_the_current_one(session: Any) -> None:
    """What only SlangPy takes goes to the function's own session, too."""
    other = sn.Session(session.backend.key)
    try:
        f = other.compile(
            "import slangpy; [Differentiable] float f(IDiffTensor<float, 1> t, float x) { return t[0] * x; }"
        ).f
        value, grads = sn.value_and_grad(f)(t=np.array([2.0, 3.0], np.float32), x=np.ones(4, np.float32))
        assert value == 8.0
        np.testing.assert_array_equal(grads["t"], [4.0, 0.0])
    finally:
        other.close()


@pytest.mark.parametrize("base", [list, tuple])
def test_lists_of_a_subclass(m: Any, base: Any) -> None:
    kind = type("Numbers", (base,), {})
    f, x = sn.value_and_grad(m.line), np.array([1, 2, 3], np.float32)
    for a in ([1.0, 2.0, 3.0], [5.0], [1.0, 2.0, 3.0]):
        value, grads = f(kind(a), x)
        a64, x64 = np.array(a), x.astype(np.float64)
        assert value == (a64 * x64 * x64 + x64).sum()
        assert grads["a"].tolist() == ([1, 4, 9] if len(a) == 3 else [14])
        assert grads["x"].tolist() == (2 * a64 * x64 + 1).tolist()


class Weight(sn.Parameter):
    """A Parameter of a person's own kind."""


@pytest.mark.parametrize("kind", [sn.Parameter, Weight])
def test_parameters_of_a_subclass(m: Any, ones: Any, kind: Any) -> None:
    f, x = sn.value_and_grad(m.line), np.array([1, 2, 3], np.float32)
    for value, grad in ((2.0, 14.0), ([1.0, 2.0, 3.0], [1, 4, 9]), ([5.0], [14])):
        p = kind(value)
        assert np.array_equal(f(p, x)[1]["a"], grad)
        assert m.line(p, x, _result="numpy").tolist() == (np.array(value) * x * x + x).tolist()
    a, t = kind(2.0), sn.tensor(x, grad=True)
    m.line.bwds(a, t, _result=ones(m.line(a, t, _result="tensor")))
    assert a.grad == 14.0 and t.grad.to_numpy().tolist() == [5, 9, 13]
