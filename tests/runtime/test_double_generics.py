"""Generic functions compute in double where their arguments are: Python's numbers are not rounded to float before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.special import inferred

SOURCE = """
[Differentiable] T times<T : __BuiltinFloatingPointType>(T a, T x) { return a * x; }
T pick<T : __BuiltinFloatingPointType, let N : int>(T a, T x[N]) { return a * x[N - 1]; }
"""
D = np.array([1.0, 2.0])
F = D.astype(np.float32)
TENTH = float(np.float32(0.1))


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.mark.parametrize("a", [0.1, np.float64(0.1)], ids=repr)
def test_plain_calls_in_double(m: Any, a: Any) -> None:
    for found in (m.times(a, D, _result="numpy"), m.times(D, a, _result="numpy"), m.times(x=D, a=a, _result="numpy")):
        assert found.dtype == np.float64 and found.tolist() == [0.1, 0.2]
    assert m.times(a, sn.tensor(D)).to_numpy().tolist() == [0.1, 0.2]
    assert m.times(D, [0.1, 0.2], _result="numpy").tolist() == [0.1, 0.4]


def test_single_calls(m: Any) -> None:
    assert m.times(np.float32(0.1), np.float32(3)) == float(np.float32(np.float32(0.1) * np.float32(3)))
    assert m.times(np.float64(0.1), np.float64(3)) == 0.1 * 3
    assert m.times(0.1, np.float64(3)) == 0.1 * 3


def test_float_stays_float(m: Any) -> None:
    for a in (0.1, np.float64(0.1)):
        assert m.times(a, F, _result="numpy").tolist() == [TENTH, 2 * TENTH]
        assert sn.grad(m.times, "x")(a, F).tolist() == [np.float32(0.1)] * 2


def test_sizes_may_differ_from_call_to_call(m: Any) -> None:
    for n in (2, 3, 2):
        x = np.arange(4 * n, dtype=np.float64).reshape(4, n)
        assert m.pick(0.1, x, _result="numpy").tolist() == (0.1 * x[:, -1]).tolist()


def test_several_generic_functions_of_one_name(session: Any) -> None:
    m = session.compile("""
        [Differentiable] T of<T : __BuiltinFloatingPointType>(T a, T x) { return a * x; }
        [Differentiable] vector<T, 2> of<T : __BuiltinFloatingPointType>(T a, vector<T, 2> x) { return a * x; }
    """)
    with pytest.raises(sn.CallError, match=r"^of: Could not call function"):
        m.of(0.1, D, _result="numpy")
    with pytest.raises(KeyError, match="no function 'of<double>'"):
        m["of<double>"]


@pytest.mark.parametrize(
    ("a", "x"), [(np.float64(0.1), np.float64(3)), (0.1, np.float64(3)), (0.1, np.array([3.0])), (np.array([0.1]), 3.0)]
)
def test_transforms(m: Any, a: Any, x: Any) -> None:
    value, grads = sn.value_and_grad(m.times)(a, x)
    assert value == 0.1 * 3 and grads == {"a": 3.0, "x": 0.1}


def test_the_new_function_after_a_rebuild(session: Any) -> None:
    text = "T scaled<T : __BuiltinFloatingPointType>(T a, T x) {{ return {} * a * x; }}"
    m = session.compile(text.format("T(1)"), "rebuilt_generic")
    assert m.scaled(0.1, D, _result="numpy").tolist() == [0.1, 0.2]
    session.compile(text.format("T(2)"), "rebuilt_generic")
    assert m.scaled(0.1, D, _result="numpy").tolist() == [0.2, 0.4]


def test_arrays_tell_the_type_before_numbers(m: Any) -> None:
    info = m.times.info
    for values, want in (
        ((0.1, F), "float"),
        ((np.float64(0.1), F), "float"),
        ((0.1, np.float64(1)), "double"),
        ((np.float32(0.1), D), "double"),
        ((0.1, F.astype(np.float16)), "half"),
        ((0.1, 1.0), "float"),
    ):
        assert inferred(info, values, {}) == f"times<{want}>"
