"""Properties of all transforms, with random expressions, shapes, layouts and seeds, against float64.

Data of small whole numbers makes float32 sums exact, so that most comparisons ask for the same bits. Expressions carry
a bound of their rounding error with them (`Dual`), and the tolerance is that bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slangnb as sn
from slangnb.runtime.fused.policy import per_thread

pytestmark = pytest.mark.filterwarnings("ignore::slangnb.errors.GradientWarning")  # random data gives sums of zero

MODEST = settings(
    deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MANY = settings(MODEST, max_examples=60)
SEEDS = st.integers(0, 2**32 - 1)


# Random expressions, as Slang text and as float64 dual numbers

UNIT = 2.0**-24
#: Vulkan asks for 3 + 2|x| units in the last place of exp, 2.5 of a division, and less of the others used here.
ULPS = 8.0


@dataclass
class Dual:
    """A value with its derivatives by the three variables, and bounds of the rounding errors of both, in `UNIT`.

    `paths` is the sum of the magnitudes of all products that the chain rule adds.
    """

    value: np.ndarray
    slopes: list[Any]
    error: Any
    slope_errors: list[Any]
    paths: list[Any]

    def through(self, value: np.ndarray, inner: list[tuple[Dual, Any, Any]]) -> Dual:
        """Apply a function: `inner` are its arguments, with its slopes by them and the errors of these slopes."""
        error = sum(abs(slope) * x.error for x, slope, _ in inner) + ULPS * abs(value)
        slopes = [sum(s * x.slopes[k] for x, s, _ in inner) for k in range(3)]
        paths = [sum(abs(s) * x.paths[k] for x, s, _ in inner) for k in range(3)]
        errors = [
            sum(abs(s) * x.slope_errors[k] + off * x.paths[k] for x, s, off in inner) + 2 * ULPS * paths[k]
            for k in range(3)
        ]
        return Dual(value, slopes, error, errors, paths)

    def add(self, y: Dual) -> Dual:
        return self.through(self.value + y.value, [(self, 1.0, 0.0), (y, 1.0, 0.0)])

    def times(self, y: Dual) -> Dual:
        return self.through(self.value * y.value, [(self, y.value, y.error), (y, self.value, self.error)])

    def over(self, y: Dual) -> Dual:
        quotient = self.value / y.value
        by_self, by_y = 1 / y.value, -quotient / y.value
        off = y.error / y.value**2
        off_y = self.error / y.value**2 + 2 * abs(quotient) * y.error / y.value**2
        return self.through(quotient, [(self, by_self, off), (y, by_y, off_y)])

    def unary(self, value: np.ndarray, slope: np.ndarray, curve: np.ndarray) -> Dual:
        return self.through(value, [(self, slope, abs(curve) * self.error + ULPS * abs(slope))])


def constant(number: float, like: np.ndarray) -> Dual:
    nothing = np.zeros_like(like)
    return Dual(np.full_like(like, number), [nothing] * 3, nothing, [nothing] * 3, [nothing] * 3)


def variables(*values: np.ndarray) -> list[Dual]:
    shape = np.broadcast_shapes(*(v.shape for v in values))
    zero, one = np.zeros(shape), np.ones(shape)
    made = []
    for k, v in enumerate(values):
        slopes = [one if k == i else zero for i in range(3)]
        made.append(Dual(np.broadcast_to(v.astype(np.float64), shape), slopes, zero, [zero] * 3, slopes))
    return made


Tree = tuple[Any, ...]


def random_tree(rng: np.random.Generator, depth: int) -> Tree:
    if depth == 0:
        return ("number", float(rng.integers(1, 8)) / 4) if rng.random() < 0.2 else ("variable", int(rng.integers(3)))
    kind = ["add", "times", "times", "over", "exp", "log", "sqrt"][rng.integers(7)]
    count = 2 if kind in ("add", "times", "over") else 1
    return kind, *(random_tree(rng, depth - 1) for _ in range(count))


def names(tree: Tree) -> set[str]:
    """Give the variables of a tree."""
    kind, *inner = tree
    if kind in ("variable", "number"):
        return {"axy"[inner[0]]} if kind == "variable" else set()
    return set().union(*map(names, inner))


def random_trees(count: int) -> list[Tree]:
    """Give trees of which each depends on all three variables."""
    found: list[Tree] = []
    for k in range(1000):
        tree = random_tree(np.random.default_rng(k), 3 + k % 2)
        if len(found) < count and {"a", "x", "y"} <= names(tree):
            found.append(tree)
    return found


def text(tree: Tree) -> str:
    kind, *inner = tree
    if kind == "variable":
        return "axy"[inner[0]]
    if kind == "number":
        return repr(inner[0])
    a, *rest = map(text, inner)
    b = rest[0] if rest else ""
    return {
        "add": f"({a} + {b})",
        "times": f"({a} * {b})",
        "over": f"({a} / (1.0 + {b} * {b}))",
        "exp": f"exp(-1.0 * ({a} * {a}))",
        "log": f"log(1.5 + {a} * {a})",
        "sqrt": f"sqrt(1.5 + {a} * {a})",
    }[kind]


def dual(tree: Tree, given: list[Dual]) -> Dual:
    """Give what `text` computes."""
    kind, *inner = tree
    if kind == "variable":
        return given[inner[0]]
    if kind == "number":
        return constant(inner[0], given[0].value)
    a, *rest = (dual(t, given) for t in inner)
    if kind == "add":
        return a.add(rest[0])
    if kind == "times":
        return a.times(rest[0])
    if kind == "over":
        return a.over(constant(1.0, a.value).add(rest[0].times(rest[0])))
    if kind == "exp":
        x = constant(-1.0, a.value).times(a.times(a))
        e = np.exp(x.value)
        return x.unary(e, e, e * (1 + abs(x.value)))
    x = constant(1.5, a.value).add(a.times(a))
    if kind == "log":
        return x.unary(np.log(x.value), 1 / x.value, 1 / x.value**2)
    root = np.sqrt(x.value)
    return x.unary(root, 0.5 / root, 0.25 / root**3)


TREES = random_trees(12)


@pytest.fixture(scope="module")
def expressions(session: Any) -> Any:
    lines = [
        f"[Differentiable] float e{k}(float a, float x, float y) {{ return {text(t)}; }}" for k, t in enumerate(TREES)
    ]
    return session.compile("\n".join(lines))


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.uniform(-2, 2, shape), np.float32)


def case(seed: int) -> tuple[list[Any], list[np.ndarray]]:
    """Give the arguments a, x, y of a call, and the same as arrays: numbers, numpy or tensors that broadcast."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 4)), int(rng.integers(1, 700))
    shapes = [(), (rows, columns), [(columns,), (rows, 1), (1, columns), (rows, columns), (1,)][rng.integers(5)]]
    arrays = [floats(rng, *s) for s in shapes]
    kinds = rng.integers(2, size=3)
    made = [sn.tensor(v) if kind and v.ndim else v for v, kind in zip(arrays, kinds, strict=True)]
    return [float(arrays[0]), *made[1:]], arrays


def host(value: Any) -> np.ndarray:
    return value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)


def unbroadcast(full: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum over the dimensions along which a value of `shape` was repeated."""
    full = full.sum(axis=tuple(range(full.ndim - len(shape))))
    return full.sum(axis=tuple(d for d, n in enumerate(shape) if n == 1), keepdims=True)


def within(got: Any, right: Any, bound: Any) -> None:
    off = np.abs(np.asarray(got, np.float64) - right)
    assert np.all(off <= bound), f"off by {np.max(off / bound):.3g} times the bound"


def summed_bound(errors: np.ndarray, terms: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Bound the error of a sum: that of its terms, of sums in float by each thread, and of the rounded result."""
    steps = per_thread(terms.size, "software") + 4
    return UNIT * unbroadcast(errors + steps * np.abs(terms), shape)


@MANY
@given(which=st.integers(0, len(TREES) - 1), seed=SEEDS)
def test_value_and_gradients_of_random_expressions(expressions: Any, which: int, seed: int) -> None:
    arguments, arrays = case(seed)
    right = dual(TREES[which], variables(*arrays))
    value, grads = sn.value_and_grad(expressions[f"e{which}"])(*arguments)
    within(value, right.value.sum(), summed_bound(right.error, right.value, ()))
    for k, name in enumerate("axy"):
        shape = arrays[k].shape
        bound = summed_bound(right.slope_errors[k], right.paths[k], shape)
        within(host(grads[name]), unbroadcast(right.slopes[k], shape), bound)


@MODEST
@given(which=st.integers(0, 5), seed=SEEDS)
def test_forward_and_reverse_mode_agree(expressions: Any, which: int, seed: int) -> None:
    """The derivative in a direction, times a seed, is the direction times the gradient of that seed."""
    arguments, arrays = case(seed)
    rng = np.random.default_rng(seed + 1)
    f, right = expressions[f"e{which}"], dual(TREES[which], variables(*arrays))
    directions = [floats(rng, *v.shape) for v in arrays]
    s = floats(rng, *right.value.shape)
    y, dy = sn.jvp(f, dict(zip("axy", arguments, strict=True)), dict(zip("axy", directions, strict=True)))
    exact = sum(slope * v.astype(np.float64) for slope, v in zip(right.slopes, directions, strict=True))
    paths = sum(p * abs(v) for p, v in zip(right.paths, directions, strict=True))
    errors = sum(e * abs(v) for e, v in zip(right.slope_errors, directions, strict=True)) + 4 * paths
    within(host(y), right.value, UNIT * right.error)
    within(host(dy), exact, UNIT * errors)
    again, pull = sn.vjp(f, *arguments)
    grads = pull(s)
    within(host(again), right.value, UNIT * right.error)
    left = (host(dy).astype(np.float64) * s).sum()
    other = sum((host(grads[n]).astype(np.float64) * v).sum() for n, v in zip("axy", directions, strict=True))
    steps = per_thread(s.size, "software") + 4
    within(left, other, 2 * UNIT * (abs(s) * (errors + steps * paths)).sum())


# Second derivatives, in double: the reference is the complex step through the gradient


@pytest.fixture(scope="module")
def smooth(session: Any) -> Any:
    """Functions of double that Vulkan has: no exp, no log."""
    return session.compile("""
[Differentiable] double rational(double a, double x, double y)
{ return a * x * x * y / (1.0 + x * x + y * y) + a * a * y; }
[Differentiable] double rooted(double a, double x, double y) { return sqrt(1.0 + a * a * x * x + y * y) * x; }
[Differentiable] double cubic(double a, double x, double y) { return a * x * x * x - 3.0 * a * a * x * y * y; }
""")


def gradient_of(name: str, a: Any, x: Any, y: Any) -> list[Any]:
    if name == "rational":
        q = 1 + x * x + y * y
        return [
            x * x * y / q + 2 * a * y,
            2 * a * x * y * (1 + y * y) / q**2,
            a * x * x * (1 + x * x - y * y) / q**2 + a * a,
        ]
    if name == "rooted":
        r = np.sqrt(1 + a * a * x * x + y * y)
        return [a * x**3 / r, r + a * a * x * x / r, x * y / r]
    return [x**3 - 6 * a * x * y * y, 3 * a * x * x - 3 * a * a * y * y, -6 * a * a * x * y]


@MODEST
@given(name=st.sampled_from(["rational", "rooted", "cubic"]), count=st.integers(1, 600), seed=SEEDS)
def test_second_derivatives(smooth: Any, name: str, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-2, 2), rng.uniform(-2, 2, count), rng.uniform(-2, 2, count)]
    u, v = ([rng.uniform(-1, 1), rng.uniform(-1, 1, count), rng.uniform(-1, 1, count)] for _ in range(2))
    grads = sn.grad(smooth[name])(*values)
    for got, right in zip(grads.values(), gradient_of(name, *values), strict=True):
        right = right if np.ndim(got) else right.sum()
        np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-12 * count)
    product = sn.hvp(smooth[name])
    hv, hu = (product(*values, v=dict(zip("axy", d, strict=True))) for d in (v, u))
    step = 1e-30
    moved = gradient_of(name, *(x + 1j * step * d for x, d in zip(values, v, strict=True)))
    for got, right in zip(hv.values(), moved, strict=True):
        exact = right.imag / step
        np.testing.assert_allclose(got, exact if np.ndim(got) else exact.sum(), rtol=1e-12, atol=1e-12 * count)
    one = sum(np.sum(d * got) for d, got in zip(u, hv.values(), strict=True))
    other = sum(np.sum(d * got) for d, got in zip(v, hu.values(), strict=True))
    assert one == pytest.approx(other, rel=1e-12, abs=1e-12 * count)


# Layouts, shapes and kinds, with whole numbers


@pytest.fixture(scope="module")
def exact(session: Any) -> Any:
    return session.compile("""
[Differentiable] float poly(float a, float x) { return a * x * x + 3.0 * x; }
[Differentiable] half poly_half(half a, half x) { return a * x * x + x; }
[Differentiable] double poly_double(double a, double x) { return a * x * x + 3.0 * x; }
[Differentiable] float three(float a, float b, float c) { return a * b + b * c * c; }
[Differentiable] float3 mixed(float3 v, float2x2 q, float w[3], float x)
{ return v * (q[0][1] + 2.0 * q[1][0]) * w[1] + v.zxy * x; }
""")


def whole(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    return rng.integers(-3, 4, shape).astype(dtype)


def numpy_layout(rng: np.random.Generator, kind: str, array: np.ndarray) -> np.ndarray:
    """Give the same numbers in another layout."""
    if kind == "strided":
        wide = np.full((*array.shape[:-1], 3 * array.shape[-1]), 99, array.dtype)
        wide[..., 1::3] = array
        return wide[..., 1::3]
    if kind == "reversed":
        return array[..., ::-1].copy()[..., ::-1]
    if kind == "fortran":
        return np.asfortranarray(array)
    if kind == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    if kind == "read-only":
        array = array.copy()
        array.flags.writeable = False
    return array


KINDS = ["plain", "strided", "reversed", "fortran", "big-endian", "read-only"]
SHAPES = st.one_of(
    st.lists(st.integers(1, 7), min_size=1, max_size=4).map(tuple),
    st.sampled_from([(255,), (256,), (257,), (2000,), (3, 511), (1, 1, 1), (1999, 1)]),
)


@MODEST
@given(
    shape=SHAPES, layout=st.sampled_from(KINDS), name=st.sampled_from(["poly", "poly_half", "poly_double"]), seed=SEEDS
)
def test_numpy_layouts_and_types(exact: Any, shape: tuple[int, ...], layout: str, name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = {"poly": np.float32, "poly_half": np.float16, "poly_double": np.float64}[name]
    x = whole(rng, *shape, dtype=dtype)
    linear = 1 if name == "poly_half" else 3
    right = 4 * x + linear
    value, grads = sn.value_and_grad(exact[name])(2.0, numpy_layout(rng, layout, x))
    assert grads["x"].dtype == dtype and grads["x"].shape == shape
    np.testing.assert_array_equal(grads["x"], right)
    wide = x.astype(np.float64)
    assert value == (2 * wide * wide + linear * wide).sum()
    assert grads["a"] == dtype((wide * wide).sum())


@MODEST
@given(rows=st.integers(1, 9), columns=st.integers(1, 300), cut=st.integers(0, 7), seed=SEEDS)
def test_tensor_views(exact: Any, rows: int, columns: int, cut: int, seed: int) -> None:
    from slangpy.slangpy import Shape

    data = whole(np.random.default_rng(seed), rows, columns)
    t, row = sn.tensor(data), min(cut, rows - 1)
    first = min(cut, columns - 1)
    views = [
        (t, data),
        (t[row], data[row]),
        (t[:, first], data[:, first]),
        (t[row:rows, first:columns], data[row:, first:]),
        (t.view(Shape((columns, rows)), Shape((1, columns))), data.T),
        (t.view(Shape(((columns + 1) // 2,)), Shape((2,)), row * columns), data[row, ::2]),
        (t[row].broadcast_to(Shape((3, columns))), np.broadcast_to(data[row], (3, columns))),
    ]
    for view, right in views:
        value, grads = sn.value_and_grad(exact.poly)(2.0, view)
        np.testing.assert_array_equal(host(grads["x"]), 4 * right + 3)
        assert value == (2 * right * right + 3 * right).sum() and grads["a"] == (right * right).sum()


@st.composite
def broadcast_shapes(draw: Any) -> list[tuple[int, ...]]:
    """Draw three shapes that broadcast against each other."""
    full = draw(st.lists(st.sampled_from([1, 2, 3, 5, 70]), min_size=1, max_size=4).map(tuple))
    made = []
    for _ in range(3):
        keep = draw(st.integers(0, len(full)))
        shape = full[len(full) - keep :]
        made.append(tuple(n if draw(st.booleans()) else 1 for n in shape))
    return made if np.prod(np.broadcast_shapes(*made)) < 20_000 else [made[0], made[0], made[0]]


@MANY
@given(shapes=broadcast_shapes(), tensors=st.lists(st.booleans(), min_size=3, max_size=3), seed=SEEDS)
def test_broadcasting(exact: Any, shapes: list[tuple[int, ...]], tensors: list[bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = arrays = [whole(rng, *s) for s in shapes]
    passed = [sn.tensor(v) if t else v for v, t in zip(arrays, tensors, strict=True)]
    value, grads = sn.value_and_grad(exact.three)(*passed)
    assert value == np.asarray(a * b + b * c * c).sum()
    full = np.broadcast_shapes(*shapes)
    right = [b + 0 * c, a + c * c, 2 * b * c]
    for name, r, shape in zip("abc", right, shapes, strict=True):
        expected = unbroadcast(np.broadcast_to(r, full), shape)
        np.testing.assert_array_equal(host(grads[name]).reshape(shape), expected)


@MODEST
@given(shapes=broadcast_shapes(), seed=SEEDS)
def test_broadcasting_of_vectors_matrices_and_arrays(exact: Any, shapes: list[tuple[int, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    v, q, w = whole(rng, *shapes[0], 3), whole(rng, *shapes[1], 2, 2), whole(rng, *shapes[2], 3)
    x = whole(rng, *shapes[rng.integers(3)])
    value, grads = sn.value_and_grad(exact.mixed)(v, q, w, x)
    full = np.broadcast_shapes(*shapes, x.shape)
    k, one, total = q[..., 0, 1] + 2 * q[..., 1, 0], w[..., 1], v.sum(-1)
    assert value == np.broadcast_to(total * (k * one + x), full).sum()
    right_v = np.broadcast_to((k * one + x)[..., None], (*full, 3))
    right_q, right_w = np.zeros((*full, 2, 2)), np.zeros((*full, 3))
    right_q[..., 0, 1], right_q[..., 1, 0], right_w[..., 1] = total * one, 2 * total * one, total * k
    for name, own, inner, r in (("v", v, 1, right_v), ("q", q, 2, right_q), ("w", w, 1, right_w)):
        shape = own.shape[: own.ndim - inner]
        moved = np.moveaxis(r.reshape(*full, -1), -1, 0)
        expected = np.stack([unbroadcast(part, shape) for part in moved], -1).reshape(own.shape)
        np.testing.assert_array_equal(grads[name], expected)
    np.testing.assert_array_equal(grads["x"], unbroadcast(np.broadcast_to(total, full), x.shape))


# Seeds and reductions


@MODEST
@given(shape=SHAPES, kind=st.sampled_from(["number", "full", "last", "one", "tensor"]), seed=SEEDS)
def test_seeds(exact: Any, shape: tuple[int, ...], kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = whole(rng, *shape)
    weights = {"number": np.float32(3), "last": whole(rng, shape[-1]), "one": whole(rng, 1)}.get(
        kind, whole(rng, *shape)
    )
    passed = {"number": 3.0, "tensor": sn.tensor(weights) if kind == "tensor" else None}.get(kind, weights)
    value, grads = sn.value_and_grad(exact.poly, seed=passed)(2.0, x)
    wide = np.broadcast_to(weights, shape)
    assert value == (wide * (2 * x * x + 3 * x)).sum() and grads["a"] == (wide * x * x).sum()
    np.testing.assert_array_equal(grads["x"], wide * (4 * x + 3))
    pulled = sn.vjp(exact.poly, 2.0, x)[1](passed)
    np.testing.assert_array_equal(pulled["x"], grads["x"])
    assert pulled["a"] == grads["a"]


@MODEST
@given(shape=SHAPES, seed=SEEDS)
def test_mean_is_the_sum_divided_by_the_count(exact: Any, shape: tuple[int, ...], seed: int) -> None:
    x = whole(np.random.default_rng(seed), *shape)
    value, grads = sn.value_and_grad(exact.poly, reduce="mean")(2.0, x)
    assert value == pytest.approx((2 * x * x + 3 * x).mean(dtype=np.float64), rel=4 * UNIT)
    np.testing.assert_allclose(grads["x"], (4 * x + 3) / x.size, rtol=8 * UNIT)
    steps = per_thread(x.size, "software") + 8
    assert grads["a"] == pytest.approx((x * x).mean(dtype=np.float64), rel=steps * UNIT)


@MODEST
@given(shape=SHAPES, seed=SEEDS)
def test_mean_with_seeds(exact: Any, shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights = whole(rng, *shape), whole(rng, *shape)
    value, grads = sn.value_and_grad(exact.poly, reduce="mean", seed=weights)(2.0, x)
    right = weights * (2 * x * x + 3 * x)
    assert value == pytest.approx(right.mean(dtype=np.float64), rel=8 * UNIT, abs=float(4 * UNIT * np.abs(right).max()))
    np.testing.assert_allclose(grads["x"], weights * (4 * x + 3) / x.size, rtol=8 * UNIT)


@pytest.mark.parametrize("count", [1_000_000, 1 << 25])
def test_mean_of_many_halves(exact: Any, count: int) -> None:
    x = np.ones(count, np.float16)
    assert sn.grad(exact.poly_half, "a", "mean")(0.5, x) == 1.0


def test_sum_of_many_halves(exact: Any) -> None:
    value, grads = sn.value_and_grad(exact.poly_half)(0.5, np.ones(40_000, np.float16))
    assert value == 60_000 and grads["a"] == 40_000 and set(grads["x"].tolist()) == {2.0}


# What calls leave behind


@MODEST
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["keep", "drop", "slice", "storage", "view"])),
        min_size=4,
        max_size=30,
    )
)
def test_results_that_are_held_never_change(exact: Any, steps: list[tuple[int, str]]) -> None:
    """Memory of results is used again once nobody holds them: also through slices, views and buffers."""
    from slangpy.slangpy import Shape

    held: list[tuple[Any, np.ndarray]] = []
    for number, (size, kind) in enumerate(steps):
        x = np.full((2, 20_000 + size), number, np.float32)
        x[:, ::7] += 1
        found = sn.grad(exact.poly, "x")(2.0, sn.tensor(x))
        right = 4 * x + 3
        made = {
            "keep": lambda t=found: t,
            "slice": lambda t=found: t[1],
            "storage": lambda t=found: t.storage,
            "view": lambda t=found, n=x.size: t.view(Shape((n,))),
        }
        if kind in made:
            held.append((made[kind](), {"slice": right[1], "storage": right.reshape(-1)}.get(kind, right)))
        del found, made
    for kept, right in held:
        array = kept.to_numpy()
        got = array.view(np.float32) if array.dtype == np.uint8 else array
        np.testing.assert_array_equal(got.reshape(-1), right.reshape(-1))


@MODEST
@given(st.lists(st.sampled_from(["grad", "vjp", "jvp", "numpy"]), min_size=2, max_size=8), SEEDS)
def test_results_are_inputs_of_the_next_call(exact: Any, kinds: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, 20_000).astype(np.float32)
    t: Any = sn.tensor(x)
    held = []
    for kind in kinds:
        f, x = exact.poly, x.astype(np.float64)
        if kind == "grad":
            t, x = sn.grad(f, "x")(0.5, t), x + 3
        elif kind == "vjp":
            t, x = sn.vjp(f, 0.0, t)[0], 3 * x
        elif kind == "jvp":
            t, x = sn.jvp(f, {"a": 0.0, "x": t}, {"x": t})[1], 3 * x
        else:
            t = host(t)
        held.append((t, x))
    for got, right in held:
        np.testing.assert_array_equal(host(got), right)


def test_thousands_of_shapes_cost_no_memory(exact: Any) -> None:
    import resource

    f = sn.value_and_grad(exact.poly)

    def run(sizes: range) -> None:
        for n in sizes:
            value, grads = f(2.0, np.ones(n, np.float32))
            assert value == 5 * n and grads["a"] == n

    run(range(1, 400))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(range(400, 2000))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # kilobytes


def test_shapes_and_dtypes_taken_in_turns(exact: Any) -> None:
    calls = [(n, name) for n in (1, 3, 300) for name in ("poly", "poly_half", "poly_double")]
    for turn in range(3):
        for n, name in calls:
            x = np.full(n, turn + 1, {"poly": "f4", "poly_half": "f2", "poly_double": "f8"}[name])
            value, grads = sn.value_and_grad(exact[name])(float(turn), x)
            linear = 1 if name == "poly_half" else 3
            assert value == n * (turn * (turn + 1) ** 2 + linear * (turn + 1))
            assert grads["a"] == n * (turn + 1) ** 2 and set(grads["x"].tolist()) == {2 * turn * (turn + 1) + linear}


# Numbers at the edges


@pytest.mark.parametrize("x", [np.inf, np.nan, 3e38, 1e19, -0.0, 1e-30, 16777217.0])
def test_extreme_numbers(exact: Any, x: float) -> None:
    data = np.array([x, 1.0], np.float32)
    with np.errstate(all="ignore"):
        right = np.float32(2) * data * np.float32(2) + np.float32(3)
        square = data * data
        total = float((np.float32(2) * square + np.float32(3) * data).sum(dtype=np.float64))
    for passed in (data, sn.tensor(data)):
        value, grads = sn.value_and_grad(exact.poly)(2.0, passed)
        np.testing.assert_allclose(host(grads["x"]), right, rtol=4 * UNIT)
        np.testing.assert_allclose(grads["a"], square.sum(dtype=np.float64), rtol=4 * UNIT)
        np.testing.assert_allclose(value, total, rtol=8 * UNIT)


def test_view_beyond_its_storage_after_a_good_call(exact: Any) -> None:
    from slangpy.slangpy import Shape

    f = sn.grad(exact.poly, "x")
    f(1.0, sn.tensor(np.ones(8, np.float32)))
    with pytest.raises(sn.CallError, match="storage"):
        f(1.0, sn.tensor(np.ones(4, np.float32)).view(Shape((8,))))


def test_the_same_tensor_for_two_arguments(exact: Any) -> None:
    t = sn.tensor(np.arange(5, dtype=np.float32))
    value, grads = sn.value_and_grad(exact.poly)(t, t)
    x = np.arange(5)
    assert value == (x**3 + 3 * x).sum()
    assert host(grads["a"]).tolist() == (x * x).tolist() and host(grads["x"]).tolist() == (2 * x * x + 3).tolist()
