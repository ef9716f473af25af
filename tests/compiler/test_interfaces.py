"""Variables that hold one of several structs: warned of where forward mode loses their derivatives."""

from __future__ import annotations

from typing import Any

import pytest

import slangnb as sn
from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

SHAPES = """
interface IShape : IDifferentiable { [Differentiable] float area(float r); }
struct Circle : IShape { float k; PAD [Differentiable] float area(float r) { return k * r * r; } }
struct Square : IShape { float k; float m; [Differentiable] float area(float r) { return m * k * r; } }
"""
LATER = """[Differentiable] float pick(float k, float r, no_diff int which) {
    IShape s;
    if (which == 0) { Circle c; c.k = k; SET s = c; } else { Square q; q.k = k; q.m = 2; s = q; }
    return s.area(r);
}"""
AT_ONCE = """[Differentiable] float pick(float k, float r, no_diff int which) {
    Circle c; c.k = k; SET
    Square q; q.k = k; q.m = 2;
    IShape s = c;
    IShape t = q;
    return which == 0 ? s.area(r) : t.area(r);
}"""
PARAMETER = """[Differentiable] float of(IShape s, float r) { return s.area(r); }
[Differentiable] float pick(float k, float r, no_diff int which) {
    if (which == 0) { Circle c; c.k = k; SET return of(c, r); }
    Square q; q.k = k; q.m = 2;
    return of(q, r);
}"""


def code(body: str, same_size: bool) -> str:
    pad, set_pad = ("float z;", "c.z = 0;") if same_size else ("", "")
    return SHAPES.replace("PAD", pad) + body.replace("SET", set_pad)


def test_a_later_value_is_warned_of() -> None:
    (found,) = lint(Source(code(LATER, same_size=False), "source"))
    assert found.message == "forward mode may lose the derivative of s: Circle and Square differ in size."
    assert found.remedy == "write a function with a parameter `IShape s`, and call it in each branch"
    assert found.source.strip() == "IShape s;"


@pytest.mark.parametrize(
    ("body", "same_size"), [(LATER, True), (AT_ONCE, True), (AT_ONCE, False), (PARAMETER, True), (PARAMETER, False)]
)
def test_what_is_right_is_not_warned_of(session: Any, body: str, same_size: bool) -> None:
    text = code(body, same_size)
    assert lint(Source(text, "source")) == ()
    pick = session.compile(text).pick
    for which, dk, dr in ((0, 4.0, 12.0), (1, 4.0, 6.0)):  # k r r and 2 k r, at 3 and 2
        arguments = {"k": 3.0, "r": 2.0, "which": which}
        assert sn.jvp(pick, arguments, {"k": 1.0}) == (12.0, dk)
        assert sn.jvp(pick, arguments, {"r": 1.0}) == (12.0, dr)
        assert sn.grad(pick)(**arguments) == {"k": dk, "r": dr}


def test_reverse_mode_is_right_for_a_later_value(session: Any) -> None:
    pick = session.compile(code(LATER, same_size=False), warn=False).pick
    assert sn.grad(pick)(3.0, 2.0, 0) == {"k": 4.0, "r": 12.0}
    assert sn.grad(pick)(3.0, 2.0, 1) == {"k": 4.0, "r": 6.0}
