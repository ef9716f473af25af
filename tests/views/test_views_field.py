"""A function of two variables: colours, contours and arrows are those of its numbers, and what is not drawn is said."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image

from slangnb.errors import CallError
from slangnb.views import field_figure, labels
from slangnb.views.field import FieldModel, Mark, captions, dots, field_model, lowest, plain
from slangnb.views.field_arrows import SHORTEST, arrows, beside_blank
from slangnb.views.field_scale import Scale, contours_of, scale_of
from slangnb.views.field_view import FieldView

X, Y = np.linspace(-2, 2, 65), np.linspace(-1, 3, 33)
ACROSS, UP = np.meshgrid(X, Y)
BOWL = ACROSS**2 + UP**2 + 1


def bowl(**options: Any) -> FieldModel:
    return field_model("bowl", ("a", "b"), X, Y, BOWL, gradient=(2 * ACROSS, 2 * UP), **options)


def rosenbrock() -> FieldModel:
    values = (1 - ACROSS) ** 2 + 100 * (UP - ACROSS**2) ** 2
    return field_model("rosenbrock", ("a", "b"), X, Y, values, downhill=True)


# What colours and contours stand for


def test_colours_hold_all_values() -> None:
    assert scale_of(BOWL) == Scale(1.0, 14.0)
    assert scale_of(-BOWL) == Scale(-14.0, -1.0)


def test_a_few_outliers_do_not_take_the_colours_from_the_others() -> None:
    values = np.linspace(-1, 1, 1000)
    values[:3] = 1e6, 2e6, -1e9
    found = scale_of(values)
    assert found is not None
    assert -1 <= found.lo < -0.9
    assert 0.9 < found.hi <= 1
    assert found.beyond == ((values < found.lo) | (values > found.hi)).sum() >= 3


def test_positive_values_that_are_far_apart_are_on_a_logarithm() -> None:
    found = rosenbrock().scale
    assert found is not None
    assert found.logarithmic
    # The one value that is exactly 0 is drawn in the colour of the lowest.
    assert found.lo > 0
    assert found.hi == 2509.0
    assert scale_of(np.append(-1.0, rosenbrock().values)) != found


def test_contours_are_round_and_within_the_colours() -> None:
    assert contours_of(Scale(-1.355, 1.355)).levels == tuple(k / 4 for k in range(-5, 6))
    assert contours_of(Scale(-1.355, 1.355)).words == "contours every 0.25"
    assert contours_of(Scale(1e-6, 1.0, True)).levels == (
        *(3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3),
    )
    every = contours_of(Scale(1e-30, 1.0, True))
    assert every.words == "contours at powers of ten, every 3 of them"
    assert every.levels[-1] == 1e-3
    assert contours_of(Scale(3.0, 3.0)).levels == contours_of(None).levels == ()


@pytest.mark.parametrize("size", [1e-290, 1.0, 1e300])
def test_contours_of_numbers_of_any_size(size: float) -> None:
    assert 5 <= len(contours_of(scale_of(BOWL / 14 * size)).levels) <= 12


# Arrows


def test_arrows_point_along_the_gradient_or_downhill() -> None:
    up, down = (arrows(bowl(downhill=d), (4.0, 4.0)) for d in (False, True))
    # Of a bowl around 0 the gradient at a point is along the point itself.
    cross = up.at[:, 0] * up.along[:, 1] - up.at[:, 1] * up.along[:, 0]
    assert np.abs(cross).max() < 1e-12
    assert ((up.at * up.along).sum(axis=1) > 0).all()
    np.testing.assert_array_equal(down.along, -up.along)
    np.testing.assert_allclose(up.values, (up.at**2).sum(axis=1) + 1)


def test_arrows_are_steps_in_the_units_of_the_picture() -> None:
    # Both slopes are 1, and across there are ten times as many units to the inch.
    x = np.linspace(0, 10, 33)
    y = np.linspace(0, 1, 33)
    ones = np.ones((33, 33))
    found = arrows(field_model("plane", ("a", "b"), x, y, x + y[:, None], gradient=(ones, ones)), (4.0, 4.0))
    np.testing.assert_allclose(found.along[:, 1] / found.along[:, 0], 10.0)


def test_the_longest_arrow_spans_a_cell_and_none_is_invisible() -> None:
    slope = np.exp(8 * ACROSS)
    found = arrows(field_model("steep", ("a", "b"), X, Y, slope, gradient=(slope, 0 * slope)), (4.0, 3.0))
    lengths = np.hypot(*found.along.T)
    cells = np.diff(np.unique(found.at[:, 0])).min() * 4 / 4, np.diff(np.unique(found.at[:, 1])).min() * 3 / 4
    assert lengths.max() == pytest.approx(min(cells))
    assert lengths.min() == pytest.approx(SHORTEST * min(cells))
    assert len(np.unique(found.at[:, 0])) == 16
    assert len(np.unique(found.at[:, 1])) in (10, 11)


def test_there_is_no_arrow_where_the_gradient_is_zero_or_not_finite() -> None:
    across, up = 2 * ACROSS, 2 * UP
    across[UP > 1] = np.nan
    up[UP < -0.5] = np.inf
    across[:, :20] = up[:, :20] = 0
    found = arrows(field_model("f", ("a", "b"), X, Y, BOWL, gradient=(across, up)), (4.0, 4.0))
    assert len(found.at) > 20
    assert ((found.at[:, 1] <= 1) & (found.at[:, 1] >= -0.5) & (found.at[:, 0] >= X[20])).all()
    assert np.isfinite(found.along).all()
    assert len(arrows(field_model("f", ("a", "b"), X, Y, BOWL), (4.0, 4.0)).at) == 0


@pytest.mark.parametrize("size", [1e-300, 1e299])
def test_arrows_of_gradients_of_any_size(size: float) -> None:
    model = field_model("f", ("a", "b"), X, Y, BOWL, gradient=(ACROSS * size, UP * size))
    plain_sized = field_model("f", ("a", "b"), X, Y, BOWL, gradient=(ACROSS, UP))
    np.testing.assert_allclose(arrows(model, (4.0, 4.0)).along, arrows(plain_sized, (4.0, 4.0)).along, rtol=1e-6)


# Words


def test_the_text_has_ranges_marks_and_how_to_read_the_picture() -> None:
    path = np.array([[-1.5, 2.0], [0.5, 0.5], [2.5, 0.0], [np.nan, 0.0], [0.0, 0.25]])
    marks = [Mark("start", -1.5, 2.0, 7.25), Mark("end", 0.0, 0.25, 1.0625), Mark("lowest", 0.0, 0.0, 1.0)]
    model = bowl(path=path, marks=marks, fixed="c = 2", downhill=True)
    assert plain(model) == (
        "bowl over a and b  c = 2\n"
        "  a         from -2 to 2\n"
        "  b         from -1 to 3\n"
        "  value     from 1 to 14\n"
        "  gradient  up to 7.211\n"
        "  start     7.25 at a = -1.5, b = 2\n"
        "  end       1.062 at a = 0, b = 0.25\n"
        "  lowest    1 at a = 0, b = 0\n"
        "  contours every 2; arrows point downhill; longer is steeper, compressed; path: a dot at each step\n"
        "  outside the picture: 2 of 5 points of the path"
    )


def test_what_is_not_finite_is_counted() -> None:
    values = BOWL.copy()
    values[:2, :3] = np.nan
    values[5, 5] = np.inf
    model = field_model("f", ("a", "b"), X, Y, values)
    assert captions(model) == ["contours every 2; left blank: 6 NaN, 1 +Inf"]
    assert captions(field_model("f", ("a", "b"), X, Y, values * np.nan)) == ["left blank: 2145 NaN"]
    assert lowest(X, Y, values * np.nan) is None


def test_a_gradient_without_arrows_is_explained() -> None:
    flat = field_model("f", ("a", "b"), X, Y, BOWL * 0 + 3, gradient=(BOWL * 0, BOWL * 0))
    assert captions(flat) == ["the same value everywhere; no arrows: the gradient is 0 everywhere"]
    lost = field_model("f", ("a", "b"), X, Y, BOWL, gradient=(BOWL * np.nan, BOWL))
    assert captions(lost) == ["contours every 2; no arrows: the gradient is nowhere finite"]


def test_dots_of_a_long_path_are_few() -> None:
    assert [dots(n) for n in (1, 40, 41, 90, 3000)] == [1, 1, 2, 3, 100]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gradient": (BOWL, BOWL.T)}, r"d/dy of a field have shape \(65, 33\), and its axes \(33, 65\)"),
        ({"path": np.zeros((3, 3))}, r"a path has shape \(n, 2\), not \(3, 3\)"),
    ],
)
def test_shapes_that_do_not_fit(options: dict[str, Any], said: str) -> None:
    with pytest.raises(CallError, match=said):
        field_model("f", ("a", "b"), X, Y, BOWL, **options)


# The picture


def drawn(model: FieldModel) -> Any:
    """Draw a model, and give the page before it becomes bytes."""
    from slangnb.views.page import Page, drawing

    size, draw = field_figure.drawing(model, model.name)
    with drawing():
        page = Page(*size)
        draw(page)
        page.canvas.draw()
    return page


def test_axes_of_like_spans_have_the_same_scale() -> None:
    assert field_figure.box(bowl()) == (4.0, 4.0)
    wide = field_model("f", ("a", "b"), 50 * X, Y, BOWL)
    assert field_figure.box(wide) == (5.0, 4.0)


def test_labels_cover_neither_one_another_nor_the_marks() -> None:
    marks = [Mark("start", 1.9, 2.9, 12.34), Mark("end", 0.02, 0.01, 0.00123), Mark("lowest", 0.0, 0.0, 0.0)]
    page = drawn(bowl(path=np.array([[1.9, 2.9], [0.02, 0.01]]), marks=marks))
    words = [t for t in page.figure.texts if t.get_bbox_patch() is not None]
    assert [t.get_text() for t in words] == ["start 12.3", "end 0.00123", "lowest 0"]
    boxes = [t.get_bbox_patch().get_window_extent() for t in words]
    picture = page.figure.axes[0].get_window_extent()
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])
        assert picture.x0 <= one.x0
        assert one.x1 <= picture.x1
        assert picture.y0 <= one.y0
        assert one.y1 <= picture.y1


def test_all_words_are_on_the_page() -> None:
    path = np.stack([np.linspace(-3, 1, 500), np.linspace(-1, 1, 500)], axis=1)
    values = (1 - ACROSS) ** 2 + 100 * (UP - ACROSS**2) ** 2
    values[0, 0] = np.nan
    model = field_model(
        "a_rather_long_name_of_a_loss",
        ("a", "b"),
        X,
        Y,
        values,
        gradient=(ACROSS, UP),
        downhill=True,
        path=path,
        fixed="mean over 20000 samples on llvmpipe; c = 2.5, d = 3.25",
        remarks=["c = 2.5 is where the path ends"],
    )
    page = drawn(model)
    whole = page.figure.bbox
    for words in page.figure.texts:
        extent = words.get_window_extent()
        assert extent.x0 >= whole.x0, words.get_text()
        assert extent.x1 <= whole.x1, words.get_text()
        assert extent.y0 >= whole.y0, words.get_text()


def test_a_mark_outside_is_listed_and_not_drawn() -> None:
    model = bowl(marks=[Mark("start", 9.0, 0.0, 81.0), Mark("lowest", 0.0, 0.0, 0.0)])
    assert [m.word for m in model.drawn_marks] == ["lowest"]
    assert "start     81 at a = 9, b = 0" in plain(model)
    assert len([t for t in drawn(model).figure.texts if t.get_bbox_patch() is not None]) == 1


def test_the_picture_is_bright_where_the_value_is_high_and_blank_where_there_is_none() -> None:
    values = ACROSS + UP
    values[-8:, :8] = np.nan
    png = FieldView(field_model("plane", ("a", "b"), X, Y, values))._png
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    page = drawn(field_model("plane", ("a", "b"), X, Y, values))
    box = page.figure.axes[0].get_position()
    tall, wide, _ = pixels.shape
    at = {
        (i, j): pixels[int((1 - box.y0 - j * box.height) * tall), int((box.x0 + i * box.width) * wide)]
        for i, j in ((0.02, 0.02), (0.98, 0.98), (0.02, 0.98))
    }
    low, high, blank = (at[k].astype(int) for k in ((0.02, 0.02), (0.98, 0.98), (0.02, 0.98)))
    assert high[0] > 200 > 120 > low[0]
    assert high[2] < 80 < low[2]
    assert blank.tolist() == [255, 255, 255]


@pytest.mark.parametrize(
    "values", [BOWL * np.nan, BOWL * 0, BOWL * 0 + 3e-320, BOWL * 1e299, -BOWL * 1e-300, np.where(UP > 0, BOWL, np.inf)]
)
def test_odd_numbers_are_drawn(values: Any) -> None:
    model = field_model("odd", ("a", "b"), X, Y, values, gradient=(values, values), path=np.zeros((0, 2)))
    data, _ = FieldView(model)._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "image/png"}
    assert "<script" not in data["text/html"]


def test_the_view_is_saved_with_its_numbers(tmp_path: Any) -> None:
    view = FieldView(bowl(marks=[Mark("end", 1.0, 1.0, 2.0)]))
    page = view.save(tmp_path / "bowl.html").read_text()
    assert "<title>bowl over a and b</title>" in page
    rows = [re.findall(r">([^<>\n]+)</t[hd]>", row) for row in page.split("<tr")[2:]]
    assert rows == [["lowest", "0", "0", "1"], ["highest", "-2", "3", "14"], ["end", "1", "1", "2"]]
    assert view.save(tmp_path / "bowl.png").read_bytes()[1:4] == b"PNG"


def test_the_same_model_gives_the_same_bytes() -> None:
    assert FieldView(bowl())._png == FieldView(bowl())._png


def test_arrows_that_reach_where_there_is_no_value_are_told_apart() -> None:
    values = np.where(ACROSS > 0.4, np.nan, ACROSS)
    model = field_model("f", ("a", "b"), X, Y, values, gradient=(np.ones(BOWL.shape), 0 * BOWL))
    found = arrows(model, (4.0, 4.0))
    blank = beside_blank(model, found, (4.0, 4.0))
    reach = found.at[:, 0] + found.along[:, 0] / 2
    np.testing.assert_array_equal(blank, reach > X[X <= 0.4][-1] + (X[1] - X[0]) / 2)
    assert 0 < blank.sum() < len(blank)
    assert found.at[:, 0].max() <= 0.4


def test_labels_stay_within_the_room() -> None:
    points = [(0.05, 0.05), (3.95, 3.95), (3.95, 0.05)]
    for (x, y), (wide, tall) in zip(
        labels.place(points, [(0.8, 0.2)] * 3, (4.0, 4.0), np.zeros((0, 2))), [(0.8, 0.2)] * 3, strict=True
    ):
        assert wide / 2 <= x <= 4 - wide / 2
        assert tall / 2 <= y <= 4 - tall / 2


def test_a_label_makes_room_for_the_path() -> None:
    to_the_right = np.stack([np.linspace(1, 3, 50), np.full(50, 1.0)], axis=1)
    (beside,) = labels.place([(1.0, 1.0)], [(0.5, 0.2)], (4.0, 4.0), to_the_right)
    assert beside == (0.64, 1.0)
