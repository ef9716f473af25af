"""A function explored over two axes: right values and derivatives, what is written of them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import slangnb as sn
from slangnb.errors import CallError
from slangnb.views.explore.evaluate import ACROSS
from slangnb.views.explore.plane import PlaneModel, lines, readout, rows
from slangnb.views.explore.plane_figure import drawing
from slangnb.views.page import DPI, Page
from slangnb.views.page import drawing as settings

SOURCE = """
[Differentiable] float saddle(float x, float y, float a) { return a * x * y; }
[Differentiable] float waves(float x, float y, float k, int n) { return sin(k * x) * cos(n * y); }
[Differentiable] float corner(float x, float y) { return sqrt(x + y); }
[Differentiable] float bowl(float2 p, float r) { return r * p.x * p.x + 3 * p.y; }
[Differentiable] float cells(int2 c, float r) { return r * c.x; }
float same(float x, float y) { return 2.5; }
[Differentiable] float both(float2 p, float2 q) { return dot(p, q); }
[Differentiable] float2 turned(float x, float y) { return float2(-y, x); }
[Differentiable] float[3] listed(float x, float y) { float[3] r; for (int i = 0; i < 3; i++) r[i] = x; return r; }
[Differentiable] float half_held(float x, no_diff float y) { return x * y; }
[Differentiable] float fine(double x, float y) { return float(x) + y; }
float stair(float x, float y) { return floor(x) + 10 * floor(y); }
int whole(float x, float y) { return int(floor(x) + floor(y)); }
float gone(float x, float y) { return sqrt(-1 - x * x); }
[BackwardDerivative(cube_bwd)] float cube(float x, float y) { return x * x * x * y; }
void cube_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{
    float a = x.p, b = y.p;
    x = diffPair(a, 3 * a * a * b * d);
    y = diffPair(b, a * a * a * d);
}
"""
XY = ("x", "y")


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def grid(model: PlaneModel) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(model.field.x, model.field.y)
    return x, y


def slopes(model: PlaneModel) -> tuple[np.ndarray, np.ndarray]:
    assert model.field.gradient is not None
    return model.field.gradient


def test_values_and_derivatives_are_those_of_analysis(m: Any) -> None:
    model = sn.explore(m.waves, x=(-3, 3), y=(-2, 2), k=(1, 3), n=(1, 4, 2), axes=XY).model
    x, y = grid(model)
    assert model.field.values.shape == (ACROSS, ACROSS)
    # A range about zero has it.
    assert (x[0, 48], y[48, 0]) == (0, 0)
    np.testing.assert_allclose(model.field.values, np.sin(2 * x) * np.cos(2 * y), atol=1e-5)
    across, up = slopes(model)
    np.testing.assert_allclose(across, 2 * np.cos(2 * x) * np.cos(2 * y), atol=1e-5)
    np.testing.assert_allclose(up, -2 * np.sin(2 * x) * np.sin(2 * y), atol=1e-5)


def test_the_first_axis_goes_across(m: Any) -> None:
    model = sn.explore(m.saddle, x=(1, 2), y=(3, 5), a=(0, 4), axes=("a", "y")).model
    assert model.field.axes == ("a", "y")
    assert [one.range.name for one in model.sliders] == ["x"]
    a, y = grid(model)
    assert (a[0, 0], a[0, -1], y[0, 0], y[-1, 0]) == (0, 4, 3, 5)
    np.testing.assert_allclose(model.field.values, 1.5 * a * y, rtol=1e-6)
    np.testing.assert_allclose(slopes(model)[0], 1.5 * y, rtol=1e-6)


@pytest.mark.parametrize("axes", [None, "p", ("p.x", "p.y")])
def test_a_pair_of_ranges_is_two_axes(m: Any, axes: Any) -> None:
    view = sn.explore(m.bowl, p=((-1, 1, 0.5), (-2, 2, 1)), r=(0, 4), axes=axes)
    x, y = grid(view.model)
    np.testing.assert_allclose(view.model.field.values, 2 * x**2 + 3 * y, atol=1e-5)
    np.testing.assert_allclose(slopes(view.model)[0], 4 * x, atol=1e-5)
    np.testing.assert_allclose(slopes(view.model)[1], 3)
    assert dict(readout(view.model)) == {"p.x": "0.5", "p.y": "1", "f": "3.5", "df/dp.x": "2", "df/dp.y": "3"}
    assert view.values == {"r": 2.0}
    assert view.model.call.startswith("explore(bowl, p=((-1, 1, 0.5), (-2, 2, 1)), r=(0, 4)")


def test_components_in_another_order(m: Any) -> None:
    model = sn.explore(m.bowl, p=((-1, 1), (-2, 2)), r=2.0, axes=("p.y", "p.x")).model
    up, across = grid(model)
    np.testing.assert_allclose(model.field.values, 2 * across**2 + 3 * up, atol=1e-5)
    np.testing.assert_allclose(slopes(model)[0], 3)


def test_each_axis_has_numbers_of_its_own_type(m: Any) -> None:
    model = sn.explore(m.fine, x=(1e9, 1e9 + 1), y=(0, 1), axes=XY).model
    assert model.field.x[1] - model.field.x[0] == pytest.approx(1 / 96, rel=1e-4)


def test_what_is_not_finite_is_blank_without_derivative(m: Any) -> None:
    view = sn.explore(m.corner, x=(-1, 1), y=(-1, 1), axes=XY)
    x, y = grid(view.model)
    blank = x + y < 0
    np.testing.assert_array_equal(np.isnan(view.model.field.values), blank)
    np.testing.assert_array_equal(np.isnan(slopes(view.model)[0]), blank)
    assert f"left blank: {blank.sum()} NaN" in repr(view)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("stair", "stair is not [Differentiable]"),
        ("half_held", "y is no_diff"),
        ("whole", "whole is not [Differentiable]"),
    ],
)
def test_a_field_without_gradient_says_why(m: Any, name: str, why: str) -> None:
    view = sn.explore(m[name], x=(-2, 2), y=(-2, 2), axes=XY)
    assert view.model.field.gradient is None
    assert f"no arrows: {why}" in repr(view)
    assert "uphill" not in repr(view)
    x, y = grid(view.model)
    right = {"stair": np.floor(x) + 10 * np.floor(y), "half_held": x * y, "whole": np.floor(x) + np.floor(y)}
    np.testing.assert_allclose(view.model.field.values, right[name], atol=1e-6)


def test_a_derivative_of_its_own_backward_alone_is_taken(m: Any) -> None:
    model = sn.explore(m.cube, x=(-1, 1), y=(0, 2), axes=XY).model
    x, y = grid(model)
    np.testing.assert_allclose(slopes(model)[0], 3 * x**2 * y, atol=1e-5)
    np.testing.assert_allclose(slopes(model)[1], x**3, atol=1e-5)


def test_text(m: Any) -> None:
    view = sn.explore(m.saddle, x=(-3, 3, 1.5), y=(-2, 2, 0.5), a=(0, 4), axes=XY)
    assert repr(view).replace(view.model.words, "float on here") == (
        "saddle over x and y  a = 2, float on here\n"
        "  x         from -3 to 3\n"
        "  y         from -2 to 2\n"
        "  value     from -12 to 12\n"
        "  gradient  up to 7.211\n"
        "  contours every 2; arrows point uphill, along the gradient; longer is steeper, compressed\n"
        "  at x = 1.5  y = 0.5  f = 1.5  df/dx = 1  df/dy = 3"
    )
    assert rows(view.model) == [
        ("lowest", "3", "-2", "-12", "-4", "6"),
        ("highest", "-3", "-2", "12", "-4", "-6"),
        ("probe", "1.5", "0.5", "1.5", "1", "3"),
    ]


def test_nothing_finite(m: Any) -> None:
    view = sn.explore(m.gone, x=(-1, 1), y=(-1, 1), axes=XY)
    assert "value     nothing finite" in repr(view)
    assert rows(view.model) == [("probe", "0.25", "0.25", "NaN")]
    assert view._repr_mimebundle_()[0]["image/png"]


def test_the_same_everywhere(m: Any) -> None:
    view = sn.explore(m.same, x=(-1, 1), y=(-1, 1), axes=XY)
    assert lines(view.model) == (("f", "2.5 everywhere"),)
    assert "the same value everywhere" in repr(view)


def test_a_widget_sends_numbers_when_a_page_asks_and_when_sliders_move(m: Any) -> None:
    view = sn.explore(m.saddle, x=(-3, 3), y=(-2, 2), a=(0, 4), axes=XY)
    widget, count = view.widget, ACROSS * ACROSS
    assert (widget.seq, widget.frame) == (0, b"")
    widget._answer(widget, {"kind": "hello"}, None)
    sent = np.frombuffer(widget.frame, "<f8")
    x, y = grid(view.model)
    np.testing.assert_array_equal(sent[:ACROSS], x[0])
    values, across, up = sent[2 * ACROSS :][: 3 * count].reshape(3, ACROSS, ACROSS)
    np.testing.assert_allclose(values, 2 * x * y, atol=1e-5)
    np.testing.assert_allclose(across, 2 * y, atol=1e-6)
    np.testing.assert_allclose(up, 2 * x, atol=1e-6)
    arrows = sent[2 * ACROSS + 3 * count :].reshape(-1, 5)
    # Uphill: each along the gradient where its middle is, both axes being of one scale.
    place = arrows[:, :2] * (6, 4) - (3, 2)
    np.testing.assert_allclose(arrows[:, 2] * place[:, 0], arrows[:, 3] * place[:, 1], atol=1e-6)
    assert ((arrows[:, 2:4] * place[:, ::-1]).sum(axis=1) > 0).all()
    assert widget.meta["scale"] == {"lo": -12.0, "hi": 12.0, "logarithmic": False}
    assert [level for level, _ in widget.meta["levels"]] == [-10, -8, -6, -4, -2, 0, 2, 4, 6, 8, 10]
    assert widget.meta["lines"][0] == ["f", "lowest -12 at x = 3, y = -2  highest 12 at x = -3, y = -2"]
    widget._answer(widget, {"kind": "set", "values": {"a": 1.0}}, None)
    np.testing.assert_allclose(np.frombuffer(widget.frame, "<f8")[2 * ACROSS :][:count], (x * y).ravel(), atol=1e-5)
    widget._answer(widget, {"kind": "probe", "index": 0}, None)
    assert (view.model.probe, widget.seq) == (0, 2)
    assert repr(view).endswith("at x = -3  y = -2  f = 6  df/dx = -2  df/dy = -3")
    widget._answer(widget, {"kind": "set", "values": {"a": 9.0}}, None)
    assert widget.meta["said"].startswith("a = 9 is outside of its range")
    widget.close()


def test_a_widget_of_a_field_without_arrows_or_colours(m: Any) -> None:
    for name, scale, levels in (("stair", True, True), ("same", True, False), ("gone", False, False)):
        widget = sn.explore(m[name], x=(-2, 2), y=(-2, 2), axes=XY).widget
        widget._answer(widget, {"kind": "hello"}, None)
        assert len(widget.frame) == 8 * (2 * ACROSS + ACROSS * ACROSS)
        assert (bool(widget.meta["scale"]), bool(widget.meta["levels"])) == (scale, levels)
        widget.close()


def test_update_moves_sliders(m: Any) -> None:
    view = sn.explore(m.waves, x=(-3, 3), y=(-2, 2), k=(1, 3), n=(1, 4, 2), axes=XY)
    before = view._repr_mimebundle_(include={"image/png"})[0]["image/png"]
    view.update(k=1, n=3)
    x, y = grid(view.model)
    np.testing.assert_allclose(view.model.field.values, np.sin(x) * np.cos(3 * y), atol=1e-5)
    assert view.values == {"k": 1.0, "n": 3}
    assert view._repr_mimebundle_(include={"image/png"})[0]["image/png"] != before
    with pytest.raises(CallError, match="from 1 to 3"):
        view.update(k=4)
    assert view.values == {"k": 1.0, "n": 3}


@pytest.mark.parametrize(
    ("name", "axes", "given", "said"),
    [
        (
            "saddle",
            ("x", "y", "a"),
            {"a": (0, 1)},
            r"one axis or two, not 3\nremedy: write axes=\('x', 'y'\): the other",
        ),
        ("saddle", ("x", "x"), {"a": 1}, r"axes names 'x' twice\nremedy: write axes='x' for a curve"),
        ("saddle", ("x", "a"), {"a": 1}, r"axes names 'a', which has no range\nremedy: write a=\(-1, 1\)"),
        ("saddle", ("x", 3), {"a": 1}, r"axes is the name of a parameter, or those of two\nremedy: axes='x'"),
        (
            "waves",
            ("x", "n"),
            {"k": 1, "n": (1, 4)},
            r"'n' is an int, so .* not be the axis\nremedy: write explore\(waves",
        ),
        ("turned", XY, {}, r"turned returns float2, .*\nremedy: .* one component, as in `return ….x;`"),
        ("listed", XY, {}, r"over two axes one number is drawn\nremedy: .*`return …\[0\];`"),
    ],
)
def test_refusals(m: Any, name: str, axes: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(CallError, match=said):
        sn.explore(m[name], x=(-3, 3), y=(-2, 2), axes=axes, **given)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("both", {"q": ((0, 1), (0, 1))}, r"'q' is a pair of ranges, .*\nremedy: fix it, as in q=\(0, 0\)"),
        ("bowl", {"r": (0, 1), "axes": "r"}, r"'p' is a pair of ranges, .*\nremedy: fix it, as in p=\(0, 0\)"),
        ("bowl", {"r": (0, 1), "axes": ("p.x", "r")}, "'p' is a pair of ranges"),
        ("bowl", {"r": (0, 1), "axes": ("r", "p")}, r"not 3\nremedy: write axes=\('p.x', 'p.y'\)"),
    ],
)
def test_a_pair_of_ranges_has_no_sliders(m: Any, name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(CallError, match=said):
        sn.explore(m[name], p=((-1, 1), (-1, 1)), **given)


def test_a_pair_of_whole_ranges_is_refused(m: Any) -> None:
    with pytest.raises(CallError, match=r"'c\.x' is an int, so it can have a slider but not be the axis"):
        sn.explore(m.cells, c=((0, 8), (0, 8)), r=1.0)


@pytest.mark.parametrize("p", [[(-1, 1), (-1, 1)], ((-1, 1), 0.5), [[-1, 1], [-1, 1]], ((-1, 1), (-1, 1), (0, 1))])
def test_half_a_pair_of_ranges_is_refused(m: Any, p: Any) -> None:
    with pytest.raises(CallError, match=r"'p' is neither two numbers nor .*\nremedy: write p=\(\(-1, 1\), \(-1, 1\)\)"):
        sn.explore(m.bowl, p=p, r=(0, 1))


def test_numbers_of_a_narrow_axis_are_told_apart(m: Any) -> None:
    text = repr(sn.explore(m.saddle, x=(1e6, 1e6 + 64), y=(0, 1), a=1, axes=XY))
    assert "  x         from 1000000 to 1000064\n" in text


def test_a_wrong_range_of_a_pair_is_named(m: Any) -> None:
    with pytest.raises(CallError, match=r"the range of 'p\.y' is reversed\nremedy: write p\.y=\(-1, 1\)"):
        sn.explore(m.bowl, p=((-1, 1), (1, -1)), r=1)


def test_picture_bundle_and_files(m: Any, tmp_path: Path) -> None:
    view = sn.explore(m.saddle, x=(-3, 3), y=(-2, 2), a=(0, 5), axes=XY)
    data, metadata = view._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "image/png"}
    assert "<script" not in data["text/html"]
    assert "a = 2.5" in data["text/html"]
    assert "df/dy" in data["text/html"]
    assert metadata["image/png"]["width"] == 660
    assert "<script" not in view.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert Image.open(view.save(tmp_path / "x.png")).size[0] == 989


def test_nothing_in_the_picture_overlaps(m: Any) -> None:
    """Words of the page, which stand outside of the axes, are apart from each other and inside of the page."""
    cases = [
        sn.explore(m.waves, x=(-3, 3), y=(-2, 2), k=(1, 3), n=(1, 4), axes=XY),
        sn.explore(m.bowl, p=((-1, 1, 0.123), (-1.4, 1.5, 0.123)), r=(0, 4), axes=("p.x", "p.y"), title="long " * 9),
        sn.explore(m.corner, x=(-1e-5, 1e6), y=(-1, 1), axes=XY),
        sn.explore(m.gone, x=(-1, 1), y=(-1, 1), axes=XY),
    ]
    for view in cases:
        size, draw = drawing(view.model, view.title)
        with settings():
            page = Page(*size)
            page.figure.set_dpi(DPI)
            draw(page)
            found = [(t.get_text(), t.get_window_extent(page.canvas.get_renderer())) for t in page.figure.texts]
        for i, (words, one) in enumerate(found):
            assert one.x0 >= 0 and one.x1 <= size[0] * DPI and one.y0 >= 0 and one.y1 <= size[1] * DPI, words
            assert not any(one.overlaps(other) for _, other in found[i + 1 :]), words


@pytest.mark.parametrize("width", [3.6, 3.68, 4.0, 4.5, 5.0])
def test_words_that_are_made_smaller_fit(width: float) -> None:
    """Letters are whole pixels wide, so that words do not shrink as their size does."""
    with settings():
        page = Page(8, 1)
        page.figure.set_dpi(DPI)
        words = page.text(0, 0.5, "x" * 71, size=8.5, family="DejaVu Sans Mono")
        page.fit(words, width)
        assert page.wide(words) <= width
        assert float(words.get_fontsize()) >= 5
