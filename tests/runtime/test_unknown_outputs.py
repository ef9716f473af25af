"""Backward calls of overloaded and generic functions: the gradients of outputs are seeds, and stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

F = np.float32


def tensors(seed: float) -> tuple[Any, Any, Any]:
    x, z, r = (sn.tensor([2.0, 2.0], grad=True) for _ in range(3))
    r.grad.copy_from_numpy(np.ones(2, F))
    z.grad.copy_from_numpy(np.full(2, seed, F))
    x.grad.copy_from_numpy(np.full(2, 7, F))
    return x, z, r


def test_an_overload_with_an_output(session: Any) -> None:
    module = session.compile("""
[Differentiable] float both(float x, out float z) { z = x * x * x; return x * x; }
[Differentiable] float both(double x, out float z) { z = float(x); return float(x); }
""")
    x, z, r = tensors(10)
    for call in (lambda: module.both.bwds(x, z, _result=r), lambda: module.both.bwds(x=x, z=z, _result=r)):
        for _ in range(2):
            call()
            assert x.grad.to_numpy().tolist() == [124, 124]  # 2 x + 10 * 3 x^2
            assert z.grad.to_numpy().tolist() == [10, 10]
            assert r.grad.to_numpy().tolist() == [1, 1]


def test_a_generic_function_with_an_output(session: Any) -> None:
    module = session.compile("""
[Differentiable] T both<T : __BuiltinFloatingPointType>(T x, out T z) { z = x * x * x; return x * x; }
""")
    x, z, r = tensors(10)
    for _ in range(2):
        module.both.bwds(x, z, _result=r)
        assert x.grad.to_numpy().tolist() == [124, 124]
        assert z.grad.to_numpy().tolist() == [10, 10]


def test_an_argument_that_is_an_output_of_one_overload_alone(session: Any) -> None:
    module = session.compile("""
[Differentiable] float both(float x, out float z) { z = x; return x * x; }
[Differentiable] float both(double x, float z) { return float(x) * z; }
""")
    x, z, r = tensors(10)
    with pytest.raises(sn.GradientError, match=r"both.bwds: argument 1 is an output of one overload and an input"):
        module.both.bwds(x, z, _result=r)
    assert z.grad.to_numpy().tolist() == [10, 10]


def test_structs_as_dicts_start_from_zero(session: Any) -> None:
    module = session.compile("""
struct One : IDifferentiable { float a; };
[Differentiable] T times<T : __BuiltinFloatingPointType>(One p, T x) { return T(p.a) * x; }
""")
    x, a, r = tensors(10)
    for _ in range(2):
        module.times.bwds({"a": a}, x, _result=r)
        assert a.grad.to_numpy().tolist() == [2, 2]
        assert x.grad.to_numpy().tolist() == [2, 2]
