"""A derivative that somebody wrote keeps the audit from those functions alone that may call it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn

X = np.ones((5, 3), np.float32)
OWN = """
[BackwardDerivative(through)] float stepped(float x) { return round(x); }
void through(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }
"""
PLAIN = "[Differentiable] float3 plain(float k, float3 x) { return k * x + x * (k * k); }"
#: What stands beside a function and is nothing that it calls.
BESIDE = {
    "other names of types": f"typealias Colour = float3; {OWN}",
    "a macro": f"#define PI 3.14159\n{OWN}",
    "the type of a differential": "struct R : IDifferentiable { float a; typealias Differential = R; };",
    "a name": "float other(float x) { float BackwardDerivative = x; return BackwardDerivative; } typedef int N;",
}
CALLS = {
    "itself": "float f(float p) { return stepped(p) * p; }",
    "another": "[Differentiable] float g(float x) { return stepped(x); } float f(float p) { return g(p) * p; }",
    "a macro": "#define S(x) stepped(x)\nfloat f(float p) { return S(p) * p; }",
    "a function of a macro": (
        "#define MAKE(n, h) [Differentiable] float n(float x) { return h(x); }\nMAKE(g, stepped)\n"
        "float f(float p) { return g(p) * p; }"
    ),
    "a method": (
        "struct S : IDifferentiable { float a; [Differentiable] float at(float x) { return stepped(x) * a; } }; "
        "float f(float p) { S s = { 1.0 }; return s.at(p) * p; }"
    ),
}


@pytest.mark.parametrize("beside", BESIDE)
def test_a_derivative_that_is_not_called_hides_nothing(session: Any, beside: str) -> None:
    m = session.compile(
        f"{BESIDE[beside]} {PLAIN} [Differentiable] float3 right(float k, float3 x) {{ return x * k; }}"
    )
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'k'"):
        sn.grad(m.plain, "k")(k=0.7, x=X)
    assert sn.grad(m.right, "k")(k=0.7, x=X) == pytest.approx(15)


def test_the_remedy_is_right_there(session: Any) -> None:
    f = session.compile(f"#define PI 3.14159\n{OWN} {PLAIN.replace('k * x', 'x * k')}").plain
    assert sn.grad(f, "k")(k=0.7, x=X) == pytest.approx(15 * (1 + 2 * 0.7))


@pytest.mark.parametrize("form", CALLS)
def test_straight_through_estimators_are_taken_as_they_are(session: Any, form: str) -> None:
    """The derivative of ``stepped(p) * p`` is ``p + stepped(p)`` then; nothing is said of ordinary functions."""
    before, found, after = CALLS[form].rpartition("float f(")
    f = session.compile(f"{OWN} {before} [Differentiable] {found}{after}").f
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.grad(f)(p=np.array([0.6, 2.2], np.float32))["p"] == pytest.approx([1.6, 4.2])


def test_derivatives_of_an_included_file(session: Any, tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text(OWN)
    text = '#include "own.h"\n[Differentiable] float3 f(float p, float3 x) { return x * {} * p; }'
    f = session.compile(text.replace("{}", "float3(stepped(x.x), 1, 1)"), include=(tmp_path,)).f
    x = np.array([2.2, 3, 5], np.float32)
    assert sn.grad(f, "x")(p=1.0, x=x) == pytest.approx([2 + 2.2, 1, 1])
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        sn.grad(session.compile(text.replace("x * {} * p", "p * x"), include=(tmp_path,)).f, "p")(p=0.7, x=X)


def test_operators_of_ones_own(session: Any) -> None:
    f = session.compile("""
struct V : IDifferentiable { float3 a; };
[BackwardDerivative(back)] V operator*(V a, V b) { return { a.a * b.a }; }
void back(inout DifferentialPair<V> a, inout DifferentialPair<V> b, V.Differential d)
{
    a = diffPair(a.p, d);
    b = diffPair(b.p, d);
}
[Differentiable] float f(V a) { return (a * a).a.x; }
""").f
    assert sn.grad(f, "a")(a={"a": np.array([2, 3, 4], np.float32)})["a"].tolist() == [2, 0, 0]


def test_what_cannot_be_judged_is_said_once(session: Any) -> None:
    text = "[Differentiable] float3 quantised(float k, float3 x) { return k * x * stepped(k * 4); }"
    f = session.compile(f"{OWN} {text}").quantised
    with pytest.warns(sn.GradientWarning, match=r"quantised: .* somebody wrote a derivative.* sn\.gradcheck"):
        sn.grad(f, "k")(k=0.7, x=X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sn.grad(f, "k")(k=0.7, x=X)
    g = session.compile(f"{OWN} {text.replace('k * x', 'x * k')}").quantised
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.grad(g, "k")(k=0.7, x=X) == pytest.approx(15 * (3 + 0.7 * 4))
