"""History: the steps that are kept on one scale, saved as a picture, a GIF and a page, the same on every run."""

import io
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from slangnb.errors import CallError
from slangnb.views import history as module
from slangnb.views import show
from slangnb.views.array_source import pair_model
from slangnb.views.figure import to_png
from slangnb.views.history import History
from slangnb.views.kept import Kept
from slangnb.views.model import PairModel
from slangnb.views.page import Page, drawing
from slangnb.views.snapshots import Frame
from slangnb.views.sources import source


def model(step: int, shape: tuple[int, ...] = (6,), name: str = "x") -> PairModel:
    value = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape) * (1 + step)
    return pair_model(value, value * 0.5**step, name=name)


def filled(steps: int, shape: tuple[int, ...] = (6,)) -> History:
    made = History()
    for step in range(steps):
        made.add([model(step, shape)])
    return made


@pytest.mark.parametrize(("last", "reach"), [(0.2, [2.0, 2.0, 2.0]), (0.1, [2.0, 1.0, 0.1])])
def test_each_step_has_its_own_scale_where_a_gradient_fades(last: float, reach: list[float]) -> None:
    made = History()
    for peak, slope in zip((1.0, 1.0, 50.0), (2.0, 0.0, last), strict=True):
        made.add([pair_model(np.array([[0.0, peak]]), np.array([[0.0, slope]]), name="x")])
    assert [f.models[0].value.limits.hi for f in made.frames] == [50.0] * 3
    assert [f.models[0].gradient.limits.hi for f in made.frames if f.models[0].gradient is not None] == reach
    assert ("has a scale for each step" in made._caption()) is (last == 0.1)


def test_a_line_on_its_own_scale_says_which() -> None:
    made = History()
    for slope in (1.0, 0.01):
        made.add([pair_model(np.zeros(20), np.linspace(-slope, slope, 20), name="x")])
    page = _drawn_page(made)
    words = [text.get_text() for text in page.figure.findobj(Text) if isinstance(text, Text)]
    assert [said for said in words if " to " in said] == ["-1 to 1  norm 2.71", "-0.01 to 0.01  norm 0.0271"]


def test_a_few_numbers_are_drawn_over_the_steps_with_their_signs() -> None:
    made = History()
    for a in (1.0, -1.0, -2.0, -3.0):
        made.add([pair_model(np.array(a), np.array(-2 * a), name="a")])
    page = _drawn_page(made)
    lines = [line for ax in page.figure.axes for line in ax.lines if len(np.asarray(line.get_ydata())) == 4]
    assert [np.asarray(line.get_ydata()).tolist() for line in lines] == [[1, -1, -2, -3], [-2, 2, 4, 6]]
    assert {ax.get_yscale() for ax in page.figure.axes} == {"linear"}
    words = [text.get_text() for text in page.figure.findobj(Text) if isinstance(text, Text)]
    assert words.count("over steps") == 2 and "norm of " not in words
    ticks = [ax.get_yticks().tolist() for ax in page.figure.axes if ax.lines]
    assert {-3, -2, -1, 0, 1} <= set(ticks[0]) and {-2, 0, 2, 4, 6} <= set(ticks[1])
    assert repr(made).splitlines()[-1] == "  step 3  value -3  gradient 6"
    assert "step 3, a: value -3, gradient 6" in made._alternative()
    assert "value</th>" in made._table() and ">-3</td>" in made._table()


def test_each_of_a_few_numbers_has_a_line_beside_the_norm_of_a_long_tensor() -> None:
    made = History()
    for step in range(3):
        made.add([pair_model(np.array([1.0 - step, np.nan]), name="a"), model(step, (20,), "b")])
    page = _drawn_page(made)
    words = [text.get_text() for text in page.figure.findobj(Text) if isinstance(text, Text)]
    assert "a[0]" in words and "a[1]" not in words and words.count("b") == 2
    assert "over steps, logarithmic axis" in words
    assert [ax.get_yscale() for ax in page.figure.axes].count("log") == 1


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (0.9, 6.0), (3e-7, 4e9), (1.0, 1e3)])
def test_a_logarithmic_axis_has_three_ticks_at_least(low: float, high: float) -> None:
    made = History()
    for norm in (low, high):
        made.add([pair_model(np.full(20, norm / 20**0.5), name="x")])
    [axes] = [ax for ax in _drawn_page(made).figure.axes if ax.get_yscale() == "log"]
    bottom, top = axes.get_ylim()
    assert 3 <= sum(bottom <= tick <= top for tick in axes.get_yticks()) <= 7


def _drawn_page(made: History) -> Page:
    size, draw = made._drawing()
    with drawing():
        page = Page(*size)
        draw(page)
    return page


def test_equal_numbers_have_equal_colours_in_all_frames() -> None:
    made = History()
    for peak in (1.0, 10.0):
        image = np.zeros((20, 20))
        image[:10] = 1.0
        image[0, 0] = peak
        made.add([pair_model(image, name="x")])
    pixels = [np.asarray(Image.open(io.BytesIO(_drawn(f))).convert("RGB")) for f in made.frames]
    middle = tuple(n // 3 for n in pixels[0].shape[:2])
    assert pixels[0][middle].tolist() == pixels[1][middle].tolist()


def _drawn(frame: Frame) -> bytes:
    return to_png(frame.models, 60)


def test_a_history_reads_its_sources() -> None:
    x = np.array([3.0, 4.0])
    made = History(sources=[source(x, "x")])
    for _ in range(3):
        made.update()
        x /= 2
    assert [n.value[0] for n in made.norms] == [5.0, 2.5, 1.25]
    with pytest.raises(CallError, match="no tensors to read"):
        History().update()


def test_a_history_shows_what_is_kept() -> None:
    kept = Kept(limit=3)
    made = History(kept)
    for step in range(5):
        made.add([model(step)])
    assert (made.steps, len(made), made.count) == (kept.steps, 3, 5)
    assert made.nbytes == kept.nbytes > 0
    assert made._caption() == "steps 0, 2, 4; one scale for all steps; 3 of 5 steps kept"


def test_without_steps(tmp_path: Path) -> None:
    empty = History()
    assert repr(empty) == "history without steps"
    assert empty._png[1:4] == b"PNG"
    with pytest.raises(CallError, match="no steps"):
        empty.save(tmp_path / "x.gif")


CASES = {
    "nothing finite": [np.full((5, 5), np.nan)] * 2,
    "broken in between": [np.full(6, 3.0), np.array([1, np.nan, 2, 3, np.inf, 0]), np.ones(6)],
    "huge": [np.array([1e308] * 6), np.array([-1e308] * 6)],
    "constant": [np.full((9, 9), 2.0)] * 3,
    "numbers": [np.array(float(i)) for i in range(3)],
    "empty": [np.zeros((0, 3))] * 2,
    "half": [np.arange(80, dtype=np.float16)] * 2,
    "integers": [np.arange(80) * i for i in (1, 2)],
    "booleans": [np.eye(9, dtype=bool), ~np.eye(9, dtype=bool)],
    "long": [np.sin(np.arange(9000) / 90) * i for i in (1, 2)],
    "colours": [np.full((8, 8, 3), 0.5), np.full((8, 8, 3), 0.7)],
    "colours, then not": [np.full((8, 8, 3), 0.5), np.full((8, 8, 3), 1.7)],
}


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_everything_can_be_drawn(case: str, gradient: bool) -> None:
    made = History(title=case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in CASES[case]:
            made.add([pair_model(array, array.astype(np.float64) if gradient else None, name="x")])
        data, _ = made._repr_mimebundle_()
    assert "<script" not in data["text/html"]
    assert f'alt="{case}: steps 0' in data["text/html"]


def test_the_picture_follows_the_steps() -> None:
    made = filled(2)
    before = made._png
    made.add([model(2)])
    assert made._png != before


def test_a_gif_plays_all_steps_and_is_the_same_every_time(tmp_path: Path) -> None:
    first = filled(5, (20, 20)).save(tmp_path / "a.gif").read_bytes()
    assert first == filled(5, (20, 20)).save(tmp_path / "b.gif").read_bytes()
    with Image.open(io.BytesIO(first)) as gif:
        assert (gif.format, getattr(gif, "n_frames", 1)) == ("GIF", 5)
        assert gif.info["loop"] == 0


def test_a_gif_keeps_the_colours_of_the_scales(tmp_path: Path) -> None:
    made = History()
    for step in range(3):
        made.add([pair_model(np.tile(np.linspace(0, 1 + step, 64), (64, 1)), name="x")])
    made.save(tmp_path / "a.gif")
    with Image.open(tmp_path / "a.gif") as gif:
        for i, frame in enumerate(made.frames):
            gif.seek(i)
            seen = np.asarray(gif.convert("RGB")).astype(int)
            true = np.asarray(Image.open(io.BytesIO(to_png(frame.models, 96, title=f"step {i}"))).convert("RGB"))
            inner = (slice(120, 400), slice(100, 400))
            assert np.abs(seen[inner] - true[inner]).max() <= 12


def test_a_page_is_complete_and_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_FRAMES", 4)
    made = History(title="a </script> b")
    for step in range(9):
        made.add([model(step, name="<x>")])
    text = made.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == made.save(tmp_path / "b.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|src=\"(?!data:)|@import|url\((?!data:|\$)", text)
    data = re.search(r'<script type="application/json" id="frames">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    frames = json.loads(data[1])
    assert [frame["step"] for frame in frames] == [0, 3, 5, 8]
    assert all(frame["light"].startswith("data:image/") and "<x>" in frame["alt"] for frame in frames)
    # Without scripts the player stays hidden and the picture is there.
    assert ".player{display:none" in text
    assert text.count("<figure") == 1


def test_the_stored_picture_follows_too() -> None:
    x = np.array([1.0, 2.0])
    history = show(x=x, history=True)
    before = history._repr_mimebundle_()[0]["image/png"]
    x[:] = 5.0
    history.update()
    assert history._repr_mimebundle_()[0]["image/png"] != before
