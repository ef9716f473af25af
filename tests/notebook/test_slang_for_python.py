"""Every row of the table "Slang for Python people", at the end of the first notebook, is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

import slangnb as sn

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-first-gradient.ipynb"
LOOP = "float f(float x, int n) { float s = 0; %s for (int i = 0; i < %s; i++) s += x * x; return s; }"


@pytest.fixture(scope="module")
def rows() -> list[str]:
    """The rows, without the head."""
    cells = nbformat.read(NOTEBOOK, 4).cells
    table = next(c.source for c in cells if c.source.startswith("## Slang for Python people"))
    return [line for line in table.splitlines() if line.startswith("|")][2:]


def test_rows_are_those_that_are_tried_here(rows: list[str]) -> None:
    slang = [row.split(" | ")[1] for row in rows]
    assert slang == [
        "`float y = 2.0 * x;`",
        "`float f(float x) { return x; }`",
        "`x * x`",
        "`1 / 2` is 0",
        "`x > 0 ? y : z`",
        "`for (int i = 0; i < n; i++)`",
        "`float3(1, 2, 3)`",
        "`x[n - 1]`, `x.shape[0]`",
        "`[Differentiable]`",
        "`detach(x)`",
        "`float f(no_diff float x)`",
    ]


@pytest.mark.parametrize(
    ("body", "right"),
    [
        ("float y = 2.0 * x; return y;", 6),
        ("return x * x;", 9),
        ("return 1 / 2;", 0),
        ("return 1.0 / 2.0;", 0.5),
        ("float y = 5; float z = 7; return x > 0 ? y : z;", 5),
        ("if (x > 4) { return 5; } else { return 7; }", 7),
        ("float s = 0; int n = 4; for (int i = 0; i < n; i++) s += i; return s;", 6),
        ("float3 v = float3(1, 2, 3); return v.x == v[0] && all(v.xyz == v) && all(v.xy == float2(1, 2)) ? 1 : 0;", 1),
        ("float3 v = float3(1, 2, 3) * float3(4, 5, 6); return v.z;", 18),
        ("return dot(float3(1, 2, 3), float3(4, 5, 6));", 32),
    ],
)
def test_values(session: Any, body: str, right: float) -> None:
    assert session.compile(f"float f(float x) {{ {body} }}").f(x=3.0) == right


@pytest.mark.parametrize("wrong", ["float y = x return y;", "return x ** 2;", "if x > 0 { return 1; } return 0;"])
def test_what_python_would_allow(session: Any, wrong: str) -> None:
    with pytest.raises(sn.CompileError):
        session.compile(f"float f(float x) {{ {wrong} }}")


def test_last_element_of_a_tensor(session: Any) -> None:
    source = 'import "slangpy"; float last(Tensor<float, 1> x) { int n = x.shape[0]; return x[n - 1]; }'
    assert session.compile(source).last(sn.tensor([1, 2, 3, 4], dtype="float")) == 4


def test_pow_of_a_negative_number_is_refused(session: Any) -> None:
    m = session.compile("[Differentiable] float f(float x) { return pow(x, 2); }")
    assert m.f(x=-3.0) == 9
    with pytest.raises(sn.GradientError, match="pow of a negative number"):
        sn.grad(m.f, wrt="x")(x=-3.0)


def test_loops_with_gradients(session: Any) -> None:
    with pytest.raises(sn.CompileError, match="MaxIters"):
        session.compile("[Differentiable] " + LOOP % ("", "n"))
    for attribute, bound in (("[MaxIters(64)]", "n"), ("", "4")):
        f = session.compile("[Differentiable] " + LOOP % (attribute, bound)).f
        assert sn.grad(f, wrt="x")(x=3.0, n=4) == 24


def test_what_has_a_gradient(session: Any) -> None:
    m = session.compile(
        """
float plain(float x) { return x * x; }
[Differentiable] float known(float x) { return x * x; }
[Differentiable] float detached(float x) { return x * detach(x); }
[Differentiable] float fixed(no_diff float x, float y) { return x * y; }
[Differentiable] float calls_plain(float x) { return x * no_diff plain(x); }
[Differentiable] float calls_known(float x) { return x * no_diff known(x); }
"""
    )
    with pytest.raises(sn.GradientError, match="not differentiable"):
        sn.grad(m.plain, wrt="x")(x=3.0)
    with pytest.raises(sn.GradientError, match="no_diff"):
        sn.grad(m.fixed, wrt="x")(x=3.0, y=5.0)
    found = [sn.grad(f, wrt="x")(x=3.0) for f in (m.known, m.detached, m.calls_plain, m.calls_known)]
    np.testing.assert_allclose(found, [6, 3, 9, 27])  # the last: no_diff does not stop what has a derivative
