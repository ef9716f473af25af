"""A struct that is not IDifferentiable has no gradient, which is said and not passed over."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
struct P { float a; float b; };
struct Size { int n; };
[Differentiable] float plain_line(P p, float x) { return p.a * x + p.b; }
[Differentiable] float plain_line_again(P p, float x) { return p.a * x + p.b; }
[Differentiable] float held(no_diff P p, float x) { return p.a * x + p.b; }
[Differentiable] float sized(Size s, float x) { return s.n * x; }
"""
P = {"a": 2.0, "b": 1.0}
XS = np.array([1, 2, 3], np.float32)


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def test_a_plain_struct_is_said_once(m: Any) -> None:
    said = (
        "plain_line: 'p' has no gradient, since the struct P is not differentiable; write `struct P : IDifferentiable`"
    )
    with pytest.warns(sn.GradientWarning) as caught:
        value, grads = sn.value_and_grad(m.plain_line)(P, XS)
    assert len(caught) == 1 and str(caught[0].message).startswith(said) and caught[0].filename == __file__
    assert value == 15 and list(grads) == ["x"] and grads["x"].tolist() == [2, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sn.value_and_grad(m.plain_line)(P, XS)
    with pytest.warns(sn.GradientWarning, match="plain_line_again: 'p' has no gradient"):
        sn.vjp(m.plain_line_again, P, XS)


def test_what_nobody_would_differentiate_is_not_said(m: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.grad(m.plain_line, wrt="x")(P, 1.0) == 2
        assert sn.grad(m.held)(P, 1.0) == {"x": 2}
        assert sn.grad(m.sized)({"n": 3}, 1.0) == {"x": 3}


def test_a_plain_struct_in_wrt(m: Any) -> None:
    with pytest.raises(sn.GradientError, match="no gradient for 'p'") as caught:
        sn.grad(m.plain_line, wrt="p")(P, XS)
    assert caught.value.remedy == "declare it as `struct P : IDifferentiable`"
