"""A function explored: right curves and derivatives, what is written of them, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import slangnb as sn
from slangnb.errors import CallError
from slangnb.views.explore.arguments import plan
from slangnb.views.explore.evaluate import POINTS
from slangnb.views.explore.live import about
from slangnb.views.explore.model import Range, notes, readout, spans, text_lines
from slangnb.views.explore.plane_live import about as about_plane
from slangnb.views.page import render

SOURCE = """
[Differentiable] float wavelet(float x, float a, float b) { return a * sin(x) * exp(-b * x * x); }
[Differentiable] float3 spiral(float t, float3 c, int n) { return c * float3(sin(n * t), cos(t), t * t); }
float stair(float x) { return x > 0.0 ? 1.0 : 0.0; }
[Differentiable] float root(float x) { return sqrt(x); }
[Differentiable] float held(no_diff float x, float y) { return x * y; }
[Differentiable] float named(float x, float title) { return x * title; }
[Differentiable] float2 flat(float2 p, float x) { return p * x; }
int whole(float x) { return int(floor(x)); }
[Differentiable] float[6] six(float x) { float[6] r; for (int i = 0; i < 6; i++) r[i] = i * x; return r; }
[Differentiable] float drawn(int n, float x) { return n * x; }
int only(int n) { return n; }
[Differentiable] float wave(float x, float a, float f) { return a * f * x; }
struct Pair { float a; float b; };
Pair both(float x) { Pair p; p.a = x; p.b = x; return p; }
[Differentiable] void written(float x, out float y) { y = x; }
[BackwardDerivative(cube_bwd)] float cube(float x) { return x * x * x; }
void cube_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3 * x.p * x.p * d); }
"""


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def test_curve_and_derivative_are_those_of_analysis(m: Any) -> None:
    model = sn.explore(m.wavelet, x=(-3, 3), a=(0, 5), b=0.25).model
    x = model.x
    assert (len(x), x[0], x[-1]) == (POINTS, -3, 3)
    np.testing.assert_allclose(model.values, [2.5 * np.sin(x) * np.exp(-0.25 * x**2)], atol=1e-5)
    slope = 2.5 * np.exp(-0.25 * x**2) * (np.cos(x) - 0.5 * x * np.sin(x))
    assert model.slopes is not None
    np.testing.assert_allclose(model.slopes, [slope], atol=1e-5)


def test_each_component_has_its_own_derivative(m: Any) -> None:
    view = sn.explore(m.spiral, t=(-1, 2), c=(1, 2, 3), n=(1, 5, 3))
    t, slopes = view.model.x, view.model.slopes
    np.testing.assert_allclose(view.model.values, [np.sin(3 * t), 2 * np.cos(t), 3 * t**2], atol=1e-5)
    assert slopes is not None
    np.testing.assert_allclose(slopes, [3 * np.cos(3 * t), -2 * np.sin(t), 6 * t], atol=1e-5)
    assert view.model.labels == ("x", "y", "z")
    assert view.values == {"c": (1, 2, 3), "n": 3}


def test_the_probe_stands_where_it_is_told(m: Any) -> None:
    model = sn.explore(m.wavelet, x=(-3, 3, 0.76), a=2, b=0).model
    assert model.x[model.probe] == np.float32(0.76)
    assert dict(readout(model)) == {"x": "0.76", "f": "1.378", "df/dx": "1.45"}
    assert model.slope_name == "df/dx"


def test_text(m: Any) -> None:
    view = sn.explore(m.wavelet, x=(-1, 1), a=(0, 4), b=0.0)
    text = repr(view).replace(view.model.words, "float on here")
    assert text == (
        "wavelet  float on here, x from -1 to 1, a = 2, b = 0\n"
        "  f      min -1.683 at x = -1  max 1.683 at x = 1\n"
        "  df/dx  min 1.081 at x = -1  max 2 at x = 0\n"
        "  at x = 0.25  f = 0.4948  df/dx = 1.938"
    )


def test_beside_a_parameter_f_the_value_has_the_name_of_the_function(m: Any) -> None:
    view = sn.explore(m.wave, x=(-1, 1, 0.5), a=2, f=(0, 8, 3))
    assert dict(readout(view.model)) == {"x": "0.5", "wave": "3", "d wave/dx": "6"}
    assert [name for name, _ in text_lines(view.model)] == ["wave", "d wave/dx"]
    meta = about(view.model)
    assert (meta["what"], meta["symbol"], meta["slope"]) == ("wave(x)", "wave", "d wave/dx")
    plane = sn.explore(m.wave, x=(-1, 1, 0.5), f=(0, 8, 3), a=2, axes=("x", "f"))
    assert repr(plane).endswith("at x = 0.5  f = 3  wave = 3  d wave/dx = 6  d wave/df = 1")
    assert about_plane(plane.model)["what"] == "wave(x, f)"


def test_numbers_of_a_narrow_axis_are_told_apart(m: Any) -> None:
    view = sn.explore(m.wavelet, x=(1e6, 1e6 + 64, 1e6 + 8), a=0, b=0)
    assert "x from 1000000 to 1000064" in repr(view)
    assert readout(view.model)[0] == ("x", "1000008")


def test_what_is_not_finite_is_a_gap_and_counted(m: Any) -> None:
    model = sn.explore(m.root, x=(-1, 1)).model
    assert np.isnan(model.values[0, :200]).all()
    assert np.isfinite(model.values[0, 200:]).all()
    # Slang's derivative of sqrt is a number left of 0, where there is no curve.
    assert model.slopes is not None
    assert np.isnan(model.slopes[0, :200]).all()
    assert dict(text_lines(model))["f"] == "min 0 at x = 0  max 1 at x = 1  200 NaN"


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("stair", {"x": (-1, 1)}, "stair is not [Differentiable]"),
        ("held", {"x": (-1, 1), "y": 2.0}, "x is no_diff"),
        ("whole", {"x": (-1, 1)}, "whole is not [Differentiable]"),
    ],
)
def test_a_curve_without_derivative_says_why(m: Any, name: str, given: dict[str, Any], why: str) -> None:
    view = sn.explore(m[name], **given)
    assert view.model.slopes is None
    assert repr(view).endswith(f"note: no derivative: {why}")
    right = {"stair": np.heaviside(view.model.x, 0), "held": 2 * view.model.x, "whole": np.floor(view.model.x)}
    np.testing.assert_allclose(view.model.values[0], right[name], atol=1e-6)


def test_a_derivative_of_its_own_backward_alone_is_taken(m: Any) -> None:
    model = sn.explore(m.cube, x=(-1, 1)).model
    assert model.slopes is not None
    np.testing.assert_allclose(model.slopes[0], 3 * model.x**2, atol=1e-5)


def test_four_of_many_components(m: Any) -> None:
    view = sn.explore(m.six, x=(0, 1))
    assert view.model.values.shape == (4, POINTS)
    assert "the first 4 of 6 components" in repr(view)


def test_an_int_has_a_slider_and_the_float_is_the_axis(m: Any) -> None:
    model = sn.explore(m.drawn, n=(1, 8), x=(0, 1)).model
    assert model.axis == "x"
    assert (model.sliders[0].value, model.sliders[0].range.steps) == (4, 7)
    np.testing.assert_allclose(model.values[0], 4 * model.x, atol=1e-6)


def test_another_axis(m: Any) -> None:
    model = sn.explore(m.wavelet, x=(-3, 3, 1), a=(0, 5), b=0, axes="a").model
    assert (model.axis, [s.range.name for s in model.sliders]) == ("a", ["x"])
    np.testing.assert_allclose(model.values[0], model.x * np.sin(1), atol=1e-5)


def test_a_pair_for_a_vector_of_two_is_that_vector(m: Any) -> None:
    model = sn.explore(m.flat, p=(2, 3), x=(0, 1)).model
    np.testing.assert_allclose(model.values, [2 * model.x, 3 * model.x], atol=1e-6)


def test_structs_and_tensors_are_fixed(session: Any) -> None:
    made = session.compile("""
import slangpy;
[Differentiable] float wave(float x, float a, float f) { return a * f * x; }
struct Pair { float a; float b; };
[Differentiable] float of(no_diff Pair p, float x, Tensor<float, 1> w) { return p.a * x + w[1]; }
""")
    view = sn.explore(made.of, x=(0, 1), p={"a": 2.0, "b": 3.0}, w=sn.tensor([5.0, 7.0]))
    np.testing.assert_allclose(view.model.values[0], 2 * view.model.x + 7, atol=1e-6)
    assert "p = {a: 2, b: 3}, w = …" in repr(view)
    with pytest.raises(CallError, match="'x' is one number for the whole curve"):
        sn.explore(made.of, x=sn.tensor([5.0, 7.0]), p={"a": 2.0, "b": 3.0}, w=sn.tensor([5.0]))


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("wavelet", {"x": (-3, 3), "a": 1, "bb": 2}, r"no parameter 'bb'\nremedy: did you mean 'b'"),
        ("wavelet", {"x": (-3, 3), "a": 1}, "argument 'b' is missing"),
        (
            "wavelet",
            {"x": 1, "a": 1, "b": 2},
            r"needs a range for the axis\nremedy: write explore\(wavelet, b=\(-1, 1\)",
        ),
        ("wavelet", {"x": (3, -3), "a": 1, "b": 2}, r"'x' is reversed\nremedy: write x=\(-3, 3\)"),
        ("wavelet", {"x": (3, 3), "a": 1, "b": 2}, r"'x' is empty\nremedy: to fix it write x=3"),
        ("wavelet", {"x": (0, np.inf), "a": 1, "b": 2}, r"not finite\nremedy: give both ends"),
        ("wavelet", {"x": (0, 1, 2), "a": 1, "b": 2}, "starts at 2, outside"),
        ("wavelet", {"x": (0, 1, 2, 3), "a": 1, "b": 2}, r"4 numbers\nremedy: a range is x=\(lo, hi\)"),
        ("wavelet", {"x": (0, "1"), "a": 1, "b": 2}, "holds what is no number"),
        ("wavelet", {"x": [0, 1], "a": 1, "b": 2}, r"given several\nremedy: write x=\(0, 1\)"),
        ("wavelet", {"x": [-2, 2.5], "a": 1, "b": 2}, r"given several\nremedy: write x=\(-2, 2.5\) for a range"),
        ("wavelet", {"x": (0, 1e39), "a": 1, "b": 2}, "beyond the numbers of float"),
        ("wavelet", {"x": (1e8, 1e8 + 1), "a": 1, "b": 2}, "are the same float"),
        ("wavelet", {"x": (0, 1e-60), "a": 1, "b": 2}, "are the same float"),
        ("wavelet", {"x": (0, 1), "a": 1, "b": 2, "_result": "numpy"}, "takes no _result"),
        ("spiral", {"t": (0, 1), "c": (0, 1), "n": 1}, r"'c' is a float3, which has no range\nremedy: .*c=\(0, 0, 0\)"),
        ("spiral", {"t": (0, 1), "c": (0, 1, 2), "n": (1, 2.5)}, "not of whole numbers"),
        ("only", {"n": (0, 5)}, r"'n' is an int, so it can have a slider but not be the axis\nremedy: .*only has none"),
        ("named", {"x": (0, 1), "title": 2}, r"'title', which is an option of explore\nremedy: .*title_"),
        ("both", {"x": (0, 1)}, r"returns Pair(.|\n)*remedy: .*\.a;"),
        ("written", {"x": (0, 1)}, "returns void"),
        ("whole", {"x": np.zeros(3)}, "given several"),
    ],
)
def test_refusals(m: Any, name: str, given: dict[str, Any], said: str) -> None:
    options = {key: value for key, value in given.items() if key != "title"}
    with pytest.raises(CallError, match=said):
        sn.explore(m[name], **options) if name != "named" else plan(m.named.info.signature, given)


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ("b", "axes names 'b', which has no range"),
        ("n", r"axes names 'n'"),
        (3, "axes is the name of a parameter"),
    ],
)
def test_refused_axes(m: Any, axes: Any, said: str) -> None:
    with pytest.raises(CallError, match=said):
        sn.explore(m.wavelet, x=(-3, 3), a=(0, 5), b=1, axes=axes)
    with pytest.raises(CallError, match="an int, so it can have a slider"):
        sn.explore(m.drawn, n=(1, 8), x=(0, 1), axes="n")


@pytest.mark.parametrize("thing", [np.sin, 3.0, "wavelet"])
def test_other_things_are_no_functions(thing: Any) -> None:
    with pytest.raises(CallError, match="explore takes a function of a Slang module"):
        sn.explore(thing, x=(0, 1))


def test_a_backward_pass_is_refused(m: Any) -> None:
    with pytest.raises(CallError, match=r"leave \.bwds out"):
        sn.explore(m.root.bwds, x=(0, 1))


def test_a_few_points_far_beyond_the_others_do_not_flatten_the_curve(session: Any) -> None:
    f = session.compile("[Differentiable] float pole(float x) { return tan(x); }").pole
    model = sn.explore(f, x=(-3, 3)).model
    curve, slopes = spans(model)
    assert model.values.max() > 200
    assert (curve.hi < 60, slopes[0].hi < 3000, slopes[0].lo < 0) == (True, True, True)
    outside = int((np.abs(model.values) > curve.hi).sum())
    steep = int((model.slopes[0] > slopes[0].hi).sum()) if model.slopes is not None else 0
    assert 0 < outside < 10
    assert notes(model) == f"points beyond the picture: {outside} of f, {steep} of df/dx"


def test_update_moves_sliders(m: Any) -> None:
    view = sn.explore(m.drawn, n=(1, 8), x=(0, 1))
    before = view._repr_mimebundle_(include={"image/png"})[0]["image/png"]
    view.update(n=7)
    np.testing.assert_allclose(view.model.values[0], 7 * view.model.x, atol=1e-6)
    assert view.values == {"n": 7}
    assert view._repr_mimebundle_(include={"image/png"})[0]["image/png"] != before
    for values, said in (({"n": 9}, "from 1 to 8"), ({"n": 2.5}, "no whole number"), ({"x": 1}, "the sliders are n")):
        with pytest.raises(CallError, match=said):
            view.update(**values)
    assert view.values == {"n": 7}


def test_a_widget_sends_numbers_when_a_page_asks_and_when_sliders_move(m: Any) -> None:
    view = sn.explore(m.wavelet, x=(-3, 3), a=(0, 5), b=0.5)
    widget = view.widget
    assert (widget.seq, widget.frame) == (0, b"")
    widget._answer(widget, {"kind": "hello"}, None)
    x, y, _ = np.frombuffer(widget.frame, "<f8").reshape(3, POINTS)
    np.testing.assert_allclose(y, 2.5 * np.sin(x) * np.exp(-0.5 * x**2), atol=1e-5)
    assert widget.meta["spans"][0][1] > y.max()
    widget._answer(widget, {"kind": "set", "values": {"a": 1.0}}, None)
    np.testing.assert_allclose(np.frombuffer(widget.frame, "<f8").reshape(3, -1)[1], y / 2.5, atol=1e-5)
    assert (view.values["a"], widget.meta["sliders"][0]["value"], widget.seq) == (1.0, 1.0, 2)
    widget._answer(widget, {"kind": "probe", "index": 0}, None)
    assert (view.model.probe, widget.seq) == (0, 2)
    widget._answer(widget, {"kind": "set", "values": {"a": 9.0}}, None)
    assert widget.meta["said"].startswith("a = 9 is outside of its range")
    assert view.values["a"] == 1.0
    widget.close()


@pytest.mark.parametrize("span", [(0, 5), (0, 2), (-1, 1), (0, 3.3), (0, 1e-3), (5, 1e6)])
def test_sliders_have_fine_steps(span: tuple[float, float]) -> None:
    assert 99 <= Range("a", *span, start=span[0]).steps <= 250


def test_picture_bundle_and_files(m: Any, tmp_path: Path) -> None:
    view = sn.explore(m.wavelet, x=(-3, 3), a=(0, 5), b=0.5)
    data, metadata = view._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "image/png"}
    assert metadata["image/png"]["width"] == 730
    assert "<script" not in data["text/html"]
    assert "a = 2.5" in data["text/html"]
    page = view.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<title>wavelet</title>" in page
    assert "<script" not in page
    picture = Image.open(view.save(tmp_path / "x.png"))
    assert picture.size[0] == 1094


def test_nothing_in_the_picture_overlaps(m: Any) -> None:
    """Words of the page, which stand outside of the axes, are apart from each other and inside of the page."""
    from slangnb.views.explore.figure import drawing
    from slangnb.views.page import DPI, Page
    from slangnb.views.page import drawing as settings

    cases = [
        sn.explore(m.spiral, t=(-1, 2), c=(1, 2, 3), n=(1, 5)),
        sn.explore(m.wavelet, x=(-3e-5, 1e5), a=(0, 5), b=(0, 1)),
        sn.explore(m.root, x=(-1, 1), title="a title that is long, and then some more words of it"),
    ]
    for view in cases:
        size, draw = drawing(view.model, view.title)
        with settings():
            page = Page(*size)
            page.figure.set_dpi(DPI)
            draw(page)
            boxes = [t.get_window_extent(page.canvas.get_renderer()) for t in page.figure.texts if t.get_text().strip()]
        for i, one in enumerate(boxes):
            assert one.x0 >= 0 and one.x1 <= size[0] * DPI and one.y0 >= 0 and one.y1 <= size[1] * DPI
            assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_numbers_beyond_a_scale_are_drawn(session: Any) -> None:
    f = session.compile("double big(double x) { return x * 1e300; } float gone(float x) { return x / 0.0 - x / 0.0; }")
    for view in (sn.explore(f.big, x=(-1e8, 1e8)), sn.explore(f.gone, x=(0, 1))):
        from slangnb.views.explore.figure import drawing

        assert Image.open(io.BytesIO(render(*drawing(view.model)))).size[0] == 1094


def test_arguments_have_names(session: Any) -> None:
    function: Any = session.compile("[Differentiable] float f(float a, float b) { return a * b; }").f
    draw: Any = sn.explore
    with pytest.raises(sn.CallError, match="explore: too many positional arguments") as caught:
        draw(function, (0, 1))
    assert "write sn.explore(" in (caught.value.remedy or "")
