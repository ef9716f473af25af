"""Value against gradient: every finite element is placed once, and nothing is left out in silence."""

import io
import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from slangnb.errors import CallError
from slangnb.views.scatter import CELLS_ACROSS, CELLS_DOWN, MOST_POINTS, ScatterView, scatter_model
from slangnb.views.style import POSITIVE_SOFT

RNG = np.random.default_rng(0)


def test_points_pair_value_and_gradient() -> None:
    model = scatter_model(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]]), name="x")
    assert model.points is not None
    assert model.points.tolist() == [[1, 5], [2, 6], [3, 7], [4, 8]]
    assert model.counts is None


def test_what_is_not_finite_is_left_out_and_said() -> None:
    model = scatter_model(np.array([1.0, np.nan, 3.0, 4.0]), np.array([1.0, 2.0, np.inf, 4.0]), name="x")
    assert (model.shown, model.left_out) == (2, 2)
    assert "2 left out" in model.caption


def test_density_counts_every_element_in_its_cell() -> None:
    # Two clusters in opposite corners.
    value = np.where(np.arange(5000) < 1000, -1.0, 1.0)
    model = scatter_model(value, 2 * value, name="x")
    assert model.counts is not None
    assert model.counts.shape == (CELLS_DOWN, CELLS_ACROSS)
    assert model.counts.sum() == 5000
    assert (model.counts[0, 0], model.counts[-1, -1]) == (1000, 4000)


def test_large_arrays_are_counted_in_pieces() -> None:
    value = RNG.standard_normal((1100, 1000)).astype(np.float32)
    gradient = value**2
    gradient[0, 0] = np.nan
    model = scatter_model(value, gradient, name="x")
    assert model.counts is not None
    assert model.counts.sum() == model.shown == value.size - 1


def test_points_become_density_beyond_the_limit() -> None:
    few, many = np.arange(float(MOST_POINTS)), np.arange(MOST_POINTS + 1.0)
    assert scatter_model(few, few, name="x").points is not None
    assert scatter_model(many, many, name="x").points is None


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_correlation_is_that_of_numpy(scale: float, shift: float) -> None:
    x = RNG.standard_normal(500) + shift
    y = 0.5 * x + RNG.standard_normal(500)
    found = scatter_model(x * scale, y, name="x").correlation
    assert found is not None
    assert abs(found - np.corrcoef(x, y)[0, 1]) < 1e-6


def test_correlation_of_what_does_not_vary() -> None:
    assert scatter_model(np.full(5, 3.0), np.arange(5.0), name="x").correlation is None
    assert scatter_model(np.arange(5.0), np.zeros(5), name="x").correlation is None


def test_without_gradient() -> None:
    with pytest.raises(CallError, match=r"no gradient(.|\n)*grad=True"):
        scatter_model(np.zeros(3), None, name="x")


def test_a_gradient_of_another_shape() -> None:
    with pytest.raises(CallError, match="shape"):
        scatter_model(np.zeros(3), np.zeros(4), name="x")


def test_complex_numbers() -> None:
    with pytest.raises(CallError, match="complex"):
        scatter_model(np.zeros(3, complex), np.zeros(3), name="x")


CASES = {
    "nothing finite": (np.full(5, np.nan), np.ones(5)),
    "constant": (np.full(5, 3.0), np.zeros(5)),
    "constant, many": (np.full(5000, 3.0), np.zeros(5000)),
    "empty": (np.zeros((0, 3)), np.zeros((0, 3))),
    "number": (np.array(2.0), np.array(3.0)),
    "huge": (np.array([1.7e308, -1.7e308] * 2000), np.array([1e308, -1e308] * 2000)),
    "tiny": (np.array([1e-310, -1.7e-308]), np.array([1e-300, -1e-308])),
    "half": (np.arange(30, dtype=np.float16), np.arange(30, dtype=np.float16)),
    "integers": (np.arange(5000), np.arange(5000)),
    "booleans": (np.arange(3000) % 2 == 0, np.arange(3000)),
}


@pytest.mark.parametrize("case", CASES)
def test_everything_can_be_drawn(case: str) -> None:
    value, gradient = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        view = ScatterView(scatter_model(value, gradient, name=case))
        data, _ = view._repr_mimebundle_()
    assert case in data["text/plain"]
    assert "<script" not in data["text/html"]
    assert view._png == ScatterView(scatter_model(value, gradient, name=case))._png


def test_a_point_is_drawn_where_it_belongs() -> None:
    view = ScatterView(scatter_model(np.array([0.0, 1.0]), np.array([1.0, 1.0]), name="x"))
    pixels = np.asarray(Image.open(io.BytesIO(view._png)).convert("RGB")).astype(int)
    teal = np.abs(pixels - (65, 127, 153)).sum(axis=2) < 12  # of a point, a little transparent
    rows = np.flatnonzero(teal[:, : pixels.shape[1] * 4 // 5].any(axis=1))
    # Both gradients are the largest: all points lie in the upper part of the axes.
    assert rows.size
    assert rows.max() < pixels.shape[0] / 4


@pytest.mark.parametrize("count", [20, MOST_POINTS + 1])
def test_a_gradient_of_zeros_has_no_bar_of_a_sign(count: int) -> None:
    wanted = np.array(to_rgb(POSITIVE_SOFT)) * 255
    for slope, seen in ((0.0, False), (1.0, True)):
        view = ScatterView(scatter_model(np.linspace(0, 1, count), np.full(count, slope), name="x"))
        pixels = np.asarray(Image.open(io.BytesIO(view._png)).convert("RGB")).astype(float)
        assert bool((np.abs(pixels - wanted).max(axis=2) < 2).any()) is seen


def test_vectors_say_what_a_point_is() -> None:
    model = scatter_model(np.ones((4, 3)), np.ones((4, 3)), name="x", element=(3,), device="llvmpipe", remark="seed")
    assert model.caption == "one point per component of an element; seed"
    assert model.words == "double3 (4,) on llvmpipe"
