"""CUDA's primary context, and calls from other threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.devices.cuda import ordinal_of, primary_context, shared_ordinal


def test_no_card_has_this_number() -> None:
    assert ordinal_of((1, 2, 3)) is None


def test_only_cuda_shares_a_context(session: Any) -> None:
    found = shared_ordinal(session.device, session.backend.luid)
    assert found == (0 if session.backend.name == "cuda" else None)


@pytest.mark.gpu
def test_the_session_is_in_the_primary_context(session: Any) -> None:
    if session.backend.name != "cuda":
        pytest.skip("the session is not on CUDA")
    import slangpy as spy

    ordinal = ordinal_of(session.backend.luid)
    assert ordinal is not None
    kind = spy.NativeHandleType.CUcontext
    own = [h for h in session.device.native_handles if h.type == kind]
    assert len(own) == 1
    assert own == [h for h in primary_context(ordinal) if h.type == kind]


def test_calls_from_another_thread(session: Any) -> None:
    f = session.compile("[Differentiable] float cube(float a, float x) { return a * x * x * x; }").cube
    x = np.linspace(-1, 1, 200_001, dtype=np.float32)
    found: list[Any] = []

    def work() -> None:
        found.append(f(1.0, np.arange(3, dtype=np.float32), _result="numpy").tolist())
        found.append(sn.grad(f, wrt="a")(a=1.0, x=x + 1))
        found.append(session.compile("float seven() { return 7.0; }").seven())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    want = ((x.astype(np.float64) + 1) ** 3).sum()
    assert found == [[0, 1, 8], pytest.approx(want, rel=1e-6), 7]
    assert f(2.0, 2.0) == 16  # and here again
