"""Images of colours: the same pixels in the live view and in the picture, of bytes and of floats, near and far."""

import io
from typing import Any

import numpy as np
import pytest

from slangnb.views import device_source, frames, show
from slangnb.views.array_source import ArraySource, pair_model
from slangnb.views.axes import Axes, default_axes
from slangnb.views.figure import drawing
from slangnb.views.frames import Look
from slangnb.views.images import LightSource
from slangnb.views.page import render_both
from slangnb.views.snapshot_source import SnapshotSource
from slangnb.views.source import Source
from slangnb.views.sources import source

ORANGE = (255, 128, 0)
WHOLE = (0, 1 << 40)


def image(kind: Any, components: int = 3, size: tuple[int, int] = (64, 96)) -> np.ndarray:
    """Orange, with one pixel of black; a fourth component is opacity."""
    array = np.zeros((*size, components), np.uint8)
    array[...] = (*ORANGE, 77)[:components]
    array[0, 1, :3] = 0
    return array if kind is np.uint8 else (array / np.float64(255)).astype(kind)


def pixels(of: Source, rows: tuple[int, int] = WHOLE, columns: tuple[int, int] = WHOLE, most: int = 512) -> np.ndarray:
    """Give the colours that a page is sent: (rows, columns, 3)."""
    window = of.window(default_axes(of.shape, of.element), rows, columns, most)
    about, data = frames.pixels(window, Look(), {role: panel.stats for role, panel in of.model().panels})
    panel = about["panels"][0]
    assert panel["colours"] and not about["exact"]
    shape = (panel["layers"], panel["height"], panel["width"])
    found = np.frombuffer(data, np.uint8, int(np.prod(shape))).reshape(shape)
    return np.moveaxis(found, 0, -1)


@pytest.mark.parametrize("kind", [np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("components", [3, 4])
def test_live_colours_are_those_of_the_image(kind: Any, components: int) -> None:
    of = source(image(kind, components), "x")
    near = pixels(of)
    assert near.shape == (64, 96, 3)
    assert tuple(near[0, 0]) == ORANGE and tuple(near[0, 1]) == (0, 0, 0)
    zoomed = pixels(of, (0, 4), (1, 3))
    assert tuple(zoomed[0, 0]) == (0, 0, 0) and tuple(zoomed[0, 1]) == ORANGE
    assert tuple(pixels(of, most=16)[0, 0]) == ORANGE


def test_zooming_into_a_large_image_keeps_its_colours() -> None:
    of = source(image(np.uint8, size=(1100, 1200)), "x")
    assert tuple(pixels(of)[5, 5]) == ORANGE
    assert tuple(pixels(of, (0, 9), (0, 9))[0, 0]) == ORANGE


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_tensors_of_a_device_have_the_same_colours(session: Any, monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    spy = pytest.importorskip("slangpy")
    monkeypatch.setattr(device_source, "SMALL", 0)
    of = source(spy.Tensor.from_numpy(session.device, image(kind)), "x")
    assert of.reduced  # pyright: ignore[reportAttributeAccessIssue]
    assert tuple(pixels(of)[0, 0]) == ORANGE and tuple(pixels(of)[0, 1]) == (0, 0, 0)
    assert tuple(pixels(of, most=16)[0, 0]) == ORANGE


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_a_history_keeps_colours_and_says_the_elements(kind: Any) -> None:
    history = show(x=image(kind), history=True)
    of = SnapshotSource(lambda: history.frames, 0)
    assert tuple(pixels(of)[0, 0]) == ORANGE
    most = 255 if kind is np.uint8 else 1
    green = of.window(Axes(0, 1, (), 1), WHOLE, WHOLE)
    assert green.kind == "image" and green.value.array[0, 0] == pytest.approx(128 / 255 * most)
    assert of.probe((0, 0))[0] == pytest.approx([c / 255 * most for c in ORANGE])


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (np.full((8, 9, 3), 64, np.uint8), 128),
        (np.full((8, 9, 3), 0.25), 128),
        (np.full((8, 9, 3), 16384, np.uint16), 128),
        (np.full((8, 9, 3), 1 << 29, np.int32), 128),
        (np.full((8, 9, 3), 4.0), 255),
    ],
    ids=["bytes", "floats", "shorts", "ints", "bright"],
)
def test_light_is_drawn_alike_live_and_still(array: np.ndarray, wanted: int) -> None:
    of = LightSource(ArraySource(array, name="light"), 2.0)
    assert np.unique(pixels(of)).tolist() == [wanted]
    still = of.model().value.array
    assert np.unique((np.clip(still, 0, 1) * 255 + 0.5).astype(np.uint8)).tolist() == [wanted]


def test_what_is_drawn_through_a_gamma_is_not_said_to_be_the_numbers() -> None:
    of = LightSource(ArraySource(np.full((8, 9, 3), 0.25, np.float32), name="light"), 2.0)
    assert pixels(of).shape == (8, 9, 3)  # asserts that no exact numbers go along
    assert of.probe((0, 0)) == ((0.25, 0.25, 0.25), None)


def test_the_gradient_beside_colours_keeps_its_peak() -> None:
    slope = np.zeros((64, 96, 3))
    slope[1, 1, 2] = 9.0
    of = ArraySource(image(np.float64), slope, name="x")
    far = of.window(Axes(0, 1), WHOLE, WHOLE, 32)
    assert far.kind == "rgb" and far.gradient is not None
    assert far.gradient.array[2].max() == 9.0


@pytest.mark.parametrize("components", [3, 4])
def test_an_image_that_is_nearly_one_of_colours_says_why_it_is_not(components: int) -> None:
    value = image(np.float32, components)
    value[3, 4, 1] = 1.02
    model = source(value, "x").model()
    said = "not drawn as colours: 1.02 is outside of 0 to 1 (gamma=1 cuts it)"
    assert model.caption == f"last axis drawn as {components} components; {said}"
    assert pair_model(value, name="x").caption == model.caption
    value[3, 4, 1] = -0.25
    assert "not drawn as colours: -0.25 is" in source(value, "x").model().caption
    assert "not drawn as colours" not in show(value, gamma=1.0).models[0].caption


def test_fields_and_colours_need_no_reason() -> None:
    field = np.random.default_rng(0).normal(size=(64, 96, 3)) * 9
    for value in (field, image(np.float32), image(np.uint8), image(np.float64)[..., :2] * 1.5, np.ones((9, 9, 3), int)):
        assert "not drawn as colours" not in source(value, "x").model().caption


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_the_picture_has_the_same_colours_in_both_themes(kind: Any) -> None:
    from PIL import Image

    for png in render_both(*drawing(show(image(kind)).models)):
        drawn = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
        middle = drawn[drawn.shape[0] // 2, drawn.shape[1] // 2]
        assert tuple(middle) == ORANGE
