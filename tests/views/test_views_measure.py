"""Statistics, limits, histograms and marks."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from slangnb.views.measure import Histogram, Limits, Measured, Stats, fits_single, histogram, limits, marks, measure
from slangnb.views.source import single


def test_statistics_are_exact() -> None:
    stats = measure(np.array([[3.0, 0.0], [-4.0, 5.0]], np.float32))
    assert stats == Stats(4, -4.0, 5.0, 1.0, math.sqrt(46 / 4), math.sqrt(50), 1, 0, 0, 0)


def test_statistics_are_those_of_the_finite_elements() -> None:
    stats = measure(np.array([1.0, np.nan, np.inf, -np.inf, np.inf, 3.0]))
    assert (stats.min, stats.max, stats.mean, stats.std) == (1.0, 3.0, 2.0, 1.0)
    assert (stats.nan, stats.pos_inf, stats.neg_inf) == (1, 2, 1)
    assert stats.not_finite == "1 NaN, 2 +Inf, 1 -Inf"


def test_nothing_finite_and_nothing_at_all() -> None:
    assert measure(np.array([np.nan])).min is None
    empty = measure(np.zeros((0, 3)))
    assert empty.empty
    assert empty.norm is None
    assert not empty.all_zero
    assert measure(np.zeros(3)).all_zero


def test_half_sums_in_float64() -> None:
    stats = measure(np.full(100_000, 2.0, np.float16))
    assert stats.mean == 2.0
    assert stats.norm == pytest.approx(2 * math.sqrt(100_000), rel=1e-12)


def test_arrays_longer_than_a_piece() -> None:
    array = np.arange(3 * (1 << 20) + 5, dtype=np.int64)
    stats = measure(array)
    assert (stats.min, stats.max, stats.zeros, stats.count) == (0.0, array.size - 1.0, 1, array.size)
    assert stats.mean == pytest.approx((array.size - 1) / 2, rel=1e-12)
    assert stats.std == pytest.approx(array.std(), rel=1e-12)


def test_numbers_near_the_ends_of_float64() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large, small = measure(np.array([1e308, -1e308, 1e308])), measure(np.array([1e-310, 1e-310]))
    assert large.norm == pytest.approx(math.sqrt(3) * 1e308)
    assert small.mean == 1e-310
    assert small.std == 0.0


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64"])
def test_element_types(dtype: str) -> None:
    stats = measure(np.array([0, 1, 1, 1], dtype))
    assert (stats.min, stats.max, stats.mean, stats.zeros) == (0.0, 1.0, 0.75, 1)


@pytest.mark.parametrize(
    ("values", "symmetric", "expected"),
    [
        ([-1.0, 3.0], False, Limits(-1.0, 3.0)),
        ([-1.0, 3.0], True, Limits(-3.0, 3.0, True)),
        ([12.0, 16.0], True, Limits(-16.0, 16.0, True)),
        ([0.0, 0.0], False, Limits(-0.5, 0.5)),
        ([0.0, 0.0], True, Limits(-1.0, 1.0, True)),
        ([10.0, 10.0], False, Limits(9.0, 11.0)),
        ([np.nan, np.inf], False, Limits(0.0, 1.0)),
        ([np.nan, -np.inf], True, Limits(-1.0, 1.0, True)),
        ([], False, Limits(0.0, 1.0)),
        ([np.nan, 2.0, 1.0, np.inf], False, Limits(1.0, 2.0)),
    ],
)
def test_limits(values: list[float], symmetric: bool, expected: Limits) -> None:
    assert limits(measure(np.array(values, np.float64)), symmetric=symmetric) == expected


ANY_FLOATS = arrays.arrays(np.float64, arrays.array_shapes(max_dims=2, max_side=8), elements=st.floats())


@settings(max_examples=150, deadline=None)
@given(ANY_FLOATS, st.booleans())
def test_limits_hold_every_finite_element(array: np.ndarray, symmetric: bool) -> None:
    found = limits(measure(array), symmetric=symmetric)
    finite = array[np.isfinite(array)]
    assert found.lo < found.hi
    assert math.isfinite(found.lo)
    assert math.isfinite(found.hi)
    assert ((finite >= found.lo) & (finite <= found.hi)).all()
    assert not symmetric or found.lo == -found.hi


@settings(max_examples=150, deadline=None)
@given(ANY_FLOATS)
def test_statistics_are_in_order_and_complete(array: np.ndarray) -> None:
    stats = measure(array)
    bad = stats.nan + stats.pos_inf + stats.neg_inf
    assert bad == np.count_nonzero(~np.isfinite(array))
    if stats.min is not None and stats.mean is not None and stats.max is not None:
        assert stats.min <= stats.mean <= stats.max


def test_marks_have_the_shape_of_the_array() -> None:
    found = marks(np.array([[np.nan, 1.0], [np.inf, -np.inf]]))
    assert found.nan.tolist() == [[True, False], [False, False]]
    assert found.pos_inf.tolist() == [[False, False], [True, False]]
    assert found.neg_inf.tolist() == [[False, False], [False, True]]
    assert found.any
    assert not marks(np.arange(3)).any


def test_histogram_counts_every_finite_element() -> None:
    array = np.append(np.linspace(0, 1, 1000), [np.nan, np.inf])
    found = histogram(array, measure(array), bins=10)
    assert found is not None
    assert found.counts.sum() == 1000
    assert found.edges[0] == 0.0
    assert found.edges[-1] == 1.0
    assert histogram(np.ones(100), measure(np.ones(100))) is None
    assert histogram(np.arange(3.0), measure(np.arange(3.0))) is None


def test_what_is_measured_is_measured_once_and_when_it_is_asked_for() -> None:
    array, done = np.arange(128.0), []

    def stats() -> Stats:
        done.append("stats")
        return measure(array)

    def counts(of: Stats) -> Histogram | None:
        done.append("histogram")
        return histogram(array, of)

    measured = Measured(stats, counts)
    assert not measured.taken
    assert measured.histogram is measured.histogram
    assert measured.stats == measure(array)
    assert measured.taken
    assert done == ["stats", "histogram"]
    known = Measured.known(measure(array), counts)
    assert known.taken
    assert known.histogram is not None
    assert known.histogram.counts.tolist() == [2] * 64
    assert done[2:] == ["histogram"]


@pytest.mark.parametrize(
    ("low", "high", "fits"),
    [
        (0.0, 0.0, True),
        (-3.0, 5.0, True),
        (0.1, 0.1, True),
        (1.0, 1.001, True),
        (1.0, 1.00001, False),
        (-1e31, 0.0, False),
        (-1e308, 1e308, False),
        (0.0, 1e-31, False),
    ],
)
def test_what_single_precision_holds(low: float, high: float, fits: bool) -> None:
    assert fits_single(low, high) is fits
    array = np.array([low, high, np.nan])
    assert single(array).dtype == (np.float32 if fits else np.float64)
