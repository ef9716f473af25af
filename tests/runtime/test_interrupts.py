"""The stop button at any moment, and threads: no launch uses what another bound, and no memory is given back early."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.errors import Interrupted
from slangnb.runtime import entry
from slangnb.runtime.fused import stage
from slangnb.runtime.fused.stage import Stage

SOURCE = "[Differentiable] float line(float a, float x) { return a * x * x + x; }"


@pytest.fixture
def f(session: Any) -> Any:
    session.plans.clear()
    return sn.value_and_grad(session.compile(SOURCE).line)


def test_a_stop_while_a_value_is_bound(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = np.full(1000, 1, np.float32), np.full(1000, 2, np.float32)
    assert f(1.0, first)[0] == 2000.0
    write = Stage._write

    def stopped(self: Stage, name: str, value: Any) -> None:
        write(self, name, value)
        if name.startswith("sn_in"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Stage, "_write", stopped)
        with pytest.raises(KeyboardInterrupt):
            f(3.0, second)
    assert f(1.0, first)[0] == 2000.0
    assert f(1.0, second)[0] == 6000.0


def test_a_stop_while_a_launch_is_submitted(session: Any, f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(1000, np.float32)
    f(1.0, x)
    submit = stage.submit

    def stopped(*args: Any, **kwargs: Any) -> None:
        submit(*args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stage, "submit", stopped)
        with pytest.raises(KeyboardInterrupt):
            f(1.0, x)
    assert not session.entered
    assert session.entry._held is not None
    session.device.wait()
    assert f(1.0, x)[0] == 2000.0
    assert session.entry._held is None


def test_a_second_stop_keeps_the_memory_of_the_first(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*of: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(entry, "wait_for", stopped)
        patch.setattr(type(session.entry._fences), "passed", lambda self, mark: False)
        for held in ("first", "second"):
            with pytest.raises(Interrupted, match="it still runs the kernel") as error:
                session.wait(held=held)
            shown = " ".join(error.value._render_traceback_())
            assert re.sub(r"\x1b\[\d+m|\s+", " ", shown).split()[:3] == ["KeyboardInterrupt", ":", "nobody"]
        assert session.entry._held == ("first", "second")
        with pytest.raises(sn.BackendError, match="still runs"):
            session.enter()
    session.device.wait()
    assert not session.busy()


def test_threads_take_turns(session: Any, f: Any) -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        x = np.full(500, k, np.float32)
        for _ in range(60):
            value, grads = f(1.0, x)
            if value != 500 * (k * k + k) or not (grads["x"] == 2 * k + 1).all() or grads["a"] != 500 * k * k:
                wrong.append((k, value, grads))

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
