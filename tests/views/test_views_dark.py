"""Pictures for dark themes: every word can be read on its paper, and the colours of numbers stay."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from PIL import Image, features

import slangnb
from slangnb.views import show
from slangnb.views.array_source import pair_model
from slangnb.views.compact import compact
from slangnb.views.dark import DARK_PAPER, dark_ink, darken
from slangnb.views.figure import drawing
from slangnb.views.flow import FlowView
from slangnb.views.history import History
from slangnb.views.overlay import data_url, overlay, stored_pictures
from slangnb.views.page import Drawing, Page, render, render_both
from slangnb.views.page import drawing as settings
from slangnb.views.scatter import ScatterView, scatter_model
from slangnb.views.still import StillView
from slangnb.views.style import (
    COMPONENTS,
    INK,
    KEPT,
    MARK,
    MUTED,
    NEGATIVE,
    NEGATIVE_SOFT,
    PAPER,
    POSITIVE,
    POSITIVE_SOFT,
    VALUE,
    for_words,
)

rng = np.random.default_rng(0)
WAVE = np.sin(np.arange(96)[:, None] / 15) * np.cos(np.arange(144) / 20)


def pair(value: Any, gradient: Any = None, name: str = "x") -> Any:
    return pair_model(np.asarray(value, np.float64), None if gradient is None else np.asarray(gradient), name=name)


def vectors(count: int, size: int) -> Any:
    numbers = rng.normal(size=(count, size))
    return pair_model(numbers, numbers, name="v", element=(size,))


def flow(rows: int = 6) -> FlowView:
    models = [pair(rng.normal(size=900) * 10.0**-i, rng.normal(size=900) * 10.0**-i, f"W{i}") for i in range(rows - 2)]
    models += [pair(np.arange(6.0), [1, -1, 0, np.nan, 2, 3.0], "b"), pair([np.inf, 0.0], name="c")]
    return FlowView(models)


def scatter(count: int) -> ScatterView:
    x = rng.normal(size=count)
    return ScatterView(scatter_model(x, np.tanh(x) + 0.1 * rng.normal(size=count), name="x"))


def history(*shapes: str) -> History:
    made = History()
    values = {"image": WAVE, "curve": np.sin(np.arange(200) / 20), "few": np.arange(6.0) - 2, "cells": np.eye(3)}
    for step in range(8):
        made.add([pair(values[s] * 0.8**step, values[s] * 0.5**step, s) for s in shapes])
    return made


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "flow": lambda: flow()._drawing(),
    "few points": lambda: scatter(40)._drawing(),
    "many points": lambda: scatter(9000)._drawing(),
    "history": lambda: history("curve", "few", "cells")._drawing(),
    "image": lambda: drawing([pair(WAVE, WAVE)]),
    "cells": lambda: drawing([pair(np.eye(3), -np.eye(3))]),
    "numbers": lambda: drawing([pair(2.5, -1.0), pair(np.nan, 3.0)]),
    "components": lambda: drawing(
        [pair_model(rng.normal(size=(90, 4)), rng.normal(size=(90, 4)), name="v", element=(4,))]
    ),
    "facets": lambda: drawing([pair_model(rng.normal(size=(9, 9, 3)), name="v", element=(3,))]),
}


def luminance(colour: Any) -> float:
    parts = [c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: Any, other: Any) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), int)


@pytest.mark.parametrize("colour", [INK, MUTED, VALUE, POSITIVE, NEGATIVE, MARK, *COMPONENTS])
def test_words_can_be_read_on_both_papers(colour: str) -> None:
    assert contrast(for_words(colour), PAPER) >= 4.5
    assert contrast(dark_ink(for_words(colour)), DARK_PAPER) >= 4.5
    assert dark_ink(for_words(colour)) == dark_ink(colour)


@pytest.mark.parametrize("colour", COMPONENTS)
def test_lines_can_be_seen_on_both_papers(colour: str) -> None:
    assert contrast(colour, PAPER) >= 3
    assert contrast(dark_ink(colour), DARK_PAPER) >= 3


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("dark", [False, True])
def test_every_word_that_is_drawn_can_be_read(name: str, dark: bool) -> None:
    size, draw = DRAWINGS[name]()
    with settings():
        page = Page(*size)
        draw(page)
        if dark:
            darken(page.figure)
        page.canvas.draw()
    paper = DARK_PAPER if dark else PAPER
    words = [t for t in page.figure.findobj(Text) if isinstance(t, Text) and t.get_text().strip()]
    words = [t for t in words if t.get_visible() and t.get_gid() != KEPT]
    assert len(words) > 2
    for word in words:
        assert contrast(word.get_color(), paper) >= 4.5, (word.get_text(), word.get_color())


def test_colour_maps_stay() -> None:
    light, dark = (pixels(png) for png in render_both(*drawing([pair(WAVE, WAVE)]), 60))
    assert light[0, 0].tolist() == [255] * 3 and dark[0, 0].tolist() == [17] * 3
    same = (light == dark).all(axis=2)
    assert 0.4 < same.mean() < 0.9
    middle = tuple(n // 3 for n in light.shape[:2])
    assert same[middle]


def test_marks_on_a_picture_are_those_of_the_light_theme() -> None:
    value = WAVE.copy()
    value[::20, ::20] = np.nan
    light, dark = (pixels(png) for png in render_both(*drawing([pair(value)]), 90))
    marked = np.abs(light - np.array(to_rgb(MARK)) * 255).max(axis=2) < 3
    marked[:70] = False  # the count in the heading is a word
    assert marked.sum() > 100 and (light == dark).all(axis=2)[marked].all()


def test_numbers_in_cells_keep_their_colours() -> None:
    light, dark = (pixels(png) for png in render_both(*drawing([pair(np.eye(3))]), 90))
    rows, columns = np.nonzero((light == (68, 1, 84)).all(axis=2))
    rows, columns = rows[rows < light.shape[0] // 2], columns[rows < light.shape[0] // 2]
    inside = slice(rows.min(), rows.max()), slice(columns.min() + 2, columns.max() - 1)
    assert (light[inside] == dark[inside]).all()


def test_the_same_drawing_gives_the_same_bytes() -> None:
    assert flow()._drawing()[0] == flow()._drawing()[0]
    size, draw = drawing([pair(WAVE)])
    light, dark = render_both(size, draw, 60)
    assert light == render(size, draw, 60, quick=True)
    assert dark == render(size, draw, 60, dark=True, quick=True) == render_both(size, draw, 60)[1]


def test_a_mark_keeps_its_colour_where_it_is_small() -> None:
    for png, mark in zip(flow()._stored[1:], (MARK, dark_ink(MARK)), strict=True):
        wanted = np.array(to_rgb(mark)) * 255
        assert (np.abs(pixels(png) - wanted).max(axis=2) < 12).sum() > 10


@pytest.mark.parametrize("view", [flow(), scatter(1500), history("image")], ids=["flow", "scatter", "history"])
def test_stored_pictures_have_clean_paper_and_are_close(view: StillView) -> None:
    whole = render_both(*view._drawing(), 120)
    light, over = (Image.open(io.BytesIO(png)).convert("RGBA") for png in view._stored[1:])
    for seen, full, paper in zip((light, Image.alpha_composite(light, over)), whole, (255, 17), strict=True):
        file = io.BytesIO()
        seen.save(file, "PNG")
        small = file.getvalue()
        assert pixels(small)[0, 0].tolist() == [paper] * 3
        away = np.abs(pixels(small) - pixels(full)).max(axis=2)
        assert away.mean() < 2


def test_a_notebook_of_ten_views_is_small() -> None:
    views = [
        *(flow(), flow(5), scatter(40), scatter(1500), history("image"), history("curve", "few")),
        *(
            show(pair=WAVE, flow=False),
            show(curve=np.sin(np.arange(200) / 20)),
            show(few=[1.0, 2.0]),
            show(c=np.eye(20)),
        ),
    ]
    assert len(views) == 10
    total = sum(len(text) for view in views for text in view._repr_mimebundle_()[0].values())
    assert total < 1_000_000


def test_dark_pictures_are_chosen_without_scripts_and_the_light_one_is_there_without_styles() -> None:
    data, _ = flow()._repr_mimebundle_()
    text = data["text/html"]
    assert "<script" not in text and re.search(
        r'\[data-jp-theme-light="false"\] \.slangnb-still \.slangnb-dark\{display:block', text
    )
    light, dark = re.findall(r'<img [^>]*src="data:image/webp;base64,([^"]+)"', text)
    assert (pixels(base64.b64decode(light)) == pixels(base64.b64decode(data["image/png"]))).all()
    assert f' alt="" width="0" height="0" src="data:image/webp;base64,{dark}">' in text
    assert "@media screen" in text


def test_the_lab_extension_has_the_same_rule() -> None:
    # For outputs that JupyterLab took the styles out of.
    script = Path(slangnb.__file__).parent / "labextension/static/theme.js"
    rule = "".join(re.findall(r"^  '(.*)'(?: \+|;)$", script.read_text("utf-8"), re.MULTILINE))
    assert "slangnb-dark" in rule and rule.startswith("@media screen{")
    text = flow()._repr_mimebundle_()[0]["text/html"]
    assert rule.removesuffix("}") in text


@pytest.mark.parametrize("webp", [True, False])
def test_stored_pictures_where_pillow_has_no_webp(monkeypatch: pytest.MonkeyPatch, webp: bool) -> None:
    monkeypatch.setattr(features, "check", lambda _name: webp)
    both = render_both(*drawing([pair(WAVE, WAVE)]), 90)
    made = stored_pictures(*both)
    assert [data_url(one).partition(";")[0][11:] for one in made] == ["png", *["webp" if webp else "png"] * 2]
    assert (pixels(made.light) == pixels(made.png)).all()
    assert not webp or len(made.light) < 0.8 * len(made.png)
    light, over = (Image.open(io.BytesIO(one)).convert("RGBA") for one in made[1:])
    seen = np.asarray(Image.alpha_composite(light, over).convert("RGB"), int)
    assert np.abs(seen - pixels(both[1])).max(axis=2).mean() < 3


def test_a_bar_that_has_the_colour_of_an_ink_keeps_it() -> None:
    # At the middle of 63 bars or so, the colour of a gradient is that of a soft orange, which has a dark form.
    x = np.linspace(-1, 1, 4096).reshape(64, 64)
    size, draw = drawing([pair(x, x)])
    with settings():
        page = Page(*size)
        draw(page)
        bars = [c for c in page.figure.findobj(PolyCollection) if isinstance(c, PolyCollection)]
        before = [np.array(c.get_facecolor()) for c in bars]
        assert len(before) == 2
        inks = {to_hex(c) for colours in before for c in colours}
        assert {POSITIVE_SOFT, NEGATIVE_SOFT, VALUE} & inks
        darken(page.figure)
        assert all((np.array(c.get_facecolor()) == old).all() for c, old in zip(bars, before, strict=True))


def test_what_both_themes_share_is_stored_once() -> None:
    light, dark = render_both(*drawing([pair(WAVE, WAVE)]), 120)
    over = overlay(dark, light)
    assert len(over) < 0.6 * len(compact(light))
    seen = np.asarray(Image.open(io.BytesIO(over)).convert("RGBA"))
    middle = tuple(n // 3 for n in seen.shape[:2])
    assert seen[middle][3] == 0 and seen[0, 0].tolist() == [17, 17, 17, 255]
