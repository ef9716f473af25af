"""The model: what is drawn of a value and its gradient, and what is said about it."""

import subprocess
import sys

import numpy as np
import pytest

from slangnb.errors import CallError
from slangnb.views.array_source import pair_model
from slangnb.views.measure import Limits


def test_value_and_gradient() -> None:
    value, gradient = np.array([9, 23, 41, 63], np.float32), np.array([12, 16, 20, 24], np.float32)
    model = pair_model(value, gradient, name="y", device="llvmpipe")
    assert (model.name, model.dtype, model.shape, model.device) == ("y", "float32", (4,), "llvmpipe")
    assert model.value.limits == Limits(9.0, 63.0)
    assert model.gradient is not None
    assert model.gradient.limits == Limits(-24.0, 24.0, True)
    assert model.value.array.tolist() == [[9, 23, 41, 63]]
    assert [role for role, _ in model.panels] == ["value", "gradient"]
    assert model.caption == model.note == ""


def test_notes_in_words() -> None:
    zero = pair_model(np.arange(3.0), np.zeros(3), name="x")
    assert zero.note == "gradient is 0 everywhere"
    bad = pair_model(np.array([np.nan, 1, np.inf]), np.array([np.nan, -np.inf, 2]), name="x")
    assert bad.note == "value: 1 NaN, 1 +Inf; gradient: 1 NaN, 1 -Inf"


def test_a_mark_outside_the_slice_is_said() -> None:
    volume = np.zeros((4, 3, 3))
    volume[0, 0, 0] = np.nan
    model = pair_model(volume, name="x")
    assert model.caption == "slice [2, :, :] of 4"
    assert model.note == "value: 1 NaN (none in this slice)"


def test_long_lines_keep_a_lone_peak() -> None:
    line = np.zeros(100_000, np.float32)
    line[77_777] = 5.0
    panel = pair_model(line, name="x").value
    assert panel.array.shape == (1, 1024)
    assert panel.upper is not None
    assert panel.upper.max() == 5.0
    assert panel.caption == "100000 elements drawn as the smallest and largest of each of 1024 columns"
    assert pair_model(np.zeros(4096), name="x").value.caption == ""


def test_large_images_keep_peaks_and_marks() -> None:
    image = np.zeros((1000, 700), np.float32)
    image[501, 333], image[2, 3] = -4.0, np.nan
    model = pair_model(image, image, name="x")
    assert model.value.array.shape == (500, 350)
    assert model.value.array.min() == -4.0
    assert np.argwhere(model.value.marks.nan).tolist() == [[1, 1]]
    assert model.caption == "each pixel shows the most extreme of 2 x 2 elements"


def test_vectors_become_lines() -> None:
    model = pair_model(np.arange(12.0).reshape(4, 3), name="p", element=(3,))
    assert (model.dtype, model.shape, model.value.kind) == ("double3", (4,), "line")
    assert model.value.array.tolist() == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    assert model.value.labels == ("x", "y", "z")


def test_colours_and_their_gradient() -> None:
    image = np.full((6, 7, 3), 0.5, np.float32)
    model = pair_model(image, -image, name="c", element=(3,))
    assert model.value.kind == "rgb"
    assert model.gradient is not None
    assert model.gradient.kind == "facets"
    assert model.gradient.array.shape == (3, 6, 7)
    assert model.gradient.labels == ("r", "g", "b")
    assert pair_model(image * 3, name="c", element=(3,)).value.kind == "facets"


def test_plain_arrays_with_a_short_last_axis() -> None:
    assert pair_model(np.zeros((6, 7, 3), np.uint8), name="c").caption == "last axis drawn as colour"
    field = pair_model(np.full((6, 7, 2), 9.0), name="c")
    assert (field.value.kind, field.shape, field.caption) == (
        "facets",
        (6, 7, 2),
        "last axis drawn as 2 components",
    )
    assert pair_model(np.zeros((3, 3, 3)), name="c").value.kind == "image"


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float64", ">f4"])
def test_element_types(dtype: str) -> None:
    assert pair_model(np.array([0, 1, 1], dtype), name="x").value.stats.max == 1.0


def test_refusals() -> None:
    with pytest.raises(CallError, match="z is complex") as complex_:
        pair_model(np.array([1j]), name="z")
    assert "z.real" in complex_.value.remedy
    with pytest.raises(CallError, match="holds no numbers"):
        pair_model(np.array(["a"]), name="s")
    with pytest.raises(CallError, match=r"gradient of x has shape \(2,\)"):
        pair_model(np.zeros(3), np.zeros(2), name="x")


@pytest.mark.parametrize("shape", [(2,), (5000,), (9, 8), (600, 900), (4, 5, 3)])
def test_the_arrays_given_are_not_changed(shape: tuple[int, ...]) -> None:
    value = np.random.default_rng(0).normal(size=shape)
    value.reshape(-1)[[0, -1]] = np.nan, -np.inf
    gradient = -value
    kept = value.copy(), gradient.copy()
    pair_model(value, gradient, name="x")
    np.testing.assert_array_equal(value, kept[0])
    np.testing.assert_array_equal(gradient, kept[1])


def test_the_model_needs_neither_matplotlib_nor_widgets() -> None:
    code = (
        "import sys, slangnb.views.model, slangnb.views.text; "
        "print(sorted({'matplotlib', 'ipywidgets', 'IPython', 'slangpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
