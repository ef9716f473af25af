"""Public bug cases about gradients, through `value_and_grad`: a right gradient, a refusal, or a warning; never silence.

Cases 001-004, 008-012, 101, 102, 105. Right values come from analysis or float64 central differences. The same cases
through SlangPy's own calling convention are in `test_calls`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.advice.lint import lint
from slangnb.compiler.source import Source


def f32(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def close(got: Any, right: Any, rtol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(got, np.float64), right, rtol=rtol, atol=1e-6)


# 001: a struct that is not IDifferentiable

SPRING = """
struct NAME { float stiffness; float rest; };
[Differentiable] float energy(NAME s, float x) { float d = x - s.rest; return 0.5 * s.stiffness * d * d; }
"""


def spring() -> dict[str, Any]:
    return {"stiffness": f32(2, 5, 0.5), "rest": f32(0.25, 1, -1)}


def test_001_plain_struct(session: Any) -> None:
    energy = session.compile(SPRING.replace("NAME", "Spring001")).energy
    with pytest.warns(sn.GradientWarning, match="'s' has no gradient, since the struct Spring001"):
        value, grads = sn.value_and_grad(energy)(spring(), f32(1, 0.5, 2))
    assert value == pytest.approx(3.4375) and grads.keys() == {"x"}
    close(grads["x"], [1.5, -2.5, 1.5])
    for f in (sn.grad(energy, "s"), sn.value_and_grad(energy, ("s", "x"))):
        with pytest.raises(sn.GradientError, match="'s': it has type Spring001, which has no derivative"):
            f(spring(), f32(1, 0.5, 2))


def test_001_differentiable_struct(session: Any) -> None:
    energy = session.compile(SPRING.replace("NAME", "Spring001d").replace("d {", "d : IDifferentiable {", 1)).energy
    value, grads = sn.value_and_grad(energy)(spring(), f32(1, 0.5, 2))
    assert value == pytest.approx(3.4375)
    close(grads["s"]["stiffness"], [0.28125, 0.125, 4.5])
    close(grads["s"]["rest"], [-1.5, 2.5, -1.5])
    close(grads["x"], [1.5, -2.5, 1.5])


# 002: a tensor parameter that swallows the gradient

RING = """
import "slangpy";
[Differentiable] float plain(int i, Tensor<float, 1> u) { float a = u[i]; return a * a + 3.0 * u[(i + 1) % 4]; }
[Differentiable] float concrete(int i, DiffTensor<float, 1> u) { float a = u[i]; return a * a + 3.0 * u[(i + 1) % 4]; }
[Differentiable] float any(int i, IDiffTensor<float, 1> u) { float a = u[i]; return a * a + 3.0 * u[(i + 1) % 4]; }
"""


def ring_indices(kind: str) -> Any:
    import slangpy as spy

    return spy.grid((4,)) if kind == "grid" else np.arange(4, dtype=np.int32)


@pytest.mark.parametrize("kind", ["grid", "numpy"])
@pytest.mark.parametrize("name", ["concrete", "any"])
@pytest.mark.parametrize("grad", [False, True])
def test_002_differentiable_tensors(session: Any, name: str, kind: str, grad: bool) -> None:
    u = sn.tensor([1.0, -2.0, 0.5, 3.0], grad=grad)
    value, grads = sn.value_and_grad(session.compile(RING)[name])(ring_indices(kind), u)
    assert value == 21.75
    assert grads["u"].to_numpy().tolist() == [5, -1, 4, 9]


@pytest.mark.parametrize("kind", ["grid", "numpy"])
@pytest.mark.parametrize("wrt", [None, "u"])
def test_002_tensor_without_gradient_is_refused(session: Any, wrt: str | None, kind: str) -> None:
    u = sn.tensor([1.0, -2.0, 0.5, 3.0], grad=True)
    with pytest.raises(sn.GradientError, match=r"no gradient|no argument"):
        sn.grad(session.compile(RING).plain, wrt)(ring_indices(kind), u)


# 003: a built-in derivative that is 0


def test_003_zero_derivative_of_fmod_is_said(session: Any) -> None:
    f = session.compile("[Differentiable] float wrap003(float x, float period) { return fmod(x, period); }").wrap003
    with pytest.warns(sn.GradientWarning, match="'period' is zero everywhere"):
        value, grads = sn.value_and_grad(f)(f32(5.5, -7.25, 9), f32(2, 3, 4.1))
    assert value == pytest.approx(1.05, rel=1e-5) and grads["x"].tolist() == [1, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", sn.GradientWarning)
        assert sn.grad(f, "x")(f32(5.5, -7.25, 9), f32(2, 3, 4.1)).tolist() == [1, 1, 1]


def test_003_what_is_proposed_instead_of_fmod_has_the_right_gradients(session: Any) -> None:
    text = "[Differentiable] float wrap003(float x, float y) {{ return {}; }}"
    (d,) = lint(Source(text.format("fmod(x, y)")))
    better = d.remedy.split("`")[1]
    assert better == "x - y * no_diff trunc(x / y)"
    f = session.compile(text.format(better)).wrap003
    for x, y in ((5.5, 2.0), (-5.5, 2.0), (5.5, -2.0)):
        assert sn.grad(f)(x, y) == {"x": 1.0, "y": -int(x / y)}
        assert sn.jvp(f, {"x": x, "y": y}, {"y": 1.0}) == (np.fmod(x, y), -int(x / y))


# 004: more loop passes than [MaxIters] says

CHAIN = """
[Differentiable]
float chain(float x, no_diff int steps)
{
    float r = x;
    [MaxIters(2)]
    for (int i = 0; i < steps; i++)
        r = r + 0.3 * sin(r) * x;
    return r;
}
"""


def test_004_within_the_bound(session: Any) -> None:
    value, grads = sn.value_and_grad(session.compile(CHAIN).chain)(f32(0.7, 1.1), 2)
    assert value == pytest.approx(2.7099584, rel=1e-5)
    close(grads["x"], [1.7670944676417832, 1.7945770327543187])


def test_004_over_the_bound_is_found(session: Any) -> None:
    f = session.compile(CHAIN).chain
    assert sn.gradcheck(f, f32(0.7, 1.1), 2).ok
    with pytest.raises(sn.GradientError, match=r"wrong for 'x'.*MaxIters"):
        sn.grad(f, "x")(f32(0.7, 1.1), 6)
    assert not sn.gradcheck(f, f32(0.7, 1.1), 6).ok


# 008: NaN from the branch that was not taken

SOFTPLUS = """
[Differentiable] float softplus008(float x) { float e = exp(x); return x > 20.0 ? x : log(1.0 + e); }
[Differentiable] float safe008(float x) { if (x > 20.0) return x; return log(1.0 + exp(x)); }
"""
SIGMOID = [0.2689414213699951, 0.6224593312018546, 1.0]


def test_008_nan_is_said(session: Any) -> None:
    m = session.compile(SOFTPLUS)
    x = f32(-1, 0.5, 100)
    with pytest.warns(sn.GradientWarning, match="'x' is not finite.*branch"):
        grads = sn.grad(m.softplus008, "x")(x)
    close(grads[:2], SIGMOID[:2])
    assert np.isnan(grads[2])
    close(sn.jvp(m.softplus008, {"x": x}, {"x": 1.0})[1][:2], SIGMOID[:2])


@pytest.mark.parametrize("call", ["sqrt(x)", "log(x)"])
def test_a_value_that_is_none_is_said_beside_its_finite_gradient(session: Any, call: str) -> None:
    f = sn.value_and_grad(session.compile(f"[Differentiable] float f(float x) {{ return {call}; }}").f)
    with pytest.warns(sn.GradientWarning, match="f: its value is not finite; .* log or sqrt of a negative number"):
        value, grads = f(f32(-1, 1))
    assert np.isnan(value) and np.isfinite(grads["x"]).all()


def test_008_branch(session: Any) -> None:
    f, x = session.compile(SOFTPLUS).safe008, f32(-1, 0.5, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sn.GradientWarning)
        close(sn.grad(f, "x")(x), SIGMOID)
        close(sn.jvp(f, {"x": x}, {"x": 1.0})[1], SIGMOID)
        close(sn.hvp(f, "x")(x, v=1.0), [0.19661193, 0.23500371, 0.0])


# 009: an argument that all elements share

GAIN = "[Differentiable] float gain_square(float gain, float x) { return gain * x * x; }"
DATA = f32(1, 2, 3, -1, 0.5)


@pytest.mark.parametrize(
    "kind", ["number", "numpy 0-d", "numpy", "(1, 1)", "tensor", "tensor 0-d", "Parameter", "slice"]
)
def test_009_shared_argument(session: Any, kind: str) -> None:
    gain = {
        "number": 1.5,
        "numpy 0-d": np.array(1.5, np.float32),
        "numpy": f32(1.5),
        "(1, 1)": f32([1.5]),
        "tensor": sn.tensor([1.5]),
        "tensor 0-d": sn.tensor(np.array(1.5, np.float32)),
        "Parameter": sn.Parameter(1.5),
        "slice": sn.tensor([9.0, 1.5, 9.0])[1:2],
    }[kind]
    value, grads = sn.value_and_grad(session.compile(GAIN).gain_square)(gain, DATA)
    found = grads["gain"].to_numpy() if hasattr(grads["gain"], "to_numpy") else grads["gain"]
    assert value == 22.875 and float(np.sum(found)) == 15.25
    assert grads["x"].tolist() == [3, 6, 9, -3, 1.5]
    assert np.shape(found) == (
        tuple(gain.shape) if hasattr(gain, "shape") and kind != "tensor 0-d" else np.shape(found)
    )


def test_009_diff_pair_is_refused(session: Any) -> None:
    import slangpy as spy

    with pytest.raises(sn.GradientError, match="'gain' is a diffPair shared by many threads"):
        sn.grad(session.compile(GAIN).gain_square)(spy.diffPair(1.5), DATA)


# 010: what one call leaves behind for the next


def test_010_repeated_and_mixed_calls(session: Any) -> None:
    f = session.compile("[Differentiable] float cube010(float x) { return x * x * x; }").cube010
    x = f32(1, -2, 0.5)
    right = [3, 12, 0.75]
    f(x, _result="numpy")
    g = sn.grad(f, "x")
    t, with_grad = sn.tensor(x), sn.tensor(x, grad=True)
    for _ in range(2):
        assert g(x).tolist() == right
        assert g(t).to_numpy().tolist() == right
        assert g(with_grad).to_numpy().tolist() == right
        assert with_grad.grad.to_numpy().tolist() == [0, 0, 0]
        with pytest.raises(sn.CallError):
            g(x.astype(np.float64))
        with pytest.raises(sn.CallError):
            sn.grad(f, "x", seed=f32(1, 2))(x)
    assert sn.grad(f, "x", seed=f32(1, 10, 100))(x).tolist() == [3, 120, 75]
    assert sn.grad(f, "x", seed=2.0)(x).tolist() == [6, 24, 1.5] and g(x).tolist() == right


# 011: reading and writing tensors

SQUARES = """
import "slangpy";
[Differentiable] void in_place(int i, RWDiffTensor<float, 1> u) { float v = u[i]; u[i] = 3.0 * v * v; }
[Differentiable] void apart(int i, DiffTensor<float, 1> u, WDiffTensor<float, 1> w)
{ float v = u[i]; w[i] = 3.0 * v * v; }
[Differentiable] void inside(inout float u) { u = 3.0 * u * u; }
"""


@pytest.mark.parametrize("kind", ["grid", "numpy"])
def test_011_tensors(session: Any, kind: str) -> None:
    import slangpy as spy

    m, index = session.compile(SQUARES), spy.grid((3,)) if kind == "grid" else np.arange(3, dtype=np.int32)
    u, w = sn.tensor([2.0, 3.0, -1.0], grad=True), sn.tensor([0.0, 0.0, 0.0], grad=True)
    value, grads = sn.value_and_grad(m.apart)(index, u, w)
    assert value == 42.0 and grads["u"].to_numpy().tolist() == [12, 18, -6]


@pytest.mark.parametrize("kind", ["grid", "numpy"])
def test_011_in_place_is_refused_before_it_does_anything(session: Any, kind: str) -> None:
    import slangpy as spy

    index = spy.grid((3,)) if kind == "grid" else np.arange(3, dtype=np.int32)
    u = sn.tensor([2.0, 3.0, -1.0], grad=True)
    with pytest.raises(sn.GradientError, match="updated in place"):
        sn.grad(session.compile(SQUARES).in_place)(index, u)
    assert u.to_numpy().tolist() == [2, 3, -1]


def test_011_inout(session: Any) -> None:
    u = f32(2, 3, -1)
    value, grads = sn.value_and_grad(session.compile(SQUARES).inside)(u)
    assert value == 42.0 and grads["u"].tolist() == [12, 18, -6] and u.tolist() == [2, 3, -1]


# 012: double


def test_012_double(session: Any) -> None:
    f = session.compile("[Differentiable] double cubic012(double x) { return x * x * x; }").cubic012
    x = np.array([1.0, 1.0 + 1e-8, -3.0])
    right = [3.0, 3.0000000599999996, 27.0]
    value, grads = sn.value_and_grad(f)(x)
    assert value == pytest.approx((x**3).sum(), rel=1e-14)
    close(grads["x"], right, 1e-15)
    close(sn.grad(f, "x")(sn.tensor(x)).to_numpy(), right, 1e-15)
    close(sn.jvp(f, {"x": x}, {"x": 1.0})[1], right, 1e-15)
    close(sn.hvp(f, "x")(x, v=1.0), 6 * x, 1e-15)


# 101, 102: guards


def test_101_loop_with_vector_result(session: Any) -> None:
    f = session.compile("""
[Differentiable]
float3 moments(float x)
{
    float3 r = float3(0.0);
    [MaxIters(4)]
    for (int i = 0; i < 4; i++)
    {
        float w = exp(-0.1 * float(i) * x);
        r += float3(w, w * x, w * x * x);
    }
    return r;
}
""").moments
    x, right = f32(0.5, 1, 2), [6.498519706354955, 8.963733097999693, 12.52524814887579]
    value, grads = sn.value_and_grad(f)(x)
    assert value == pytest.approx(6.5043558 + 10.3931592 + 21.2650, rel=1e-5)
    close(grads["x"], right)
    close(sn.jvp(f, {"x": x}, {"x": 1.0})[1].sum(axis=1), right)


def test_102_custom_derivative(session: Any) -> None:
    m = session.compile("""
[BackwardDerivative(len_bwd)] float len(float3 v) { return sqrt(dot(v, v)); }
void len_bwd(inout DifferentialPair<float3> v, float g)
{
    float n = sqrt(dot(v.p, v.p));
    v = diffPair(v.p, n > 0.0 ? v.p * (g / n) : float3(0.0));
}
[Differentiable] float shell(float3 v) { float d = len(v) - 1.0; return d * d; }
""")
    v = f32([3, 4, 0], [0, 0, 0], [0, 0.5, 0])
    right = [[4.8, 6.4, 0], [0, 0, 0], [0, -1, 0]]
    value, grads = sn.value_and_grad(m.shell)(v)
    assert value == 17.25
    close(grads["v"], right)
    y, pull = sn.vjp(m.shell, v)
    assert y.tolist() == [16, 1, 0.25]
    close(pull()["v"], right)


def test_102_forward_mode_without_a_forward_derivative(session: Any) -> None:
    m = session.compile("""
[BackwardDerivative(len2_bwd)] float len2(float3 v) { return sqrt(dot(v, v)); }
void len2_bwd(inout DifferentialPair<float3> v, float g)
{
    float n = sqrt(dot(v.p, v.p));
    v = diffPair(v.p, v.p * (g / n));
}
[Differentiable] float shell2(float3 v) { float d = len2(v) - 1.0; return d * d; }
""")
    try:
        _, dy = sn.jvp(m.shell2, {"v": f32([3, 4, 0])}, {"v": f32(1, 0, 0)})
    except sn.SlangNbError:
        return
    close(dy, [4.8])


# 105: a struct with a field that is missing


def test_105_missing_fields(session: Any) -> None:
    at = session.compile("""
struct Line105 : IDifferentiable { float slope; float offset; };
[Differentiable] float at(Line105 l, float x) { return l.slope * x + l.offset; }
""").at
    f, x = sn.value_and_grad(at), f32(1, 2)
    value, grads = f({"slope": 2.0, "offset": 0.5}, x)
    assert value == 7.0 and grads["l"] == {"slope": 3.0, "offset": 2.0} and grads["x"].tolist() == [2, 2]
    with pytest.raises(sn.CallError, match="lacks the field 'offset'"):
        f({"slope": 2.0}, x)
    with pytest.raises(sn.CallError, match="no such field"):
        f({"slope": 2.0, "offset": 0.5, "extra": 1.0}, x)
    with pytest.raises(sn.CallError, match="tuple, but Line105 needs a dict"):
        f((2.0, 0.5), x)
    with pytest.raises(sn.CallError, match=r"'l\.offset' is None"):
        f({"slope": 2.0, "offset": None}, x)
