"""Which part is drawn, and the reductions that lose no peak and no mark."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from slangnb.views.reduce import block_steps, blocks, choose, colours, envelope

ALL = slice(None)


@pytest.mark.parametrize(
    ("shape", "element", "colour", "kind", "index", "labels", "caption"),
    [
        ((), (), False, "scalar", (), (), ""),
        ((5,), (), False, "line", (ALL,), (), ""),
        ((0,), (), False, "empty", (), (), ""),
        ((0, 3), (), False, "empty", (), (), ""),
        ((6, 7), (), False, "image", (ALL, ALL), (), ""),
        ((1, 7), (), False, "line", (0, ALL), (), "row [0, :] drawn as a line"),
        ((7, 1), (), False, "line", (ALL, 0), (), "column [:, 0] drawn as a line"),
        ((1, 1), (), False, "image", (ALL, ALL), (), ""),
        ((8, 6, 7), (), False, "image", (4, ALL, ALL), (), "slice [4, :, :] of 8"),
        ((8, 5, 6, 7), (), False, "image", (4, 2, ALL, ALL), (), "slice [4, 2, :, :] of (8, 5)"),
        ((9,), (3,), False, "line", (ALL, ALL), ("x", "y", "z"), ""),
        ((9,), (3,), True, "line", (ALL, ALL), ("x", "y", "z"), ""),
        ((1,), (3,), False, "line", (0, ALL), ("x", "y", "z"), ""),
        ((6, 7), (2,), True, "facets", (ALL, ALL, ALL), ("x", "y"), ""),
        ((6, 7), (3,), True, "rgb", (ALL, ALL, ALL), ("r", "g", "b"), ""),
        ((6, 7), (4,), True, "rgb", (ALL, ALL, ALL), ("r", "g", "b", "a"), ""),
        ((6, 7), (3,), False, "facets", (ALL, ALL, ALL), ("x", "y", "z"), ""),
        ((4, 6, 7), (3,), True, "rgb", (2, ALL, ALL, ALL), ("r", "g", "b"), "slice [2, :, :] of 4"),
        ((6, 7), (8,), False, "facets", (ALL, ALL, slice(4)), ("0", "1", "2", "3"), "components 0 to 3 of 8"),
        ((5,), (8,), False, "image", (ALL, ALL), (), "one row per element, one column per component"),
        ((5,), (2, 2), False, "image", (2, ALL, ALL), (), "slice [2, :, :] of 5"),
    ],
)
def test_axis_choice(
    shape: tuple[int, ...],
    element: tuple[int, ...],
    colour: bool,
    kind: str,
    index: tuple[object, ...],
    labels: tuple[str, ...],
    caption: str,
) -> None:
    found = choose(shape, element, colour=colour)
    assert (found.kind, found.index, found.labels, found.caption) == (kind, index, labels, caption)


def test_envelope_is_exact() -> None:
    line = np.array([[0.0, 5.0, -1.0, 2.0, np.nan, np.inf, np.nan, np.nan]])
    low, high, found, positions = envelope(line, columns=4)
    np.testing.assert_array_equal(low, [[0.0, -1.0, np.nan, np.nan]])
    np.testing.assert_array_equal(high, [[5.0, 2.0, np.nan, np.nan]])
    np.testing.assert_array_equal(positions, [0.5, 2.5, 4.5, 6.5])
    assert found.nan.tolist() == [[False, False, True, True]]
    assert found.pos_inf.tolist() == [[False, False, True, False]]


@settings(max_examples=100, deadline=None)
@given(
    arrays.arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(5, 60)), elements=st.floats()),
    st.data(),
)
def test_envelope_keeps_extremes_and_marks(lines: np.ndarray, data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, lines.shape[1]))
    low, high, found, positions = envelope(lines, columns)
    assert low.shape == high.shape == found.nan.shape == (lines.shape[0], columns)
    assert positions.shape == (columns,)
    finite = lines[np.isfinite(lines)]
    if finite.size:
        assert np.nanmin(low) == finite.min()
        assert np.nanmax(high) == finite.max()
    assert found.nan.any() == np.isnan(lines).any()
    assert found.pos_inf.any() == np.isposinf(lines).any()


def test_blocks_are_exact() -> None:
    image = np.array([[1.0, 2.0, 3.0], [1.0, 9.0, -7.0], [np.nan, 4.0, 5.0]])
    about_mean, found = blocks(image, (2, 2), about_zero=False)
    np.testing.assert_array_equal(about_mean, [[9.0, 3.0], [4.0, 5.0]])
    about_zero, _ = blocks(image, (2, 2), about_zero=True)
    np.testing.assert_array_equal(about_zero, [[9.0, -7.0], [4.0, 5.0]])
    assert found.nan.tolist() == [[False, False], [True, False]]


def test_a_block_without_finite_elements_is_a_gap() -> None:
    drawn, found = blocks(np.full((2, 2), -np.inf), (2, 2), about_zero=False)
    assert np.isnan(drawn).all()
    assert found.neg_inf.all()
    assert not found.nan.any()


@settings(max_examples=100, deadline=None)
@given(
    arrays.arrays(np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.floats()),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
def test_blocks_keep_the_largest_magnitude_and_every_mark(image: np.ndarray, steps: tuple[int, int]) -> None:
    drawn, found = blocks(image, steps, about_zero=True)
    assert drawn.shape == found.nan.shape == (-(-image.shape[0] // steps[0]), -(-image.shape[1] // steps[1]))
    finite = np.abs(image[np.isfinite(image)])
    # Magnitudes are compared after halving, which the smallest numbers do not survive.
    if finite.size and finite.max() > 1e-300:
        assert np.nanmax(np.abs(drawn)) == finite.max()
    assert found.nan.any() == np.isnan(image).any()
    assert found.pos_inf.any() == np.isposinf(image).any()
    assert found.neg_inf.any() == np.isneginf(image).any()


@pytest.mark.parametrize(
    ("rows", "columns", "steps"),
    [(512, 512, (1, 1)), (513, 12, (2, 1)), (800, 1200, (2, 3)), (1024, 1024, (2, 2)), (2000, 1500, (4, 4))],
)
def test_block_steps(rows: int, columns: int, steps: tuple[int, int]) -> None:
    assert block_steps(rows, columns) == steps


def test_colours_are_whole_and_marked() -> None:
    image = np.zeros((4, 4, 3))
    image[3, 3, 2] = np.nan
    drawn, found = colours(image, (2, 2))
    assert drawn.shape == (2, 2, 3)
    assert found.nan.tolist() == [[False, False], [False, True]]
    assert colours(np.full((1, 1, 3), 255, np.uint8), (1, 1))[0].tolist() == [[[255, 255, 255]]]
