"""What hides a fault of Slang's reverse mode from a look at the text or the types; the audit finds it all the same."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.fused import audit

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
XS = np.array([1, 2, 3], np.float32)
LOST = "return p * x + x * p;"  # the first term's part of dp is lost: 21, and 42 is right

VECTORS = {
    "typedef": f"typedef float3 Color; [Differentiable] Color f(float p, Color x) {{ {LOST} }}",
    "typealias": f"typealias Color = float3; [Differentiable] Color f(float p, Color x) {{ {LOST} }}",
    "macro for a type": f"#define V float3\n[Differentiable] V f(float p, V x) {{ {LOST} }}",
    "macro for a function": f"#define DEF(n, T) [Differentiable] T n(float p, T x) {{ {LOST} }}\nDEF(f, float3)",
    "after a macro": (
        f"#define DEF(n, T) [Differentiable] T n(float p, T x) {{ {LOST} }}\n"
        f"DEF(g, float3)\n[Differentiable] float3 f(float p, float3 x) {{ {LOST} }}"
    ),
    "struct argument": f"struct P {{ float k; }}; [Differentiable] float3 f(float p, float3 x, P q) {{ {LOST} }}",
    "differentiable struct": (
        f"struct P : IDifferentiable {{ float k; }}; [Differentiable] float3 f(float p, float3 x, P q) {{ {LOST} }}"
    ),
    "struct result": (
        "struct P : IDifferentiable { float3 y; };"
        "[Differentiable] P f(float p, float3 x) { P r; r.y = p * x + x * p; return r; }"
    ),
    "integer vector": f"[Differentiable] float3 f(float p, float3 x, int3 q) {{ {LOST} }}",
    "no_diff vector": f"[Differentiable] float3 f(float p, float3 x, no_diff float3 q) {{ {LOST} }}",
    "bool": f"[Differentiable] float3 f(float p, float3 x, bool q) {{ {LOST} }}",
    "method": f"struct M {{ [Differentiable] static float3 me(float p, float3 x) {{ {LOST} }} }};",
}
MORE = {"struct argument": {"k": 1.0}, "differentiable struct": {"k": 1.0}, "integer vector": [1, 2, 3], "bool": True}


@pytest.mark.parametrize("form", VECTORS)
def test_scalars_that_meet_vectors(session: Any, form: str) -> None:
    m = session.compile(VECTORS[form])
    f = m["M::me"] if form == "method" else m.f
    more = {"q": MORE.get(form, [1.0, 2.0, 3.0])} if " q)" in VECTORS[form] else {}
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        sn.grad(f, "p")(p=2.0, x=X, **more)


@pytest.mark.parametrize("form", VECTORS)
def test_the_same_forms_written_right(session: Any, form: str) -> None:
    m = session.compile(VECTORS[form].replace("p * x + x * p", "x * p + x * p"))
    f = m["M::me"] if form == "method" else m.f
    more = {"q": MORE.get(form, [1.0, 2.0, 3.0])} if " q)" in VECTORS[form] else {}
    assert sn.grad(f, "p")(p=2.0, x=X, **more) == 42.0


@pytest.mark.parametrize("kind", ["out float3 y", "inout float3 y", "inout int n"])
def test_other_outputs(session: Any, kind: str) -> None:
    """Slang loses nothing of what it assigns to an output, and the audit says nothing of it."""
    writes = kind.endswith("y")
    body = "y = p * x + x * p;" if writes else f"n += 1; {LOST}"
    source = f"[Differentiable] {'void' if writes else 'float3'} f(float p, float3 x, {kind}) {{ {body} }}"
    more = {"n": 1} if not writes else {"y": [0.0, 0.0, 0.0]} if kind.startswith("inout") else {}
    if not writes:
        with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
            sn.grad(session.compile(source).f, "p")(p=2.0, x=X, **more)
        source = source.replace("p * x + x * p", "x * p + x * p")
    assert sn.grad(session.compile(source).f, "p")(p=2.0, x=X, **more) == 42.0


@pytest.mark.parametrize("chain", [lambda f: f.map((0,), (0,)), lambda f: f.call_group_shape((32,))])
def test_changed_calls(session: Any, ones: Any, chain: Any) -> None:
    f = session.compile(f"[Differentiable] float3 f(float p, float3 x) {{ {LOST} }}").f
    p, x = sn.tensor([2.0, 2.0], grad=True), sn.tensor(X, dtype="float3", grad=True)
    y = ones(f(p, x, _result="tensor"))
    if "map" not in repr(chain):
        chain = chain(f)
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        chain.bwds(p, x, _result=y)


def test_generic_functions(session: Any, ones: Any) -> None:
    source = "[Differentiable] vector<T, 3> g<T : __BuiltinFloatingPointType>(T p, vector<T, 3> x) {{ return {}; }}"
    p, x = sn.tensor([2.0, 2.0], grad=True), sn.tensor(X, dtype="float3", grad=True)
    lost = session.compile(source.format("p * x + x * p")).g
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        lost.bwds(p, x, _result=ones(lost(p, x)))
    right = session.compile(source.format("x * p + x * p")).g
    right.bwds(p, x, _result=ones(right(p, x)))
    assert p.grad.to_numpy().tolist() == [12.0, 30.0]


LOOP = "{ float r = 1; [MaxIters(4)] for (int i = 0; i < n; i++) { r = r * x + sin(r); } return r; }"
TWO = np.array([1.9, 1.6], np.float32)


def growth(x: float, n: int) -> float:
    """The derivative of the loop, in float64."""
    r, d = 1.0, 0.0
    for _ in range(n):
        r, d = r * x + np.sin(r), d * x + r + np.cos(r) * d
    return d


@pytest.mark.parametrize("n", [np.int32(12), np.array([12, 12], np.int32), [12, 12], np.array([3, 12], np.int32)])
def test_loops_that_are_too_long(session: Any, n: Any) -> None:
    g = sn.grad(session.compile(f"[Differentiable] float f(float x, int n) {LOOP}").f, "x")
    np.testing.assert_allclose(g(TWO, np.int32(3)), [growth(float(x), 3) for x in TWO], rtol=1e-5)
    few = np.minimum(np.asarray(n), 3)
    found = g(TWO, few.astype(np.int32) if isinstance(n, np.ndarray) else type(n)(few))
    np.testing.assert_allclose(found, [growth(float(x), 3) for x in TWO], rtol=1e-5)
    with pytest.raises(sn.GradientError, match="MaxIters"):
        g(TWO, n)


def refuses_long_loops(g: Any) -> None:
    """Behind the loop's memory may lie what belongs there, as was seen on CUDA; each new count is looked at."""
    with pytest.raises(sn.GradientError, match="MaxIters"):
        for n in (12, 13, 17, 40):
            g(TWO, n)


@pytest.mark.parametrize(
    "source",
    [
        "[Differentiable] void f(float x, int n, out float r) { r = 1;"
        " [MaxIters(4)] for (int i = 0; i < n; i++) { r = r * x + sin(r); } }",
        "struct P { float k; }; [Differentiable] float f(float x, int n, P p) " + LOOP,
        "#define FORN [MaxIters(4)] for (int i = 0; i < n; i++)\n"
        "[Differentiable] float f(float x, int n) { float r = 1; FORN { r = r * x + sin(r); } return r; }",
        "struct N { int n; }; [Differentiable] float f(float x, N q) " + LOOP.replace("i < n", "i < q.n"),
        "[Differentiable] float f(float x, int2 q) " + LOOP.replace("i < n", "i < q.y"),
    ],
    ids=["out", "struct", "macro", "bound in a struct", "bound in a vector"],
)
def test_loops_that_are_too_long_in_other_forms(session: Any, source: str) -> None:
    f = session.compile(source).f
    more: dict[str, Any] = {"p": {"k": 1.0}} if "P p" in source else {}
    name, made = ("q", lambda n: {"n": n}) if "N q" in source else ("q", lambda n: [1, n])
    if " q)" not in source:
        name, made = "n", int
    g = sn.grad(f, "x")
    np.testing.assert_allclose(g(x=TWO, **{name: made(3)}, **more), [growth(float(x), 3) for x in TWO], rtol=1e-5)
    refuses_long_loops(lambda x, n: g(x=x, **{name: made(n)}, **more))


def test_a_loop_of_an_included_file(session: Any, tmp_path: Path) -> None:
    (tmp_path / "rounds.h").write_text("#define FORN [MaxIters(4)] for (int i = 0; i < n; i++)\n")
    source = (
        '#include "rounds.h"\n'
        "[Differentiable] float f(float x, int n) { float r = 1; FORN { r = r * x + sin(r); } return r; }"
    )
    refuses_long_loops(sn.grad(session.compile(source, include=(tmp_path,)).f, "x"))


def test_a_loop_whose_bound_is_a_float(session: Any) -> None:
    """The first call's numbers are tried; those of later calls are not looked at."""
    source = (
        "[Differentiable] float {}(float x)"
        "{{ float r = 1; float t = 0; [MaxIters(4)] while (t < x) {{ r = r * x; t += 1; }} return r; }}"
    )
    few, many = (getattr(session.compile(source.format(name)), name) for name in ("few", "many"))
    assert sn.grad(few)(np.full(4, 2.5, np.float32))["x"] == pytest.approx([3 * 2.5**2] * 4)
    with pytest.raises(sn.GradientError, match="MaxIters"):
        sn.grad(many)(np.full(5, 9.5, np.float32))


def test_second_derivatives_are_audited(session: Any) -> None:
    f = session.compile(f"[Differentiable] float f(float x, int n) {LOOP}").f
    with pytest.raises(sn.GradientError, match="MaxIters"):
        sn.hvp(f, "x")(x=TWO, n=12, v=np.ones(2, np.float32))


BACKWARD = "void {n}(inout DifferentialPair<float> x, float g) {{ x = diffPair(x.p, 2 * x.p * g); }}"
ONE_WAY = {
    "derivative of": (
        "float sq(float x) { return x * x; } [BackwardDerivativeOf(sq)] "
        + BACKWARD.format(n="b")
        + "[Differentiable] float f(float x) { return sq(x) * x; }"
    ),
    "namespace": (
        "namespace ns { [BackwardDerivative(qb)] float q(float x) { return x * x; } "
        + BACKWARD.format(n="qb")
        + "} [Differentiable] float f(float x) { return ns::q(x) * x; }"
    ),
    "macro": (
        "#define BD(f) [BackwardDerivative(f)]\nBD(kb) float k(float x) { return x * x; } "
        + BACKWARD.format(n="kb")
        + "[Differentiable] float f(float x) { return k(x) * x; }"
    ),
}


@pytest.mark.parametrize("form", ONE_WAY)
def test_functions_without_a_forward_derivative(session: Any, form: str) -> None:
    f = session.compile(ONE_WAY[form]).f
    assert sn.grad(f)(XS)["x"].tolist() == [3.0, 12.0, 27.0]
    for _ in range(2):
        with pytest.raises(sn.GradientError, match=r"backward derivative|BackwardDerivative"):
            sn.jvp(f, {"x": XS}, {"x": 1.0})


def test_treat_as_differentiable(session: Any) -> None:
    m = session.compile(
        "[TreatAsDifferentiable] float td(float x) { return x * x; } float plain(float x) { return x * x; }"
        "[Differentiable] float f(float x, float y) { return td(x) * y; }"
        "[Differentiable] float g(float x, float y) { return no_diff(plain(x)) * y; }"
    )
    with pytest.raises(sn.GradientError, match="TreatAsDifferentiable") as caught:
        sn.grad(m.f, "y")(3.0, 2.0)
    assert "no_diff(td(...))" in caught.value.remedy
    with pytest.raises(sn.GradientError, match="another result"):
        sn.jvp(m.f, {"x": XS, "y": 2.0}, {"y": 1.0})
    assert sn.grad(m.g, "y")(3.0, 2.0) == 9.0


ONES = np.ones((8, 4), np.float32)
NORMAL = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)


def test_roundings_are_no_fault(session: Any) -> None:
    """At equal numbers the derivative of layer norm is 0, of terms of size 316."""
    f = session.compile(
        "[Differentiable] float4 norm(float4 v)"
        "{ float m = dot(v, float4(0.25)); float4 d = v - float4(m); return d / sqrt(dot(d, d) * 0.25 + 1e-5); }"
    ).norm
    g = sn.grad(f, "v", seed=np.arange(32, dtype=np.float32).reshape(8, 4))
    np.testing.assert_allclose(g(v=ONES), (np.arange(4) - 1.5)[None] * np.ones((8, 1)) / np.sqrt(1e-5), rtol=1e-4)
    assert np.isfinite(g(v=NORMAL)).all()
    right = session.compile(
        "[Differentiable] float4 flux(float4 u) { float4 q = u * u * u; return (q.yzwx - q * 2.0 + q.wxyz) * 100.0; }"
    ).flux
    assert np.abs(sn.grad(right, "u")(u=NORMAL)).max() < 1e-2


def test_singular_arguments_are_no_fault(session: Any) -> None:
    f = session.compile(
        "[Differentiable] float ratio(float3x3 m) { return (m[0][0] * m[1][1] - m[0][1] * m[1][0]) / determinant(m); }"
    ).ratio
    with pytest.warns(sn.GradientWarning, match="not finite"):
        sn.grad(f)(np.ones((8, 3, 3), np.float32))
    m: Any = np.eye(3, dtype=np.float32) * 2
    assert sn.grad(f, "m")(m=m)[2][2] == pytest.approx(-0.25)


def test_whole_numbers_of_one_element_belong_together(session: Any) -> None:
    source = (
        "[Differentiable] float {}(float x, int a, int n)"
        "{{ float s = x; [MaxIters(8)] for (int i = 0; i < a * n; i++) s = s * x + sin(s); return s; }}"
    )
    f, other = (getattr(session.compile(source.format(name)), name) for name in ("paired", "unpaired"))
    x, a, n = (
        np.linspace(0.5, 1.2, 4, dtype=np.float32),
        np.array([1, 2, 4, 8], np.int32),
        np.array([8, 4, 2, 1], np.int32),
    )

    def slope(x: float) -> float:
        s, d = x, 1.0
        for _ in range(8):
            s, d = s * x + np.sin(s), d * x + s + np.cos(s) * d
        return d

    np.testing.assert_allclose(sn.grad(f, "x")(x=x, a=a, n=n), [slope(float(v)) for v in x], rtol=1e-4)
    with pytest.raises(sn.GradientError, match="MaxIters"):
        sn.grad(other, "x")(x=np.full(4, 1.9, np.float32), a=a, n=a // 2 + 1)


def test_one_long_loop_among_many(session: Any) -> None:
    n = np.full(1000, 3, np.int32)
    n[17] = 12
    with pytest.raises(sn.GradientError, match="MaxIters"):
        sn.grad(session.compile(f"[Differentiable] float f(float x, int n) {LOOP}").f, "x")(1.5, n)


def test_bounds_that_just_fit(session: Any) -> None:
    f = session.compile(
        "[Differentiable] float f(float x, float h)"
        "{ float s = 0; [MaxIters(4)] for (float t = 0; t < h; t += 0.25) s += x * x * t; return s; }"
    ).f
    x = np.linspace(0.5, 1, 8, dtype=np.float32)
    np.testing.assert_allclose(sn.grad(f, "x")(x=x, h=1.0), 3 * x, rtol=1e-6)


def test_a_derivative_that_is_given_elsewhere_is_left_alone(session: Any) -> None:
    f = session.compile(
        "float st(float x) { return round(x); }\n[BackwardDerivativeOf(st)] "
        "void sb(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }\n"
        "[Differentiable] float f(float3 v) { return st(v.x) * v.y; }"
    ).f
    assert sn.grad(f, "v")(v=np.array([1.2, 3.0, 0.0], np.float32)).tolist() == [3.0, 1.0, 0.0]


def test_new_whole_numbers_cost_few_audits(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    m = session.compile(
        "[Differentiable] float plain(float v, int seed) { return v * v * float(seed & 7); }\n"
        "[Differentiable] float f(float3 v, int seed) { return dot(v, v) * float(seed & 7); }"
    )
    looks, compared = [], audit._compared
    monkeypatch.setattr(audit, "_compared", lambda *given: looks.append(given) or compared(*given))
    for k in range(1, 200):
        assert sn.grad(m.plain, "v")(v=2.0, seed=k) == 4.0 * (k & 7)
    assert not looks
    g = sn.grad(m.f, "v")
    for k in range(1, 1000):
        assert g(v=X, seed=k)[0].tolist() == [2.0 * (k & 7), 4.0 * (k & 7), 6.0 * (k & 7)]
    assert len(looks) < audit.MOST_ONE_BY_ONE + 10


def test_numbers_beyond_float(session: Any) -> None:
    f = session.compile("[Differentiable] double3 f(double3 v) { return v * v; }").f
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.grad(f, "v")(v=np.full((2, 3), 1e100))[0].tolist() == [2e100] * 3
