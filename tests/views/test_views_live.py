"""What the kernel sends to a live view, and what it answers; the browser is a fake here."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from slangnb.errors import CallError
from slangnb.views import frames, frontend, show
from slangnb.views.array_source import ArraySource
from slangnb.views.frames import Look
from slangnb.views.live import LivePair
from slangnb.views.pair import PairView
from slangnb.views.quantise import NAN, NEG_INF, POS_INF, STEPS
from slangnb.views.source import Source
from slangnb.views.sources import source


class Page:
    """Asks a widget as a browser does, and keeps its answers."""

    def __init__(self, of: Source) -> None:
        self.widget = LivePair(of, key="k")
        self.answers: list[tuple[dict[str, Any], list[bytes]]] = []
        self.widget.send = self._took  # pyright: ignore[reportAttributeAccessIssue]

    def _took(self, content: dict[str, Any], buffers: Any = None) -> None:
        json.dumps(content, allow_nan=False)
        self.answers.append((content, list(buffers or [])))

    def ask(self, kind: str, **rest: Any) -> dict[str, Any]:
        self.widget._answer(self.widget, {"kind": kind, "id": 1, **rest}, [])
        return self.answers[-1][0] if self.answers else {}

    def later(self) -> None:
        """As if so long had passed that the next picture is not too soon."""
        self.widget._last = 0.0

    @property
    def meta(self) -> dict[str, Any]:
        json.dumps(self.widget.meta, allow_nan=False)  # a browser does not read NaN
        return self.widget.meta

    def codes(self, panel: int = 0) -> np.ndarray:
        at = 0
        for p in self.meta["panels"][:panel]:
            at += p["layers"] * p["height"] * p["width"]
        p = self.meta["panels"][panel]
        count = p["layers"] * p["height"] * p["width"]
        found = np.frombuffer(self.widget.frame, np.uint8, count, at)
        return found.reshape(p["layers"], p["height"], p["width"])


def opened(value: Any, gradient: Any = None, **rest: Any) -> Page:
    page = Page(ArraySource(np.asarray(value), gradient, name="x", **rest))
    page.ask("hello")
    page.later()
    return page


def test_nothing_is_sent_before_a_page_asks() -> None:
    page = Page(source(np.zeros((300, 300)), "x"))
    page.widget.update()
    assert page.widget.frame == b"" and not page.widget.seen
    assert sum(len(v) for v in page.widget.get_state().values() if isinstance(v, (str, bytes))) < 80_000
    page.ask("hello")
    assert page.widget.seq == 1 and page.widget.frame


@pytest.mark.parametrize(("value", "calm"), [(1.0, True), (np.nan, False)])
def test_a_gradient_that_is_zero_is_no_alarm(value: float, calm: bool) -> None:
    page = opened(np.full((3, 4), value), np.zeros((3, 4)))
    assert page.meta["note"].endswith("gradient is 0 everywhere")
    assert page.meta["calm"] is calm


def test_a_frame_holds_both_panels() -> None:
    value, gradient = np.arange(12.0).reshape(3, 4), np.linspace(-1, 1, 12).reshape(3, 4)
    page = opened(value, gradient)
    assert [p["role"] for p in page.meta["panels"]] == ["value", "gradient"]
    assert page.codes(0)[0, 0, 0] == 0 and page.codes(0)[0, -1, -1] == STEPS
    assert page.codes(1)[0, 0, 0] == 0
    assert "value from 0 to 11" in page.meta["alt"]
    assert page.meta["exact"]
    numbers = np.frombuffer(page.widget.frame[24:], "<f4")
    assert numbers.tolist() == [*value.ravel(), *gradient.astype("f4").ravel()]


def test_large_pictures_send_no_numbers_and_answer_exactly() -> None:
    value = np.random.default_rng(0).normal(size=(512, 512))
    page = opened(value, value * 2)
    assert not page.meta["exact"] and len(page.widget.frame) == 2 * 512 * 512
    answer = page.ask("probe", row=7, column=9)
    assert answer["index"] == [7, 9]
    assert answer["value"] == f"{value[7, 9]:.6g}" and answer["gradient"] == f"{2 * value[7, 9]:.6g}"
    assert "error" in page.ask("probe", row=600, column=0)


def test_sliders_choose_the_slice() -> None:
    value = np.arange(5 * 6 * 7, dtype=np.float32).reshape(5, 6, 7)
    page = opened(value)
    assert page.meta["axes"]["sliders"] == [{"axis": 0, "size": 5, "pick": 2}]
    page.ask("axes", place=0, pick=4)
    assert page.ask("probe", row=1, column=2)["value"] == str(f"{value[4, 1, 2]:.6g}")
    page.ask("axes", role="rows", axis=0)
    assert page.meta["axes"]["down"] == 0 and page.meta["panels"][0]["height"] == 5
    assert page.ask("probe", row=1, column=2)["index"] == [1, 3, 2]


def test_zooming_into_a_reduced_picture_gives_all_elements() -> None:
    value = np.arange(1500 * 1200, dtype=np.float32).reshape(1500, 1200)
    page = opened(value)
    assert page.meta["steps"] == [3, 3]
    answer = page.ask("window", rows=[100, 300], columns=[50, 250])
    about = answer["about"]
    assert about["steps"] == [1, 1] and (about["panels"][0]["height"], about["panels"][0]["width"]) == (200, 200)
    assert len(page.answers[-1][1][0]) == 200 * 200
    assert about["panels"][0]["hi"] == page.meta["panels"][0]["hi"]  # the colours mean the same


def test_what_is_not_finite() -> None:
    value = np.zeros((4, 4), np.float32)
    value[0, :3] = np.nan, np.inf, -np.inf
    page = opened(value)
    assert page.codes()[0, 0, :3].tolist() == [NAN, POS_INF, NEG_INF]
    assert page.meta["panels"][0]["marks"] == [[0, 0, 0, NAN], [0, 0, 1, POS_INF], [0, 0, 2, NEG_INF]]
    assert "1 NaN, 1 +Inf, 1 -Inf" in page.meta["note"]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (np.full((5, 6), np.nan), "image"),
        (np.full((5, 6), 3.0), "image"),
        (np.zeros((0, 3)), "empty"),
        (np.float32(2.5), "scalar"),
        (np.ones((5, 6), np.float16), "image"),
        (np.arange(30).reshape(5, 6), "image"),
        (np.arange(30).reshape(5, 6) % 2 == 0, "image"),
        (np.array([1e308, -1e308] * 15).reshape(5, 6), "image"),
        (np.arange(9.0), "line"),
        (np.arange(9000.0), "line"),
        (np.ones((1, 9)), "line"),
        (np.ones((6, 7, 3)), "rgb"),
        (np.ones((6, 7, 3)) * 9, "facets"),
        (np.full((1500, 1500), np.inf), "image"),
    ],
)
@pytest.mark.parametrize("look", [{}, {"limits": "robust", "scale": "symlog"}, {"limits": "shared", "mode": "sign"}])
def test_everything_becomes_a_picture_or_a_sentence(value: Any, kind: str, look: dict[str, str]) -> None:
    for gradient in (None, np.zeros_like(value, dtype=np.float32)):
        page = opened(value, gradient)
        page.widget.look = look
        page.later()
        page.widget.update()
        assert page.meta["kind"] == kind
        if kind in ("empty", "scalar"):
            assert page.widget.frame == b"" and page.meta["said"]
        else:
            assert len(page.widget.frame) > 0
            assert all(p["lo"] <= p["hi"] for p in page.meta["panels"] if not p.get("colours"))
            assert "error" not in page.ask("probe", row=0, column=0)


def test_looks_change_what_colours_mean() -> None:
    value = np.array([[1.0, 2.0], [3.0, 400.0]])
    page = opened(value, np.array([[-1.0, 0.0], [0.5, 2.0]]))
    page.widget.look = {"limits": "symmetric"}
    assert page.meta["panels"][0]["lo"] == -400
    page.widget.look = {"limits": "shared"}
    assert [p["hi"] for p in page.meta["panels"]] == [400, 400]
    page.widget.look = {"mode": "magnitude"}
    assert page.meta["panels"][1]["lo"] == 0 and page.codes(1)[0, 0, 0] == STEPS // 2
    page.widget.look = {"mode": "sign"}
    assert len(set(page.codes(1).ravel().tolist())) == 3
    page.widget.look = {"mode": "nonsense", "limits": 7}
    assert page.meta["panels"][1]["hi"] == 2
    assert Look.of({"mode": []}) == Look()


def test_update_draws_again_with_the_same_statistics_as_a_full_measurement() -> None:
    value = np.linspace(-1, 1, 400, dtype=np.float32).reshape(20, 20)
    page = opened(value, value * 3)
    seq = page.widget.seq
    value *= 2
    page.widget.update()
    assert page.widget.seq == seq + 1
    assert page.meta["panels"][0]["hi"] == 2
    fresh = opened(value, value * 1.5)
    assert page.meta["said"]["value"] == fresh.meta["said"]["value"]
    value[0, 0] = np.nan
    page.later()
    page.widget.update()
    assert "1 NaN" in page.meta["said"]["value"]


class Broken(ArraySource):
    """A tensor whose device was closed."""

    def refresh(self) -> None:
        raise CallError("the device of x was closed, and its numbers with it")


def test_a_tensor_that_is_gone_is_a_sentence() -> None:
    page = Page(Broken(np.zeros((3, 3)), name="x"))
    page.ask("hello")
    page.later()
    page.widget.update()
    assert page.meta["kind"] == "said" and "was closed" in page.meta["said"]


def test_vectors_are_answered_whole_and_matrices_by_entry() -> None:
    vectors = opened(np.arange(24.0).reshape(2, 4, 3), element=(3,))
    assert vectors.ask("probe", row=1, column=2)["value"] == "(18, 19, 20)"
    matrices = opened(np.arange(20.0).reshape(5, 2, 2), element=(2, 2))
    assert matrices.ask("probe", row=1, column=0)["value"] == "10"


def test_update_of_a_view_reads_again() -> None:
    value = np.array([[1.0, 2.0], [3.0, 4.0]])
    view = show(x=value)
    assert isinstance(view, PairView)
    value[:] = 7.0
    assert "min 1" in repr(view)
    view.update()
    assert "min 7" in repr(view)
    assert view.widget is not None


def test_widgets_and_sources_are_named_without_an_address() -> None:
    assert repr(show(x=np.ones((2, 3))).widget) == "<LivePair x>"
    assert repr(show(x=np.ones(3), history=True).widget) == "<LiveHistory x>"
    assert repr(source(np.ones((2, 3), np.float32), "x")) == "<ArraySource x: float32 (2, 3)>"
    assert repr(ArraySource(np.ones((9, 9, 3)), name="v", element=(3,))) == "<ArraySource v: double3 (9, 9)>"


def test_rows_of_a_view_come_in_a_box() -> None:
    box = show(np.zeros((2, 2)), np.ones(3)).widget
    assert [type(w).__name__ for w in box.children] == ["LivePair", "LivePair"]
    assert len({w.group for w in box.children}) == 1


def test_without_a_kernel_there_is_no_widget() -> None:
    view = show(x=np.zeros((2, 2)), live=True)
    data, _ = view._repr_mimebundle_()
    assert frontend.shell() is None and not view._widgets
    assert data["text/html"].startswith('<div data-slangnb-view="') and "<script" not in data["text/html"]
    assert data == show(x=np.zeros((2, 2)))._repr_mimebundle_()[0]
    with pytest.raises(CallError, match="live is True or False"):
        show(x=1.0, live=np.zeros(3))  # pyright: ignore[reportArgumentType]


def test_only_a_page_gets_widgets() -> None:
    lab = {"header": {"msg_type": "execute_request"}, "metadata": {"cellId": "a", "deletedCells": []}}
    assert frontend.from_browser(lab, {})
    assert frontend.from_browser({"header": {"msg_type": "comm_msg"}}, {})
    assert not frontend.from_browser({"header": {"msg_type": "execute_request"}, "metadata": {}}, {})
    assert not frontend.from_browser({}, {})
    assert frontend.from_browser({}, {"SERVER_SOFTWARE": "voila/0.5"})


def test_quick_statistics_equal_the_full_ones() -> None:
    from slangnb.views.measure import measure
    from slangnb.views.text import statistics

    for seed in range(5):
        array = np.random.default_rng(seed).normal(size=(64, 64)).astype(np.float32) * 10.0**seed
        array[0, :seed] = 0
        quick = frames.quick_stats(array)
        assert quick is not None
        assert statistics(quick) == statistics(measure(array))
    assert frames.quick_stats(np.array([np.inf])) is None


def test_pictures_faster_than_the_eye_are_left_out_but_the_last_is_sent() -> None:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def loop() -> int:
        page = opened(np.zeros((4, 4)))
        for _ in range(50):
            page.widget.update()
        sent = page.widget.seq
        await asyncio.sleep(0.1)
        assert page.widget.seq == sent + 1
        return sent

    # In a thread of its own: where browsers were tested, this one may have a loop already.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, loop()).result() < 10


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ([[0.0, 1e300], [5e299, np.inf]], [0, STEPS, STEPS // 2, POS_INF]),
        ([[0.0, 1e-300], [5e-301, np.nan]], [0, STEPS, STEPS // 2, NAN]),
        ([[1e9, 1e9 + 2], [1e9 + 1, 1e9]], [0, STEPS, STEPS // 2, 0]),
    ],
    ids=["large", "small", "close"],
)
def test_numbers_beyond_single_precision_keep_their_colours(value: Any, codes: list[int]) -> None:
    page = opened(value)
    assert page.codes().ravel().tolist() == codes
    assert not page.meta["exact"]
    assert page.ask("probe", row=0, column=1)["value"] == f"{value[0][1]:.6g}"


@pytest.mark.parametrize("value", [[0.0, 1e300, -5e299], [0.0, 1e-300, 5e-301], [1e9, 1e9 + 2, 1e9 + 1]])
def test_lines_beyond_single_precision_are_whole(value: list[float]) -> None:
    page = opened(value)
    panel = page.meta["panels"][0]
    sent = np.frombuffer(page.widget.frame, "<f4").astype(np.float64) * panel["unit"] + panel["offset"]
    assert sent == pytest.approx(value, rel=1e-6, abs=1e-6 * (max(value) - min(value)))


def test_a_displayed_view_sends_pictures_before_the_page_can_ask() -> None:
    value = np.zeros((30, 40), np.float32)
    page = Page(source(value, "x"))
    page.widget.appear()
    assert page.widget.seq == 1 and page.widget.frame and page.widget.maps
    page.later()
    value[:] = 3
    page.widget.update()
    assert page.widget.seq == 2 and "max 3" in page.meta["said"]["value"]
    page.ask("hello")
    assert page.widget.seq == 2


@pytest.mark.parametrize(("paged", "sent"), [(True, 1), (False, 0)])
def test_a_widget_by_itself_is_drawn_when_a_page_displays_it(
    paged: bool, sent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontend, "has_page", lambda: paged)
    widget = show(x=np.zeros((3, 4))).widget
    widget.update()
    assert widget.seq == 0
    widget._repr_mimebundle_()
    assert widget.seq == sent
