"""A history alive: the frames of its steps, one scale for all, and what the page asks; the browser is a fake here."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from slangnb.errors import CallError
from slangnb.views import show
from slangnb.views.array_source import pair_model
from slangnb.views.axes import Axes
from slangnb.views.history import History
from slangnb.views.history_live import LiveHistory, make_widgets
from slangnb.views.kept import Kept
from slangnb.views.quantise import STEPS
from slangnb.views.snapshot_source import SnapshotSource, extent
from slangnb.views.snapshots import Frame, slim

WHOLE = (0, 1 << 40)


def history_of(*values: Any, gradient: bool = False, limit: int = 64) -> History:
    made = History(Kept(limit))
    for value in values:
        array = np.asarray(value)
        made.add([pair_model(array, -array.astype(np.float64) if gradient else None, name="x")])
    return made


def alive(made: History) -> LiveHistory:
    widget = make_widgets(lambda: made.frames)[-1]
    assert isinstance(widget, LiveHistory)
    widget._answer(widget, {"kind": "hello"}, [])
    return widget


def source_of(value: Any, gradient: bool = False, element: tuple[int, ...] = ()) -> SnapshotSource:
    model = slim(pair_model(np.asarray(value), np.asarray(value) if gradient else None, name="x", element=element))
    return SnapshotSource(lambda: [Frame(0, (model,))], 0)


def spans(widget: LiveHistory) -> list[tuple[float, float]]:
    meta: Any = widget.meta
    return [(p["lo"], p["hi"]) for p in meta["panels"]]


def code(widget: LiveHistory, place: int) -> int:
    return widget.frame[place]


@pytest.mark.parametrize(
    ("shape", "whole", "element"),
    [
        ((), (), ()),
        ((7,), (7,), ()),
        ((100_000,), (100_000,), ()),
        ((100_003,), (100_003,), ()),
        ((5, 700), (5, 700), ()),
        ((4, 6, 5, 9), (5, 9), ()),
        ((2001, 1501), (2001, 1501), ()),
        ((9, 9, 3), (9, 9), (3,)),
    ],
)
def test_what_was_kept_has_the_size_of_what_was_drawn(
    shape: tuple[int, ...], whole: tuple[int, ...], element: tuple[int, ...]
) -> None:
    model = pair_model(np.arange(float(np.prod(shape))).reshape(shape), name="x")
    assert extent(model) == (whole, element)


def test_a_window_of_an_image_is_that_part_of_it() -> None:
    value = np.arange(48.0).reshape(6, 8)
    found = source_of(value, gradient=True).window(Axes(0, 1), (1, 4), (2, 7))
    assert (found.rows, found.columns, found.steps) == ((1, 4), (2, 7), (1, 1))
    assert found.value.array.tolist() == value[1:4, 2:7].tolist()
    assert found.gradient is not None and found.gradient.array.tolist() == value[1:4, 2:7].tolist()


def test_a_window_of_a_reduced_image_holds_what_was_asked_for() -> None:
    source = source_of(np.random.default_rng(0).normal(size=(2001, 1501)))
    down, across = source.model().value.steps
    assert down > 1
    whole = source.window(Axes(0, 1), WHOLE, WHOLE)
    assert (whole.rows, whole.columns) == ((0, 2001), (0, 1501))
    part = source.window(Axes(0, 1), (1000, 1010), (1499, 1501))
    assert part.rows[0] <= 1000 and part.rows[1] >= 1010 and part.columns[1] == 1501
    place = part.rows[0] // down, part.columns[0] // across
    assert part.value.array[0, 0] == whole.value.array[place]


def test_a_window_of_a_long_line() -> None:
    source = source_of(np.arange(100_000.0))
    whole = source.window(Axes(None, 0), WHOLE, WHOLE)
    assert whole.columns == (0, 100_000) and whole.value.upper is not None
    part = source.window(Axes(None, 0), WHOLE, (50_000, 50_100))
    assert part.columns[0] <= 50_000 and part.columns[1] >= 50_100 and part.value.upper is not None
    assert part.value.array[0, 0] <= 50_000 <= part.value.upper[0, -1]


def test_components_are_layers_and_one_can_be_chosen() -> None:
    value = np.stack([np.full((6, 7), k + 2.0) for k in range(3)], axis=-1)
    source = source_of(value)
    assert source.window(Axes(0, 1), WHOLE, WHOLE).value.array[:, 0, 0].tolist() == [2.0, 3.0, 4.0]
    one = source.window(Axes(0, 1, (), 1), WHOLE, WHOLE)
    assert one.kind == "image" and one.value.array.shape == (6, 7) and one.value.array[0, 0] == 3.0


def test_colours_are_drawn_as_colours() -> None:
    found = source_of(np.full((6, 7, 3), 0.5)).window(Axes(0, 1), WHOLE, WHOLE)
    assert (found.kind, found.value.array.shape) == ("rgb", (3, 6, 7))
    assert found.value.marks.nan.shape == (3, 6, 7)


def test_elements_are_read_where_all_were_kept() -> None:
    assert source_of(np.arange(12.0).reshape(3, 4), gradient=True).probe((1, 2)) == (6.0, 6.0)
    assert source_of([1.0, 2.5]).probe((1,)) == (2.5, None)
    assert source_of(np.arange(108.0).reshape(6, 6, 3)).probe((0, 1)) == ((3.0, 4.0, 5.0), None)
    assert source_of([1.0, 2.5]).probed((1,)) == source_of(np.eye(3)).probed((1, 1)) == ""
    with pytest.raises(CallError, match="no element"):
        source_of([1.0]).probe((1,))


def test_where_several_elements_are_drawn_as_one_a_probe_says_so() -> None:
    value = np.zeros((1200, 1000))
    value[7, 1], value[1199, 999] = 9.0, -3.0
    source = source_of(value, gradient=True)
    down, across = source.model().value.steps
    assert down * across > 1
    assert source.probe((5 // down * down, 0))[0] in (0.0, 9.0)
    assert source.probe((7, 0)) == source.probe((7, 1)) == (9.0, 9.0)
    assert source.probe((1199, 998)) == (-3.0, -3.0)
    assert source.probed((7, 0)) == f"most extreme of {down} × {across} elements"
    line = np.arange(100_001.0)
    source = source_of(line)
    for at in (0, 5, 33_333, 50_000, 100_000):
        low, high = source.probe((at,))[0]  # pyright: ignore[reportGeneralTypeIssues]
        assert low <= at <= high
        assert source.probed((at,)) == f"smallest and largest of {high - low + 1:.0f} elements"
    colours = source_of(np.full((1500, 1500, 3), 0.5))
    assert colours.probed((0, 0)).startswith("first of ") and colours.probe((1499, 1499)) == ((0.5,) * 3, None)
    with pytest.raises(CallError, match="not each of its elements"):
        source_of(np.zeros((100_000, 2)), element=(2,)).probe((5,))
    assert source_of(2.5).probe(()) == (2.5, None)


def test_the_last_step_is_shown_first() -> None:
    widget = alive(history_of([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]))
    assert (widget.steps, widget.step) == ([0, 1], 1)
    assert "value from 5 to 8" in widget.meta["alt"]
    json.dumps(widget.meta, allow_nan=False)


def test_all_steps_share_one_scale() -> None:
    widget = alive(history_of([[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 4.0]]))
    assert code(widget, 3) == STEPS
    widget.step = 0
    assert code(widget, 3) == STEPS // 4
    assert spans(widget) == [(0.0, 4.0)]
    # What is said is that of the step.
    assert "value from 0 to 1" in widget.meta["alt"]
    sent: list[Any] = []
    widget.send = lambda content, buffers=None: sent.append(content)  # pyright: ignore[reportAttributeAccessIssue]
    widget._answer(widget, {"kind": "window", "id": 1, "rows": [0, 2], "columns": [0, 2]}, [])
    assert sent[0]["about"]["panels"][0]["hi"] == 4.0


def test_a_gradient_stays_centred_on_zero() -> None:
    widget = alive(history_of([[1.0, 2.0]] * 2, [[3.0, 4.0]] * 2, gradient=True))
    widget.step = 0
    assert spans(widget) == [(1.0, 4.0), (-4.0, 4.0)]


def test_a_gradient_that_fades_has_a_scale_for_each_step() -> None:
    widget = alive(history_of([[1.0, 20.0]] * 2, [[0.5, 1.0]] * 2, gradient=True))
    assert spans(widget) == [(0.5, 20.0), (-1.0, 1.0)]
    widget.step = 0
    assert spans(widget) == [(0.5, 20.0), (-20.0, 20.0)]
    assert widget.meta["caption"] == "the gradient has a scale of its own at each step"


def test_a_view_at_the_last_step_goes_on_with_it() -> None:
    made = history_of([1.0, 2.0])
    widget = make_widgets(lambda: made.frames)[0]
    assert isinstance(widget, LiveHistory)
    widget._answer(widget, {"kind": "hello"}, [])
    made._widgets.append(widget)
    widget._last = 0.0
    made.add([pair_model(np.array([3.0, 4.0]), name="x")])
    assert (widget.steps, widget.step) == ([0, 1], 1)
    assert "value from 3 to 4" in widget.meta["alt"]
    widget.step = 0
    widget._last = 0.0
    made.add([pair_model(np.array([5.0, 6.0]), name="x")])
    assert (widget.steps, widget.step) == ([0, 1, 2], 0)
    assert "value from 1 to 2" in widget.meta["alt"]


def test_a_step_that_was_dropped_gives_way_to_the_one_before() -> None:
    made = history_of(*[[float(i), 9.0] for i in range(4)], limit=4)
    widget = alive(made)
    widget.step = 1
    for i in range(4, 9):
        made.add([pair_model(np.array([float(i), 9.0]), name="x")])
    widget._draw()
    assert widget.steps == list(made.steps) == [0, 4, 8]
    assert widget.step == 0


def test_tensors_of_one_history_are_at_the_same_step() -> None:
    x, y = np.ones(3), np.zeros((4, 4))
    history = show(x=x, y=y, history=True)
    x += 1
    history.update()
    box = history.widget
    first, last = box.children
    assert (first.row, last.row, first.count) == (0, 1, 2)
    last.step = 0
    assert first.step == 0
    first.step = 1
    assert last.step == 1


@pytest.mark.parametrize(
    "values",
    [
        [np.array(1.0), np.array(2.0)],
        [np.zeros((0, 3))] * 2,
        [np.full((5, 5), np.nan), np.ones((5, 5))],
        [np.full((8, 8, 3), 0.5), np.full((8, 8, 3), 1.7)],
        [np.array([1e308] * 6), np.array([-1e308] * 6)],
        [np.sin(np.arange(9000) / 90), np.arange(9000) / 9000],
        [np.eye(9, dtype=bool), ~np.eye(9, dtype=bool)],
        [np.arange(48).reshape(2, 2, 3, 4)] * 2,
    ],
    ids=["numbers", "empty", "NaN", "colours", "huge", "long", "booleans", "4-D"],
)
@pytest.mark.parametrize("gradient", [False, True])
def test_every_kind_is_drawn_at_every_step(values: list[Any], gradient: bool) -> None:
    widget = alive(history_of(*values, gradient=gradient))
    for step in (0, 1):
        widget.step = step
        assert widget.meta["kind"] != "said", widget.meta
        json.dumps(widget.meta, allow_nan=False)


def test_without_steps_there_is_nothing_to_see() -> None:
    with pytest.raises(CallError, match="no steps"):
        _ = History().widget
    assert History().make_widgets("k") == []
