"""Divisions of whole numbers: a warning where a real number is meant, and silence everywhere else."""

from __future__ import annotations

import pytest

from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

REAL = (
    "return 1/2;",
    "return -1/2 * x;",
    "return x * (1/2);",
    "return (x + 1/2) * 2;",
    "return 1/2 * dot(v, v);",
    "return 1/2 * (n + x);",
    "return pow(x, 1/2);",
    "return pow(g(n), 1/2);",
    "return max(0, 1/2);",
    "return g(1/2 * x);",
    "return 1u / 2u * x;",
    "return x > 0 ? 1/2 : 0;",
    "if (x > 1/2) return x; return 0;",
    "float y = 1/2; return y;",
    "float y; y = 1/2; return y;",
    "x += 1/2; return x;",
    "var y = 1/2 * x; return y;",
    "float3 c = float3(1/2, 0, 0); return c.x;",
    "float a[2] = {1/2, 1}; return a[0];",
)
NOT_SURE = (
    "int k = 1/2; return k * x;",
    "int k = x > 0 ? 1/2 : 0; return k * x;",
    "int k; k = 1/2; return k * x;",
    "int a[2] = {1/2, 1}; return a[0] * x;",
    "uint2 k = uint2(1/2, 1); return x;",
    "int k = max(1/2, n); return k * x;",
    "float a[3/2]; return a[0] * x;",
    "return v[1/2] * x;",
    "return g(1/2) * x;",
    "return n - 1/2;",
    "float y = n - 1/2; return y;",
    "return n > 1/2 ? x : 0;",
    "float y = n == 1/2 ? x : 0; return y;",
    "return n + 1/2 < x ? 1 : 0;",
    "return n << 1/2;",
    "for (int i = 0; i < 3/2; i++) x *= x; return x;",
    "switch (n) { case 1/2: x = 2; } return x;",
    "return x * 1/2;",
    "return x * -1/2;",
    "return x / 1/2;",
    "return (float)1/2 * x;",
    "return 1.0/2 * x;",
    "return 1/2.0 * x;",
    "return .5/2 * x;",
    "return 1e-3/2 * x;",
    "return 4/2 * x;",
    "return x; // 1/2 * x",
)


def said(body: str) -> list[str]:
    text = f"float g(float x) {{ return x; }}\n[numthreads(1/2, 1, 1)]\nfloat f(float x, float3 v, int n) {{ {body} }}"
    return [d.message for d in lint(Source(text))]


@pytest.mark.parametrize("body", REAL)
def test_a_real_number_is_meant(body: str) -> None:
    written = "1u / 2u" if "1u" in body else "1/2"
    assert said(body) == [f"`{written}` is 0: both are whole numbers."]


@pytest.mark.parametrize("body", NOT_SURE)
def test_whole_numbers_may_be_meant(body: str) -> None:
    assert said(body) == []


def test_outside_of_functions_and_in_broken_text() -> None:
    (found,) = lint(Source("static const float RATIO = 7/2;"))
    assert (found.message, found.remedy) == ("`7/2` is 3: both are whole numbers.", "write `7.0/2.0`")
    for text in (
        "static const int COUNT = 7/2;",
        "int f(float x) { return 7/2; }",
        "1/2",
        "float f(1/2",
        "float y[1/2",
    ):
        assert lint(Source(text)) == ()


def test_a_text_that_nobody_writes_is_looked_at_in_part() -> None:
    text = "float f(float x) { return " + "1/2 + " * 4000 + "x; }"
    assert len(lint(Source(text))) == 50
