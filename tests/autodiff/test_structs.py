"""Gradients of structs, outputs, indexed tensors, many shared numbers, and types of other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plainly import f32, plain, struct_rows

import slangnb as sn

SOURCE = """
import "slangpy";
struct Inner : IDifferentiable { float3 c; float w[2]; };
struct Outer : IDifferentiable { float x; Inner inner; no_diff float k; int n; bool on; };
struct Pair : IDifferentiable { float a; float2 b; };
struct Plain { float a; };

[Differentiable] float nested(Outer p, float s)
{ return p.x * s * p.k * p.n + dot(p.inner.c, p.inner.c) * s + (p.on ? p.inner.w[0] * p.inner.w[1] : 0.0); }
[Differentiable] Pair made(float x, float y) { Pair r; r.a = x * y; r.b = float2(x * x, y * y); return r; }
[Differentiable] float used(Pair r, float s) { return r.a * r.b.x * s + r.b.y * r.b.y; }
[Differentiable] float of_plain(Plain p, float s) { return p.a * s; }
[Differentiable] void outputs(Pair r, out Pair o, inout float z) { o.a = r.a * r.a; o.b = r.b * z; z = z * z * r.a; }
[Differentiable] float two(float x, out float y) { y = 3 * x; return x * x; }
[Differentiable] float counts(float x, out int n) { n = 3; return x * x; }
[Differentiable] float held(float x, no_diff out float n) { n = 3; return x * x; }

[Differentiable] float read1(IDiffTensor<float, 1> t, float s, int i) { return t[i] * t[i] * s; }
[Differentiable] float read2(IDiffTensor<float, 2> t, float s, int i) { return t[i, 1] * t[i, 1] * s; }
[Differentiable] float read3(IDiffTensor<float3, 1> t, float s, int i) { float3 v = t[i]; return dot(v, v) * s; }
[Differentiable] float fixed(Tensor<float, 1> t, float s, int i) { return t[i] * s * s; }
[Differentiable] float concrete(DiffTensor<float, 1> t, float s, int i) { return t[i] * t[i] * s; }
[Differentiable] double read_double(IDiffTensor<double, 1> t, double s, int i) { return t[i] * s; }
[Differentiable] void write(IDiffTensor<float, 1> t, IWDiffTensor<float, 1> o, float s, int i)
{ o[i] = t[i] * t[i] * s; }
[Differentiable] float four(IDiffTensor<float, 2> a, IDiffTensor<float, 2> b, IDiffTensor<float, 2> c,
    IDiffTensor<float, 2> d, int i)
{ return a[i, 0] * b[i, 1] * c[i, 0] * d[i, 1]; }
[Differentiable] float twice(IDiffTensor<float, 1> a, IDiffTensor<float, 1> b, int i) { return a[i] * a[i] * b[0]; }
[Differentiable] float with_struct(IDiffTensor<float, 1> t, Pair r, float w[2], int i)
{ return t[i] * r.a * r.b.y * w[1]; }

[Differentiable] float half_pair(half2 v, half s) { return float(v.x * s + v.y * v.y); }
[Differentiable] half2 half_square(half2 v) { return v * v; }
[Differentiable] float many(float w[64], float4x4 q, float x)
{
    float r = 0;
    [ForceUnroll] for (int i = 0; i < 64; i++) r += w[i] * (i + 1) * x;
    return r + q[1][2] * x;
}
[Differentiable] float huge(float w[513], float x) { return w[512] * x; }
[Differentiable] double cubic(double a, double x) { return a * x * x * x; }
[Differentiable] float mixed(float x, double y) { return float(x * y); }
[Differentiable] double wide(double a, float b, double c, float d, double e, float f, double g, float h, double k,
    float l, double n, float o, double p, float q, half r, float x)
{ return (a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h + 9*k + 10*l + 11*n + 12*o + 13*p + 14*q + 15*r) * x; }
[Differentiable] float vectors(float3 w[2], float x) { return (w[0].x + 2 * w[1].z) * x; }
[Differentiable] float nested_array(float w[2][3], float x) { return (w[0][1] + 2 * w[1][2]) * x; }
[Differentiable] float oblong(float2x3 q, float x) { return (q[0][1] + 2 * q[1][2]) * x; }
[Differentiable] float3x3 scaled(float3x3 q, float x) { return q * x; }
[Differentiable] float one_vector(vector<float, 1> q, float x) { return q.x * x; }
"""
INDEX = np.array([0, 1, 1, 2], np.int32)


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


def run(f: Any, *args: Any, wrt: Any = None, reduce: str = "sum", seed: Any = None, **kwargs: Any) -> tuple[float, Any]:
    value, grads = sn.value_and_grad(f, wrt, reduce, seed=seed)(*args, **kwargs)
    return value, plain(grads)


# Structs as dicts


def outer(x: Any, on: bool = True) -> dict[str, Any]:
    return {"x": x, "inner": {"c": f32(1, 2, 3), "w": [2.0, 3.0]}, "k": 2.0, "n": 3, "on": on}


def test_nested_struct_with_fields_that_have_no_gradient(module: Any) -> None:
    value, grads = run(module.nested, outer(f32(1, 2)), 2.0)
    assert value == 104.0
    assert grads == {"p": {"x": [12, 12], "inner": {"c": [8, 16, 24], "w": [6, 4]}}, "s": 46.0}
    assert run(module.nested, outer(1.0, on=False), 2.0)[1]["p"]["inner"]["w"] == [0, 0]


def test_order_of_keys_does_not_matter(module: Any) -> None:
    p = dict(reversed(outer(f32(1, 2)).items()))
    assert run(module.nested, p, 2.0) == run(module.nested, outer(f32(1, 2)), 2.0)


def test_fields_of_different_shapes(module: Any) -> None:
    p = {"a": f32(1, 2, 3), "b": np.ones((2, 1, 2), np.float32)}
    value, grads = run(module.used, p, 2.0)
    assert value == 2 * 12 + 6
    assert grads["r"] == {"a": [4, 4, 4], "b": [[[12, 6]], [[12, 6]]]} and grads["s"] == 12.0


def test_tensors_in_fields_come_back_as_tensors(module: Any) -> None:
    import slangpy as spy

    p = {"a": sn.tensor([1.0, 2.0]), "b": sn.tensor([[1.0, 2.0]], dtype="float2")}
    grads = sn.grad(module.used)(p, 2.0)
    assert isinstance(grads["r"]["a"], spy.Tensor) and isinstance(grads["r"]["b"], spy.Tensor)
    assert plain(grads) == {"r": {"a": [2, 2], "b": [[6, 8]]}, "s": 3.0}


def test_struct_without_derivative(module: Any) -> None:
    with pytest.warns(sn.GradientWarning, match="'p' has no gradient, since the struct Plain"):
        assert run(module.of_plain, {"a": 2.0}, f32(1, 2)) == (6.0, {"s": [2, 2]})
    with pytest.raises(sn.GradientError, match="'p': it has type Plain, which has no derivative"):
        sn.grad(module.of_plain, "p")({"a": 2.0}, f32(1, 2))


# Struct results


def test_struct_result_counts_with_all_its_numbers(module: Any) -> None:
    assert run(module.made, f32(1, 2), 3.0) == (32.0, {"x": [5, 7], "y": 15.0})


def test_struct_result_with_seeds(module: Any) -> None:
    assert run(module.made, f32(1, 2), 3.0, seed={"a": 1.0, "b": [0.0, 0.0]}) == (9.0, {"x": [3, 3], "y": 3.0})
    seed = {"a": f32(1, 0), "b": f32([0, 1], [0, 1])}
    assert run(module.made, f32(1, 2), 3.0, seed=seed) == (21.0, {"x": [3, 0], "y": 13.0})
    with pytest.raises(sn.CallError, match="lacks the field 'b'"):
        sn.grad(module.made, seed={"a": 1.0})(1.0, 3.0)


def test_struct_result_of_vjp_and_jvp(module: Any) -> None:
    y, pull = sn.vjp(module.made, f32(1, 2), 3.0)
    assert struct_rows(y) == [[3, 1, 9], [6, 4, 9]]
    assert plain(pull()) == {"x": [5, 7], "y": 15.0}
    assert plain(pull({"a": f32(1, 10), "b": [0.0, 0.0]})) == {"x": [3, 30], "y": 21.0}
    _, dy = sn.jvp(module.made, {"x": f32(1, 2), "y": 3.0}, {"x": 1.0})
    assert struct_rows(dy) == [[3, 2, 0], [3, 4, 0]]


def test_tensor_of_structs(module: Any) -> None:
    r, _ = sn.vjp(module.made, f32(1, 2), 3.0)
    value, grads = sn.value_and_grad(module.used)(r, 2.0)
    assert value == 216.0 and grads["s"] == 27.0
    assert struct_rows(grads["r"]) == [[2, 6, 18], [8, 12, 18]]


def test_slice_of_a_tensor_of_structs(module: Any) -> None:
    r, _ = sn.vjp(module.made, f32(1, 2), 3.0)
    part = sn.grad(module.used, "r")(r[1], 2.0)
    assert struct_rows(part) == [[8, 12, 18]]


def test_shared_tensor_of_structs_is_refused(module: Any) -> None:
    r, _ = sn.vjp(module.made, f32(1), 3.0)
    with pytest.raises(sn.GradientError, match="'r' is a tensor of Pair that elements share"):
        sn.grad(module.used)(r, f32(1, 2))
    assert run(module.used, r, f32(1, 2), wrt="s") == (3 * 3 + 2 * 81, [3, 3])


# Outputs


def test_outputs_count_as_results(module: Any) -> None:
    value, grads = run(module.outputs, {"a": 2.0, "b": [1.0, 2.0]}, z=f32(3, 4))
    assert value == 8 + 21 + 50
    assert grads == {"r": {"a": 33.0, "b": [7, 7]}, "z": [15, 19]}
    assert run(module.two, f32(1, 2)) == (14.0, {"x": [5, 7]})


def test_seeds_by_output(module: Any) -> None:
    assert run(module.two, f32(1, 2), seed={"y": 1.0}) == (9.0, {"x": [3, 3]})
    assert run(module.two, f32(1, 2), seed={"result": f32(1, 0), "y": 2.0}) == (19.0, {"x": [8, 6]})
    with pytest.raises(sn.CallError, match="y, result; give the seed as a dict"):
        sn.grad(module.two, seed=f32(1, 1))(f32(1, 2))


def test_seed_of_one_output_beside_a_struct(module: Any) -> None:
    r = {"a": 2.0, "b": [1.0, 2.0]}
    assert run(module.outputs, r, z=f32(3, 4), seed={"z": 1.0}) == (
        50.0,
        {"r": {"a": 25.0, "b": [0, 0]}, "z": [12, 16]},
    )


@pytest.mark.parametrize("name", ["counts", "held"])
def test_outputs_without_derivative(module: Any, name: str) -> None:
    assert run(module[name], f32(1, 2), wrt="x")[1] == [2, 4]


def test_outputs_without_derivative_in_jvp(module: Any) -> None:
    y, dy = sn.jvp(module.counts, {"x": f32(1, 2)}, {"x": 1.0})
    assert plain(y["result"]) == [1, 4] and plain(y["n"]) == [3, 3] and plain(dy["result"]) == [2, 4]


# Tensors that the function indexes


def indexed(grad: bool = False) -> Any:
    return sn.tensor(f32(1, 2, 3), grad=grad)


@pytest.mark.parametrize("kind", ["tensor", "with gradient", "numpy", "slice", "grid"])
def test_one_dimension(module: Any, kind: str) -> None:
    import slangpy as spy

    made = {"numpy": f32(1, 2, 3), "slice": sn.tensor(f32(9, 1, 2, 3, 9))[1:4]}
    t = made.get(kind, indexed(kind == "with gradient"))
    if kind == "grid":
        assert run(module.read1, t, 2.0, spy.grid((3,))) == (28.0, {"t": [4, 8, 12], "s": 14.0})
    else:
        assert run(module.read1, t, 2.0, INDEX) == (36.0, {"t": [4, 16, 12], "s": 18.0})
        assert run(module.read1, t, 2.0, INDEX, reduce="mean") == (9.0, {"t": [1, 4, 3], "s": 4.5})
        assert run(module.read1, t, 2.0, INDEX, seed=f32(1, 0, 0, 3)) == (56.0, {"t": [4, 0, 36], "s": 28.0})
        assert run(module.read1, t, 2.0, INDEX, seed=f32(1)) == (36.0, {"t": [4, 16, 12], "s": 18.0})
        if kind != "numpy":
            assert run(module.read1, t, 2.0, INDEX, wrt="s") == (36.0, 18.0)


def test_numpy_that_is_indexed_but_not_wanted(module: Any) -> None:
    assert run(module.read1, f32(1, 2, 3), 2.0, INDEX, wrt="s") == (36.0, 18.0)


def test_two_dimensions_and_vectors(module: Any) -> None:
    t = sn.tensor(np.arange(6, dtype=np.float32).reshape(3, 2))
    assert run(module.read2, t, 2.0, INDEX) == (88.0, {"t": [[0, 4], [0, 24], [0, 20]], "s": 44.0})
    data = np.arange(9, dtype=np.float32).reshape(3, 3)
    v = sn.tensor(data, dtype="float3")
    right = (4 * data * np.array([[1], [2], [1]])).tolist()
    assert run(module.read3, v, 2.0, INDEX) == (508.0, {"t": right, "s": 254.0})
    with pytest.raises(sn.CallError, match="2-dimensional tensor of float, but the parameter is"):
        sn.grad(module.read3)(sn.tensor(data), 2.0, INDEX)


def test_transposed_and_repeated(module: Any) -> None:
    from slangpy.slangpy import Shape

    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = sn.tensor(data).view(Shape((3, 2)), Shape((1, 3)))
    assert run(module.read2, t, 1.0, INDEX)[1]["t"] == [[0, 6], [0, 16], [0, 10]]
    line = sn.tensor(f32(5)).broadcast_to(Shape((3,)))
    assert run(module.read1, line, 1.0, INDEX)[1]["t"] == [10, 20, 10]


def test_the_callers_gradient_is_left_alone(module: Any) -> None:
    t = indexed(grad=True)
    t.grad.copy_from_numpy(f32(7, 7, 7))
    for _ in range(2):
        assert run(module.read1, t, 2.0, INDEX)[1]["t"] == [4, 16, 12]
    assert t.grad.to_numpy().tolist() == [7, 7, 7]


def test_tensors_without_gradient(module: Any) -> None:
    assert run(module.fixed, indexed(), 2.0, INDEX) == (32.0, {"s": 32.0})
    with pytest.raises(sn.GradientError, match="'t': it has type Tensor<float, 1>, which has no derivative") as error:
        sn.grad(module.fixed, "t")(indexed(), 2.0, INDEX)
    assert error.value.remedy == "declare it as `IDiffTensor<float, 1> t`, or leave it out of wrt"


@pytest.mark.parametrize(
    ("declared", "remedy"),
    [
        ("int k", "declare it as `float k`, or leave it out of wrt"),
        ("uint3 k", "declare it as `float3 k`, or leave it out of wrt"),
        ("no_diff float k", "leave it out of wrt, or take `no_diff` away from where it is declared"),
        ("bool k", "leave it out of wrt"),
    ],
)
def test_what_to_declare_for_a_gradient(session: Any, declared: str, remedy: str) -> None:
    m = session.compile(f"[Differentiable] float f({declared}, float x) {{ return x; }}", name="m")
    with pytest.raises(sn.GradientError, match="no gradient for 'k'") as error:
        sn.grad(m.f, "k")([1, 2, 3] if "3" in declared else True if "bool" in declared else 1, 2.0)
    assert error.value.remedy == remedy


def test_tensors_of_too_few_dimensions(module: Any) -> None:
    m = module._session.compile("import slangpy; float at(int i, Tensor<float, 2> t) { return t[i, 0]; }", name="m")
    t = sn.tensor([[1, 2], [3, 4]], dtype="float")
    assert m.at([0, 1], t, _result="numpy").tolist() == [1.0, 3.0]
    with pytest.raises(sn.CallError, match=r"'t' is a 1-dimensional tensor of float, but .* Tensor<float, 2>") as error:
        m.at([0, 1], sn.tensor([1.0, 2.0]))
    assert error.value.remedy == "pass a tensor of 2 dimensions"


def test_concrete_diff_tensor(module: Any) -> None:
    for grad in (False, True):
        assert run(module.concrete, indexed(grad), 2.0, INDEX) == (36.0, {"t": [4, 16, 12], "s": 18.0})


def test_concrete_diff_tensor_that_is_not_wanted(module: Any) -> None:
    assert run(module.concrete, indexed(grad=True), 2.0, INDEX, wrt="s") == (36.0, 18.0)


def test_double_tensor_is_refused(module: Any) -> None:
    t = sn.tensor(np.array([1.0, 2.0, 3.0]))
    for wrt in (None, "t"):
        with pytest.raises(sn.GradientError, match="double"):
            sn.grad(module.read_double, wrt)(t, 2.0, INDEX)


def test_written_tensor(module: Any) -> None:
    o, index = sn.tensor(np.zeros(3, np.float32), grad=True), np.arange(3, dtype=np.int32)
    assert run(module.write, indexed(), o, 2.0, index) == (28.0, {"t": [4, 8, 12], "s": 14.0})
    assert o.to_numpy().tolist() == [2, 8, 18] and o.grad.to_numpy().tolist() == [0, 0, 0]


def test_many_indexed_tensors(module: Any) -> None:
    data = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    value, grads = run(module.four, *(sn.tensor(data) for _ in range(4)), INDEX)
    p, q = data[INDEX].T
    assert value == (p * q * p * q).sum()
    counts = np.array([1, 2, 1])
    left = np.stack([data[:, 0] * data[:, 1] ** 2 * counts, np.zeros(3)], 1).tolist()
    right = np.stack([np.zeros(3), data[:, 0] ** 2 * data[:, 1] * counts], 1).tolist()
    assert grads == {"a": left, "b": right, "c": left, "d": right}


def test_one_tensor_for_two_parameters(module: Any) -> None:
    t = indexed()
    assert run(module.twice, t, t, INDEX) == (18.0, {"a": [2, 8, 6], "b": [18, 0, 0]})


def test_indexed_tensor_with_struct_and_array(module: Any) -> None:
    r = {"a": 2.0, "b": [0.0, 3.0]}
    value, grads = run(module.with_struct, indexed(), r, [0.0, 5.0], INDEX)
    assert value == 240.0
    assert grads == {"t": [30, 60, 30], "r": {"a": 120.0, "b": [0, 80]}, "w": [0, 48]}


def test_gradient_of_few_cells_from_many_reads_is_accurate(session: Any, module: Any) -> None:
    rng = np.random.default_rng(0)
    t, index = f32(0.3, 0.7, 1.1), rng.integers(0, 3, 1 << 20).astype(np.int32)
    grads = sn.grad(module.read1)(sn.tensor(t), 1.5, index)
    right = 3 * t.astype(np.float64) * np.bincount(index)
    # The copies of a cell take so many equal terms each, whose roundings in float all have one sign.
    terms = 86 if session.backend.software else 1366  # of 2^20 / 3, in 4096 threads or 256 groups
    np.testing.assert_allclose(grads["t"].to_numpy(), right, rtol=terms * 2.0**-24)


def test_result_of_vjp_with_an_indexed_tensor(module: Any) -> None:
    y, _ = sn.vjp(module.read1, indexed(), 2.0, INDEX)
    assert plain(y) == [2, 8, 8, 18]


def test_pull_with_an_indexed_tensor(module: Any) -> None:
    _, pull = sn.vjp(module.read1, indexed(), 2.0, INDEX)
    assert plain(pull(f32(1, 0, 0, 3))) == {"t": [4, 0, 36], "s": 28.0}
    assert plain(pull()) == {"t": [4, 16, 12], "s": 18.0}


# Many shared numbers, and types of other sizes


def test_many_shared_numbers(module: Any) -> None:
    w, q, x = np.arange(64, dtype=np.float32), np.eye(4, dtype=np.float32), f32(1, 2)
    value, grads = run(module.many, w, q, x)
    factors = np.arange(1, 65)
    right_q = np.zeros((4, 4))
    right_q[1, 2] = 3
    assert value == 3 * (w * factors).sum()
    assert grads == {"w": (3 * factors).tolist(), "q": right_q.tolist(), "x": [(w * factors).sum()] * 2}


def test_too_many_shared_numbers_are_refused(module: Any) -> None:
    w = np.ones(513, np.float32)
    with pytest.raises(sn.GradientError, match="513 numbers"):
        sn.grad(module.huge)(w, f32(1, 2))
    assert run(module.huge, w, f32(1, 2), wrt="x") == (3.0, [1, 1])


def test_half_vectors(module: Any) -> None:
    v, s = np.array([[1, 2], [3, 4]], np.float16), np.array([1, 2], np.float16)
    for made in (v, sn.tensor(v), sn.tensor(v, dtype="half2")):
        assert run(module.half_pair, made, s) == (27.0, {"v": [[1, 4], [2, 8]], "s": [1, 3]})
    y, pull = sn.vjp(module.half_square, v)
    assert y.dtype == np.float16 and y.tolist() == [[1, 4], [9, 16]]
    assert pull()["v"].dtype == np.float16 and pull()["v"].tolist() == [[2, 4], [6, 8]]


@pytest.mark.parametrize("count", [1, 3, 1000, 300_000])
def test_double_is_exact_to_double(module: Any, count: int) -> None:
    x = np.random.default_rng(count).random(count)
    value, grads = sn.value_and_grad(module.cubic)(1 / 3, x)
    assert value == pytest.approx((x**3).sum() / 3, rel=1e-14)
    assert grads["a"] == pytest.approx((x**3).sum(), rel=1e-14)
    np.testing.assert_allclose(grads["x"], x * x, rtol=1e-15)


@pytest.mark.parametrize(("reduce", "seed"), [("mean", None), ("sum", 0.1), ("sum", 1e-60)])
def test_double_factors(module: Any, reduce: str, seed: float | None) -> None:
    x = np.array([1.0, 2.0, 3.0])
    factor = (seed or 1.0) / (3 if reduce == "mean" else 1)
    grads = sn.grad(module.cubic, reduce=reduce, seed=seed)(1.0, x)
    np.testing.assert_allclose(grads["x"], 3 * x * x * factor, rtol=1e-15)
    assert grads["a"] == pytest.approx((x**3).sum() * factor, rel=1e-14)


def test_float_and_double_together(module: Any) -> None:
    value, grads = sn.value_and_grad(module.mixed)(f32(1, 2), np.array([1e-5, 2.0]))
    assert value == pytest.approx(4.00001, rel=1e-7)
    np.testing.assert_allclose(grads["x"], [1e-5, 2], rtol=1e-7)
    assert grads["x"].dtype == np.float32 and grads["y"].dtype == np.float64 and grads["y"].tolist() == [1, 2]


def test_numbers_of_all_sizes_side_by_side(module: Any) -> None:
    """They share the few bytes that a launch passes directly, with gaps where doubles must be aligned."""
    value, grads = run(module.wide, *map(float, range(15)), f32(1, 2))
    weight = sum(k * (k + 1) for k in range(15))
    assert value == 3 * weight and grads.pop("x") == [weight, weight]
    assert list(grads.values()) == [3.0 * k for k in range(1, 16)]


def test_arrays_of_vectors_and_of_arrays(module: Any) -> None:
    x = f32(1, 2, 3)
    ones = np.ones((2, 3), np.float32)
    assert run(module.vectors, ones, x) == (18.0, {"w": [[6, 0, 0], [0, 0, 12]], "x": [3, 3, 3]})
    each = run(module.vectors, np.ones((3, 2, 3), np.float32), x)[1]["w"]
    assert each == [[[n, 0, 0], [0, 0, 2 * n]] for n in (1, 2, 3)]
    counted = np.arange(6, dtype=np.float32).reshape(2, 3)
    for f in (module.nested_array, module.oblong):
        name = "w" if f is module.nested_array else "q"
        assert run(f, counted, x) == (66.0, {name: [[0, 6, 0], [0, 0, 12]], "x": [11, 11, 11]})
    assert run(module.one_vector, [2.0], x) == (12.0, {"q": [6], "x": [2, 2, 2]})


def test_matrix_results(module: Any) -> None:
    q, x = np.arange(9, dtype=np.float32).reshape(3, 3), f32(1, 2)
    assert run(module.scaled, q, x) == (108.0, {"q": [[3] * 3] * 3, "x": [36, 36]})
    y, pull = sn.vjp(module.scaled, q, x)
    assert y.tolist() == [q.tolist(), (2 * q).tolist()]
    seed = np.zeros((2, 3, 3), np.float32)
    seed[1, 0, 2] = 10
    found = pull(seed)
    assert found["x"].tolist() == [0, 20] and found["q"][0, 2] == 20 and found["q"].sum() == 20


# Arguments that change in place


def test_dict_that_changes_in_place(session: Any) -> None:
    f = session.compile("""
struct Pair : IDifferentiable { float a; float b; }
[Differentiable] float product(Pair p, float y) { return p.a * p.a * p.b * y; }
""").product
    g = sn.grad(f)
    p: dict[str, Any] = {"a": f32(1, 2, 3), "b": 1.0}
    assert plain(g(p, 1.0))["p"] == {"a": [2, 4, 6], "b": 14.0}
    for values in ([1, 2, 3, 4, 5], [1, 2], [3, 4]):
        p["a"] = f32(*values)
        assert plain(g(p, 1.0))["p"] == {"a": [2 * v for v in values], "b": float(sum(v * v for v in values))}
    p["a"] = 2.0
    assert plain(g(p, 1.0))["p"] == {"a": 4.0, "b": 4.0}
    p["a"] = sn.tensor(f32(1, 2, 3))
    assert plain(g(p, 1.0))["p"] == {"a": [2, 4, 6], "b": 14.0}


def test_list_and_array_that_change_in_place(session: Any) -> None:
    f = session.compile("[Differentiable] float weigh(float3 w, float x) { return w.y * x; }").weigh
    g = sn.grad(f)
    w, x = [1.0, 2.0, 3.0], np.arange(6, dtype=np.float32)
    assert plain(g(w, x)) == {"w": [0, 15, 0], "x": [2] * 6}
    w[1] = 5.0
    x.shape = (2, 3)
    assert plain(g(w, x)) == {"w": [0, 15, 0], "x": [[5] * 3] * 2}
    w.append(4.0)
    with pytest.raises(sn.CallError, match="'w' has shape"):
        g(w, x)


def test_structs_of_an_imported_cell(session: Any) -> None:
    session.compile("public struct Lens : IDifferentiable { public float f; public float2 at; };", "lens_cell")
    session.compile("import lens_cell; public struct Eye : IDifferentiable { public Lens lens; };", "eye_cell")
    m = session.compile(
        "import lens_cell; import eye_cell;"
        "[Differentiable] float power(Lens lens) { return lens.f * lens.f * lens.at.y; }"
        "[Differentiable] float look(Eye eye) { return eye.lens.f * eye.lens.at.x; }"
        "[Differentiable] Lens moved(Lens lens, float d) { lens.f = lens.f * d; return lens; }"
    )
    lens = {"f": 3.0, "at": [5.0, 2.0]}
    value, grads = sn.value_and_grad(m.power)(lens)
    assert (value, grads["lens"]["f"], list(grads["lens"]["at"])) == (18.0, 12.0, [0.0, 9.0])
    value, grads = sn.value_and_grad(m.look)({"lens": lens})
    assert (value, grads["eye"]["lens"]["f"], list(grads["eye"]["lens"]["at"])) == (15.0, 5.0, [3.0, 0.0])
    assert sn.grad(m.moved, wrt="d")(lens, 2.0) == 3.0


def test_arrays_of_structs_within_a_struct(session: Any) -> None:
    m = session.compile("""
        struct Node : IDifferentiable { float a; float b; };
        struct Tree : IDifferentiable { Node n[2]; float k; };
        [Differentiable] float of_tree(Tree t, float x) { return t.n[0].a * t.n[1].b * t.k * x; }
    """)
    tree = {"n": [{"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 3.0}], "k": 2.0}
    assert m.of_tree(tree, np.array([1, 2], np.float32), _result="numpy").tolist() == [12, 24]
    for wrt in (None, "x"):
        with pytest.raises(sn.CallError, match=r"^of_tree: 't.n' is Node\[2\], an array of structs") as caught:
            sn.value_and_grad(m.of_tree, wrt)(tree, 1.0)
        assert caught.value.argument == "t.n"
        assert caught.value.remedy == "declare each by a name of its own, as in `Node first; Node second;`"
