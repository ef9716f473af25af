"""`gradcheck` finds wrong derivatives (cases 003, 004, 008) and passes right ones, for every kind of signature."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.autodiff.gradcheck_differences import PRECISIONS, differentiate
from slangnb.autodiff.gradcheck_report import GradcheckRow, GradcheckVerdict, make_report

RNG = np.random.default_rng(7)


def values(*shape: int) -> np.ndarray:
    return RNG.uniform(0.3, 2.0, shape).astype(np.float32)


def test_003_wrong_derivative_of_fmod(session: Any) -> None:
    f = session.compile("[Differentiable] float wrap(float x, float period) { return fmod(x, period); }").wrap
    report = sn.gradcheck(f, np.array([7.5, 10.1], np.float32), np.array([3.0, 4.2], np.float32))
    assert not report.ok
    assert {r.argument for r in report.rows if not r.ok} == {"period"}
    assert [r.numeric for r in report.rows if not r.ok] == pytest.approx([-2.0, -2.0], rel=1e-3)


@pytest.mark.parametrize("expression", ["x * n", "x + n", "n - x", "x / n"])
def test_scalars_with_vectors(session: Any, expression: str) -> None:
    """Slang 2026.12 gives a scalar gradient 0 here without a word, but not in `n * x` and `float3(x) + n`."""
    m = session.compile(f"""
[Differentiable] float3 wrong(float x, float3 n) {{ return {expression}; }}
[Differentiable] float3 right(float x, float3 n) {{ return {expression.replace("x", "float3(x)")}; }}
""")
    assert sn.gradcheck(m.right, values(4), values(4, 3)).ok
    assert sn.gradcheck(m.wrong, values(4), values(4, 3)).verdicts["x"].verdict == "wrong"


def test_008_nan_of_the_branch_that_was_not_taken(session: Any) -> None:
    f = session.compile("""
[Differentiable] float softplus(float x) { float e = exp(x); return x > 20.0 ? x : log(1.0 + e); }
[Differentiable] float safe(float x) { if (x > 20.0) return x; return log(1.0 + exp(x)); }
""")
    x = np.array([-1.0, 0.5, 100.0], np.float32)
    report = sn.gradcheck(f.softplus, x)
    assert not report.ok and report.rows[0].index == (2,) and np.isnan(report.rows[0].analytic)
    assert sn.gradcheck(f.safe, x).ok


def test_wrong_custom_derivative(session: Any) -> None:
    f = session.compile("""
[BackwardDerivative(wrong)] float cube(float x) { return x * x * x; }
void wrong(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.9 * x.p * x.p * d); }
[Differentiable] float outer(float x) { return 2 * cube(x); }
""").outer
    report = sn.gradcheck(f, values(5))
    assert not report.ok and report.max_rel_error == pytest.approx(0.1 / 3, rel=0.1)


RIGHT = [
    "sin(x * y) + exp(-x * x)",
    "pow(x, y)",
    "log(x) / y",
    "sqrt(x * x + y * y)",
    "atan2(x, y)",
    "tanh(x) * cos(y)",
    "lerp(x, y, 0.3)",
    "x > 1.0 ? x * x : y * y",
    "min(x, 5.0) * max(y, 0.1)",
    "rsqrt(x) + exp2(y)",
    "x * y * y - 3 * x / (1 + y)",
    "saturate(0.2 * x) * y",
]


@pytest.mark.parametrize("expression", RIGHT)
def test_right_derivatives_pass(session: Any, expression: str) -> None:
    f = session.compile(f"[Differentiable] float right(float x, float y) {{ return {expression}; }}").right
    report = sn.gradcheck(f, values(200), values(200))
    assert report.ok, str(report)
    assert sn.gradcheck(f, 0.7, values(50)).ok


def test_kinks_and_jumps_give_no_false_alarm(session: Any) -> None:
    f = session.compile("[Differentiable] float kink(float x) { return abs(x) + fmod(x, 1.0); }").kink
    assert sn.gradcheck(f, np.linspace(-3, 3, 301).astype(np.float32)).ok


def test_the_heading_says_what_is_unsure(session: Any) -> None:
    # Beside n = 2, the function is no number.
    source = "[Differentiable] float at(float x, float n) { return n == 2 ? x * x * n : sqrt(-n); }"
    report = sn.gradcheck(session.compile(source).at, x=[-3, 3], n=2.0)
    heading = "gradcheck of at: right, but n is unsure"
    assert report.ok and str(report).splitlines()[0] == heading and f"<p>{heading}</p>" in report._repr_html_()
    unsure, right = GradcheckVerdict("unsure", 1, 0, 0), GradcheckVerdict("ok", 1, 1, 0)
    row = GradcheckRow("x", (), 1.0, 1.0, 0.0, "ok")
    said = [
        str(make_report("f", [(name, v, [row]) for name, v in verdicts.items()])).splitlines()[0]
        for verdicts in ({"x": right, "y": unsure, "z": unsure}, {"y": unsure}, {"x": right})
    ]
    assert said == ["gradcheck of f: " + s for s in ("right, but y, z are unsure", "unsure", "right")]


def test_vectors_and_report(session: Any) -> None:
    f = session.compile("[Differentiable] float dot3(float3 a, float3 b) { return dot(a, b) * a.x; }").dot3
    report = sn.gradcheck(f, values(4, 3), values(3))
    assert report.ok and len(report.rows) == 10
    assert "gradcheck of dot3: right" in str(report) and "<script" not in report._repr_html_()


# Every kind of signature

STRUCTS = """
struct Disc : IDifferentiable { float3 colour; float radius; no_diff int layer; float2 corners[2]; };
[Differentiable] float shade(Disc d, float x)
{
    return dot(d.colour, d.colour) * x + d.radius * d.corners[1].x - sin(d.corners[0].y) + d.layer;
}
[Differentiable] Disc moved(Disc d, float x)
{
    Disc e;
    e.colour = d.colour * x;
    e.radius = d.radius * d.radius;
    e.layer = d.layer;
    e.corners[0] = d.corners[1] * x;
    e.corners[1] = d.corners[0];
    return e;
}
"""


def disc(*shape: int) -> dict[str, Any]:
    return {"colour": values(*shape, 3), "radius": 0.7, "layer": 2, "corners": values(*shape, 2, 2)}


def test_structs(session: Any) -> None:
    m = session.compile(STRUCTS)
    for f in (m.shade, m.moved):
        report = sn.gradcheck(f, disc(6), values(6))
        assert report.ok, str(report)
        assert list(report.verdicts) == ["d.colour", "d.radius", "d.corners", "x"]
        assert [v.checked for v in report.verdicts.values()] == [18, 1, 24, 6]


def test_tensors_of_structs(session: Any) -> None:
    import slangpy as spy

    m = session.compile(STRUCTS)
    discs = m.moved(disc(6), values(6), _result="tensor")
    assert isinstance(discs, spy.Tensor)
    for f in (m.shade, m.moved):
        report = sn.gradcheck(f, discs, values(6))
        assert report.ok, str(report)
        assert report.verdicts["d.colour"].checked == 18


def test_wrong_gradient_of_a_field(session: Any) -> None:
    f = session.compile("""
struct Wave : IDifferentiable { float amplitude; float period; };
[Differentiable] float at(Wave w, float x) { return w.amplitude * fmod(x, w.period); }
""").at
    report = sn.gradcheck(f, {"amplitude": values(4), "period": np.float32(0.21)}, values(4) + 1)
    assert {n: v.verdict for n, v in report.verdicts.items()} == {
        "w.amplitude": "ok",
        "w.period": "wrong",
        "x": "ok",
    }


def test_outputs(session: Any) -> None:
    m = session.compile("""
[Differentiable] void split(float x, float y, out float s, out float2 p) { s = sin(x) * y; p = float2(x * x, x / y); }
[Differentiable] float pass(inout float x, float y) { x = x * x * y; return y * y; }
[Differentiable] void bad(float x, out float a, out float b) { a = 2 * x; b = fmod(7.3, x); }
""")
    assert sn.gradcheck(m.split, values(5), values(5)).ok
    x = values(5)
    before = x.copy()
    assert sn.gradcheck(m["pass"], x, values(5)).ok and np.array_equal(x, before)
    assert not sn.gradcheck(m.bad, values(5)).ok


LINEAR = """
import slangpy;
[Differentiable] float layer(int r, IDiffTensor<float, 2> W, IDiffTensor<float, 1> b, IDiffTensor<float, 1> x)
{
    int n = W.shape[1];
    float sum = b[r];
    [MaxIters(LIMIT)] for (int j = 0; j < n; j++) sum += W[r, j] * x[j];
    return tanh(sum);
}
[Differentiable] void write(int r, IDiffTensor<float, 2> W, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y)
{
    int n = W.shape[1];
    float sum = 0;
    [MaxIters(LIMIT)] for (int j = 0; j < n; j++) sum += W[r, j] * x[j] * x[j];
    y[r] = sum;
}
"""


@pytest.mark.parametrize("limit", [16, 5])
def test_indexed_tensors(session: Any, limit: int) -> None:
    f = session.compile(LINEAR, defines={"LIMIT": str(limit)}).layer
    rows = np.arange(4, dtype=np.int32)
    w, b, x = sn.tensor(values(4, 10) / 10), sn.tensor(values(4)), sn.tensor(values(10))
    before = w.to_numpy()
    report = sn.gradcheck(f, rows, w, b, x)
    assert list(report.verdicts) == ["W", "b", "x"] and np.array_equal(w.to_numpy(), before)
    if limit == 16:
        assert report.ok, str(report)
        assert [(v.checked, v.entries) for v in report.verdicts.values()] == [(24, 40), (4, 4), (10, 10)]
        assert sn.gradcheck(f, rows, w, b, x, _samples=6).verdicts["W"].checked == 6
    else:
        # Which gradient suffers differs: software Vulkan loses terms of x, CUDA those of W.
        assert not report.ok and "wrong" in {report.verdicts[name].verdict for name in ("W", "x")}


def test_written_tensors(session: Any) -> None:
    f = session.compile(LINEAR, defines={"LIMIT": "16"}).write
    y = sn.tensor(np.full(4, 7, np.float32), grad=True)
    report = sn.gradcheck(f, np.arange(4, dtype=np.int32), sn.tensor(values(4, 10)), sn.tensor(values(10)), y)
    assert report.ok and report.verdicts["x"].checked == 10, str(report)
    f = session.compile(LINEAR, defines={"LIMIT": "5"}).write
    report = sn.gradcheck(f, np.arange(4, dtype=np.int32), sn.tensor(values(4, 10)), sn.tensor(values(10)), y)
    assert report.verdicts["x"].verdict == "wrong"


def test_004_too_few_iterations(session: Any) -> None:
    f = session.compile("""
[Differentiable] float power(float x, int n)
{
    float y = 1;
    [MaxIters(3)] for (int i = 0; i < n; i++) y *= x;
    return y;
}
""").power
    assert sn.gradcheck(f, values(4), 3).ok
    assert not sn.gradcheck(f, values(4), 6).ok


def test_broadcast_and_kinds_of_values(session: Any) -> None:
    f = session.compile("""
[Differentiable] float3 outer(float x, float y, float3 n, float2x2 q) { return n * (x * exp(-y * q[0][1])) + q[1][0]; }
""").outer
    report = sn.gradcheck(f, values(5, 1), sn.tensor(values(4)), sn.Parameter([1.0, 2.0, 3.0]), values(5, 4, 2, 2))
    assert report.ok, str(report)
    assert [v.checked for v in report.verdicts.values()] == [5, 4, 3, 80]
    assert sn.gradcheck(f, 0.5, sn.Parameter(0.5), [1.0, 2.0, 3.0], np.array([[1, 2], [3, 4]], np.float32)).ok
    wrong = session.compile("[Differentiable] float sum(float x, float y) { return x * y + fmod(3.7, y); }").sum
    report = sn.gradcheck(wrong, values(5, 1), values(1, 4))
    assert report.verdicts["x"].verdict == "ok" and report.verdicts["y"].wrong >= 3


def test_double_is_tight(session: Any) -> None:
    m = session.compile("""
[Differentiable] double cubic(double x, double a) { return a * x * x * x + x / a; }
[BackwardDerivative(off)] double square(double x) { return x * x; }
void off(inout DifferentialPair<double> x, double d) { x = diffPair(x.p, 2.00001 * x.p * d); }
[Differentiable] double outer(double x) { return square(x) + 1; }
""")
    x = values(9).astype(np.float64)
    assert sn.gradcheck(m.cubic, x, 1.25).ok
    report = sn.gradcheck(m.outer, x)
    assert not report.ok and report.max_rel_error == pytest.approx(5e-6, rel=0.01)


def test_half(session: Any) -> None:
    m = session.compile("""
[Differentiable] half soft(half x, half y) { return x * x * y + x; }
[Differentiable] half wrap(half x, half y) { return fmod(x, y) + y; }
""")
    x, y = values(9).astype(np.float16), values(9).astype(np.float16)
    report = sn.gradcheck(m.soft, x, y)
    assert report.ok and report.verdicts["x"].checked == 9, str(report)


def test_what_has_no_gradient_is_left_alone(session: Any) -> None:
    f = session.compile("""
[Differentiable] float held(no_diff float x, int n, bool flip, float y) { return flip ? n * x * y : y * y; }
""").held
    report = sn.gradcheck(f, values(3), np.array([1, 2, 3], np.int32), True, values(3))
    assert report.ok and list(report.verdicts) == ["y"]


# What differences can and cannot say


def test_kinks_of_few_elements_leave_the_sum_checked(session: Any) -> None:
    """Shared weights of a ReLU: of many elements some are always close to the kink."""
    m = session.compile("""
[Differentiable] float relu(float w, float x) { return max(w * x, 0.0); }
[BackwardDerivative(off)] float scaled(float w, float x) { return max(w * x, 0.0); }
void off(inout DifferentialPair<float> w, inout DifferentialPair<float> x, float d)
{
    w = diffPair(w.p, w.p * x.p > 0 ? 0.9 * x.p * d : 0.0);
    x = diffPair(x.p, w.p * x.p > 0 ? w.p * d : 0.0);
}
[Differentiable] float outer(float w, float x) { return scaled(w, x); }
""")
    x = RNG.standard_normal(1000).astype(np.float32)
    report = sn.gradcheck(m.relu, 0.7, x)
    assert report.ok and report.verdicts["w"].checked == 1 and report.verdicts["x"].checked > 950
    report = sn.gradcheck(m.outer, 0.7, x)
    assert report.verdicts["w"].verdict == "wrong" and report.verdicts["x"].verdict == "ok"


def test_rounding_inside_is_noticed(session: Any) -> None:
    """The result is small, but digits were lost on the way: no false alarm, and no verdict."""
    f = session.compile("[Differentiable] float lost(float x) { return sin(x) + 30000.0 - 30000.0; }").lost
    report = sn.gradcheck(f, values(100))
    assert report.ok
    g = session.compile("[Differentiable] float big(float x) { return 1e9 + x; }").big
    report = sn.gradcheck(g, values(4))
    assert report.ok and report.verdicts["x"].verdict == "unsure" and "unsure, 0 of 4" in str(report)


def test_lost_digits_are_no_zero_derivative() -> None:
    """As `sin(x) + 30000 - 30000` where the compiler keeps the sums, which software Vulkan's does not."""

    def lost(x: np.ndarray) -> np.ndarray:
        return ((np.sin(x) + np.float32(30000)) - np.float32(30000)).astype(np.float64)[:, None]

    x = values(100)
    for shrink in (1.0, 0.125, 2.0**-6, 2.0**-9):
        found = differentiate(lost, lost(x), x, PRECISIONS["float"], shrink)
        assert (np.abs(found.value - np.cos(x.astype(np.float64))) <= found.error).all()
    steps = differentiate(lambda x: np.floor(x)[:, None], np.floor(x)[:, None], x + 0.01, PRECISIONS["float"])
    assert (steps.value[steps.flat] == 0).all() and (steps.error[steps.flat] < 1e-2).all()


def test_small_arguments_and_fine_scales(session: Any) -> None:
    m = session.compile("""
[Differentiable] float small(float x) { return log(x) + sqrt(x); }
[Differentiable] float fine(float x) { return sin(200 * x); }
""")
    report = sn.gradcheck(m.small, np.array([0.002, 0.01, 0.1], np.float32))
    assert report.ok and report.verdicts["x"].checked == 3
    report = sn.gradcheck(m.fine, values(50))
    assert report.ok and report.verdicts["x"].checked > 40


@pytest.mark.filterwarnings("error::slangnb.errors.GradientWarning")
def test_values_that_are_not_finite_are_unsure(session: Any) -> None:
    f = session.compile("[Differentiable] float hypot(float x, float y) { return exp(x) * sqrt(y); }").hypot
    report = sn.gradcheck(f, np.array([np.nan, 100, 1, np.inf], np.float32), np.array([1, 1, -1, 1], np.float32))
    assert report.ok and report.verdicts["x"].verdict == "unsure" and report.max_rel_error == 0
    assert "nan" in str(report) and report._repr_html_()


def test_warnings_are_left_to_later_calls(session: Any) -> None:
    f = session.compile("[Differentiable] float steps(float x) { return no_diff floor(x) + 0.125; }").steps
    assert sn.gradcheck(f, values(20)).ok
    with pytest.warns(sn.GradientWarning, match="zero everywhere"):
        sn.grad(f)(values(20))


def test_names_of_options_do_not_clash(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float samples, float seed) { return samples * seed; }").f
    assert sn.gradcheck(f, samples=1.0, seed=2.0, _samples=2, _seed=1).ok
    with pytest.raises(sn.CallError, match="cannot check 0"):
        sn.gradcheck(f, 1.0, 2.0, _samples=0)
    with pytest.raises(sn.CallError, match="no parameter"):
        sn.gradcheck(f, 1.0, sed=2.0)


def random_expression(rng: np.random.Generator, depth: int) -> str:
    """Build an expression of right built-ins that stays within their domains for x, y, z in (0.3, 2)."""
    if depth == 0:
        return str(rng.choice(["x", "y", "z", f"{rng.uniform(0.5, 2):.3f}"]))
    a, b = random_expression(rng, depth - 1), random_expression(rng, depth - 1)
    forms = [
        f"({a} + {b})",
        f"({a} * {b})",
        f"({a} - 0.5 * {b})",
        f"({a} / (1.5 + {b} * {b}))",
        f"sin({a})",
        f"cos({a} - {b})",
        f"tanh({a} * {b})",
        f"exp(-abs({a}))",
        f"log(1.2 + {a} * {a})",
        f"sqrt(0.5 + {a} * {a})",
        f"pow(0.4 + {a} * {a}, 0.7)",
        f"atan2({a}, 1.0 + {b} * {b})",
        f"lerp({a}, {b}, 0.3)",
        f"max({a}, {b})",
        f"min({a}, {b})",
        f"dot(float2({a}, {b}), float2(x, 0.4))",
        f"(({a}) > ({b}) ? {a} * x : {b} * y)",
    ]
    return str(rng.choice(forms))


def test_fifty_random_right_functions(session: Any) -> None:
    rng = np.random.default_rng(50)
    texts = [random_expression(rng, 3) for _ in range(50)]
    source = "\n".join(
        f"[Differentiable] float right{k}(float x, float y, float z) {{ return x * y + {t} * z; }}"
        for k, t in enumerate(texts)
    )
    m = session.compile(source)
    for k, text in enumerate(texts):
        report = sn.gradcheck(m[f"right{k}"], values(40), 0.9, values(40))
        assert report.ok, f"{text}\n{report}"
        assert sum(v.checked for v in report.verdicts.values()) > 70, f"{text}\n{report}"


def test_a_thousand_elements_take_less_than_half_a_second(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float a, float b, float x) { return a * exp(-b * x) * sin(x); }").f
    a, b, x = 1.5, values(1000), values(1000)
    assert sn.gradcheck(f, a, b, x).ok
    start = time.perf_counter()
    sn.gradcheck(f, a, b, x)
    assert time.perf_counter() - start < 1.5  # 0.05 s on software Vulkan; other work may hold up the machine


def test_gradients_that_underflow_are_no_fault(session: Any) -> None:
    m = session.compile("[Differentiable] float soft(float x) { float o = 1.0 / (1.0 + exp(x)); return o * o; }")
    x = np.array([0, 20, 35, 40, 44], np.float32)
    report = sn.gradcheck(m.soft, x=x)
    assert report.ok
    assert report.max_rel_error < 1e-4
    # The same numbers alone would be wrong: backward gives 0 for 8e-31.
    assert not sn.gradcheck(m.soft, x=x[2:]).ok


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x * detach(a * x)", "differences go through detach(...), so that the two may differ on purpose"),
        ("a * ste(x)", "ste has a derivative of its own, which may differ on purpose"),
        ("fmod(a, x)", ""),
    ],
)
def test_what_differs_on_purpose_is_said(session: Any, body: str, said: str) -> None:
    m = session.compile(
        "[BackwardDerivative(ste_back)] float ste(float x) { return round(x); }\n"
        "void ste_back(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }\n"
        f"[Differentiable] float f(float a, float x) {{ return {body}; }}",
        warn=False,
    )
    report = sn.gradcheck(m.f, a=7.25, x=[1.2, 2.3])
    assert not report.ok
    assert report.note == said
    assert str(report).endswith(f"\n  {said}") is bool(said)
    assert said in report._repr_html_()
