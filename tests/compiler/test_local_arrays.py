"""Local arrays that stop the device are warned of when they are compiled."""

from __future__ import annotations

import pytest

from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source

FUNCTION = "float f(float x) {{ {} return x; }}"


@pytest.mark.parametrize(
    ("declaration", "size"),
    [
        ("float a[1000000];", 3906),
        ("int64_t a[10000];", 78),
        ("float4x4 a[2000];", 125),
        ("const half a[300][300] = {};", 175),
    ],
)
def test_large_ones(declaration: str, size: int) -> None:
    found = lint(Source(FUNCTION.format(declaration), "In[3]", 2))
    assert [d.message for d in found] == [f"each thread has its own a, of {size} kB: calls may never end."]
    assert found[0].source[found[0].column - 1 :].startswith("a[")


@pytest.mark.parametrize(
    "declaration", ["float a[64];", "static float a[1000000];", "float a[SIZE];", "x = a[1000000];"]
)
def test_others(declaration: str) -> None:
    assert not lint(Source(FUNCTION.format(declaration), "In[3]", 2))
