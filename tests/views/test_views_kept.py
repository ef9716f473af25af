"""What is kept over the steps: bounded in number and bytes, even over the steps, on one scale; without a widget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slangnb.errors import CallError
from slangnb.views import kept as module
from slangnb.views.array_source import pair_model
from slangnb.views.kept import Kept
from slangnb.views.model import PairModel
from slangnb.views.snapshots import Frame, share_limits, size, slim, spread, thin


def model(step: int, shape: tuple[int, ...] = (6,), name: str = "x") -> PairModel:
    value = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape) * (1 + step)
    return pair_model(value, value * 0.5**step, name=name)


def filled(steps: int, shape: tuple[int, ...] = (6,), limit: int = 64, limit_bytes: int = 64 << 20) -> Kept:
    made = Kept(limit, limit_bytes)
    for step in range(steps):
        made.add([model(step, shape)])
    return made


def test_thin_keeps_every_second_from_the_first() -> None:
    assert thin([]) == ()
    assert thin([1]) == (1,)
    assert thin([0, 1, 2, 3]) == (0, 2)


@settings(deadline=None)
@given(st.integers(1, 120), st.integers(3, 20))
def test_what_is_kept_is_even_and_bounded(steps: int, limit: int) -> None:
    made = Kept(limit)
    one = model(0)
    for _ in range(steps):
        made.add([one])
    *inner, last = made.steps
    stride = inner[1] if len(inner) > 1 else last or 1
    assert len(made.steps) <= limit
    assert (inner, last) == (list(range(0, steps - 1, stride)), steps - 1)
    assert len(made.steps) > limit // 2 or stride == 1


def test_norms_are_bounded_and_even_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NORMS", 4)
    made = filled(12)
    assert [norms.step for norms in made.norms] == [0, 4, 8, 11]
    assert made.norms[2].value == (model(8).value.stats.norm,)


def test_nothing_is_kept_yet() -> None:
    made = Kept()
    assert (made.latest, made.count, made.steps, made.frames, made.norms, made.nbytes) == (None, 0, (), (), (), 0)


@given(st.integers(0, 300), st.integers(2, 30))
def test_spread_is_even_with_both_ends(count: int, most: int) -> None:
    found = spread(count, most)
    assert len(found) == min(count, most)
    assert len(set(found)) == len(found)
    if count:
        assert (found[0], found[-1]) == (0, count - 1)
    if count > most:
        gaps = np.diff(found)
        assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 9, 10, 63, 100])
def test_first_and_last_are_always_kept(steps: int) -> None:
    made = filled(steps, limit=8)
    assert (made.steps[0], made.steps[-1]) == (0, steps - 1)
    assert len(made.steps) <= 8
    assert made.count == steps
    assert len(made.norms) == steps
    inner = np.diff(made.steps[:-1])
    assert len(set(inner.tolist())) <= 1


def test_bytes_are_bounded() -> None:
    one = size([slim(model(0, (32, 32)))])
    made = filled(50, (32, 32), limit_bytes=5 * one + 1)
    assert made.nbytes <= 5 * one + 1
    assert 3 <= len(made.steps) <= 5
    assert made.steps[-1] == 49


def test_a_snapshot_larger_than_the_limit_still_leaves_the_ends() -> None:
    made = filled(9, (32, 32), limit_bytes=1)
    assert (made.steps[0], made.steps[-1]) == (0, 8)
    assert len(made.steps) <= 3


def test_snapshots_are_slim_and_true() -> None:
    full = model(1, (64, 64))
    less = slim(full)
    assert size([less]) < 0.6 * size([full])
    assert np.allclose(less.value.array, full.value.array, rtol=1e-6)
    near = pair_model(1e6 + 1e-3 * np.arange(9.0), name="x")
    assert slim(near).value.array.tolist() == near.value.array.tolist()
    tiny = pair_model(np.arange(9.0) * 1e-40, name="x")
    assert slim(tiny).value.array.tolist() == tiny.value.array.tolist()
    assert slim(pair_model(np.full(9, 0.1), name="x")).value.array.tolist() == [[0.1] * 9]
    assert slim(pair_model(np.zeros(9), name="x")).value.array.dtype == np.float32
    marked = slim(pair_model(np.array([[np.nan, 1.0]] * 2), name="x"))
    assert marked.value.marks.nan.tolist() == [[True, False]] * 2


def test_all_frames_share_limits() -> None:
    frames = filled(5).frames
    limits = {(f.models[0].value.limits.lo, f.models[0].value.limits.hi) for f in frames}
    assert limits == {(-5.0, 5.0)}
    slopes = {f.models[0].gradient.limits for f in frames if f.models[0].gradient is not None}
    assert len(slopes) == 1
    slope = slopes.pop()
    assert slope.symmetric
    assert slope.lo == -slope.hi == -1.0


def test_a_frame_without_finite_elements_does_not_widen_the_limits() -> None:
    frames = [
        Frame(0, (pair_model(np.array([[5.0, 6.0]] * 2), name="x"),)),
        Frame(1, (pair_model(np.full((2, 2), np.nan), name="x"),)),
    ]
    shared = share_limits(frames)
    assert [(f.models[0].value.limits.lo, f.models[0].value.limits.hi) for f in shared] == [(5, 6), (5, 6)]


@pytest.mark.parametrize(
    ("limit", "limit_bytes", "said"), [(2, 99, "at least 3"), (True, 99, "at least 3"), (9, 0, "bytes")]
)
def test_limits_that_make_no_sense(limit: int, limit_bytes: int, said: str) -> None:
    with pytest.raises(CallError, match=said):
        Kept(limit, limit_bytes)


def test_other_tensors_and_steps_back_are_refused() -> None:
    made = filled(3)
    with pytest.raises(CallError, match="not the tensors"):
        made.add([model(3, (7,))])
    with pytest.raises(CallError, match="not the tensors"):
        made.add([model(3, name="y")])
    with pytest.raises(CallError, match="does not come after"):
        made.add([model(3)], step=2)
    with pytest.raises(CallError, match="no tensors"):
        made.add([])
    made.add([model(3)], step=10)
    assert made.steps[-1] == 10
