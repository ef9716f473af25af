"""The picture: it can be drawn for everything, is the same every time, and touches nothing global."""

import io
import os
import subprocess
import sys
import warnings

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from slangnb.views.array_source import pair_model
from slangnb.views.figure import drawing, page_size, to_png
from slangnb.views.model import PairModel
from slangnb.views.page import Page
from slangnb.views.page import drawing as own_settings

MAGENTA = (0xC0, 0x26, 0xD3)


def decode(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def drawn(model: PairModel) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return decode(to_png(model, dpi=60))


RNG = np.random.default_rng(0)
NOT_FINITE = np.array([np.nan, np.inf, -np.inf])
CASES: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
    "number": (np.array(3.5), ()),
    "not a number": (np.array(np.nan), ()),
    "empty": (np.zeros((0, 3)), ()),
    "four": (np.array([9, 23, 41, 63], np.float32), ()),
    "not finite": (np.append(np.arange(4.0), NOT_FINITE), ()),
    "nothing finite": (NOT_FINITE, ()),
    "nothing finite, image": (np.full((4, 4), np.nan), ()),
    "bytes": (np.arange(8, dtype=np.uint8), ()),
    "booleans": (RNG.random((9, 9)) > 0.5, ()),
    "half": (RNG.random(20).astype(np.float16), ()),
    "equal": (np.full(9, 1e6), ()),
    "nearly equal": (1e6 + np.arange(9) * 1e-3, ()),
    "curve": (np.sin(np.arange(500) / 40), ()),
    "long": (RNG.standard_normal(20_000), ()),
    "matrix": (RNG.standard_normal((3, 3)), ()),
    "image": (RNG.standard_normal((40, 60)), ()),
    "large": (RNG.standard_normal((600, 900)), ()),
    "strip": (RNG.standard_normal((2, 900)), ()),
    "column": (RNG.standard_normal((900, 2)), ()),
    "volume": (RNG.standard_normal((3, 20, 20)), ()),
    "colours": (RNG.random((12, 16, 3)), (3,)),
    "vectors": (RNG.standard_normal((30, 2)), (2,)),
    "one vector": (RNG.standard_normal((1, 4)), (4,)),
    "vector field": (RNG.standard_normal((12, 16, 4)), (4,)),
    "matrices": (RNG.standard_normal((5, 2, 2)), (2, 2)),
    "ends of float64": (np.array([[1e308, -1e308], [5e-324, 0.0]]), ()),
}


ALONE = ("number", "empty", "four", "curve", "image", "colours")


@pytest.mark.parametrize(("case", "graded"), [*((c, True) for c in CASES), *((c, False) for c in ALONE)])
def test_everything_can_be_drawn_without_a_warning(case: str, graded: bool) -> None:
    array, element = CASES[case]
    gradient = -array.astype(np.float64) if graded else None
    model = pair_model(array, gradient, name=case, element=element, device="llvmpipe")
    pixels = drawn(model)
    width, height = page_size([model])
    assert pixels.shape == (int(height * 60), int(width * 60), 3)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 4


@settings(max_examples=20, deadline=None)
@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=2, max_side=6), elements=st.floats(width=32)))
def test_any_floats_can_be_drawn(array: np.ndarray) -> None:
    pixels = drawn(pair_model(array, array[::-1], name="x"))
    marked = bool((pixels == MAGENTA).all(axis=-1).any())
    assert marked == (not np.isfinite(array).all())


@pytest.mark.parametrize("shape", [(40, 60), (600, 900), (5,), (5000,)])
def test_one_missing_element_is_seen(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape)
    clean = decode(to_png(pair_model(array + 1, name="x")))
    array.reshape(-1)[array.size // 2] = np.nan
    marked = decode(to_png(pair_model(array + 1, name="x")))
    # Most of the label's letters are blended with paper; the mark itself is not.
    assert (clean == MAGENTA).all(axis=-1).sum() == 0
    assert (marked == MAGENTA).all(axis=-1).sum() > 20


def test_the_sign_of_a_gradient_has_its_colour() -> None:
    value = np.zeros((20, 20))
    rise, fall = (drawn(pair_model(value, np.full((20, 20), s), name="x")) for s in (1.0, -1.0))
    dark_orange, dark_blue = (0x8A, 0x30, 0x08), (0x0B, 0x3C, 0x6F)
    assert (rise == dark_orange).all(axis=-1).sum() > 1000
    assert (fall == dark_blue).all(axis=-1).sum() > 1000


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("$x$", "$x$"),
        ("$broken", "$broken"),
        ("a\nb", "a b"),
        ("\u4e16\u754c", "\u4e16\u754c"),
        ("x" * 300, "x" * 47 + "…"),
        ("<b>", "<b>"),
    ],
)
def test_names_are_text_and_not_mathematics(name: str, words: str) -> None:
    model = pair_model(np.arange(3.0), name=name)
    size, draw = drawing([model], title=name)
    page = Page(*size)
    with warnings.catch_warnings(action="error"), own_settings():
        draw(page)
    named = [text for text in page.figure.texts if text.get_text() == words]
    assert [text.get_parse_math() for text in named] == [False, False]  # the title's, and the row's


def test_bars_on_a_colour_scale_say_that_they_are_logarithmic() -> None:
    size, draw = drawing([pair_model(np.arange(2000.0).reshape(40, 50), name="x")], "")
    with own_settings():
        page = Page(*size)
        draw(page)
    assert [text.get_text() for ax in page.figure.axes for text in ax.texts].count("log\ncount") == 1


def test_rows_are_stacked() -> None:
    models = [pair_model(np.arange(3.0), name="a"), pair_model(np.zeros((9, 9)), name="b")]
    heights = [page_size([model])[1] for model in models]
    assert page_size(models)[1] == pytest.approx(sum(heights))
    assert decode(to_png(models, 60, title="both")).shape[0] > 60 * sum(heights)


def settings_now() -> dict[str, object]:
    # Reading "backend" would choose one.
    return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}


def test_nothing_global_is_changed_or_used() -> None:
    model = pair_model(np.arange(12.0).reshape(3, 4), np.ones((3, 4)), name="x")
    plain = to_png(model, 60)
    before = settings_now()
    with matplotlib.rc_context({"axes.grid": True, "image.origin": "lower", "savefig.bbox": "tight"}):
        assert to_png(model, 60) == plain
        assert matplotlib.rcParams["image.origin"] == "lower"
    assert settings_now() == before


SCRIPT = """
import hashlib, sys, numpy as np
from slangnb.views import PairView
from slangnb.views.array_source import pair_model
x = np.sin(np.arange(600.0)).reshape(20, 30)
x[3, 4] = np.nan
view = PairView([pair_model(x, x * x, name="x"), pair_model(x[0], name="y")])
data, _ = view._repr_mimebundle_()
print([hashlib.sha256(data[kind].encode()).hexdigest() for kind in sorted(data)])
print("matplotlib.pyplot" in sys.modules)
"""


def test_two_processes_give_the_same_bytes_without_pyplot() -> None:
    outs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert outs[0] == outs[1]
    assert outs[0].splitlines()[1] == "False"


def test_the_file_tells_nothing_about_its_maker() -> None:
    png = to_png(pair_model(np.arange(3.0), name="x"), 60)
    assert not {b"tEXt", b"tIME", b"iTXt"} & {png[i : i + 4] for i in range(len(png))}
