"""Numbers and lists that a transform takes are the ones that it computes with: nothing is cut off, wrapped or read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

XS = np.array([1, 2, 3], np.float32)
SOURCE = """
[Differentiable] float times(float x, int n) { return x * n; }
[Differentiable] float first(float x, int2 n) { return x * n.x; }
[Differentiable] float wide(float x, uint64_t n) { return x * n; }
[Differentiable] float either(float x, bool b) { return b ? x : 2 * x; }
[Differentiable] float square(float a, float x) { return a * x * x; }
struct S : IDifferentiable { float a; int k; }
[Differentiable] float of(S s, float x) { return s.a * s.k * x; }
[Differentiable] void filled(float a, float x, out float y) { y = a * x; }
"""


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile(SOURCE)


INT = "int holds -2147483648 to 2147483647"


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (np.float32(2.7), r"'n' is a float \(2.7\d*\), but the parameter is int"),
        (np.float32("nan"), r"'n' is a float \(nan\)"),
        (np.float64("inf"), r"'n' is a float \(inf\)"),
        (np.int64(2**32 + 3), f"'n' is 4294967299, but {INT}"),
        (np.uint64(2**63), f"'n' is 9223372036854775808, but {INT}"),
        (np.complex64(2.7 + 1j), f"'n': .* does not fit int; {INT}"),
        (np.str_("3"), "'n' is a text"),
        (np.datetime64(3, "s"), f"'n': .* does not fit int; {INT}"),
        ([2.7], r"'n' holds a float \(2.7\)"),
        ([2**40], f"'n' holds 1099511627776, but {INT}"),
        ([np.complex64(2)], "'n' holds complex64"),
        (["3"], "'n' holds '3'"),
        ([None], "'n' holds None"),
        ([[1], [2, 3]], "'n' holds lists of different lengths"),
    ],
    ids=repr,
)
def test_what_is_no_whole_number_of_the_range_is_refused(m: Any, n: Any, message: str) -> None:
    with pytest.raises(sn.CallError, match=message) as caught:
        sn.value_and_grad(m.times)(2.0, n)
    assert caught.value.argument == "n"


def test_whole_numbers_of_any_type(m: Any) -> None:
    f = sn.value_and_grad(m.times, "x")
    for n in (5, np.int64(5), np.uint8(5)):
        assert f(2.0, n) == (10.0, 5.0)
    assert f(2.0, [2, -3]) == (-2.0, -1.0)
    for n in (2**63, np.uint64(2**63), [2**63]):
        assert sn.value_and_grad(m.wide, "x")(2.0, n) == (2.0**64, 2.0**63)


def test_the_numbers_of_a_later_call_are_looked_at(m: Any) -> None:
    f, g = sn.value_and_grad(m.times), sn.value_and_grad(m.either, "x")
    assert f(2.0, np.int64(3))[0] == 6.0
    assert m.times(2.0, np.int64(3)) == 6.0
    assert (g(2.0, 1), g(2.0, np.bool_(0))) == ((2.0, 1.0), (4.0, 2.0))
    for call in (lambda: f(2.0, np.int64(2**32 + 3)), lambda: m.times(2.0, np.int64(2**32 + 3))):
        with pytest.raises(sn.CallError, match="does not fit int"):
            call()
    with pytest.raises(sn.CallError, match="2 does not fit bool; bool holds 0 to 1"):
        g(2.0, 2)


def test_vectors_and_fields(m: Any) -> None:
    import slangpy as spy

    for n in ([1.5, 2], (1.5, 2), spy.float2(1.5, 2)):
        with pytest.raises(sn.CallError, match=r"'n' holds a float|'n': .* does not fit int2; int holds"):
            sn.value_and_grad(m.first)(2.0, n)
    assert sn.value_and_grad(m.first, "x")(2.0, spy.float2(3.0, 2)) == (6.0, 3.0)
    for k in (np.float32(2.5), [2.5]):
        with pytest.raises(sn.CallError, match=r"'s.k'.* int") as caught:
            sn.value_and_grad(m.of)({"a": 1.0, "k": k}, 1.0)
        assert caught.value.argument == "s.k"


@pytest.mark.parametrize("n", [float("nan"), float("inf")])
def test_floats_that_cannot_be_rounded(m: Any, n: float) -> None:
    for call in (lambda: sn.value_and_grad(m.times)(XS, n), lambda: m.times(XS, n)):
        with pytest.raises(sn.CallError, match=f"'n' is a float \\({n}\\), but the parameter is int") as caught:
            call()
        assert caught.value.remedy == "pass a whole number"


@pytest.mark.parametrize(
    "a", [["1"], np.str_("3"), np.datetime64(3, "s"), np.complex64(1j), [np.complex64(1j), 2, 3]], ids=repr
)
def test_texts_dates_and_complex_numbers_are_no_floats(m: Any, a: Any) -> None:
    with pytest.raises(sn.CallError, match=r"'a': .* does not fit float|'a' is a text|'a' holds") as caught:
        sn.value_and_grad(m.square)(a, XS)
    assert caught.value.argument == "a"


def test_large_whole_numbers_are_floats(m: Any) -> None:
    assert sn.grad(m.square, "x")(2**70, 1.0) == 2.0**71
    assert sn.grad(m.square, "x")([2**70, 1, 2], XS).tolist() == [2.0**71, 4, 12]


@pytest.mark.parametrize("seed", [1j, "3", np.complex64(1j), ["1", "2", "3"]], ids=repr)
def test_seeds_are_numbers(m: Any, seed: Any) -> None:
    with pytest.raises(sn.CallError, match=r"the seed is no number|does not fit float|the seed holds"):
        sn.value_and_grad(m.square, seed=seed)(2.0, XS)
    with pytest.raises(sn.CallError, match=r"the seed is no number|the seed holds no numbers"):
        sn.value_and_grad(m.filled, seed=seed)(2.0, XS, sn.tensor(np.zeros(3, np.float32)))
    assert sn.value_and_grad(m.square, "a", seed=[1, 2, 3])(2.0, XS) == (72.0, 36.0)
