"""Axes, windows and probes of arrays; where tensors come from and what is refused."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from slangnb.errors import CallError, CompileError, Diagnostic
from slangnb.views import device_source
from slangnb.views.array_source import ArraySource
from slangnb.views.axes import Axes, arrange, default_axes, other_axes, swap, with_axis, with_pick
from slangnb.views.model import make_panel
from slangnb.views.reduce import choose
from slangnb.views.sources import source

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()),
    ((5,), ()),
    ((6, 7), ()),
    ((1, 7), ()),
    ((7, 1), ()),
    ((1, 1), ()),
    ((8, 6, 7), ()),
    ((8, 5, 6, 7), ()),
    ((2, 8, 5, 6, 7), ()),
    ((9,), (3,)),
    ((1,), (3,)),
    ((1, 1), (3,)),
    ((6, 7), (2,)),
    ((4, 6, 7), (3,)),
    ((6, 7), (8,)),
    ((5,), (8,)),
    ((5,), (2, 2)),
    ((3, 4), (2, 2)),
    ((), (3,)),
]


@pytest.fixture(scope="module")
def spy(session: Any) -> Any:
    return pytest.importorskip("slangpy")


@pytest.mark.parametrize(("shape", "element"), SHAPES)
def test_default_axes_are_those_of_choose(shape: tuple[int, ...], element: tuple[int, ...]) -> None:
    axes = default_axes(shape, element)
    assert len(axes.picks) == len(other_axes(axes, shape, element))
    whole = shape + element
    value = np.arange(float(np.prod(whole))).reshape(whole)
    part = value[choose(shape, element).index]
    drawn = [] if not whole else [axes.columns] if axes.rows is None else [axes.rows, axes.columns]
    component = [len(shape)] if len(element) == 1 and len(shape) not in drawn else []
    order = (*other_axes(axes, shape, element), *drawn, *component)
    assert sorted(order) == list(range(len(whole)))
    found = value.transpose(order)[axes.picks]
    np.testing.assert_array_equal(found[..., :4] if element == (8,) and component else found, part)


@pytest.mark.parametrize(("shape", "element"), SHAPES)
def test_the_default_is_what_choose_lays_out(shape: tuple[int, ...], element: tuple[int, ...]) -> None:
    value = np.random.default_rng(0).standard_normal(shape + element)
    found = ArraySource(value, value, name="x", element=element)
    layout = choose(found.shape, found.element)
    wanted = make_panel(value, layout), make_panel(value, layout, role="gradient")
    for model in (found.model(), found.model(default_axes(found.shape, found.element))):
        assert model.shape == shape
        for (_, one), other in zip(model.panels, wanted, strict=True):
            assert (one.kind, one.text, one.stats, one.limits) == (other.kind, other.text, other.stats, other.limits)
            assert (one.caption, one.labels, one.steps) == (other.caption, other.labels, other.steps)
            np.testing.assert_array_equal(one.array, other.array)


def test_empty_arrays_have_axes() -> None:
    assert default_axes((0, 3)) == Axes(0, 1)
    assert source(np.zeros((0, 3)), "x").model().value.kind == "empty"
    with pytest.raises(CallError, match="nothing to zoom into"):
        source(np.zeros((0, 3)), "x").window(Axes(0, 1), (0, 1), (0, 1))
    with pytest.raises(CallError, match="nothing to zoom into"):
        source(2.5, "x").window(Axes(None, 0), (0, 1), (0, 1))
    assert source(2.5, "x").probe(()) == (2.5, None)


def test_axes_that_are_chosen() -> None:
    value = np.random.default_rng(0).standard_normal((8, 6, 7))
    found = source(value, "x")
    model = found.model(Axes(2, 0, (3,)))
    np.testing.assert_array_equal(model.value.array, value[:, 3, :].T)
    assert model.caption == "slice [:, 3, :] of 6; axis 2 down, axis 0 across"
    line = found.model(Axes(None, 1, (2, 5)))
    assert line.value.kind == "line"
    np.testing.assert_array_equal(line.value.array, value[2, :, 5][None])
    assert line.caption == "slice [2, :, 5] of (8, 7)"
    # Limits are those of the whole tensor: colours mean the same on every slice.
    assert model.value.limits == line.value.limits == found.model().value.limits


def test_components_that_are_chosen() -> None:
    value = np.random.default_rng(0).standard_normal((6, 7, 3))
    found = ArraySource(value, name="x", element=(3,))
    one = found.model(Axes(0, 1, (), 2))
    assert (one.value.kind, one.caption) == ("image", "component z")
    np.testing.assert_array_equal(one.value.array, value[:, :, 2])
    lines = found.model(Axes(None, 1, (4,)))
    np.testing.assert_array_equal(lines.value.array, value[4].T)
    assert lines.value.labels == ("x", "y", "z")


def test_helpers_of_axes() -> None:
    shape = (8, 5, 6, 7)
    axes = default_axes(shape)
    assert axes == Axes(2, 3, (4, 2))
    assert with_pick(axes, 1, 4) == Axes(2, 3, (4, 4))
    assert swap(axes) == Axes(3, 2, (4, 2))
    assert swap(Axes(None, 0)) == Axes(None, 0)
    assert with_axis(axes, "rows", 0, shape) == Axes(0, 3, (2, 3))
    assert with_axis(axes, "rows", 3, shape) == swap(axes)
    assert with_axis(axes, "columns", 1, shape) == Axes(2, 1, (4, 3))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (Axes(0, 0, (1,)), "cannot be drawn"),
        (Axes(0, 3, (1,)), "cannot be drawn"),
        (Axes(-1, 1, (1,)), "cannot be drawn"),
        (Axes(0, 1), "0 indices for the 1 axes"),
        (Axes(0, 1, (7,)), "axis 2 has 7 elements; there is none at 7"),
        (Axes(0, 1, (-1,)), "there is none at -1"),
        (Axes(0, 1, (1,), 0), "no component 0"),
    ],
)
def test_axes_that_there_are_not(axes: Axes, message: str) -> None:
    with pytest.raises(CallError, match=message):
        arrange(axes, (8, 6, 7))


def test_windows_of_arrays() -> None:
    value = np.random.default_rng(0).standard_normal((300, 200))
    value[10, 20] = np.nan
    found = ArraySource(value, -value, name="x")
    near = found.window(Axes(0, 1), (5, 15), (15, 30))
    assert (near.rows, near.columns, near.steps, near.kind) == ((5, 15), (15, 30), (1, 1), "image")
    np.testing.assert_array_equal(near.value.array, value[5:15, 15:30].astype(np.float32))
    assert near.value.marks.nan[5, 5]
    assert near.gradient is not None
    np.testing.assert_array_equal(near.gradient.array, -value[5:15, 15:30].astype(np.float32))
    far = found.window(Axes(0, 1), (-50, 999), (0, 200), 64)
    assert (far.rows, far.columns, far.steps) == ((0, 300), (0, 200), (5, 4))
    assert far.value.array.shape == (60, 50)
    assert far.value.array.dtype == np.float32
    swapped = found.window(Axes(1, 0), (0, 3), (0, 4))
    np.testing.assert_array_equal(swapped.value.array, value[:4, :3].T.astype(np.float32))


def test_windows_of_lines_and_components() -> None:
    line = source(np.arange(10000.0), "x").window(Axes(None, 0), (0, 0), (100, 9100), 500)
    assert line.value.upper is not None
    assert (line.steps, line.value.array.shape) == ((1, 18), (1, 500))
    assert (line.value.array[0, 0], line.value.upper[0, -1]) == (100, 9099)
    value = np.random.default_rng(0).standard_normal((60, 70, 3))
    fields = ArraySource(value, name="x", element=(3,)).window(Axes(0, 1), (0, 60), (10, 70), 512)
    assert (fields.kind, fields.value.array.shape) == ("facets", (3, 60, 60))
    colour = ArraySource(abs(value) % 1, name="x", element=(3,)).window(Axes(0, 1), (0, 60), (10, 70), 20)
    assert (colour.kind, colour.value.array.shape) == ("rgb", (3, 20, 20))


def test_probes_are_exact() -> None:
    value = np.array([[1, 2**60 + 1]])
    assert source(value, "x").probe((0, 1)) == (2**60 + 1, None)
    vectors = ArraySource(np.eye(3, dtype=np.float16), np.ones((3, 3), np.float16), name="x", element=(3,))
    assert vectors.probe((1,)) == ((0.0, 1.0, 0.0), (1.0, 1.0, 1.0))
    for index in ((3,), (-1,), (0, 0), ()):
        with pytest.raises(CallError, match="there is no element"):
            vectors.probe(index)


def test_changes_of_arrays_are_noticed() -> None:
    value = np.zeros((5, 6))
    found = source(value, "x")
    before = found.model()
    assert not found.changed()
    value[2, 3] = 7
    assert found.changed()
    found.refresh()
    assert not found.changed()
    assert found.model().value.stats.max == 7
    assert before.value.array.max() == 0
    assert source(np.zeros((1025, 1025)), "x").changed()


def test_last_axes_taken_for_components() -> None:
    found = source(np.random.default_rng(0).standard_normal((60, 70, 3)), "x")
    assert (found.shape, found.element, found.dtype) == ((60, 70), (3,), "float64")
    model = found.model()
    assert (model.shape, model.caption) == ((60, 70, 3), "last axis drawn as 3 components")
    assert isinstance(found.probe((1, 2))[0], tuple)


def test_wrong_things_are_refused() -> None:
    for thing, message in (
        ("text", "holds no numbers"),
        ([[1], [1, 2]], "holds lists of different lengths"),
        (np.zeros(3, complex), "is complex"),
    ):
        with pytest.raises(CallError, match=message):
            source(thing, "x")
    with pytest.raises(CallError, match="has shape"):
        ArraySource(np.zeros(3), np.zeros(4), name="x")


def test_small_tensors_follow_what_is_written(spy: Any, session: Any) -> None:
    tensor = spy.Tensor.from_numpy(session.device, np.arange(6, dtype=np.float32).reshape(2, 3))
    found = source(tensor, "x")
    assert found.model().value.stats.max == 5
    assert not found.has_gradient
    assert found.bytes_read == 24
    tensor.copy_from_numpy(np.full((2, 3), 9, np.float32))
    assert found.changed()
    found.refresh()
    assert found.model().value.stats.max == 9
    assert found.probe((1, 2)) == (9.0, None)


def test_a_gradient_of_another_shape_is_named(spy: Any, session: Any) -> None:
    whole = spy.Tensor.zeros(session.device, shape=(3, 4), dtype="float").with_grads(zero=True)
    found = source(whole[1], "x")
    assert not found.has_gradient
    assert "it is that of the whole tensor (3, 4)" in found.remark


def test_tensors_of_other_devices_are_read_whole(spy: Any, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_source, "SMALL", 0)
    monkeypatch.setattr(device_source, "session_of", lambda device: None)
    value = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    tensor = spy.Tensor.from_numpy(session.device, value)
    found = source(tensor, "x")
    assert not found.reduced  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(found.model().value.array, value)
    monkeypatch.setattr(device_source, "LARGEST_READ", 4000)
    with pytest.raises(CallError, match="cannot reduce it where it lies") as refused:
        source(tensor, "x")
    assert "show(x[:n])" in refused.value.remedy


def test_a_session_that_goes_to_another_device(spy: Any, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    value = np.random.default_rng(0).standard_normal((1100, 1000)).astype(np.float32)
    found = source(spy.Tensor.from_numpy(session.device, value), "x")
    before = found.model().value.array
    monkeypatch.setattr(device_source, "session_of", lambda device: None)
    np.testing.assert_array_equal(found.model().value.array, before)
    assert found.bytes_read > value.nbytes


def test_elements_that_a_backend_cannot_read(spy: Any, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise CompileError([Diagnostic("error", "", "no such buffers", "", 0, 0, 1, "", (), "")])

    monkeypatch.setattr(session, "kernel", fails)
    value = np.random.default_rng(0).standard_normal((1100, 1000)).astype(np.float32)
    found = source(spy.Tensor.from_numpy(session.device, value), "x")
    assert not found.reduced  # pyright: ignore[reportAttributeAccessIssue]
    assert found.model().value.stats.max == value.max()


CLOSED = """
import numpy as np
from slangnb.errors import CallError
from slangnb.runtime.current import set_session
from slangnb.runtime.session import Session
s = Session({backend!r}, guard=False)
set_session(s)
import slangpy as spy
from slangnb.views import show, mimebundle
from slangnb.views.sources import source
x = spy.Tensor.zeros(s.device, (1100, 1000), "float")
y = spy.Tensor.zeros(s.device, (3,), "float")
sources = [source(x, "x"), source(y, "y")]
before = [one.model() for one in sources]
s.close()
for call in (lambda: show(x), sources[0].model, sources[0].refresh, sources[1].model, lambda: sources[1].probe((0,))):
    try:
        call()
    except CallError as error:
        print(error)
print(mimebundle(y)[0]["text/plain"])
"""


def test_closed_devices_are_a_sentence(session: Any) -> None:
    """Reading such a tensor would end the process, so this is tried in another one."""
    code = CLOSED.format(backend=session.backend.name if not session.backend.software else "software")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "was closed" in line]
    assert len(lines) == 6
    assert "tensor is a tensor of a device that was closed: its numbers are gone" in lines[0]
