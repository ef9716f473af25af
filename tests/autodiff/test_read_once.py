"""The text of a module is read once: at its compilation, not at every call."""

from __future__ import annotations

from typing import Any

import pytest

import slangnb as sn
from slangnb.autodiff import forward_mode
from slangnb.compiler.reading import declarations

CUBE = "[Differentiable] float read_once(float x) { return x * x * x; }"


def test_a_text_is_read_once(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    class Reader(declarations.Reader):
        def __init__(self, text: str) -> None:
            read.append(text)
            super().__init__(text)

    monkeypatch.setattr(declarations, "Reader", Reader)
    m = session.compile(CUBE)
    assert sn.jvp(m.read_once, {"x": 2.0}, {"x": 1.0}) == (8, 12)
    assert sn.hvp(m.read_once, "x")(x=2.0, v=1.0) == 12
    assert sn.grad(m.read_once, "x")(x=2.0) == 12
    assert read.count(CUBE) == 1


def test_a_function_is_looked_at_once(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def look(name: str, texts: list[str]) -> None:
        looked.append(name)

    monkeypatch.setattr(forward_mode, "case_that_falls_through", look)
    for power, dy in (("x * x", 4), ("x * x * x", 12)):
        f = session.compile(f"[Differentiable] float looked_at_once(float x) {{ return {power}; }}").looked_at_once
        for _ in range(2):
            assert sn.jvp(f, {"x": 2.0}, {"x": 1.0})[1] == dy
        assert sn.hvp(f, "x")(x=2.0, v=1.0) == (2 if dy == 4 else 12)
    assert looked == ["looked_at_once"] * 2  # once for each text


def test_what_is_refused_is_refused_again(session: Any) -> None:
    f = session.compile(
        "[Differentiable] float runs_on(float x, int k) { "
        "switch (k) { case 0: x *= 2; case 1: x *= 3; break; default: x *= 5; } return x; }"
    ).runs_on
    for _ in range(2):
        with pytest.raises(sn.GradientError, match="`case 0` of the switch in runs_on falls through"):
            sn.jvp(f, {"x": 2.0, "k": 0}, {"x": 1.0})
