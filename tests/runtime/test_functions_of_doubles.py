"""Functions of doubles that Vulkan does not have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.reading.doubles import function_of_double
from slangnb.runtime.known_faults import check_doubles

X = np.array([0.5, 0.75])
VULKAN: Any = SimpleNamespace(name="vulkan")
CUDA: Any = SimpleNamespace(name="cuda")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return sin(x);", "sin"),
        ("return y + log2(2 * x + y);", "log2"),
        ("double z = x; return pow(z, 2);", "pow"),
        ("var z = x * x; return tanh(z);", "tanh"),
        ("return exp((double)y);", "exp"),
        ("return cos(double(y));", "cos"),
        ("return sqrt(x) + atan(x) + exp2(x) + abs(x) + x;", ""),
        ("return sin(y) * x;", ""),
        ("return double(sin(float(x)));", ""),
        ("return sin((float)x + y);", ""),
        ("float z = float(x); return log(z) + p.sin(x);", ""),
    ],
)
def test_what_is_found(body: str, found: str) -> None:
    assert function_of_double(f"double f(double x, float y) {{ {body} }}") == found


def test_calls_and_gradients_are_refused(session: Any) -> None:
    if session.backend.name != "vulkan":
        pytest.skip("CUDA has them")
    text = "[Differentiable] double inner(double z) { return exp(z); } [Differentiable] double f(double x) { return "
    f = session.compile(text + "inner(x) * x; }").f
    for call in (lambda: f(X), lambda: sn.value_and_grad(f)(X), lambda: f(x=sn.tensor(X))):
        with pytest.raises(sn.CallError, match="f: Vulkan has no exp of a double") as caught:
            call()
        assert "`double(exp(float(x)))`" in caught.value.remedy


def test_what_the_remedy_says_is_right(session: Any) -> None:
    f = session.compile("[Differentiable] double f(double x) { return x * double(sin(float(x))); }").f
    assert f(X).to_numpy() == pytest.approx(X * np.sin(X), rel=1e-6)
    assert sn.grad(f, wrt="x")(X) == pytest.approx(np.sin(X) + X * np.cos(X), rel=1e-6)


def test_cuda_and_own_functions_pass() -> None:
    text = "double f(double x) { return sin(x); }"
    check_doubles(CUDA, "f", [text])
    check_doubles(VULKAN, "f", [text, "double sin(double x) { return x; }"])
    with pytest.raises(sn.CallError, match="no sin of a double"):
        check_doubles(VULKAN, "f", [text])
