"""Waiting: what tells that the device has done its work."""

from __future__ import annotations

from typing import Any

import pytest

from slangnb.devices.waiting import Beacons, Fences, fences, wait_for


@pytest.mark.parametrize("kind", [Fences, Beacons])  # beacons serve CUDA, but any device can run them
def test_progress(session: Any, kind: type[Fences]) -> None:
    progress = kind(session.device)
    marks = [progress.mark() for _ in range(3)]
    assert marks == sorted(set(marks))
    wait_for(progress, marks[-1], software=True)
    assert all(progress.passed(m) for m in marks)


def test_a_beacon_is_not_seen_before_the_work_is_done(session: Any) -> None:
    slow = session.compile(
        "float slow(float x, int n) { for (int i = 0; i < n; i++) x = sin(x) + 1.0; return x; }"
    ).slow
    progress = Beacons(session.device)
    slow(1.0, 3)
    result = slow.slangpy(1.0, 20_000_000, _result="tensor")
    mark = progress.mark()
    assert not progress.passed(mark)
    wait_for(progress, mark, software=True)
    assert 1.0 < result.to_numpy().item() < 2.0


def test_beacon_numbers_begin_again(session: Any) -> None:
    progress = Beacons(session.device)
    progress._last = (1 << 32) - 3
    progress.mark()
    session.device.wait()
    before = progress.mark()
    after = progress.mark()
    assert (before, after) == ((1 << 32) - 1, 0)
    wait_for(progress, after, software=True)
    assert progress.passed(before) and progress.passed(after)
    assert not progress.passed(1)


def test_each_backend_has_its_kind(session: Any) -> None:
    assert isinstance(fences(session.device), Beacons) == (session.backend.name == "cuda")
