"""Numbers and models in words."""

import numpy as np
import pytest

from slangnb.views.array_source import pair_model
from slangnb.views.text import alternative, dtype_words, elements, number, plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (4.0, "4"),
        (5.4772, "5.477"),
        (-1e-7, "-1e-07"),
        (16777216.0, "1.678e+07"),
        (123456.0, "123456"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(152.3, 2, "152"), (94837.6, 4, "94838"), (-152.7, 2, "-153"), (9.996, 2, "10"), (2.34e6, 2, "2.3e+06")],
)
def test_numbers_below_a_million_have_no_exponent(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.0, -2.5, np.nan, np.inf]), "[1. -2.5 nan inf]"),
        (np.array([1, 2], np.int32), "[1 2]"),
        (np.array([True, False]), "[True False]"),
        (np.array([0.1], np.float32), "[0.1]"),
        (np.arange(13), "[0 1 2 ... 10 11 12]"),
        (np.arange(4).reshape(2, 2), "[[0 1] [2 3]]"),
        (np.zeros((5, 5)), ""),
        (np.array(2.0), "2."),
    ],
)
def test_elements(array: np.ndarray, text: str) -> None:
    assert elements(array) == text


def test_dtype_words() -> None:
    assert dtype_words(np.dtype("f4"), (4,)) == "float4"
    assert dtype_words(np.dtype("i4"), (2,)) == "int2"
    assert dtype_words(np.dtype("f4"), (3, 4)) == "float3x4"
    assert dtype_words(np.dtype("f4"), (8,)) == "float[8]"


def test_plain_text() -> None:
    value, gradient = np.array([1, 2, 3, 4], np.float32), np.array([12, 16, 20, 24], np.float32)
    assert plain(pair_model(value, gradient, name="x", device="llvmpipe")) == (
        "x  float32 (4,) on llvmpipe\n"
        "  value     [1. 2. 3. 4.]  min 1  max 4  mean 2.5  norm 5.477\n"
        "  gradient  [12. 16. 20. 24.]  min 12  max 24  mean 18  norm 37.09"
    )
    assert plain(pair_model(np.zeros((0, 3), np.float32), name="x")) == "x  float32 (0, 3)\n  value     empty"
    assert plain(pair_model(np.array(np.nan), name="x")).splitlines() == [
        "x  float64",
        "  value     nan  1 NaN",
        "  note      value: 1 NaN",
    ]


def test_alternative_text() -> None:
    value = np.linspace(-0.82, 1, 12, dtype=np.float32).reshape(3, 4)
    gradient = np.full((3, 4), 2.01, np.float32)
    gradient[0] = (-2.03, np.nan, np.nan, 0)
    assert alternative(pair_model(value, gradient, name="height")) == (
        "height: float32 (3, 4), value from -0.82 to 1; gradient from -2.03 to 2.01, 2 NaN"
    )
    assert alternative(pair_model(np.ones(3), np.zeros(3), name="x")) == (
        "x: float64 (3,), value 1 everywhere; gradient 0 everywhere"
    )
    assert alternative(pair_model(np.zeros((4, 5, 5)), name="v")).endswith("; slice [2, :, :] of 4")
    assert alternative(pair_model(np.zeros(0), name="e")) == "e: float64 (0,), value empty"


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (1e6 + np.array([-2.25, 2.5]), "min 999997.75  max 1000002.5"),
        (np.array([-5e6, 5e6]), "min -5e+06  max 5e+06"),
        (np.array([99.5, 101.4321]), "min 99.5  max 101.4"),
        (np.array([5e-324, 1e-323]), "min 4.941e-324  max 9.881e-324"),
    ],
)
def test_the_smallest_and_the_largest_number_are_told_apart(array: np.ndarray, said: str) -> None:
    model = pair_model(array, name="x")
    assert said in plain(model)
    assert said.replace("min ", "from ").replace("  max", " to") in alternative(model)
