"""Gradients that SlangPy's kernels sum by float atomics: too many terms are warned of, or refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime import health

SOURCE = """import "slangpy";
[Differentiable] float line(int i, DiffTensor<float, 1> w, DiffTensor<float, 1> x) { return w[0] * x[i] + w[1]; }
[Differentiable] void put(float2 a, float x, out float y) { y = a.x * x + a.y; }
[Differentiable] void store(int i, float3 c, DiffTensor<float, 1> x, WDiffTensor<float, 1> y) { y[i] = x[i] * c.x; }
[Differentiable] T twice<T : __BuiltinFloatingPointType>(T a, T x) { return T(2) * a * x; }
[Differentiable] float scale(float a, float x) { return a * x; }
"""
F = np.float32
SMALL, MANY, TOO_MANY = 8, 64, 512


@pytest.fixture
def module(session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(health, "MOST_TERMS", 16)
    monkeypatch.setattr(health, "SATURATES", 256)
    session.said.clear()
    return session.compile(SOURCE)


def of_ones(n: int) -> tuple[Any, Any, Any]:
    ones = np.ones(n, F)
    y = sn.tensor(ones, grad=True)
    y.grad.copy_from_numpy(ones)
    return sn.tensor(np.arange(n, dtype=np.int32)), sn.tensor(ones, grad=True), y


def backward(module: Any, n: int) -> np.ndarray:
    _, x, y = of_ones(n)
    a = sn.tensor(np.array([[2, 3]], F), dtype="float2", grad=True)
    module.put.bwds(a, x, y)
    return a.grad.to_numpy()


def test_one_value_for_all_elements(module: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert backward(module, SMALL).tolist() == [[8, 8]]
    with pytest.warns(sn.GradientWarning, match="put: the gradient of 'a' is summed by float atomics") as said:
        assert backward(module, MANY).tolist() == [[64, 64]]  # the small call does not silence it
    assert said[0].filename == __file__
    with pytest.raises(sn.GradientError, match=r"put.bwds: the gradient of 'a' is a sum over 512 elements") as caught:
        backward(module, TOO_MANY)
    assert "sn.value_and_grad(f)(...), which sums right" in caught.value.remedy


def test_rows_that_elements_share(module: Any) -> None:
    x, y = (sn.tensor(np.ones((TOO_MANY, 4), F), grad=True) for _ in range(2))
    a = sn.tensor(np.ones((4, 2), F), dtype="float2", grad=True)
    with pytest.raises(sn.GradientError, match="a sum over 512 elements"):
        module.put.bwds(a, x, y)


def test_a_tensor_that_the_function_indexes(module: Any) -> None:
    def run(n: int) -> list[float]:
        i, x, y = of_ones(n)
        w = sn.tensor([2.0, 3.0], grad=True)
        module.line.bwds(i, w, x, _result=y)
        return w.grad.to_numpy().tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(SMALL) == [8, 8]
    with pytest.warns(sn.GradientWarning, match="'w' is summed by float atomics; it may be off by 1e-3"):
        assert run(MANY) == [64, 64]
    with pytest.warns(sn.GradientWarning, match="'w' is summed by float atomics; float counts no further than 2\\^24"):
        assert run(TOO_MANY) == [512, 512]


def test_transforms_by_way_of_slangpy(module: Any) -> None:
    def run(n: int) -> Any:
        i, x, y = of_ones(n)
        return sn.grad(module.store, ("x", "c"))(i, [1.0, 2.0, 3.0], x, y)["c"]

    with pytest.warns(sn.GradientWarning, match="'c' is summed by float atomics") as said:
        assert run(MANY).tolist() == [64, 0, 0]
    assert said[0].filename == __file__
    with pytest.raises(sn.GradientError, match=r"store.bwds: the gradient of 'c' is a sum over 512 elements"):
        run(TOO_MANY)


def test_generic_functions(module: Any) -> None:
    _, x, y = of_ones(MANY)
    a = sn.tensor([2.0], grad=True)
    with pytest.warns(sn.GradientWarning, match="twice: the gradient of '0' is summed by float atomics"):
        module.twice.bwds(a, x, _result=y)
    assert a.grad.to_numpy().tolist() == [128]


def test_our_own_kernels_sum_right_and_say_nothing(module: Any) -> None:
    _, x, y = of_ones(TOO_MANY)
    a = sn.tensor([2.0], grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.scale.bwds(a, x, _result=y)
        module.scale.bwds(a, sn.tensor(np.ones(TOO_MANY, F), grad=True), _result=y)
    assert a.grad.to_numpy().tolist() == [512]
