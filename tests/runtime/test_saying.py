"""A warning names the person's own line, wherever in the package it comes from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
[Differentiable] float {name}(float x, float y) {{ return y; }}
[Differentiable] float {name}_inf(float x) {{ return x / (x + 1); }}
"""
ONES = np.ones(3, np.float32)


def backward(m: Any, name: str, ones: Any, count: int) -> None:
    x = sn.tensor(np.full(count, -1, np.float32), grad=True)
    f = getattr(m, f"{name}_inf")
    f.bwds(x, _result=ones(f(x)))


WAYS: dict[str, Callable[[Any, str, Any], Any]] = {
    "transform": lambda m, name, ones: sn.grad(getattr(m, name))(ONES, ONES),
    "single": lambda m, name, ones: sn.value_and_grad(getattr(m, name), "x")(ONES, 1.0),
    "pull": lambda m, name, ones: sn.vjp(getattr(m, name), ONES, ONES)[1](),
    "bwds": lambda m, name, ones: backward(m, name, ones, 3),
    "large bwds": lambda m, name, ones: backward(m, name, ones, 1 << 17),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_place_of_a_warning(session: Any, ones: Any, way: str) -> None:
    name = f"said_{way.replace(' ', '_')}"
    m = session.compile(SOURCE.format(name=name))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WAYS[way](m, name, ones)
    of = [w for w in caught if issubclass(w.category, sn.GradientWarning)]
    assert len(of) == 1
    assert of[0].filename == __file__
    shown = Path(__file__).read_text().splitlines()[of[0].lineno - 1]
    assert ("f.bwds(" if "bwds" in way else f'"{way}": lambda') in shown
