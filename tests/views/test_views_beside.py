"""Gradients that `sn.grad` gave, drawn beside their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.views.beside import beside

X = np.array([1, 2, 3], np.float32)


@pytest.fixture
def square(session: Any) -> Any:
    return session.compile("[Differentiable] float square(float x) { return x * x; }").square


def test_the_memory_is_the_same_and_the_tensor_unchanged(session: Any, square: Any) -> None:
    x = sn.tensor(X, grad=True)
    ((name, shown),) = beside([("x", x)], sn.grad(square)(x)["x"])
    assert name == "x" and shown.storage is x.storage
    assert shown.grad.to_numpy().tolist() == [2, 4, 6] and x.grad.to_numpy().tolist() == [0, 0, 0]
    text = str(sn.show(x=x, grads=sn.grad(square)(x)))
    assert "gradient  [2. 4. 6.]" in text and "0 everywhere" not in text


@pytest.mark.parametrize("value", [X, X.tolist(), sn.Parameter(X)])
def test_numbers_of_python(session: Any, value: Any) -> None:
    ((_, shown),) = beside([("x", value)], [0.5, 1, 2])
    assert shown.to_numpy().tolist() == [1, 2, 3] and shown.grad.to_numpy().tolist() == [0.5, 1, 2]


def test_some_rows_by_name(session: Any) -> None:
    rows = dict(beside([("a", X), ("b", X)], {"b": X}))
    assert rows["a"] is X and rows["b"].grad.to_numpy().tolist() == X.tolist()
    a, b = str(sn.show({"a": X, "b": X}, grads={"b": X})).split("\nb ")
    assert "gradient" not in a and "gradient  [1. 2. 3.]" in b


@pytest.mark.parametrize(
    ("tensors", "options", "text"),
    [
        ({"x": X, "y": X}, {"grads": X}, "grads is one gradient, for several rows"),
        ({"x": X}, {"grads": {"y": X}}, "grads has 'y', but the rows are 'x'"),
        ({"x": X}, {"grads": X[:2]}, r"the gradient of 'x' is float \(2,\), its value float \(3,\)"),
        (
            {"tensor": X},
            {"grads": X[:2]},
            r"the gradient is float \(2,\), its value float \(3,\)\n"
            r"remedy: give a gradient that is float \(3,\), as sn.grad",
        ),
        ({"x": X}, {"grads": X, "live": True}, "this view reads its numbers again"),
        ({"x": X}, {"grads": X, "history": True}, "this view reads its numbers again"),
    ],
)
def test_refusals(session: Any, tensors: Any, options: Any, text: str) -> None:
    with pytest.raises(sn.CallError, match=text):
        sn.show(**tensors, **options)
