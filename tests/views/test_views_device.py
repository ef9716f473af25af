"""Tensors reduced where they lie: the same panels, statistics and marks as those of numpy."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from slangnb.views import device_source, reduce
from slangnb.views.array_source import ArraySource
from slangnb.views.axes import Axes, default_axes
from slangnb.views.device import merge, round_up, unpacked
from slangnb.views.device_layout import View
from slangnb.views.device_source import TensorSource
from slangnb.views.model import PairModel, Panel
from slangnb.views.source import Part
from slangnb.views.sources import source
from slangnb.views.text import plain


@pytest.fixture(scope="module")
def spy(session: Any) -> Any:
    return pytest.importorskip("slangpy")


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Send tensors of any size the way of large ones."""
    monkeypatch.setattr(device_source, "SMALL", 0)
    yield


def make(spy: Any, session: Any, array: np.ndarray, dtype: str, gradient: np.ndarray | None = None) -> Any:
    """Put an array into a tensor of a Slang type; a vector type takes the last axes."""
    inner = array.ndim if dtype[-1:].isdigit() and not dtype.endswith(("8_t", "16_t")) else 0
    shape = array.shape if not inner else array.shape[: array.ndim - (2 if "x" in dtype[-3:] else 1)]
    tensor = spy.Tensor.empty(session.device, shape, dtype)
    if array.dtype == np.bool_ and tensor.storage.size >= 4 * array.size:
        array = array.astype(np.uint32)  # as the device keeps them
    tensor.storage.copy_from_numpy(np.ascontiguousarray(array))
    if gradient is not None:
        tensor = tensor.with_grads(zero=True)
        tensor.grad.storage.copy_from_numpy(np.ascontiguousarray(gradient))
    return tensor


def same_panel(found: Panel, wanted: Panel) -> None:
    assert (found.kind, found.steps, found.labels, found.text, found.caption, found.remark) == (
        wanted.kind,
        wanted.steps,
        wanted.labels,
        wanted.text,
        wanted.caption,
        wanted.remark,
    )
    assert found.array.dtype == wanted.array.dtype
    np.testing.assert_array_equal(found.array, wanted.array)
    for mask in ("nan", "pos_inf", "neg_inf"):
        np.testing.assert_array_equal(getattr(found.marks, mask), getattr(wanted.marks, mask))
    assert (found.upper is None) == (wanted.upper is None)
    if wanted.upper is not None:
        np.testing.assert_array_equal(found.upper, wanted.upper)
    assert (found.positions is None) == (wanted.positions is None)
    if wanted.positions is not None:
        np.testing.assert_array_equal(found.positions, wanted.positions)
    assert found.limits == wanted.limits
    for name in ("count", "min", "max", "zeros", "nan", "pos_inf", "neg_inf"):
        assert getattr(found.stats, name) == getattr(wanted.stats, name), name
    for name in ("mean", "std", "norm"):
        one, other = getattr(found.stats, name), getattr(wanted.stats, name)
        assert (one is None) == (other is None)
        assert one is None or one == pytest.approx(other, rel=1e-9, abs=1e-300), name
    assert (found.histogram is None) == (wanted.histogram is None)
    if found.histogram is not None and wanted.histogram is not None:
        np.testing.assert_array_equal(found.histogram.counts, wanted.histogram.counts)
        np.testing.assert_array_equal(found.histogram.edges, wanted.histogram.edges)


def same_model(found: PairModel, wanted: PairModel) -> None:
    assert (found.name, found.dtype, found.shape, found.caption, found.note) == (
        wanted.name,
        wanted.dtype,
        wanted.shape,
        wanted.caption,
        wanted.note,
    )
    assert plain(found).replace(" on " + found.device, "") == plain(wanted)
    assert (found.gradient is None) == (wanted.gradient is None)
    for (_, one), (_, other) in zip(found.panels, wanted.panels, strict=True):
        same_panel(one, other)


def same_part(found: Part | None, wanted: Part | None) -> None:
    assert (found is None) == (wanted is None)
    if found is None or wanted is None:
        return
    np.testing.assert_array_equal(found.array, wanted.array)
    assert (found.upper is None) == (wanted.upper is None)
    if wanted.upper is not None:
        np.testing.assert_array_equal(found.upper, wanted.upper)
    for mask in ("nan", "pos_inf", "neg_inf"):
        np.testing.assert_array_equal(getattr(found.marks, mask), getattr(wanted.marks, mask))


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.3
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return random.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
    array = (random.standard_normal(shape) * 3).astype(kind)
    array[random.random(shape) < 0.01] = 0
    return array


def with_holes(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1).copy()
    flat[3::101], flat[7::301], flat[11::401] = np.nan, np.inf, -np.inf
    flat[: flat.size // 7] = np.nan
    return flat.reshape(array.shape)


@pytest.mark.parametrize(
    ("dtype", "numpy_dtype", "shape"),
    [
        ("float", "float32", (700, 1100)),
        ("float", "float32", (1500, 900)),
        ("float", "float32", (9001,)),
        ("float", "float32", (4096,)),
        ("float", "float32", (3, 5, 40, 600)),
        ("float", "float32", (1, 9000)),
        ("float", "float32", (9000, 1)),
        ("float", "float32", (3, 70000)),
        ("half", "float16", (600, 700)),
        ("double", "float64", (600, 700)),
        ("double", "float64", (9001,)),
        ("int", "int32", (600, 700)),
        ("uint", "uint32", (60, 70)),
        ("int64_t", "int64", (600, 700)),
        ("int8_t", "int8", (600, 700)),
        ("uint8_t", "uint8", (600, 700)),
        ("int16_t", "int16", (9001,)),
        ("bool", "bool", (600, 700)),
        ("bool", "bool", (60, 70)),
        ("float3", "float32", (600, 700, 3)),
        ("float3", "float32", (9001, 3)),
        ("half4", "float16", (600, 40, 4)),
        ("float2", "float32", (3, 600, 40, 2)),
        ("float2x2", "float32", (5, 6, 2, 2)),
        ("float3x3", "float32", (50, 3, 3)),
        ("bool3", "bool", (600, 40, 3)),
        ("float", "float32", (600, 40, 3)),
        ("uint8_t", "uint8", (600, 700, 3)),
        ("float", "float32", (6, 2, 3, 40, 60)),
    ],
)
@pytest.mark.usefixtures("all_large")
def test_the_same_as_numpy(spy: Any, session: Any, dtype: str, numpy_dtype: str, shape: tuple[int, ...]) -> None:
    value = numbers(shape, numpy_dtype)
    differentiable = dtype in ("float", "half", "double", "float2", "float3")
    gradient = numbers(shape, numpy_dtype, 1) if differentiable else None
    tensor = make(spy, session, value, dtype, gradient)
    element = value.shape[len(tensor.shape.as_tuple()) :]
    found = source(tensor, "x")
    assert isinstance(found, TensorSource)
    assert found.reduced
    wanted = ArraySource(value, gradient, name="x", element=element)
    assert (found.shape, found.element, found.dtype) == (wanted.shape, wanted.element, wanted.dtype)
    same_model(found.model(), wanted.model())
    middle = tuple(n // 2 for n in found.shape)
    assert found.probe(middle) == wanted.probe(middle)
    axes = default_axes(found.shape, found.element)
    for window in (((3, 90), (10, 4000), 64), ((0, 9999), (0, 99999), 512), ((4, 7), (2, 9), 512)):
        one, other = found.window(axes, *window), wanted.window(axes, *window)
        assert (one.kind, one.rows, one.columns, one.steps) == (other.kind, other.rows, other.columns, other.steps)
        same_part(one.value, other.value)
        same_part(one.gradient, other.gradient)


@pytest.mark.parametrize(
    ("dtype", "shape"), [("float", (700, 1100)), ("float", (9001,)), ("double", (600, 700)), ("float3", (600, 700, 3))]
)
@pytest.mark.usefixtures("all_large")
def test_marks_are_the_same(spy: Any, session: Any, dtype: str, shape: tuple[int, ...]) -> None:
    kind = "float64" if dtype == "double" else "float32"
    value = with_holes(numbers(shape, kind))
    gradient = with_holes(numbers(shape, kind, 1)[::-1])
    found = source(make(spy, session, value, dtype, gradient), "x")
    wanted = ArraySource(value, gradient, name="x", element=shape[2:])
    same_model(found.model(), wanted.model())
    axes = default_axes(found.shape, found.element)
    window = ((0, 999), (0, 9999), 128)
    same_part(found.window(axes, *window).value, wanted.window(axes, *window).value)


@pytest.mark.usefixtures("all_large")
def test_colours_are_the_same(spy: Any, session: Any) -> None:
    value = np.abs(numbers((600, 700, 3), "float32")) % 1
    value[17, 3, 1] = np.nan
    found = source(make(spy, session, value, "float3", numbers((600, 700, 3), "float32", 1)), "x")
    wanted = ArraySource(value, numbers((600, 700, 3), "float32", 1), name="x", element=(3,))
    assert wanted.model().value.kind == "rgb"
    same_model(found.model(), wanted.model())
    axes = default_axes(found.shape, found.element)
    same_part(found.window(axes, (0, 600), (0, 700), 100).value, wanted.window(axes, (0, 600), (0, 700), 100).value)


@pytest.mark.parametrize(
    "axes",
    [
        Axes(3, 0, (1, 2)),
        Axes(0, 2, (4, 300)),
        Axes(None, 3, (2, 4, 20)),
        Axes(2, 3, (0, 0)),
    ],
)
@pytest.mark.usefixtures("all_large")
def test_any_axes_are_the_same(spy: Any, session: Any, axes: Axes) -> None:
    value = numbers((3, 5, 40, 601), "float32")
    found = source(make(spy, session, value, "float", value), "x")
    same_model(found.model(axes), ArraySource(value, value, name="x").model(axes))


@pytest.mark.parametrize("axes", [Axes(1, 0), Axes(0, 1, (), 2), Axes(None, 1, (7,), 0), Axes(None, 0, (7,))])
@pytest.mark.usefixtures("all_large")
def test_components_are_the_same(spy: Any, session: Any, axes: Axes) -> None:
    value = numbers((600, 70, 3), "float32")
    found = source(make(spy, session, value, "float3"), "x")
    same_model(found.model(axes), ArraySource(value, name="x", element=(3,)).model(axes))


@pytest.mark.usefixtures("all_large")
def test_views_are_read_by_their_strides(spy: Any, session: Any) -> None:
    value = numbers((40, 60, 50), "float32")
    tensor = make(spy, session, value, "float")
    for view, array in (
        (tensor.view((60, 40), (50, 3000), 7), value[:, :, 7].T),
        (tensor.view((20, 30), (6000, 100), 50), value[::2, 1::2, 0]),
        (tensor.view((2000,), (3,), 1), value.reshape(-1)[1:6001:3]),
        (tensor[3], value[3]),
        (tensor.view((4, 50), (0, 1), 0), np.broadcast_to(value[0, 0], (4, 50))),
    ):
        found = source(view, "x")
        assert isinstance(found, TensorSource)
        assert found.reduced
        same_model(found.model(), ArraySource(array, name="x").model())


@pytest.mark.parametrize(
    "array",
    [
        np.full((70, 80), np.nan, np.float32),
        np.full((70, 80), -np.inf, np.float32),
        np.full((700, 800), 2.5, np.float32),
        np.zeros((70, 80), np.float32),
        np.linspace(-1e-41, 1e-41, 5600, dtype=np.float32).reshape(70, 80),
        np.linspace(-3e38, 3e38, 5600, dtype=np.float32).reshape(70, 80),
        1e308 * np.random.default_rng(0).uniform(-1, 1, (700, 800)),
        np.linspace(1e-200, 3e-200, 5600).reshape(70, 80),
        1e6 + np.linspace(-1, 1, 5600, dtype=np.float32).reshape(70, 80),
        np.tile(np.array([-1.0, 1.0], np.float32), (700, 400)),
    ],
    ids=["nan", "inf", "constant", "zero", "tiny", "huge", "huge64", "tiny64", "far", "ties"],
)
@pytest.mark.usefixtures("all_large")
def test_hard_numbers(spy: Any, session: Any, array: np.ndarray, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.id == "tiny" and session.backend.key == "vulkan":
        pytest.skip("Vulkan lets a card take numbers below 1e-38 for zero, and NVIDIA's does")
    dtype = "double" if array.dtype == np.float64 else "float"
    found = source(make(spy, session, array, dtype, array), "x")
    same_model(found.model(), ArraySource(array, array, name="x").model())


def test_large_tensors_are_reduced_where_they_lie(spy: Any, session: Any) -> None:
    value = numbers((1500, 1300), "float32")
    tensor = make(spy, session, value, "float", value)
    found = source(tensor, "x")
    assert isinstance(found, TensorSource)
    assert found.reduced
    found.model()
    assert found.bytes_read < 2_000_000
    small = source(make(spy, session, value[:700, :700], "float"), "x")
    assert isinstance(small, TensorSource)
    assert not small.reduced
    small.model()
    assert small.bytes_read == 4 * 700 * 700


def test_a_pair_of_4096_reads_less_than_2_mb(spy: Any, session: Any) -> None:
    tensor = spy.Tensor.zeros(session.device, (4096, 4096), "float").with_grads(zero=True)
    found = source(tensor, "x")
    model = found.model()
    assert found.bytes_read < 2_000_000
    assert model.gradient is not None
    assert model.note == "gradient is 0 everywhere"
    before = found.bytes_read
    whole = found.window(default_axes(found.shape), (0, 4096), (0, 4096))
    assert whole.steps == model.value.steps
    assert found.bytes_read == before
    found.probe((4095, 4095))
    assert found.bytes_read == before + 8
    # The largest picture there is: marks are read too.
    assert reduce.IMAGE_WORDS * 2 * (4 + 0.5) < 2_200_000


def test_a_window_before_the_picture_reads_nothing_twice(spy: Any, session: Any) -> None:
    value = numbers((1500, 1300), "float32")
    found = source(make(spy, session, value, "float", value), "x")
    window = found.window(default_axes(found.shape), (0, 9999), (0, 9999))
    before = found.bytes_read
    model = found.model()
    np.testing.assert_array_equal(window.value.array, model.value.array.astype(np.float32))
    assert found.bytes_read - before < 10_000  # the histograms
    found.refresh()
    assert found.model().value.stats == model.value.stats


def test_joined_axes() -> None:
    assert View((2, 3, 4), (12, 4, 1), 5).joined() == View((24,), (1,), 5)
    assert View((4, 3, 2), (1, 4, 12)).joined() == View((24,), (1,))
    assert View((2, 3), (100, 1)).joined() == View((2, 3), (100, 1))
    assert View((1, 1), (7, 9), 3).joined() == View((1,), (1,), 3)
    assert View((), (), 3).joined() == View((1,), (1,), 3)


def test_records_are_folded() -> None:
    whole = numbers((1000,), "float64")
    records, counts = [], []
    for piece in np.array_split(whole, 7):
        scaled = piece * 4
        away = scaled - scaled.mean()
        records.append(
            [piece.min(), piece.max(), scaled.mean(), np.dot(away, away), np.dot(scaled, scaled), scaled.sum()]
        )
        counts.append([piece.size, 0, 0, 0, 0])
    stats = merge(np.array(records), np.array(counts, np.uint32), 1000, 4.0)
    assert stats.mean == pytest.approx(whole.mean(), rel=1e-12)
    assert stats.std == pytest.approx(whole.std(), rel=1e-12)
    assert stats.norm == pytest.approx(np.linalg.norm(whole), rel=1e-12)


def test_marks_unpacked() -> None:
    words = np.array([0x421, 0x7], np.uint32)
    found = unpacked(words, (1, 3, 3))
    assert found.nan[0].tolist() == [[True, False, False], [False] * 3, [False, False, True]]
    assert found.neg_inf[0].tolist() == [[False, False, True], [False] * 3, [False, False, True]]


def test_edges_of_single_precision_decide_alike() -> None:
    edges = np.linspace(-1.234, 5.678, 65)
    elements = edges.astype(np.float32)
    near = np.concatenate([elements, np.nextafter(elements, np.float32(9)), np.nextafter(elements, np.float32(-9))])
    up = round_up(edges)
    np.testing.assert_array_equal(near[:, None] >= up, near[:, None].astype(np.float64) >= edges)
