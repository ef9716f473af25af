"""`jvp`, `vjp` and `hvp` against analysis: values, kinds of arguments, and refusals."""

from __future__ import annotations

import contextlib
import gc
import sys
from typing import Any

import numpy as np
import pytest
from plainly import f32, plain

import slangnb as sn

SOURCE = """
import "slangpy";
struct Pair : IDifferentiable { float a; float b; };
[Differentiable] float square(float x) { return x * x; }
[Differentiable] float scale(float a, float x) { return a * x * x; }
[Differentiable] float3 vector(float3 v, float s) { return v * v * s; }
[Differentiable] float2x2 matrix2(float2x2 q, float s) { return q * s * s; }
[Differentiable] float quartic(float x, float y) { return x * x * x * x * y + x * y * y; }
[Differentiable] float coupled(float3 v, float s) { return v.x * v.y * v.z * s * s; }
[Differentiable] float array_sum(float w[3], float x) { return w[0] * w[1] * x + w[2] * w[2] * x * x; }
[Differentiable] float held(float x, no_diff float k) { return x * x * k; }
[Differentiable] float counted(float x, int k) { return x * x * k; }
[Differentiable] float two(float x, out float y) { y = 3 * x; return x * x; }
[Differentiable] void inside(inout float x, float a) { x = x * x * a; }
[Differentiable] float of_pair(Pair p, float x) { return p.a * p.a * x + p.b; }
[Differentiable] Pair to_pair(float x) { Pair p; p.a = x * x; p.b = 3 * x; return p; }
[Differentiable] float indexed(IDiffTensor<float, 1> t, float s, int i) { return t[i] * s; }
[Differentiable] float fixed(Tensor<float, 1> t, float s, int i) { return t[i] * s * s; }
[Differentiable] double double_cube(double x) { return x * x * x / 3; }
[Differentiable] half half_square(half x) { return x * x; }
[Differentiable] float result_name(float result, float value) { return result * result * value; }
[Differentiable] float direction_name(float x, float v_x) { return x * x * v_x * v_x; }
[Differentiable] float called_v(float v) { return v * v * v; }
[Differentiable] int truncated(float x) { return int(x); }
[Differentiable] void nothing(float x) { }
float plain(float x) { return x; }
"""


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


X = f32(1, 2, -3)


# jvp


def test_jvp_values(module: Any) -> None:
    y, dy = sn.jvp(module.scale, {"a": 2.0, "x": X}, {"x": f32(1, 10, 100)})
    assert (y.tolist(), dy.tolist()) == ([2, 8, 18], [4, 80, -1200])
    assert plain(sn.jvp(module.scale, {"a": 2.0, "x": X}, {"a": 1.0})) == ([2, 8, 18], [1, 4, 9])
    both = sn.jvp(module.scale, {"a": 2.0, "x": X}, {"a": 1.0, "x": 1.0})
    assert plain(both) == ([2, 8, 18], [5, 12, -3])


def test_jvp_kinds(module: Any) -> None:
    import slangpy as spy

    y, dy = sn.jvp(module.scale, {"a": 2.0, "x": 3.0}, {"x": 1.0})
    assert (y, dy) == (18.0, 12.0) and isinstance(y, float) and isinstance(dy, float)
    y, dy = sn.jvp(module.scale, {"a": 2.0, "x": sn.tensor(X)}, {"x": f32(1, 1, 1)})
    assert isinstance(y, spy.Tensor) and plain((y, dy)) == ([2, 8, 18], [4, 8, -12])
    mixed = sn.jvp(module.scale, {"a": 2.0, "x": X}, {"x": sn.tensor(f32(1, 1, 1))})
    assert plain(mixed) == ([2, 8, 18], [4, 8, -12])
    y, dy = sn.jvp(module.double_cube, {"x": np.array([1.0, 1 / 3])}, {"x": 1.0})
    np.testing.assert_allclose(dy, [1, 1 / 9], rtol=1e-15)
    y, dy = sn.jvp(module.half_square, {"x": np.array([1.5, 3], np.float16)}, {"x": 2.0})
    assert y.dtype == np.float16 and plain((y, dy)) == ([2.25, 9], [6, 12])


def test_jvp_of_vectors_and_matrices(module: Any) -> None:
    v, dv = f32([1, 2, 3], [4, 5, 6]), f32(1, 0, -1)
    _, dy = sn.jvp(module.vector, {"v": v, "s": 2.0}, {"v": dv})
    assert dy.tolist() == (4 * v * dv).tolist()
    y, dy = sn.jvp(module.matrix2, {"q": f32([1, 2], [3, 4]), "s": f32(1, 2)}, {"s": 1.0})
    assert dy.tolist() == [[[2, 4], [6, 8]], [[4, 8], [12, 16]]] and y.shape == (2, 2, 2)


def test_jvp_of_several_outputs_and_inout(module: Any) -> None:
    y, dy = sn.jvp(module.two, {"x": X}, {"x": 1.0})
    assert plain(y) == {"y": [3, 6, -9], "result": [1, 4, 9]} and plain(dy) == {"y": [3, 3, 3], "result": [2, 4, -6]}
    assert plain(sn.jvp(module.inside, {"x": X, "a": 2.0}, {"x": 1.0, "a": 1.0})) == ([2, 8, 18], [5, 12, -3])


def test_jvp_of_structs(module: Any) -> None:
    p, dp = {"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 10.0}
    assert plain(sn.jvp(module.of_pair, {"p": p, "x": X}, {"p": dp})) == ([5, 9, -11], [14, 18, -2])
    with pytest.raises(sn.CallError, match="lacks the field 'b'"):
        sn.jvp(module.of_pair, {"p": p, "x": X}, {"p": {"a": 1.0}})


def test_jvp_with_fixed_tensor(module: Any) -> None:
    t, i = sn.tensor(f32(1, 2, 3)), np.array([0, 2, 2], np.int32)
    assert plain(sn.jvp(module.fixed, {"t": t, "s": 2.0, "i": i}, {"s": 1.0})) == ([4, 12, 12], [4, 12, 12])
    with pytest.raises(sn.GradientError, match="no forward derivative"):
        sn.jvp(module.indexed, {"t": t, "s": 2.0, "i": i}, {"s": 1.0})


@pytest.mark.parametrize(
    ("name", "primals", "tangents", "message"),
    [
        ("square", {"x": 1.0}, {}, "needs a tangent"),
        ("square", {"x": 1.0}, {"y": 1.0}, "no parameter 'y'"),
        ("scale", {"x": 1.0}, {"x": 1.0}, "'a' is missing"),
        ("square", {"x": X}, {"x": X[:2]}, "shape"),
        ("square", {"x": X}, {"x": X.astype(np.float64)}, "float64"),
        ("counted", {"x": X, "k": 2}, {"k": 1}, "'k': it has type int, which has no derivative"),
        ("held", {"x": X, "k": 2.0}, {"k": 1.0}, "'k': it is no_diff"),
        ("plain", {"x": 1.0}, {"x": 1.0}, "plain is not differentiable"),
        ("truncated", {"x": 1.0}, {"x": 1.0}, "returns int, which has no derivative"),
        ("nothing", {"x": 1.0}, {"x": 1.0}, "returns nothing"),
    ],
)
def test_wrong_jvp(module: Any, name: str, primals: Any, tangents: Any, message: str) -> None:
    with pytest.raises(sn.SlangNbError, match=message):
        sn.jvp(module[name], primals, tangents)


def test_jvp_refuses_the_tangent_of_an_output(module: Any) -> None:
    with pytest.raises(sn.SlangNbError, match="y"):
        sn.jvp(module.two, {"x": X}, {"y": 1.0})


@pytest.mark.parametrize(
    ("primals", "tangents"),
    [
        ({"a": 2.0, "x": 3.0}, {"x": X}),
        ({"a": 2.0, "x": X}, {"a": X}),
        ({"a": 2.0, "x": X}, {"x": np.ones((2, 3), np.float32)}),
    ],
)
def test_jvp_refuses_larger_tangents(module: Any, primals: Any, tangents: Any) -> None:
    with pytest.raises(sn.CallError, match="shape"):
        sn.jvp(module.scale, primals, tangents)


def test_jvp_with_a_parameter_called_result(module: Any) -> None:
    assert sn.jvp(module.result_name, {"result": 3.0, "value": 2.0}, {"result": 1.0}) == (18.0, 12.0)


# vjp


def test_vjp_values_and_seeds(module: Any) -> None:
    y, pull = sn.vjp(module.scale, 2.0, x=X)
    assert y.tolist() == [2, 8, 18]
    assert plain(pull()) == {"a": 14.0, "x": [4, 8, -12]}
    assert plain(pull(2.0)) == {"a": 28.0, "x": [8, 16, -24]}
    assert plain(pull(f32(1, 10, 0))) == {"a": 41.0, "x": [4, 80, 0]}
    assert plain(pull(f32(3))) == {"a": 42.0, "x": [12, 24, -36]}
    assert plain(pull(sn.tensor(f32(1, 10, 0)))) == {"a": 41.0, "x": [4, 80, 0]}
    assert plain(pull([1.0, 10.0, 0.0])) == {"a": 41.0, "x": [4, 80, 0]}


def test_vjp_kinds(module: Any) -> None:
    import slangpy as spy

    y, pull = sn.vjp(module.scale, 2.0, 3.0)
    assert y == 18.0 and pull() == {"a": 9.0, "x": 12.0}
    y, pull = sn.vjp(module.scale, a=sn.tensor(f32(2)), x=sn.tensor(X))
    found = pull()
    assert isinstance(y, spy.Tensor) and isinstance(found["a"], spy.Tensor)
    assert plain((y, found)) == ([2, 8, 18], {"a": [14], "x": [4, 8, -12]})
    assert plain(sn.vjp(module.of_pair, {"a": 2.0, "b": X}, 1.0)[1]()) == {"p": {"a": 12.0, "b": [1, 1, 1]}, "x": 12.0}


def test_vjp_of_several_outputs(module: Any) -> None:
    y, pull = sn.vjp(module.two, X)
    assert plain(y) == {"y": [3, 6, -9], "result": [1, 4, 9]}
    assert plain(pull({"y": f32(1, 0, 0)})) == {"x": [3, 0, 0]}
    assert plain(pull({"y": 1.0, "result": 1.0})) == plain(pull()) == {"x": [5, 7, -3]}


def test_several_pulls_live_side_by_side(module: Any) -> None:
    made = [sn.vjp(module.scale, float(k), X + k) for k in range(5)]
    for k, (y, pull) in reversed(list(enumerate(made))):
        assert y.tolist() == (k * (X + k) ** 2).tolist()
        assert plain(pull()) == {"a": float(((X + k) ** 2).sum()), "x": (2 * k * (X + k)).tolist()}


@pytest.mark.parametrize("seed", [X[:2], np.ones((2, 3), np.float32), X.astype(np.float64)], ids=["2", "2x3", "double"])
def test_wrong_seeds(module: Any, seed: Any) -> None:
    _, pull = sn.vjp(module.square, X)
    with pytest.raises(sn.CallError, match=r"seed|result"):
        pull(seed)


def test_seed_for_an_output_that_is_not_there(module: Any) -> None:
    _, pull = sn.vjp(module.square, X)
    with pytest.raises(sn.CallError, match="give the seed as a dict with these names"):
        pull({"y": 1.0})


def test_pull_uses_the_values_of_its_own_call(module: Any) -> None:
    x = X.copy()
    _, pull = sn.vjp(module.square, x)
    x[:] = 100
    assert plain(pull()) == {"x": [2, 4, -6]}


def change_list() -> Any:
    values = [1.0, 2.0]
    return values, lambda: values.__setitem__(0, 100.0), "square", [2, 4]


def change_array_in_a_dict() -> Any:
    p = {"a": f32(1, 2), "b": 0.0}
    return p, lambda: p["a"].fill(100), "of_pair", {"a": [2, 4], "b": 2.0}


def change_dict() -> Any:
    p: dict[str, Any] = {"a": 2.0, "b": 0.0}
    return p, lambda: p.update(a=100.0), "of_pair", {"a": 8.0, "b": 2.0}


@pytest.mark.parametrize("make", [change_list, change_array_in_a_dict, change_dict])
def test_pull_uses_the_values_inside_containers(module: Any, make: Any) -> None:
    value, change, name, right = make()
    _, pull = sn.vjp(module[name], value, *([f32(1, 1)] if name == "of_pair" else []))
    change()
    assert next(iter(plain(pull()).values())) == right


def test_pull_after_a_tensor_was_overwritten(module: Any) -> None:
    x = sn.tensor(X)
    _, pull = sn.vjp(module.square, x)
    module.square(f32(5, 6, 7), _result=x)
    with pytest.raises(sn.GradientError, match="changed after this result"):
        pull()


def test_pull_after_the_function_was_rebuilt(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float x) { return x * x; }", "rebuilt_vjp").f
    _, pull = sn.vjp(f, f32(1, 2))
    session.compile("[Differentiable] float f(float x) { return 7 * x; }", "rebuilt_vjp")
    try:
        assert plain(pull()) == {"x": [2, 4]}
    except sn.SlangNbError as error:
        assert "f" in str(error)  # a refusal is as good


def test_wrong_vjp(module: Any) -> None:
    for name in ("plain", "truncated", "nothing"):
        with pytest.raises(sn.GradientError, match=name):
            sn.vjp(module[name], 1.0)
    with pytest.raises(sn.CallError, match="'x' is missing"):
        sn.vjp(module.scale, 1.0)


# hvp


def test_hvp_of_one_variable(module: Any) -> None:
    product = sn.hvp(module.double_cube, "x")
    assert product(3.0, v=1.0) == pytest.approx(6.0, rel=1e-15)
    x = np.array([1.0, 1 / 3, -2.0])
    np.testing.assert_allclose(product(x, v=np.array([1.0, 10.0, 100.0])), [2, 20 / 3, -400], rtol=1e-15)
    assert plain(sn.hvp(module.square, "x")(sn.tensor(X), v=X)) == [2, 4, -6]


def test_hvp_couples_shared_variables(module: Any) -> None:
    product = sn.hvp(module.scale)
    assert plain(product(2.0, X, v={"a": 1.0, "x": f32(1, 0, 0)})) == {"a": 2.0, "x": [6, 4, -6]}
    assert plain(product(2.0, X, v={"a": 1.0})) == {"a": 0.0, "x": [2, 4, -6]}
    assert plain(sn.hvp(module.scale, ("x",))(2.0, X, v={"a": 1.0})) == {"x": [2, 4, -6]}
    assert plain(sn.hvp(module.scale, "x")(2.0, X, v=1.0)) == [4, 4, 4]


def test_hvp_mixed_second_derivatives(module: Any) -> None:
    """f = x^4 y + x y^2: the Hessian is [[12 x^2 y, 4 x^3 + 2 y], [4 x^3 + 2 y, 2 x]]."""
    product = sn.hvp(module.quartic)
    assert product(x=2.0, y=3.0, v={"x": 1.0}) == {"x": 144.0, "y": 38.0}
    assert product(x=2.0, y=3.0, v={"y": 1.0}) == {"x": 38.0, "y": 4.0}
    assert product(x=2.0, y=3.0, v={"x": 1.0, "y": 10.0}) == {"x": 524.0, "y": 78.0}


def test_hvp_of_vectors_arrays_and_vector_results(module: Any) -> None:
    v = f32(2, 3, 5)
    found = sn.hvp(module.coupled)(v, 2.0, v={"v": f32(1, 0, 0)})
    assert plain(found) == {"v": [0, 20, 12], "s": 60.0}
    found = sn.hvp(module.array_sum, "w")([1.0, 2.0, 3.0], X, v=[1.0, 10.0, 100.0])
    assert found.tolist() == [0, 0, 200 * 14]
    found = sn.hvp(module.vector, "v")(f32([1, 2, 3], [4, 5, 6]), 3.0, v=f32(1, 2, 3))
    assert found.tolist() == [[6, 12, 18]] * 2
    assert sn.hvp(module.matrix2, "s")(f32([1, 2], [3, 4]), 3.0, v=1.0) == 20.0


def test_hvp_with_fixed_arguments(module: Any) -> None:
    assert sn.hvp(module.counted, "x")(3.0, 5, v=1.0) == 10.0
    assert sn.hvp(module.held, "x")(3.0, 5.0, v=1.0) == 10.0
    assert sn.hvp(module.counted)(3.0, 5, v={"x": 1.0}) == {"x": 10.0}
    t, i = sn.tensor(f32(1, 2, 3)), np.array([0, 2, 2], np.int32)
    assert sn.hvp(module.fixed, "s")(t, 2.0, i, v=1.0) == 14.0


def test_hvp_of_a_rebuilt_function(session: Any) -> None:
    f = session.compile("[Differentiable] float f(float x) { return x * x * x; }", "rebuilt_hvp").f
    product = sn.hvp(f, "x")
    assert product(2.0, v=1.0) == 12.0
    session.compile("[Differentiable] float f(float x) { return x * x; }", "rebuilt_hvp")
    assert product(2.0, v=1.0) == 2.0


@pytest.mark.parametrize(
    ("name", "wrt", "arguments", "v", "message"),
    [
        ("square", "y", {"x": 1.0}, 1.0, "no parameter 'y'"),
        ("square", None, {"x": 1.0}, {"y": 1.0}, "no parameter 'y'"),
        ("square", None, {"x": 1.0}, 1.0, "as a dict by name"),
        ("square", None, {"x": 1.0}, {}, "as a dict by name"),
        ("square", "x", {"x": X}, X[:2], "shape"),
        ("counted", "k", {"x": 1.0, "k": 2}, 1.0, "'k': it has"),
        ("held", "k", {"x": 1.0, "k": 2.0}, 1.0, "'k': it is no_diff"),
        ("plain", "x", {"x": 1.0}, 1.0, "plain is not differentiable"),
        ("two", "x", {"x": 1.0}, 1.0, "without outputs"),
        ("to_pair", "x", {"x": 1.0}, 1.0, "return a number"),
        ("of_pair", "x", {"p": {"a": 1.0, "b": 1.0}, "x": 1.0}, 1.0, "struct 'p'"),
    ],
)
def test_wrong_hvp(module: Any, name: str, wrt: Any, arguments: Any, v: Any, message: str) -> None:
    with pytest.raises(sn.SlangNbError, match=message):
        sn.hvp(module[name], wrt)(**arguments, v=v)


def test_hvp_refuses_tensors_with_gradient(module: Any) -> None:
    with pytest.raises(sn.GradientError, match="no forward derivative"):
        sn.hvp(module.indexed, "s")(sn.tensor(X), 2.0, np.array([0, 1], np.int32), v=1.0)


def test_hvp_refuses_larger_directions(module: Any) -> None:
    with pytest.raises(sn.CallError, match="shape"):
        sn.hvp(module.square, "x")(3.0, v=f32(1, 2, 3))


def test_hvp_refuses_directions_without_derivative(module: Any) -> None:
    with pytest.raises(sn.GradientError, match="'k'"):
        sn.hvp(module.counted, ("x",))(3.0, 2, v={"k": 1})


def test_hvp_of_all_that_has_a_derivative(module: Any) -> None:
    assert sn.hvp(module.held)(3.0, 5.0, v={"x": 1.0}) == {"x": 10.0}


def test_hvp_with_a_parameter_called_like_a_direction(module: Any) -> None:
    assert sn.hvp(module.direction_name)(3.0, 2.0, v={"x": 1.0}) == {"x": 8.0, "v_x": 24.0}


def test_hvp_of_a_parameter_called_v(module: Any) -> None:
    """The direction has the name ``v``, so that this argument goes by position."""
    assert sn.hvp(module.called_v, "v")(2.0, v=1.0) == 12.0
    for arguments in ({"v": 2.0}, {}):
        with pytest.raises(
            sn.CallError, match=r"'v', and v=\.\.\. is the direction of hvp: the parameter goes by po"
        ) as e:
            sn.hvp(module.called_v, "v")(**arguments)
        assert e.value.remedy == "sn.hvp(called_v, ...)(v, v=direction)"


# Nesting


@pytest.mark.parametrize("outer", [sn.grad, sn.value_and_grad, sn.hvp])
@pytest.mark.parametrize("inner", [sn.grad, sn.hvp])
def test_nested_transforms_are_refused(module: Any, outer: Any, inner: Any) -> None:
    with pytest.raises(sn.CallError, match=r"takes a function of a Slang module.*\n.*sn.hvp"):
        outer(inner(module.square))


def test_nested_products_are_refused(module: Any) -> None:
    with pytest.raises(sn.CallError, match="takes a function of a Slang module"):
        sn.jvp(sn.grad(module.square), {"x": 1.0}, {"x": 1.0})  # pyright: ignore[reportArgumentType]
    with pytest.raises(sn.CallError, match="takes a function of a Slang module"):
        sn.vjp(lambda x: x, 1.0)  # pyright: ignore[reportArgumentType]


# Names that the kernel could use itself

NAMES = """
struct P : IDifferentiable { float x; float y; };
[Differentiable] float add(float x) { return x * x * x; }
[Differentiable] float reduce(float x) { return x * x * x; }
[Differentiable] float i(float x) { return x * x * x; }
[Differentiable] float w(float x) { return x * x * x; }
[Differentiable] float v_x(float x) { return x * x * x; }
[Differentiable] float p_x(float x) { return x * x * x; }
[Differentiable] float sn_seed(float x) { return x * x * x; }
[Differentiable] float sum_value(float x) { return x * x * x; }
[Differentiable] float o_result(float x) { return x * x * x; }
[Differentiable] float slangnb_kernel(float x) { return x * x * x; }
[Differentiable] float slangnb_directional(float x) { return x * x * x; }
[Differentiable] float words(float i, float count, float result, float sums, float thread, float value, float self,
    float seed)
{ return i + 2 * count + 3 * result + 4 * sums + 5 * thread + 6 * value + 7 * self + 8 * seed * seed; }
[Differentiable] float numbered(float x, float x_0, float3 y, float y_1, float sum_x_0)
{ return x * x_0 * sum_x_0 + y.y * y_1; }
[Differentiable] float fields(P p, float p_x, float p_x_1, float p_y)
{ return p.x * 2 + p_x * 3 + p_x_1 * 5 + p.y * p_y; }
[Differentiable] float prefixed(float x, float in_x, float out_x, float v_x, float u_result, float o_x, float t_x)
{ return x * in_x + out_x * v_x * u_result + o_x * t_x * x; }
[Differentiable] float called_result(float x, out float result) { result = 3 * x; return x * x * x; }
"""


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "reduce",
        "i",
        "w",
        "v_x",
        "p_x",
        "sn_seed",
        "sum_value",
        "o_result",
        "slangnb_kernel",
        "slangnb_directional",
    ],
)
def test_names_of_functions(session: Any, name: str) -> None:
    f = session.compile(NAMES)[name]
    assert sn.value_and_grad(f, "x")(X)[0] == -18.0 and sn.grad(f, "x")(X).tolist() == [3, 12, 27]
    assert plain(sn.jvp(f, {"x": X}, {"x": 1.0})) == ([1, 8, -27], [3, 12, 27])
    assert sn.hvp(f, "x")(X, v=1.0).tolist() == [6, 12, -18]


def test_names_of_parameters(session: Any) -> None:
    f = session.compile(NAMES).words
    given = dict.fromkeys(["i", "count", "result", "sums", "thread", "value", "self"], 1.0) | {"seed": f32(1, 2)}
    value, grads = sn.value_and_grad(f)(**given)
    assert value == 56 + 40 and plain(grads) == {
        **{n: 2.0 * (k + 1) for k, n in enumerate(given) if n != "seed"},
        "seed": [16, 32],
    }
    assert plain(sn.jvp(f, given, {"result": 1.0, "seed": 1.0}))[1] == [19, 35]
    assert plain(sn.hvp(f, "seed")(**given, v=1.0)) == [16, 16]


@pytest.mark.parametrize("shared", [True, False])
def test_names_with_numbers(session: Any, shared: bool) -> None:
    m = session.compile(NAMES)
    x = 2.0 if shared else f32(2, 2)
    value, grads = sn.value_and_grad(m.numbered)(x, f32(1, 3), [1.0, 2.0, 3.0], f32(5, 7), 10.0)
    assert value == 80 + 24
    found = plain(grads)
    assert found.pop("x") == (40.0 if shared else [10, 30])
    assert found == {"x_0": [20, 20], "y": [0, 12, 0], "y_1": [2, 2], "sum_x_0": 8.0}
    _, dy = sn.jvp(
        m.numbered,
        {"x": x, "x_0": f32(1, 3), "y": [1.0, 2.0, 3.0], "y_1": f32(5, 7), "sum_x_0": 10.0},
        {"y": [1.0, 1.0, 1.0]},
    )
    assert dy.tolist() == [5, 7]


@pytest.mark.parametrize("shared", [True, False])
def test_names_of_fields(session: Any, shared: bool) -> None:
    ones = 1.0 if shared else f32(1, 1)
    value, grads = sn.value_and_grad(session.compile(NAMES).fields)({"x": ones, "y": f32(4, 4)}, ones, ones, f32(2, 3))
    assert value == 40.0

    def total(n: float) -> Any:
        return 2 * n if shared else [n, n]

    assert plain(grads) == {"p": {"x": total(2), "y": [2, 3]}, "p_x": total(3), "p_x_1": total(5), "p_y": [4, 4]}


def test_names_with_prefixes(session: Any) -> None:
    m = session.compile(NAMES)
    given = dict(zip(["x", "in_x", "out_x", "v_x", "u_result", "o_x", "t_x"], map(float, range(1, 8)), strict=True))
    right = {"x": 44.0, "in_x": 1.0, "out_x": 20.0, "v_x": 15.0, "u_result": 12.0, "o_x": 7.0, "t_x": 6.0}
    assert sn.value_and_grad(m.prefixed)(**given) == (104.0, right)
    arrays = {n: f32(v) for n, v in given.items()}
    assert plain(sn.grad(m.prefixed)(**arrays)) == {n: [v] for n, v in right.items()}
    assert sn.jvp(m.prefixed, given, {"x": 1.0, "out_x": 1.0}) == (104.0, 64.0)
    assert sn.hvp(m.prefixed)(**given, v={"x": 1.0}) == {
        n: {"in_x": 1.0, "o_x": 7.0, "t_x": 6.0}.get(n, 0.0) for n in given
    }


def test_output_called_result(session: Any) -> None:
    value, grads = sn.value_and_grad(session.compile(NAMES).called_result)(X)
    assert value == -18.0 and grads["x"].tolist() == [6, 15, 30]


# Calls that must not be taken


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: sn.grad(m.scale)(2.0, 3.0, 99.0), "takes 2 arguments, 3 were given"),
        (lambda m: sn.vjp(m.scale, 2.0, 3.0, 99.0), "takes 2 arguments, 3 were given"),
        (lambda m: sn.grad(m.scale)(2.0, 3.0, _result="numpy"), "_result"),
        (lambda m: sn.grad(m.counted, "x")(3.0, 2**40), "'k'"),
        (lambda m: sn.grad(m.counted, "x")(3.0, 2.0), "'k' is a float"),
        (lambda m: sn.grad(m.square)([[1.0], [2.0, 3.0]]), "'x'"),
        (lambda m: sn.grad(m.square, seed="a")(X), "seed"),
        (lambda m: sn.grad(m.square, seed={"y": 1.0})(X), "give the seed as a dict"),
        (lambda m: sn.grad(m.square)("a"), "'x' is a text"),
        (lambda m: sn.grad(m.square)(None), "'x' is None"),
        (lambda m: sn.grad(m.square)(X.astype(np.int32)), "x"),
        (lambda m: sn.grad(m.square, ())(X), "wrt is empty"),
    ],
    ids=range(12),
)
def test_calls_that_are_refused(module: Any, call: Any, message: str) -> None:
    sn.grad(module.counted, "x")(3.0, 2)  # what was prepared for a good call must not let a bad one pass
    with pytest.raises(sn.SlangNbError, match=message):
        call(module)


def test_chained_functions_are_not_mistaken_for_plain_ones(session: Any) -> None:
    f = session.compile("""
extern static const int M = 2;
[Differentiable] float times_m(float x) { return x * M; }
""").times_m.constants({"M": 5})
    assert f(1.0) == 5.0
    with contextlib.suppress(sn.SlangNbError):  # a refusal is as good
        assert sn.grad(f, "x")(1.0) == 5.0


def test_hvp_holds_the_signatures_that_it_knows_by_their_identity(session: Any) -> None:
    # Else one of a generic function that is compiled again could get the identity of a dead one, and its text.
    f = session.compile("[Differentiable] float fourth(float x) { return x * x * x * x; }").fourth
    product = sn.hvp(f, wrt="x")
    assert product(x=2.0, v=1.0) == 48.0
    session.plans.clear()  # as when others take their place
    held = sys.getrefcount(f.info.signature)
    del product
    gc.collect()
    left = sys.getrefcount(f.info.signature)
    assert held - left == 1
