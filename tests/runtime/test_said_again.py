"""What is said once of a function is said again of another function of its name: the cell was edited and run again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slangnb as sn

XS = np.array([1, 2, 3], np.float32)


def said_by(call: Callable[[Any], Any], module: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call(module)
    return [str(w.message) for w in said]


def zero_gradient(m: Any) -> None:
    x = sn.tensor(XS, grad=True)
    y = m.edited(x, _result="tensor").with_grads()
    y.grad.copy_from_numpy(np.ones(3, np.float32))
    m.edited.bwds(x, _result=y)


def zero_seed(m: Any) -> None:
    x = sn.tensor(XS, grad=True)
    m.edited.bwds(x, _result=m.edited(x, _result="tensor").with_grads())


def plain_struct(m: Any) -> None:
    sn.vjp(m.edited, {"k": 2.0}, XS)


CASES = [
    (
        zero_gradient,
        "float edited(float x) {{ return {} * detach(x); }}",
        "edited: the gradient of 'x' is zero",
    ),
    (zero_seed, "float edited(float x) {{ return {} * x * x; }}", "edited.bwds: the seed"),
    (plain_struct, "float edited(P p, float x) {{ return {} * p.k * x; }}", "edited: 'p' has no gradient"),
]


@pytest.mark.parametrize(("call", "source", "message"), CASES, ids=[call.__name__ for call, *_ in CASES])
def test_an_edited_function_is_warned_of_again(session: Any, call: Any, source: str, message: str) -> None:
    for edit in ("2.0", "3.0"):
        m = session.compile("struct P { float k; };\n[Differentiable] " + source.format(edit))
        [said] = said_by(call, m)
        assert said.startswith(message)
        assert said_by(call, m) == []
