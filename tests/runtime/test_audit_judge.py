"""What counts as noise of a derivative, and what does not; numbers alone, no device."""

from __future__ import annotations

import numpy as np
import pytest

from slangnb.runtime.fused.audit_judge import disagreeing, noise


def copies(forward: np.ndarray, reverse: np.ndarray) -> np.ndarray:
    """Derivatives of nine copies, of shape (copies, samples), as the audit has them for one argument."""
    return np.stack([forward, reverse], axis=-1)[:, :, None, :]


def judged(found: np.ndarray) -> bool:
    allowed = noise(found)[:, 0] + 1e-5 * np.abs(found[0, :, 0]).sum(axis=-1)
    return disagreeing(found[0, :, 0, 0], found[0, :, 0, 1], allowed, 3e-3, 0.3) is not None


def test_a_reverse_mode_that_gives_anything_is_found() -> None:
    """As past the end of what a loop keeps of its rounds, on hardware."""
    draw = np.random.default_rng(0)
    forward = np.full((9, 32), 12383.3) + draw.normal(size=(9, 32))
    assert judged(copies(forward, draw.uniform(-1e6, 1e6, (9, 32))))
    assert judged(copies(forward, forward / 2))
    assert not judged(copies(forward, forward))


@pytest.mark.parametrize("anything", [np.nan, np.inf])
def test_a_loop_whose_reverse_mode_is_no_number_is_found(anything: float) -> None:
    forward, reverse, allowed = np.full(8, 3.0), np.full(8, anything), np.full(8, np.inf)
    found = disagreeing(forward, reverse, allowed, 3e-3, 0.3, any_reverse=True)
    assert found is not None and found[0] == 3 and not np.isfinite(found[1])
    assert disagreeing(forward, reverse, allowed, 3e-3, 0.3) is None
    for silent in (np.nan, 1e20):
        assert disagreeing(np.full(8, silent), reverse, allowed, 3e-3, 0.3, any_reverse=True) is None


def test_zeros_but_for_roundings_are_right() -> None:
    draw = np.random.default_rng(0)
    small = 1e-6 * draw.normal(size=(2, 9, 32))
    assert not judged(copies(*small))
    assert not judged(copies(np.zeros((9, 32)), small[0]))
