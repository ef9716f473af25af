"""`sn.landscape`: its numbers are those of numpy in float64, and what cannot be drawn is refused with what to write."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.errors import CallError
from slangnb.views import surface

SOURCE = """
[Differentiable] float square(float r) { return r * r; }
[Differentiable] float line(float a, float b, float x, float y) { return square(a * x + b - y); }
[Differentiable] float plane(float a, float b, float2 w, float2 x) { return square(a * x.x * w.x + b * x.y * w.y); }
[Differentiable] double fine(double a, double b, double c) { return a * a * c + b * b * b; }
[Differentiable] float corner(float a, float b) { return sqrt(a + b); }
[Differentiable] float part(float a, no_diff float b, int n) { return a * a * b * n; }
[Differentiable] float never(float a, float b, float x) { return 0.0 / (a - a) + b * x; }
[Differentiable] float3 vector(float a, float b) { return float3(a, b, 0); }
float bowl(float2 p, float k) { return k * dot(p, p); }
float single(float a, int n) { return a * n; }
float rough(float a, float b) { return floor(a) + b; }
float either(float a, float b) { return a + b; }
float either(float a, float b, float c) { return a + b + c; }
void nothing(float a, float b) {}
T generic<T : IFloat>(T a, T b) { return a * b; }
"""
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 2, 50).astype(np.float32)
Y = (0.75 * X - 0.5 + 0.1 * RNG.standard_normal(50)).astype(np.float32)
DATA = {"x": X, "y": Y}


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def line_fit(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Give the mean squared error of a line and its partial derivatives, in float64."""
    x, y = X.astype(np.float64), Y.astype(np.float64)
    r = np.asarray(a)[..., None] * x + np.asarray(b)[..., None] - y
    return (r * r).mean(axis=-1), (2 * r * x).mean(axis=-1), (2 * r).mean(axis=-1)


def gradient_of(view: Any) -> tuple[Any, Any]:
    assert view.model.gradient is not None
    return view.model.gradient


def check_line_fit(view: Any, factor: float = 1.0) -> None:
    model = view.model
    right = line_fit(*np.meshgrid(model.x, model.y))
    for found, exact in zip((model.values, *model.gradient), right, strict=True):
        np.testing.assert_allclose(found, exact * factor, rtol=3e-6, atol=3e-6 * factor * np.abs(exact).max())


# Numbers


def test_values_and_slopes_are_those_of_numpy(m: Any) -> None:
    view = sn.landscape(m.line, a=(-2, 2), b=(-1, 2), data=DATA)
    assert view.model.values.shape == (129, 129)
    assert view.model.axes == ("a", "b")
    check_line_fit(view)
    check_line_fit(sn.landscape(m.line, a=(-2, 2), b=(-1, 2), data=DATA, reduce="sum", resolution=9), 50)


def test_the_lowest_point_is_that_of_least_squares(m: Any) -> None:
    slope, offset = np.polyfit(X.astype(np.float64), Y.astype(np.float64), 1)
    model = sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA).model
    (low,) = model.marks
    assert low.word == "lowest"
    assert abs(low.x - slope) <= 4 / 128
    assert abs(low.y - offset) <= 4 / 128
    assert low.value == model.values.min()


def test_lowest_is_said_to_be_of_the_grid_where_the_path_goes_lower(m: Any) -> None:
    said = "lowest: of the grid's points, not of the path's"
    slope, offset = np.polyfit(X.astype(np.float64), Y.astype(np.float64), 1)
    lower = sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, resolution=9, path=[[-1, -1], [slope, offset]])
    values = {mark.word: mark.value for mark in lower.model.marks if mark.value is not None}
    assert values["end"] < values["lowest"]
    assert said in repr(lower)
    higher = sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, resolution=9, path=[[-1, -1], [-2, 2]])
    assert said not in repr(higher)


def test_the_first_range_is_across(m: Any) -> None:
    view = sn.landscape(m.line, b=(-1, 1), a=(-3, 3), data=DATA, resolution=5)
    model = view.model
    assert model.axes == ("b", "a")
    assert model.x.tolist() == [-1, -0.5, 0, 0.5, 1]
    value, by_a, by_b = line_fit(model.y[4], model.x[1])
    assert model.values[4, 1] == pytest.approx(value, rel=1e-5)
    assert gradient_of(view)[0][4, 1] == pytest.approx(by_b, rel=1e-5)
    assert gradient_of(view)[1][4, 1] == pytest.approx(by_a, rel=1e-5)


def test_a_large_surface_is_computed_in_several_calls(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surface, "MOST_VALUES", 1000)
    check_line_fit(sn.landscape(m.line, a=(-2, 2), b=(-1, 2), data=DATA, resolution=11))


def test_the_device_sums_over_many_samples(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surface, "MANY_SAMPLES", 50)
    check_line_fit(sn.landscape(m.line, a=(-2, 2), b=(-1, 2), data=DATA, resolution=11))
    check_line_fit(sn.landscape(m.line, a=(-2, 2), b=(-1, 2), data=DATA, resolution=11, reduce="sum"), 50)


def test_a_point_without_slope_is_no_reason_to_warn(m: Any, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surface, "MANY_SAMPLES", 1)
    said = set(session.said)
    data = {"x": np.zeros(3, np.float32), "y": np.ones(3, np.float32)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low = sn.landscape(m.line, a=(-1, 1), b=(0, 2), data=data, resolution=5).model.marks[-1]
    assert (low.y, low.value) == (1.0, 0.0)
    # What is said once of a function is still said of later calls.
    assert session.said == said


def test_many_samples_get_a_coarser_grid(m: Any) -> None:
    many = {name: np.tile(value, 30) for name, value in DATA.items()}
    view = sn.landscape(m.line, a=(-2, 2), b=(-1, 2), data=many)
    assert view.model.values.shape == (65, 65)
    check_line_fit(view)


def test_vectors_and_samples_of_several_axes(m: Any) -> None:
    x = RNG.standard_normal((3, 4, 2)).astype(np.float32)
    view = sn.landscape(m.plane, a=(-1, 1), b=(-1, 1), data={"x": x}, w=[1.0, 2.0], resolution=5)
    model = view.model
    a, b = model.x[1], model.y[3]
    residual = a * x[..., 0].astype(np.float64) + 2 * b * x[..., 1]
    assert model.values[3, 1] == pytest.approx((residual**2).mean(), rel=1e-5)
    assert gradient_of(view)[1][3, 1] == pytest.approx((4 * residual * x[..., 1]).mean(), rel=1e-5)
    assert model.fixed.startswith("w = [1. 2.], mean over 12 samples on ")


def test_double_without_samples(m: Any) -> None:
    view = sn.landscape(m.fine, a=(-2, 2), b=(-2, 2), c=3.0)
    model = view.model
    a, b = np.meshgrid(model.x, model.y)
    np.testing.assert_allclose(model.values, 3 * a * a + b**3, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(gradient_of(view)[0], 6 * a, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient_of(view)[1], 3 * b * b, rtol=1e-12, atol=1e-12)
    assert model.fixed.startswith("c = 3 on ")


@pytest.mark.parametrize("kind", ["tensor", "list", "parameter"])
def test_kinds_of_arguments(m: Any, kind: str) -> None:
    if kind == "parameter":
        model = sn.landscape(m.fine, a=(-2, 2), b=(-2, 2), c=sn.Parameter(3.0, dtype="double"), resolution=3).model
        assert model.values[0].tolist() == [4.0, -8.0, 4.0]
        return
    make = sn.tensor if kind == "tensor" else np.ndarray.tolist
    check_line_fit(sn.landscape(m.line, a=(-2, 2), b=(-1, 2), data={n: make(v) for n, v in DATA.items()}, resolution=9))


def test_overloads_are_told_apart_by_names(m: Any) -> None:
    model = sn.landscape(m.either, a=(0, 1), b=(0, 1), c=5.0, resolution=2).model
    assert model.values.tolist() == [[5, 6], [6, 7]]


def test_where_there_is_no_number(m: Any) -> None:
    view = sn.landscape(m.corner, a=(-1, 1), b=(-1, 1), resolution=21)
    assert view.model.stats.nan == 210
    assert "left blank: 210 NaN" in str(view)
    assert view.model.marks[-1].value == 0.0
    blank = np.isnan(view.model.values)
    assert all((np.isnan(slope) == blank).all() for slope in gradient_of(view))


@pytest.mark.filterwarnings("ignore::slangnb.errors.GradientWarning")
@pytest.mark.parametrize("count", [1, surface.MANY_SAMPLES])
def test_nothing_is_said_of_the_gradient_of_what_is_nowhere_a_number(m: Any, count: int) -> None:
    x = np.ones(count, np.float32)
    view = sn.landscape(m.never, a=(-1, 1), b=(-1, 1), data={"x": x}, resolution=3)
    assert str(view).endswith("no arrows: the gradient is nowhere finite; left blank: 9 NaN")


# Without derivatives


@pytest.mark.parametrize(
    ("name", "fixed", "why"),
    [("rough", {}, "rough is not differentiable"), ("part", {"n": 2}, "b is no_diff")],
)
def test_without_arrows(m: Any, name: str, fixed: dict[str, Any], why: str) -> None:
    view = sn.landscape(m[name], a=(-2, 2), b=(-2, 2), **fixed)
    assert view.model.gradient is None
    assert f"no arrows: {why}" in str(view)


# Paths


def test_a_path_is_an_array_or_values_by_name(m: Any) -> None:
    points = [[-1.0, 1.0], [0.0, 0.5], [0.75, -0.5]]
    columns = np.array(points).T
    ways = [
        points,
        np.array(points, np.float32),
        {"a": columns[0], "b": columns[1], "loss": [3, 2, 1]},
        {"a": columns[0][:, None], "b": list(columns[1])},
        SimpleNamespace(history={"a": columns[0], "b": columns[1]}),
    ]
    for path in ways:
        model = sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, path=path, resolution=5).model
        assert model.path is not None
        assert model.path.tolist() == points
        start, end, _ = model.marks
        assert (start.word, start.x, start.y, end.word, end.x, end.y) == ("start", -1, 1, "end", 0.75, -0.5)
        assert start.value == pytest.approx(float(line_fit(-1, 1)[0]), rel=1e-5)
        assert end.value == pytest.approx(float(line_fit(0.75, -0.5)[0]), rel=1e-5)


def test_a_result_brings_its_data_and_where_others_ended(m: Any) -> None:
    result = SimpleNamespace(
        history={"a": np.array([0.0, 1.0]), "b": np.array([0.0, 1.0]), "w": np.array([[0.0, 0.0], [1.0, 2.0]])},
        data={"x": np.ones((4, 2), np.float32)},
        reduce="sum",
    )
    view = sn.landscape(m.plane, a=(-2, 2), b=(-2, 2), path=result, resolution=5)
    assert view.model.marks[1].value == 36.0  # 4 samples of (1 * 1 * 1 + 1 * 1 * 2) squared
    assert view.model.fixed.startswith("w = [1. 2.], sum over 4 samples on ")
    assert "w as at the end of the path" in str(view)
    other = sn.landscape(m.plane, a=(-2, 2), b=(-2, 2), w=[1.0, 1.0], path=result, reduce="mean", resolution=5)
    assert other.model.marks[1].value == 4.0
    assert "as at the end" not in str(other)


def test_a_path_that_leaves_the_picture_is_clipped_and_counted(m: Any) -> None:
    path = [[-3.0, 0.0], [0.0, 0.0], [1.0, 1.0], [np.nan, 0.0]]
    view = sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, path=path)
    assert view.model.outside == 2
    assert "outside the picture: 2 of 4 points of the path" in str(view)
    assert re.search(r"start     \S+ at a = -3, b = 0\n  end       not finite at a = nan, b = 0\n", str(view))
    assert view._png[1:4] == b"PNG"


# The view


def test_the_view_has_all_kinds_and_the_title(m: Any, tmp_path: Any) -> None:
    view = sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, title="A line <fit>", path=[[-1, 1], [0.75, -0.5]])
    data, _ = view._repr_mimebundle_()
    assert data["text/plain"].startswith("line over a and b  mean over 50 samples on ")
    assert "start     " in data["text/plain"]
    assert "arrows point downhill" in data["text/plain"]
    assert "<script" not in data["text/html"]
    assert "<title>A line &lt;fit&gt;</title>" in view.save(tmp_path / "fit.html").read_text()
    again = sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, title="A line <fit>", path=[[-1, 1], [0.75, -0.5]])
    assert again._repr_mimebundle_()[0] == data


# Refusals

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "line",
        {"data": DATA},
        "landscape draws two parameters, and none of line has a range",
        "give two of them a pair, as in sn.landscape(line, a=(-2, 2), b=(-2, 2), ...), and the others a number or data",
    ),
    (
        "line",
        {"b": (0, 1), "a": 1.0, "data": DATA},
        "landscape draws two parameters, and 1 of line has a range (b)",
        "give two of them a pair, as in sn.landscape(line, b=(-2, 2), a=(-2, 2), ...), and the others a number or data",
    ),
    (
        "line",
        {"b": (0, 1), "a": (0, 1), "x": (0, 1), "y": 1.0},
        "landscape draws two parameters, and 3 of line have ranges (b, a, x)",
        "give two of them a pair, as in sn.landscape(line, b=(-2, 2), a=(-2, 2), ...), and the others a number or data",
    ),
    (
        "bowl",
        {"p": (-1, 1), "k": (0, 1)},
        "landscape draws two parameters, and 1 of bowl has a range (k)",
        "bowl has fewer than two float parameters: write sn.explore(bowl, p=((-1, 1), (-1, 1)), ...), over both "
        "components of p",
    ),
    (
        "single",
        {"a": (0, 1)},
        "landscape draws two parameters, and 1 of single has a range (a)",
        "single has fewer than two float parameters: write a function of two floats that calls it",
    ),
    ("line", {"a": (0, 1), "bb": (0, 1)}, "line has no parameter 'bb'", "did you mean 'b'?"),
    (
        "plane",
        {"w[0]": (0, 1), "b": (0, 1)},
        "landscape draws parameters that are numbers, not components as 'w[0]'",
        "write a function of two numbers that calls plane with a w made of them",
    ),
    ("line", {"a": (0, 1), "b": (0, 1), "data": {"z": X}}, "line has no parameter 'z'", "its signature is float line"),
    (
        "line",
        {"a": (0, 1), "b": (0, 1)},
        "line: arguments 'x' and 'y' are missing",
        "give what differs between samples as data={'x': ..., 'y': ...}, and what does not as x=1.0",
    ),
    ("line", {"a": (0, 1), "b": (0, 1), "data": X}, "data is no dict", "write data={'x': xs, 'y': ys}"),
    (
        "line",
        {"a": (0, 1), "b": (0, 1), "data": {**DATA, "a": X}},
        "'a' is given twice, by itself and in data",
        "leave one of them out",
    ),
    (
        "line",
        {"a": (0, 1), "b": (0, 1), "data": {"x": X, "y": Y[:9]}},
        "line: the shapes of the data do not fit each other: x (50,), y (9,)",
        "give all of them the same samples",
    ),
    (
        "line",
        {"a": (0, 1), "b": (0, 1), "x": X[:0], "y": 1.0},
        "line: there are no samples: x (0,)",
        "give at least one",
    ),
    ("line", {"a": (2, -2), "b": (0, 1)}, "line: the range of 'a' is reversed: (2, -2)", "write a=(-2, 2)"),
    ("line", {"a": (3, 3), "b": (0, 1)}, "line: the range of 'a' is empty: (3, 3)", "write a=(1.5, 4.5), or fix a=3"),
    ("line", {"a": (0, np.inf), "b": (0, 1)}, "line: the range of 'a' is not finite: (0, inf)", "write finite numbers"),
    ("line", {"a": (0, 1, 2), "b": (0, 1)}, "line: the range of 'a' is (0, 1, 2), not two numbers", "write a=(lo, hi)"),
    ("line", {"a": ("0", None), "b": (0, 1)}, "line: the range of 'a' is ('0', None), not two numbers", "write a=(lo"),
    ("part", {"a": (0, 1), "n": (0, 3), "b": 1.0}, "part: 'n' is int, and a range has all numbers", "give it a value"),
    (
        "vector",
        {"a": (0, 1), "b": (0, 1)},
        "vector returns float3; a loss is one number for each sample",
        "return a flo",
    ),
    ("nothing", {"a": (0, 1), "b": (0, 1)}, "nothing returns nothing; a loss is one number for each sample", "return"),
    (
        "generic",
        {"a": (0, 1), "b": (0, 1)},
        "landscape does not take generic, which is generic or a method",
        "write a f",
    ),
]


@pytest.mark.parametrize(("name", "given", "said", "remedy"), REFUSED, ids=[r[2][:60] for r in REFUSED])
def test_refusals(m: Any, name: str, given: dict[str, Any], said: str, remedy: str) -> None:
    with pytest.raises(CallError) as caught:
        sn.landscape(m[name], **given)
    assert caught.value.message.startswith(said)
    assert caught.value.remedy.startswith(remedy)


PATHS: list[tuple[Any, str]] = [
    ([[1, 2, 3]], "the path has shape (1, 3), not (n, 2)"),
    ([1.0, 2.0], "the path has shape (2,), not (n, 2)"),
    (np.zeros((0, 2)), "the path has no steps"),
    ("nowhere", "path is no array of numbers, but of type str"),
    ({"a": [1.0]}, "the path has no values of 'b'; it has 'a'"),
    (SimpleNamespace(history={}), "the path has no values of 'a'; it is empty"),
    ({"a": [1.0], "b": [1.0, 2.0]}, "the path has 1 values of 'a' and 2 values of 'b'"),
    ({"a": [[1.0, 2.0]], "b": [1.0]}, "the path of 'a' has shape (1, 2), not one number for each step"),
]


@pytest.mark.parametrize(("path", "said"), PATHS, ids=[p[1] for p in PATHS])
def test_refused_paths(m: Any, path: Any, said: str) -> None:
    with pytest.raises(CallError) as caught:
        sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, path=path)
    assert caught.value.message == said
    assert caught.value.remedy


def test_refused_options(m: Any) -> None:
    options: list[tuple[dict[str, Any], str]] = [
        ({"reduce": "max"}, "reduce must be 'mean' or 'sum', not 'max'"),
        ({"resolution": 1}, "resolution must be a whole number from 2 to 1025, not 1"),
        ({"resolution": 9.5}, "resolution must be a whole number from 2 to 1025, not 9.5"),
    ]
    for given, said in options:
        with pytest.raises(CallError, match=said):
            sn.landscape(m.line, a=(-2, 2), b=(-2, 2), data=DATA, **given)
    with pytest.raises(CallError, match="landscape takes a function of a Slang module, not a Python function"):
        sn.landscape(lambda a, b: a, a=(0, 1), b=(0, 1))  # pyright: ignore[reportArgumentType]


def test_arguments_have_names(session: Any) -> None:
    function: Any = session.compile("[Differentiable] float f(float a, float b) { return a * b; }").f
    draw: Any = sn.landscape
    with pytest.raises(sn.CallError, match="landscape: too many positional arguments") as caught:
        draw(function, (0, 1), (0, 1))
    assert "write sn.landscape(" in (caught.value.remedy or "")
