"""Forward mode through `switch`: right where each case ends, refused where one runs on into the next."""

from __future__ import annotations

import math
from typing import Any

import pytest

import slangnb as sn
from slangnb.compiler.reading.switches import falls_through

ENDS = [
    "switch (k) { case 0: r = x * x; break; case 1: r = sin(x); break; default: r = 5 * x; }",
    "switch (k) { default: case 0: case A::B: r = x; break; case 2: r = 2 * x; }",
    "switch (k) { case 0: { r = x; break; } case 1: { r = 2 * x; } break; case 2: return x; default: r = 5; }",
    "switch (k) { case 0: if (x > 0) return x; else { r = 1; break; } case 1: if (x > 0) break; else return 1; }",
    "switch (k) { case 0: if (x > 0) return 1; else if (x > 1) return 2; else return 3; default: r = 1; }",
    "for (;;) { switch (k) { case 0: r += x; continue; case 1: discard; default: r += 1; } }",
    "switch (k) { case 0: [MaxIters(2)] for (int i = 0; i < 2; i++) { r += x; } break; case 1: r = x; }",
    "switch (k) { case 0: switch (n) { case 1: r = x; break; case 2: r = 1; } break; case 3: r = 2; }",
    "switch (k) { case 0: do { r += x; } while (r < 3); return r; case 1: r = g<float, 2>(x); break; default: ; }",
    "switch (k) { case",
    "switch (k) { case 0: if",
    "switch (k",
]
RUNS_ON = {
    "switch (k) { case 0: r = x * x; case 1: r += sin(x); break; default: r = 5 * x; }": "case 0",
    "switch (k) { default: r = 5 * x; case 1: r += sin(x); break; }": "default",
    "switch (k) { case 0: case 1: break; case A::B: if (x > 0) break; case 3: r = 1; }": "case A::B",
    "switch (k) { case 0: for (int i = 0; i < 2; i++) { break; } case 1: r = x; }": "case 0",
    "switch (k) { case 0: switch (n) { case 1: r = x; case 2: break; } break; case 3: r = 2; }": "case 1",
    "switch (k) { case 0: { r = x; { r = 1; } } default: r = 2; }": "case 0",
}
SOURCE = """
[Differentiable] float runs_on(float x, int k) { float r = 0; %s return r; }
[Differentiable] float calls(float x, int k) { return 2 * runs_on(x, k); }
[Differentiable] float ends(float x, int k) { float r = 0; %s return r; }
float plain(float x, int k) { float r = 0; %s return r; }
[Differentiable] float holds(float x, int k) { return x * no_diff plain(x, k); }
"""
RIGHT = "switch (k) { case 0: case 1: r = sin(x); break; case 2: r = x * x; return r; default: r = 5 * x; }"


@pytest.mark.parametrize("text", ENDS)
def test_cases_that_end(text: str) -> None:
    assert falls_through(f"{{ {text} }}") == ""


@pytest.mark.parametrize("text", RUNS_ON)
def test_cases_that_run_on(text: str) -> None:
    assert falls_through(f"{{ {text} }}") == RUNS_ON[text]


def test_forward_mode(session: Any) -> None:
    through = next(iter(RUNS_ON))
    m = session.compile(SOURCE % (through, RIGHT, through))
    for name in ("runs_on", "calls"):
        for product in (
            lambda f: sn.jvp(f, {"x": 1.0, "k": 1}, {"x": 1.0}),
            lambda f: sn.hvp(f, "x")(1.0, 1, v=1.0),
        ):
            with pytest.raises(sn.GradientError, match=f"{name}: `case 0` of the switch in runs_on") as caught:
                product(m[name])
            assert caught.value.remedy == "end each case with `break;`, or write it with `if`"
    for k, slope in enumerate((math.cos(0.5), math.cos(0.5), 1.0, 5.0)):
        assert sn.jvp(m.ends, {"x": 0.5, "k": k}, {"x": 1.0})[1] == pytest.approx(slope, rel=1e-6)
    for k, value in enumerate((0.25 + math.sin(0.5), math.sin(0.5), 2.5)):  # `plain` is not derived
        assert m.runs_on(0.5, k) == pytest.approx(value, rel=1e-6)
        assert sn.jvp(m.holds, {"x": 0.5, "k": k}, {"x": 1.0})[1] == pytest.approx(value, rel=1e-6)
