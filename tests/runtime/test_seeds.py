"""A backward call whose seed was never filled says so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn


@pytest.mark.parametrize("wide", [False, True], ids=["slangpy", "own"])
def test_a_seed_of_zeros_is_said_once(session: Any, wide: bool) -> None:
    name = f"bowl_{wide}".lower()
    f = session.compile(f"[Differentiable] float {name}(float a, float x) {{ return a * x * x; }}")[name]
    x = sn.tensor([1, 2, 3], dtype="float", grad=True)
    a = sn.Parameter(2.0) if wide else 2.0  # the gradient of a Parameter is summed by our own kernel
    y = f(a, x, _result="tensor").with_grads()
    with pytest.warns(sn.GradientWarning) as said:
        f.bwds(a, x, _result=y)
    assert [str(w.message) for w in said] == [
        f"{name}.bwds: the seed, the gradient of _result, is 0 everywhere, so every gradient is 0; fill it before the "
        "call, as in y.grad.copy_from_numpy(np.ones((3,), np.float32)) for _result=y"
    ]
    assert said[0].filename == __file__
    assert not x.grad.to_numpy().any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.bwds(3.0, x, _result=y)
        y.grad.copy_from_numpy(np.ones((3,), np.float32))
        f.bwds(a, x, _result=y)
    assert x.grad.to_numpy().tolist() == [4, 8, 12]


def test_a_seed_of_whole_numbers_is_said(session: Any) -> None:
    f = session.compile("[Differentiable] float whole_seed(float x) { return x * x; }").whole_seed
    x = sn.tensor([1, 2, 3], dtype="float", grad=True)
    y = f(x, _result="tensor").with_grads()
    y.grad.copy_from_numpy(np.ones(3, np.int32))  # SlangPy takes the bytes
    with pytest.warns(sn.GradientWarning, match=r"was filled from whole numbers.*np\.ones\(\(3,\), np\.float32\)"):
        f.bwds(x, _result=y)
