"""Public bug cases about calls: 001, 002, 009-016, 018, 103-106. Right values come from analysis or numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn


def close(got: Any, right: Any) -> None:
    np.testing.assert_allclose(np.asarray(got, np.float64), right, rtol=1e-4, atol=1e-5)


# 001: a struct that is not IDifferentiable


SPRING = """
struct Spring{suffix} {{ float stiffness; float rest; }};
[Differentiable]
float energy(Spring{suffix} s, float x) {{ float d = x - s.rest; return 0.5 * s.stiffness * d * d; }}
"""


def test_001_gradient_into_a_plain_struct_is_refused(session: Any, ones: Any) -> None:
    energy = session.compile(SPRING.replace("{suffix}", "").replace("{{", "{").replace("}}", "}")).energy
    k, r = sn.tensor([2.0, 5.0, 0.5], grad=True), sn.tensor([0.25, 1.0, -1.0], grad=True)
    x = sn.tensor([1.0, 0.5, 2.0], grad=True)
    y = ones(energy({"stiffness": k, "rest": r}, x, _result="tensor"))
    close(y.to_numpy(), [0.5625, 0.625, 2.25])
    with pytest.raises(sn.GradientError, match="struct Spring : IDifferentiable"):
        energy.bwds({"stiffness": k, "rest": r}, x, _result=y)
    energy.bwds({"stiffness": k.detach(), "rest": r.detach()}, x, _result=y)
    close(x.grad.to_numpy(), [1.5, -2.5, 1.5])


def test_001_differentiable_struct_has_all_gradients(session: Any, ones: Any) -> None:
    text = SPRING.replace("Spring{suffix} {{", "SpringD : IDifferentiable {").replace("{suffix}", "D")
    energy = session.compile(text.replace("{{", "{").replace("}}", "}")).energy
    k, r = sn.tensor([2.0, 5.0, 0.5], grad=True), sn.tensor([0.25, 1.0, -1.0], grad=True)
    x = sn.tensor([1.0, 0.5, 2.0], grad=True)
    y = ones(energy({"stiffness": k, "rest": r}, x, _result="tensor"))
    energy.bwds({"stiffness": k, "rest": r}, x, _result=y)
    close(k.grad.to_numpy(), [0.28125, 0.125, 4.5])
    close(r.grad.to_numpy(), [-1.5, 2.5, -1.5])


# 002: a parameter type that swallows the gradient

RING = """
import "slangpy";
[Differentiable] float ring({type}<float, 1> u, int i)
{ float a = u[i]; return a * a + 3.0 * u[(i + 1) % 4]; }
"""


@pytest.mark.parametrize("kind", ["Tensor", "ITensor"])
def test_002_tensor_parameters_without_gradient_are_refused(session: Any, ones: Any, kind: str) -> None:
    import slangpy as spy

    ring = session.compile(RING.replace("{type}", kind)).ring
    u = sn.tensor([1.0, -2.0, 0.5, 3.0], grad=True)
    y = ones(ring(u, spy.grid((4,)), _result="tensor"))
    close(y.to_numpy(), [-5.0, 5.5, 9.25, 12.0])
    with pytest.raises(sn.GradientError, match="DiffTensor"):
        ring.bwds(u, spy.grid((4,)), _result=y)


@pytest.mark.parametrize("kind", ["DiffTensor", "IDiffTensor"])
def test_002_differentiable_tensor_parameters(session: Any, ones: Any, kind: str) -> None:
    import slangpy as spy

    ring = session.compile(RING.replace("{type}", kind)).ring
    u = sn.tensor([1.0, -2.0, 0.5, 3.0], grad=True)
    y = ones(ring(u, spy.grid((4,)), _result="tensor"))
    ring.bwds(u, spy.grid((4,)), _result=y)
    close(u.grad.to_numpy(), [5.0, -1.0, 4.0, 9.0])


# 009: one scalar shared by a batch


@pytest.mark.parametrize("shape", [(1,), ()])
def test_009_shared_scalar_tensor(session: Any, ones: Any, shape: tuple[int, ...]) -> None:
    f = session.compile("[Differentiable] float gain_square(float gain, float x) { return gain * x * x; }").gain_square
    x = sn.tensor([1.0, 2.0, 3.0, -1.0, 0.5], grad=True)
    gain = sn.tensor(np.full(shape, 1.5, np.float32), grad=True)
    f.bwds(gain, x, _result=ones(f(gain, x, _result="tensor")))
    close(gain.grad.to_numpy().sum(), 15.25)
    close(x.grad.to_numpy(), [3.0, 6.0, 9.0, -3.0, 1.5])


def test_009_shared_diff_pair_is_refused(session: Any, ones: Any) -> None:
    import slangpy as spy

    f = session.compile("[Differentiable] float gain_square(float gain, float x) { return gain * x * x; }").gain_square
    x = sn.tensor([1.0, 2.0], grad=True)
    y = ones(f(1.5, x, _result="tensor"))
    with pytest.raises(sn.GradientError, match="diffPair shared by many threads"):
        f.bwds(spy.diffPair(1.5), x, _result=y)


# 010: what backward calls leave behind

CUBE = "[Differentiable] float cube(float x) {{ return x * x * x; }} // {0}"
X = np.array([1.0, -2.0, 0.5], np.float32)
RIGHT = [3.0, 12.0, 0.75]


@pytest.fixture
def cube(session: Any, request: pytest.FixtureRequest) -> Any:
    return session.compile(CUBE.format(request.node.name)).cube


def good(f: Any, ones: Any) -> Any:
    x = sn.tensor(X, grad=True)
    f.bwds(x, _result=ones(f(x, _result="tensor")))
    return x.grad.to_numpy()


def test_010_forward_without_gradient_first(cube: Any, ones: Any) -> None:
    cube(sn.tensor(X), _result="numpy")
    close(good(cube, ones), RIGHT)


def test_010_repeated_backward_does_not_double(cube: Any, ones: Any) -> None:
    x = sn.tensor(X, grad=True)
    y = ones(cube(x, _result="tensor"))
    cube.bwds(x, _result=y)
    cube.bwds(x, _result=y)
    close(x.grad.to_numpy(), RIGHT)
    cube.bwds(x, _result=y, accumulate=True)
    close(x.grad.to_numpy(), np.multiply(RIGHT, 2))


def test_010_wrong_calls_are_refused_and_poison_nothing(cube: Any, ones: Any) -> None:
    x = sn.tensor(X, grad=True)
    with pytest.raises(sn.GradientError, match="no argument can receive a gradient"):
        cube.bwds(sn.tensor(X), _result=ones(cube(x, _result="tensor")))
    with pytest.raises(sn.GradientError, match="no upstream gradient"):
        cube.bwds(x, _result=cube(x, _result="tensor"))
    for kind in (np.float32, np.float64):  # to cast it would not help
        with pytest.raises(sn.GradientError, match=r"_result is a numpy array, which carries no .* \(seed\)") as caught:
            cube.bwds(x, _result=np.ones(3, kind))
        assert caught.value.remedy.startswith("y = y.with_grads(); y.grad.copy_from_numpy(")
    close(good(cube, ones), RIGHT)


def test_010_an_array_is_no_seed_of_an_output(session: Any) -> None:
    f = session.compile("[Differentiable] void f(float x, out float y) { y = x * x; }").f
    for kind in (np.float32, np.float64):
        with pytest.raises(sn.GradientError, match="'y' is a numpy array, which carries no upstream") as caught:
            f.bwds(sn.tensor(X, grad=True), np.zeros(3, kind))
        assert caught.value.remedy == "pass a tensor with gradients: y = sn.tensor(y, grad=True)"


def test_010_call_with_gradients_then_without(cube: Any, ones: Any) -> None:
    close(good(cube, ones), RIGHT)
    close(cube(sn.tensor(X), _result="numpy"), X**3)


# 011: in-place updates

IN_PLACE = """
import "slangpy";
[Differentiable] void triple_square(int i, RWDiffTensor<float, 1> u) { float v = u[i]; u[i] = 3.0 * v * v; }
[Differentiable] void triple_square_to(int i, DiffTensor<float, 1> u, WDiffTensor<float, 1> w)
{ float v = u[i]; w[i] = 3.0 * v * v; }
"""


def test_011_out_of_place(session: Any) -> None:
    import slangpy as spy

    f = session.compile(IN_PLACE).triple_square_to
    u, w = sn.tensor([2.0, 3.0, -1.0], grad=True), sn.tensor([0.0, 0.0, 0.0], grad=True)
    f(spy.grid((3,)), u, w)
    close(w.to_numpy(), [12.0, 27.0, 3.0])
    w.grad.copy_from_numpy(np.ones(3, np.float32))
    f.bwds(spy.grid((3,)), u, w)
    close(u.grad.to_numpy(), [12.0, 18.0, -6.0])


def test_011_in_place_with_one_buffer_is_refused(session: Any) -> None:
    import slangpy as spy

    f = session.compile(IN_PLACE).triple_square
    u = sn.tensor([2.0, 3.0, -1.0], grad=True)
    f(spy.grid((3,)), u)
    close(u.to_numpy(), [12.0, 27.0, 3.0])
    with pytest.raises(sn.GradientError, match="in place"):
        f.bwds(spy.grid((3,)), u)


# 012: double


def test_012_double(session: Any, ones: Any) -> None:
    f = session.compile("[Differentiable] double cubic(double x) { return x * x * x; }").cubic
    x = np.array([1.0, 1.00000001, -3.0])
    np.testing.assert_allclose(f(x, _result="numpy"), x**3, rtol=1e-15)
    t = sn.tensor(x, grad=True)
    with pytest.raises(sn.SlangNbError, match=r"double.*gradient"):
        f.bwds(t, _result=ones(f(t.detach(), _result="tensor")))


# 013: numpy arrays of any layout

GRID = np.arange(12, dtype=np.float32).reshape(3, 4)


def read_only() -> np.ndarray:
    made = np.arange(4, dtype=np.float32)
    made.setflags(write=False)
    return made


@pytest.mark.parametrize(
    "array",
    [GRID.T, GRID[:, ::2], GRID[::-1], GRID[:, 1], read_only(), GRID.astype(">f4"), np.broadcast_to(GRID[0], (2, 4))],
    ids=["transpose", "columns", "reversed", "column", "read-only", "big-endian", "broadcast"],
)
def test_013_layouts(session: Any, array: np.ndarray) -> None:
    assert np.array_equal(sn.tensor(array).to_numpy(), array)
    twice = session.compile("[Differentiable] float twice(float x) { return 2.0 * x; }").twice
    assert np.array_equal(twice(array, _result="numpy"), 2 * array)
    assert np.array_equal(twice(np.ones(4, np.float32), _result="numpy"), [2, 2, 2, 2])


def test_013_large_view(session: Any) -> None:
    assert sn.tensor(np.ones(1 << 24, np.float32)[::4]).to_numpy().sum() == 1 << 22


def test_013_output_through_a_strided_view(session: Any) -> None:
    f = session.compile("void split(float x, out float half_of) { half_of = 0.5 * x; }").split
    target = np.zeros((4, 2), np.float32)
    f(np.arange(4, dtype=np.float32), target[:, 1])
    assert np.array_equal(target, [[0, 0], [0, 0.5], [0, 1], [0, 1.5]])


# 014: empty and 0-d

SCALE = "[Differentiable] float scale(float k, float x) { return k * x * x; }"


@pytest.mark.parametrize("shape", [(0,), (4, 0)])
def test_014_empty_numpy(session: Any, shape: tuple[int, ...]) -> None:
    assert session.compile(SCALE).scale(3.0, np.zeros(shape, np.float32), _result="numpy").shape == shape


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_014_empty_tensors_are_refused(session: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(sn.CallError, match=r"cannot be empty.*\(0"):
        sn.tensor(np.zeros(shape, np.float32))
    with pytest.raises(sn.CallError, match="empty"):
        session.compile(SCALE).scale(3.0, np.zeros(shape, np.float32))


@pytest.mark.parametrize("x", [2.0, np.float32(2.0), np.array(2.0, np.float32), np.float64(2.0), 2], ids=repr)
@pytest.mark.parametrize("result", [{}, {"_result": "numpy"}], ids=["value", "numpy"])
def test_014_scalars(session: Any, x: Any, result: dict[str, str]) -> None:
    assert float(session.compile(SCALE).scale(3.0, x, **result)) == 12.0


def test_014_zero_dimensional_tensor(session: Any) -> None:
    assert float(session.compile(SCALE).scale(3.0, sn.tensor(2.0), _result="numpy")) == 12.0


# 015: inner sizes

TOTAL = """
[Differentiable] float total(float v[4]) { return v[0] + v[1] + v[2] + v[3]; }
[Differentiable] float total3(float3 v) { return v.x + v.y + v.z; }
[Differentiable] float trace(float2x2 a) { return a[0][0] + a[1][1]; }
"""


def iota(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_015_right_inner_size(session: Any, ones: Any) -> None:
    total = session.compile(TOTAL).total
    v = sn.tensor(iota(2, 4), grad=True)
    y = ones(total(v, _result="tensor"))
    close(y.to_numpy(), [6.0, 22.0])
    total.bwds(v, _result=y)
    close(v.grad.to_numpy(), np.ones((2, 4)))


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [("total", (5, 3), "4"), ("total", (2, 6), "4"), ("total3", (2, 4), "3"), ("trace", (3, 2, 3), r"\(2, 2\)")],
)
@pytest.mark.parametrize("kind", ["tensor", "numpy", "gradient"])
def test_015_wrong_inner_size_is_refused(
    session: Any, name: str, shape: tuple[int, ...], sizes: str, kind: str
) -> None:
    f = session.compile(TOTAL)[name]
    data = iota(*shape)
    value: Any = data if kind == "numpy" else sn.tensor(data, grad=kind == "gradient")
    with pytest.raises(sn.CallError, match=rf"shape \({shape[0]}.*needs its last dimensions? to be {sizes}"):
        f(value, _result="numpy")


def test_015_every_later_call_is_checked(session: Any) -> None:
    total = session.compile(TOTAL).total
    total(sn.tensor(iota(2, 4)))
    with pytest.raises(sn.CallError, match="needs its last dimension to be 4"):
        total(sn.tensor(iota(2, 6)))


# 016: index order

INDEX = """
import "slangpy";
float by_pair(int row, int col, Tensor<float, 2> a) { return a[row, col]; }
float by_vector(int row, int col, Tensor<float, 2> a) { return a[int2(row, col)]; }
float by_vector_swapped(int row, int col, Tensor<float, 2> a) { return a[int2(col, row)]; }
"""


def test_016_index_order(session: Any) -> None:
    m = session.compile(INDEX, warn=False)
    warnings = [w for w in session.take_warnings() if "int2" in w.source]
    assert warnings and "last axis" in f"{warnings[0].message} {warnings[0].remedy}"
    a = sn.tensor(iota(2, 3))
    rows, cols = (v.astype(np.int32) for v in np.meshgrid(range(2), range(3), indexing="ij"))
    close(m.by_pair(rows, cols, a, _result="numpy"), iota(2, 3))
    close(m.by_vector_swapped(rows, cols, a, _result="numpy"), iota(2, 3))


# 018: names that clash


def test_018_names(session: Any) -> None:
    m = session.compile("""
[Differentiable] float lerp(float a, float b, float t) { return a + (b - a) * t; }
[Differentiable] float dot(float a, float b) { return a * b; }
float name(float x) { return x + 1.0; }
float device(float x) { return x + 2.0; }
float with_self(float self, float context) { return self - context; }
""")
    v = np.array([1.0, 2.0, 3.0], np.float32)
    assert m.lerp(1.0, 3.0, 0.25) == 1.5
    close(m.dot(v, v, _result="numpy"), [1.0, 4.0, 9.0])
    assert m.name(1.0) == 2.0
    assert m.device(1.0) == 3.0
    assert m.with_self(context=2.0, self=5.0) == 3.0


# 103, 104: devices


def test_103_slangpy_can_be_imported(session: Any) -> None:
    assert session.compile('import "slangpy"; float id(float x) { return x; }').id(2.0) == 2.0


def test_104_cpu_and_missing_backends_say_why(session: Any) -> None:
    with pytest.raises(sn.BackendError, match=r"(?i)cpu backend does not work"):
        session.use("cpu")
    with pytest.raises(sn.BackendError, match=r"(?i)no (metal|d3d12) adapter or driver"):
        session.use("d3d12" if __import__("sys").platform != "win32" else "metal")
    assert session.compile("float id(float x) { return x; }").id(2.0) == 2.0


# 105: struct fields


def test_105_struct_fields(session: Any) -> None:
    at = session.compile("""
struct Line : IDifferentiable { float slope; float offset; };
[Differentiable] float at(Line l, float x) { return l.slope * x + l.offset; }
""").at
    x = np.array([1.0, 2.0], np.float32)
    close(at({"slope": 2.0, "offset": 0.5}, x, _result="numpy"), [2.5, 4.5])
    with pytest.raises(sn.CallError, match="'offset'"):
        at({"slope": 2.0}, x, _result="numpy")
    with pytest.raises(sn.CallError, match="did you mean 'offset'"):
        at({"slope": 2.0, "ofset": 0.5}, x, _result="numpy")
    with pytest.raises(sn.CallError, match="needs a dict"):
        at((2.0, 0.5), x, _result="numpy")


# 106: views beyond their storage


@pytest.mark.parametrize("shape", [(10,), (1 << 27,)])
def test_106_view_beyond_its_storage_is_refused(session: Any, shape: tuple[int, ...]) -> None:
    view = sn.tensor([1.0, 2.0, 3.0]).view(shape)  # pyright: ignore[reportArgumentType]
    with pytest.raises(sn.CallError, match=r"view of shape .* storage has 12"):
        sn.tensor(view)
    with pytest.raises(sn.CallError, match=r"view of shape .* storage has 12"):
        session.compile("float id(float x) { return x; }").id(view, _result="numpy")
    with pytest.raises(sn.CallError, match=r"view of shape .* storage has 12"):
        sn.show(view)
