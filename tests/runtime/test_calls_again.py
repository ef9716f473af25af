"""Calls of the same kind again, with values that must be looked at each time; outputs; closed sessions."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.tensors import packed_strides, tidy


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_numpy_scalars_and_numbers_take_turns(session: Any) -> None:
    m = session.compile("float f(float x) { return 2 * x; } int64_t i(int64_t v) { return v + 1; }")
    assert [m.f(x) for x in (np.float32(1), 2.0, np.float64(3), 4, np.float32(5))] == [2, 4, 6, 8, 10]
    assert [m.i(v) for v in (3, np.int64(3), 3)] == [4, 4, 4]


STRUCT = """
struct P : IDifferentiable { float3 pos; float w; };
[Differentiable] float fp(P p) { return dot(p.pos, p.pos) * p.w; }
void step(inout P p) { p.pos *= 2; p.w += 1; }
"""


def test_struct_fields_are_checked_at_every_call(session: Any, ones: Any) -> None:
    f = session.compile(STRUCT).fp
    good = {"pos": sn.tensor(np.ones((5, 3), np.float32), grad=True), "w": sn.tensor(np.ones(5, np.float32), grad=True)}
    y = ones(f(good, _result="tensor"))
    f.bwds(good, _result=y)
    assert good["pos"].grad.to_numpy().tolist() == [[2.0] * 3] * 5
    assert good["w"].grad.to_numpy().tolist() == [3.0] * 5
    for columns in (2, 4):
        bad = {"pos": sn.tensor(np.ones((5, columns), np.float32), grad=True), "w": good["w"]}
        with pytest.raises(sn.CallError, match=r"'p\.pos' has shape .* to be 3"):
            f(bad, _result="tensor")
        with pytest.raises(sn.CallError, match=r"'p\.pos' has shape .* to be 3"):
            f.bwds(bad, _result=y)


def test_outputs_inside_a_dict_are_written_whatever_their_layout(session: Any) -> None:
    step = session.compile(STRUCT).step
    pos, w = np.ones((2, 3), np.float32, order="F"), np.zeros(4, np.float32)[::2]
    for _ in range(2):
        step({"pos": pos, "w": w})
    assert pos.tolist() == [[4.0] * 3] * 2 and w.tolist() == [2, 2]
    w.flags.writeable = False
    with pytest.raises(sn.CallError, match=r"'p\.w' is read-only"):
        step({"pos": pos, "w": w})


SQUARE = "[Differentiable] float sq(float x) { return x * x; }"


def test_a_sliced_result_does_not_bring_the_wrong_seed(session: Any) -> None:
    sq = session.compile(SQUARE).sq
    r = sn.tensor(np.zeros((3, 2), np.float32), grad=True)
    x = sn.tensor(np.ones((2, 2), np.float32), grad=True)
    good = sn.tensor(np.zeros((2, 2), np.float32), grad=True)
    good.grad.copy_from_numpy(f32(1, 2, 3, 4).reshape(2, 2))
    sq.bwds(x, _result=good)
    assert x.grad.to_numpy().tolist() == [[2, 4], [6, 8]]
    with pytest.raises(sn.GradientError, match="slice"):
        sq.bwds(x, _result=r[1:3])


def test_a_slice_needs_a_gradient_of_its_own(session: Any, ones: Any) -> None:
    sq = session.compile(SQUARE).sq
    whole = sn.tensor(f32(0, 1, 2, 3), grad=True)
    y = ones(sq(sn.tensor(f32(1, 2)), _result="tensor"))
    for wrong in (whole[1:3], whole[1:3].detach().with_grads()):
        with pytest.raises(sn.GradientError, match=r"sn\.tensor\(x\[1\], grad=True\)"):
            sq.bwds(wrong, _result=y)
    right = sn.tensor(whole[1:3], grad=True)
    sq.bwds(right, _result=y)
    assert right.grad.to_numpy().tolist() == [2, 4]


def test_a_result_that_shares_memory_with_an_input_is_refused(session: Any) -> None:
    sq = session.compile(SQUARE).sq
    x = sn.tensor(f32(1, 2, 3), grad=True)
    with pytest.raises(sn.GradientError, match="shares its memory with 'x'"):
        sq.bwds(x, _result=x)
    with pytest.raises(sn.GradientError, match="shares its memory with 'x'"):
        sq.bwds(x, _result=sn.tensor(f32(0, 0, 0)).with_grads(x.grad, x.grad, zero=False))
    assert x.to_numpy().tolist() == [1, 2, 3]


@pytest.mark.filterwarnings("ignore:gt gives a tensor of bool")
def test_bool_results(session: Any) -> None:
    m = session.compile("bool gt(float x) { return x > 1; } int as_int(bool b) { return b ? 1 : 0; }")
    x = f32(0, 1, 2, 3)
    for call in (lambda: m.gt(2.0), lambda: m.gt(x, _result="numpy")):
        with pytest.raises(sn.CallError, match="returns bool"):
            call()
    assert m.as_int(m.gt(sn.tensor(x), _result="tensor"), _result="numpy").tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.whole(1.7), r"'v' is a float \(1\.7\), but the parameter is int"),
        (lambda m: m.whole(2**31), "int holds -2147483648 to 2147483647"),
        (lambda m: m.inc(1.0, 2.0), "'y' is written to, but 2.0 cannot hold a result"),
        (lambda m: m.inc(1.0, np.array(1.0, np.float32)), "0-dimensional"),
        (lambda m: m.sq(3.0, _result=np.array(0.0, np.float32)), "0-dimensional"),
        (lambda m: m.sq({"a": 1.0}), "'x' is a dict"),
        (lambda m: m.sq(None), "'x' is None"),
        (lambda m: m.sq(np.ma.masked_array(f32(1, 2), np.array([False, True]))), "masked array"),
    ],
)
def test_values_that_cannot_be_right(session: Any, call: Any, message: str) -> None:
    m = session.compile(
        "int whole(int v) { return v; } void inc(float x, inout float y) { y += x; }float sq(float x) { return x * x; }"
    )
    m.whole(1)
    m.inc(1.0, f32(0))
    m.sq(2.0)
    with pytest.raises(sn.CallError, match=message):
        call(m)


def test_a_closed_session_says_so() -> None:
    code = """
import slangnb as sn
s = sn.session()
m = s.compile("float f(float x) { return x; }")
m.f(1.0)
s.close()
s.close()
for use in (lambda: m.f(1.0), lambda: m.f(2), lambda: s.compile("float q(float x) { return x; }"), s.wait,
            lambda: s.use(s.backend.key), lambda: sn.tensor([1.0], session=s)):
    try:
        use()
    except sn.BackendError as error:
        print(error.message)
print(sn.session().compile("float f(float x) { return 2 * x; }").f(1.0))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["this session is closed"] * 6 + ["2.0"]


def test_overloads_are_told_apart(session: Any) -> None:
    m = session.compile("""
float ss(float x, float y) { return x * y; }
float ss(float x) { return x; }
float size(float2 v) { return length(v); }
float size(float x) { return abs(x); }
""")
    assert (m.ss(2.0, 3.0), m.ss(4.0), m.ss(2.0, 5.0)) == (6, 4, 10)
    for argument in (-2.0, (3.0, 4.0), f32(1, 2)):  # SlangPy broadcasts floats to vectors, so both fit
        with pytest.raises(sn.CallError, match="cannot tell which overload"):
            m.size(argument)


def test_generic_functions_are_checked_backward(session: Any, ones: Any) -> None:
    gd = session.compile("[Differentiable] T gd<T : __BuiltinFloatingPointType>(T x) { return x * x; }").gd
    x = sn.tensor(f32(1, 2, 3), grad=True)
    y = ones(gd(x, _result="tensor"))
    for _ in range(2):
        gd.bwds(x, _result=y)
        assert x.grad.to_numpy().tolist() == [2, 4, 6]
    gd.bwds(x, _result=y, accumulate=True)
    assert x.grad.to_numpy().tolist() == [4, 8, 12]
    for wrong in ({"_result": y.detach()}, {"_result": f32(1, 1, 1)}, {}):
        with pytest.raises(sn.GradientError, match="_result must be a tensor"):
            gd.bwds(x, **wrong)
    with pytest.raises(sn.GradientError, match="slice"):
        gd.bwds(sn.tensor(f32(0, 1, 2, 3), grad=True)[1:4], _result=y)


def test_gradient_of_another_type_is_refused(session: Any, ones: Any) -> None:
    sq = session.compile(SQUARE).sq
    y = ones(sq(sn.tensor(f32(1, 2)), _result="tensor"))
    odd = sn.tensor(np.zeros(2))
    with pytest.raises(sn.GradientError, match="holds float, but its gradient double"):
        sq.bwds(sn.tensor(f32(1, 2)).with_grads(odd, odd, zero=False), _result=y)


def test_dict_for_a_vector_and_texture_results(session: Any) -> None:
    m = session.compile("float total(float3 v) { return v.x + v.y + v.z; } float3 triple(float x) { return x; }")
    assert m.total({"x": f32(1, 2), "y": 2.0, "z": 3.0}, _result="numpy").tolist() == [6, 7]
    for call in (lambda x: m.triple(x, _result="texture"), m.triple.return_type("texture")):
        with pytest.raises(sn.CallError, match="returns float3, which no texture can hold"):
            call(np.ones((4, 4), np.float32))


def test_numbers_that_do_not_fit() -> None:
    assert sn.tensor([2**40, 1]).to_numpy().tolist() == [2**40, 1]
    for data in ([300.7], [-1], [float("nan")]):
        with pytest.raises(sn.CallError, match="uint8 holds 0 to 255"):
            sn.tensor(data, dtype="uint8_t")


def test_backward_function_is_made_once(session: Any) -> None:
    sq = session.compile(SQUARE).sq
    assert sq.bwds is sq.bwds


@pytest.mark.parametrize(
    "odd",
    [lambda a: a[::-1], lambda a: np.repeat(a, 2)[::2], lambda a: np.stack([a, a], 1)[:, :1], lambda a: a[:, None]],
    ids=["reversed", "strided", "column", "new axis"],
)
def test_dimensions_of_one_with_odd_strides(session: Any, odd: Any) -> None:
    """Numpy calls any stride of a dimension of one contiguous; SlangPy does not."""
    f = session.compile("float odd_strides(float a, float x) { return a * x; }").odd_strides
    for n in (1, 1, 3):
        x = odd(np.arange(1, n + 1, dtype=np.float32))
        assert f(2.0, x, _result="numpy").tolist() == (2 * x).tolist()
        assert f(2.0, x.copy(), _result="numpy").tolist() == (2 * x).tolist()
        assert f(2.0, x).to_numpy().tolist() == (2 * x).tolist()
        assert sn.tensor(x).to_numpy().tolist() == x.tolist()
        assert tidy(x).strides == packed_strides(x.shape, 4)


def test_arrays_of_int8(session: Any) -> None:
    """Our own kernels read them; SlangPy's, which calls with outputs need, read tensors alone."""
    m = session.compile("""
        float small(int8_t x) { return float(x); }
        void twice(int8_t x, out int8_t y) { y = int8_t(2 * x); }
    """)
    x, y = np.array([1, 2, -3], np.int8), sn.tensor(np.zeros(3, np.int8))
    assert m.small(x, _result="numpy").tolist() == [1, 2, -3]
    for name, call in (("x", lambda: m.twice(x, y)), ("y", lambda: m.twice(sn.tensor(x), np.zeros(3, np.int8)))):
        with pytest.raises(sn.CallError, match=f"^'{name}' is an array of int8, which SlangPy 0.43") as caught:
            call()
        assert caught.value.remedy == f"pass a tensor: sn.tensor({name})"
    m.twice(sn.tensor(x), y)
    assert y.to_numpy().tolist() == [2, 4, -6]
