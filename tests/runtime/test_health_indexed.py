"""Warnings of odd gradients of tensors that a function indexes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

TEXT = """import slangpy;
[Differentiable] float stopped({kind}<float, 1> w, float x, int i) {{ return detach(w[i]) * x; }}
[Differentiable] float inverse({kind}<float, 1> w, int i) {{ return 1 / w[i]; }}
"""
AT = np.arange(3, dtype=np.int32)


@pytest.fixture(params=["DiffTensor", "IDiffTensor"])
def module(session: Any, request: pytest.FixtureRequest) -> Any:
    return session.compile(TEXT.format(kind=request.param))


def test_zero_everywhere(module: Any) -> None:
    w = sn.tensor(np.ones(3, np.float32))
    with pytest.warns(sn.GradientWarning, match="the gradient of 'w' is zero everywhere"):
        value, found = sn.value_and_grad(module.stopped, wrt=("w", "x"))(w, 2.0, AT)
    assert value == 6 and found["x"] == 3 and found["w"].to_numpy().tolist() == [0, 0, 0]


def test_not_finite_at_a_later_call(module: Any) -> None:
    g = sn.grad(module.inverse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = g(sn.tensor(np.full(3, 4, np.float32)), AT)
    assert found["w"].to_numpy().tolist() == [-0.0625] * 3
    with pytest.warns(sn.GradientWarning, match="the gradient of 'w' is not finite everywhere"):
        g(sn.tensor(np.array([4, 0, 4], np.float32)), AT)
    with warnings.catch_warnings():  # it is said once
        warnings.simplefilter("error")
        g(sn.tensor(np.array([4, 0, 4], np.float32)), AT)


def test_the_pull_of_vjp_with_a_seed_of_zeros(module: Any) -> None:
    _, pull = sn.vjp(module.inverse, sn.tensor(np.full(3, 4, np.float32)), AT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pull(np.zeros(3, np.float32))["w"].to_numpy().tolist() == [0, 0, 0]
