"""Loops inside loops: a warning where Slang mixes up what they keep, and silence everywhere else."""

from __future__ import annotations

import pytest

from slangnb.compiler.advice.lint import lint
from slangnb.compiler.advice.nests import may_mix_up
from slangnb.compiler.source import Source

SIX = "for (int j = 0; j < 6; j++)"
TWO = "for (int k = 0; k < 2; k++)"
FOUR = "for (int k = 0; k < 4; k++)"
VARIABLE = "for (int k = 0; k < n; k++)"
WRONG = {
    "found by Slang": f"{SIX} {{ float h = 0; {TWO} h += x * k; y += h * h; }}",
    "shorter outside": f"{TWO} {{ float h = 0; {SIX} h += x * j; y += h * h; }}",
    "no braces": f"{SIX} {TWO} y += x * y;",
    "in a branch": f"{SIX} if (x > j) y += x; else {{ y *= x; {TWO} y *= x; }}",
    "three deep": f"{SIX} {{ [ForceUnroll] {FOUR} {{ {TWO} y *= x; }} }}",
    "MaxIters": f"[MaxIters(8)] {VARIABLE} {{ [MaxIters(4)] {VARIABLE} y *= x; }}",
}
RIGHT = {
    "alike": f"{SIX} {{ {FOUR} y *= x; }}",
    "one after another": f"{SIX} {{ y *= x; }} {TWO} {{ y *= x; }}",
    "one after another, without braces": f"{SIX} y *= x; {TWO} y *= x;",
    "beside a branch": f"if (x > 0) {SIX} y *= x; else {TWO} y *= x;",
    "unrolled inside": f"{SIX} {{ [ForceUnroll] {TWO} y *= x; }}",
    "unrolled outside": f"[ForceUnroll] {SIX} {{ {TWO} y *= x; }}",
    "the larger number before both": f"[MaxIters(6)] {SIX} {{ [MaxIters(6)] {TWO} y *= x; }}",
}


def source(body: str) -> Source:
    text = f"[Differentiable] float f(float x, int n)\n{{ float y = 1;\n{body}\nreturn y; }}"
    return Source(text, "In[1]", 1)


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_nests_that_are_mixed_up(body: str) -> None:
    (found,) = lint(source(body))
    assert "mixes up what they keep: the gradient may be wrong" in found.message and found.line == 3
    assert "move the inner loop into a [Differentiable] function of its own" in found.remedy
    assert may_mix_up(body)


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_nests_that_are_right(body: str) -> None:
    assert lint(source(body)) == () and not may_mix_up(body)


def test_the_warning_says_both_counts_and_what_to_unroll() -> None:
    (found,) = lint(source(WRONG["shorter outside"]))
    assert "loops of 2 and 6 rounds" in found.message
    assert found.remedy.startswith("write `[ForceUnroll]` before the loop of 2 rounds, or move")
    (found,) = lint(source(WRONG["MaxIters"]))
    assert found.remedy.startswith("move the inner loop")


def test_counts_that_the_text_does_not_show_are_left_to_the_audit() -> None:
    body = f"{SIX} {{ for (int k = 0; k < N; k++) y *= x; }}"
    assert lint(source(body)) == () and may_mix_up(body)
    assert may_mix_up("do { for (int i = 0; i < 3; i++) y *= x; } while (y < 9);")


def test_any_text_is_read_to_its_end() -> None:
    for text in (
        "for (;;",
        "for (int i = 0; i < 3; i++)",
        "for (;;) if (",
        "else " * 99,
        "for (;;) [",
        "if () " * 5000,
    ):
        assert not may_mix_up(text)
