"""Gradient flow: one row per tensor, norms on one scale, and what deserves attention in words."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex

from slangnb.errors import CallError
from slangnb.views import show
from slangnb.views.array_source import pair_model
from slangnb.views.flow import MOST_DRAWN, FlowView, flow_model, wants_flow
from slangnb.views.flow_figure import drawing, page_size
from slangnb.views.model import PairModel
from slangnb.views.page import Page, render

RNG = np.random.default_rng(0)


def network() -> list[PairModel]:
    rng = np.random.default_rng(1)
    found = []
    for i, scale in enumerate((1e-9, 1e-3, 1.0)):
        found.append(pair_model(rng.standard_normal((16, 16)), scale * rng.standard_normal((16, 16)), name=f"W{i + 1}"))
        found.append(pair_model(rng.standard_normal(8), scale * rng.standard_normal(8), name=f"b{i + 1}"))
    return found


def test_norms_and_ratios_are_those_of_the_tensors() -> None:
    w = pair_model(np.array([[3.0, 4.0]]), np.array([[0.0, 0.5]]), name="w")
    row = flow_model([w]).rows[0]
    assert (row.value.stats.norm, row.ratio) == (5.0, 0.1)
    assert row.gradient is not None
    assert (row.gradient.stats.norm, row.gradient.stats.zeros) == (0.5, 1)


def test_decades_hold_all_norms() -> None:
    model = flow_model(network())
    norms = [s.stats.norm for row in model.rows for s in (row.value, row.gradient) if s is not None]
    assert all(norm is not None and 10.0 ** model.decades[0] < norm <= 10.0 ** model.decades[1] for norm in norms)


def test_norms_are_written_after_their_bars_and_without_exponents() -> None:
    size, draw = drawing(flow_model([pair_model(np.full((60, 2), 13.9), np.full((60, 2), 8000.0), name="w")]))
    page = Page(*size)
    draw(page)
    page.canvas.draw()
    norms = page.figure.axes[2]
    words = {word.get_text(): word for word in norms.texts}
    assert set(words) == {"152", "87636"}
    for word, bar in zip(norms.texts, norms.patches, strict=True):
        there = word.get_window_extent()
        assert bar.get_window_extent().x1 < there.x0 and there.x1 < norms.get_window_extent().x1


def test_numbers_are_legible_where_the_picture_is_made_narrower() -> None:
    model = flow_model(network())
    size, draw = drawing(model)
    page = Page(*size)
    draw(page)
    values, gradients, norms = page.figure.axes
    assert {word.get_fontsize() for ax in (values, gradients, norms) for word in ax.texts} == {8.0}
    # The lines of the scale end at the numbers.
    patches = [patch for word in norms.texts if (patch := word.get_bbox_patch()) is not None]
    assert len(patches) == 2 * len(model.rows) and {to_hex(one.get_facecolor()) for one in patches} == {"#ffffff"}


def test_in_little_room_the_picture_is_scrolled() -> None:
    assert '<div style="overflow-x:auto"><div style="min-width:700px">' in FlowView(network())._fragment
    assert "min-width" not in show(x=[1.0, 2.0])._repr_mimebundle_()[0]["text/html"]


def test_decades_where_there_are_no_norms() -> None:
    assert flow_model([pair_model(np.zeros(3), np.zeros(3), name="x")]).decades == (-1, 1)


def test_gradients_far_apart_are_said() -> None:
    caption = flow_model(network()).caption
    assert "times apart" in caption
    assert "(b1)" in caption
    assert "times apart" not in flow_model(network()[4:]).caption


def test_dead_missing_and_broken_gradients_are_said() -> None:
    models = [
        pair_model(np.ones(3), np.zeros(3), name="dead"),
        pair_model(np.ones(3), name="alone"),
        pair_model(np.ones(3), np.array([np.nan, 1, 2]), name="broken"),
    ]
    caption = flow_model(models).caption
    assert "gradient 0 everywhere: dead" in caption
    assert "no gradient: alone" in caption
    assert "gradient not finite: broken" in caption


def test_few_elements_are_points_and_many_a_histogram() -> None:
    few, many, lines = (
        flow_model([pair_model(a, name="x")]).rows[0].value
        for a in (np.array([1.0, np.nan, 2.0]), RNG.standard_normal((30, 30)), RNG.standard_normal(500))
    )
    assert few.points is not None
    assert few.points.tolist() == [1.0, 2.0]
    assert many.histogram is not None
    assert many.histogram.counts.sum() == 900
    assert lines.histogram is not None
    assert lines.histogram.counts.sum() == 500


def test_a_reduced_line_has_no_invented_histogram() -> None:
    side = flow_model([pair_model(RNG.standard_normal(50_000), name="x")]).rows[0].value
    assert side.histogram is None
    assert side.points is None


def test_when_a_flow_is_chosen() -> None:
    assert [wants_flow(n) for n in (1, 4, 5, 50)] == [False, False, True, True]
    assert wants_flow(1, True)
    assert not wants_flow(50, False)


def test_the_view_in_words() -> None:
    view = FlowView(network())
    lines = repr(view).splitlines()
    assert lines[0].startswith("tensor  elements")
    assert len(lines) == 8
    data, metadata = view._repr_mimebundle_()
    assert sorted(data) == ["image/png", "text/html", "text/plain"]
    assert "<script" not in data["text/html"]
    assert 'alt="gradient flow of 6 tensors. W1: norm' in data["text/html"]
    assert data["text/html"].count("<tr") == 7
    assert metadata["image/png"]["width"] == round(96 * 9.4)


def test_names_are_escaped_and_kept_on_one_line() -> None:
    view = FlowView([pair_model(np.ones(3), name="<b>\n$x_1$</b>")])
    assert "<b>" not in view._repr_mimebundle_()[0]["text/html"]
    assert len(repr(view).splitlines()) == 3


CASES = {
    "nothing finite": (np.full((9, 9), np.nan), np.full((9, 9), np.inf)),
    "constant": (np.full(100, 3.0), np.full(100, 1e-3)),
    "empty": (np.zeros((0, 3)), np.zeros((0, 3))),
    "number": (np.array(2.5), np.array(-1e9)),
    "huge": (np.array([1e308, -1e308]), np.array([1e-300, 1.0])),
    "overflowing": (np.full(100, 1.7e308), np.full(100, -1.7e308)),
    "tiny": (np.full(3, 5e-324), np.full(3, -5e-324)),
    "half": (np.arange(70, dtype=np.float16), np.arange(70, dtype=np.float16)),
    "integers": (np.arange(200), None),
    "booleans": (np.arange(50) % 2 == 0, None),
    "long": (np.arange(50_000.0), np.zeros(50_000)),
}


@pytest.mark.parametrize("case", CASES)
def test_everything_can_be_drawn(case: str) -> None:
    value, gradient = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        view = FlowView([pair_model(value, gradient, name=case)])
        assert view._png[1:4] == b"PNG"
        assert case in repr(view)


def test_many_rows_are_cut_in_the_picture_alone() -> None:
    models = [pair_model(np.ones(2), name=f"x{i}") for i in range(MOST_DRAWN + 6)]
    view = FlowView(models)
    assert page_size(view.model) == page_size(flow_model(models[:MOST_DRAWN]))
    assert view._repr_mimebundle_(include=["text/html"])[0]["text/html"].count("<tr") == len(models) + 1


def test_the_same_models_give_the_same_bytes() -> None:
    assert render(*drawing(flow_model(network())), 60) == render(*drawing(flow_model(network())), 60)
    assert FlowView(network())._repr_mimebundle_() == FlowView(network())._repr_mimebundle_()


def test_without_tensors() -> None:
    with pytest.raises(CallError, match="no tensors"):
        FlowView([])


def test_saving(tmp_path: Path) -> None:
    view = FlowView(network(), title="net")
    assert view.save(tmp_path / "x.png").read_bytes()[1:4] == b"PNG"
    assert "<title>net</title>" in view.save(tmp_path / "x.html").read_text()
    with pytest.raises(CallError, match=r"'\.gif'"):
        view.save(tmp_path / "x.gif")
    with pytest.raises(CallError, match="no folder"):
        view.save(tmp_path / "none" / "x.png")
