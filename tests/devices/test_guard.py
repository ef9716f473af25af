"""The guard's child: verdicts, limits, death and interruption."""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from slangnb.devices.caches import KnownGood
from slangnb.devices.guard import Guard, Verdict
from slangnb.devices.wire import describe, small_shape

GOOD = ("m_guard_good", "[Differentiable] float f(float x) { return x * x; }", [])
HANG = (
    "m_guard_hang",
    'import "slangpy"; [Differentiable] float f(int i, IDiffTensor<float, 1> u, no_diff int n)'
    "{ float s = 0; if (i < n) { float v = u[i]; s = v * v; } return s; }",
    [],
)


@pytest.fixture(scope="module")
def guard(session: Any) -> Iterator[Guard]:
    made = Guard(session.backend, 60)
    yield made
    made.close()


def kernel(module: tuple[str, str, list[str]], args: list[Any], result: Any, backward: bool) -> dict[str, Any]:
    return {
        "modules": [module],
        "function": "f",
        "own": 1,
        "chain": [],
        "backward": backward,
        "args": [describe(a) for a in args],
        "kwargs": {"_result": describe(result)},
    }


def hanging() -> dict[str, Any]:
    import slangpy as spy

    import slangnb as sn

    x = sn.tensor([1.0, 2.0], grad=True)
    return kernel(HANG, [spy.grid((2,)), x, 2], x, backward=True)


def test_good_module_and_kernels(guard: Guard) -> None:
    import slangnb as sn

    x = sn.tensor([1.0, 2.0], grad=True)
    assert guard.check({"modules": [GOOD]}).outcome == "ok"
    assert guard.check(kernel(GOOD, [x], "tensor", backward=False)).outcome == "ok"
    assert guard.check(kernel(GOOD, [x], x, backward=True)).outcome == "ok"


def test_error_text(guard: Guard) -> None:
    verdict = guard.check({"modules": [("m_guard_bad", "float f(float x) { return y; }", [])]})
    assert verdict.outcome == "error"
    assert "undefined identifier 'y'" in verdict.text


def test_time_limit(guard: Guard) -> None:
    guard.seconds = 3
    assert guard.check(hanging()).outcome == "timeout"
    guard.seconds = 60
    assert guard.check({"modules": [GOOD]}).outcome == "ok"  # a new child answers


def test_killed_child_is_replaced(guard: Guard) -> None:
    guard.check({"modules": [GOOD]})
    first = guard.pid
    assert first is not None
    os.kill(first, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    assert guard.check({"modules": [GOOD]}).outcome in ("ok", "crash")  # it may die with the request in its hands
    assert guard.check({"modules": [GOOD]}).outcome == "ok"
    assert guard.pid != first


def test_interrupt_ends_the_wait(guard: Guard) -> None:
    guard.check({"modules": [GOOD]})
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        guard.check(hanging())
    assert guard.check({"modules": [GOOD]}).outcome == "ok"


def test_small_shapes() -> None:
    assert small_shape((1 << 20,)) == (1,)
    assert small_shape((7, 1000, 2, 3)) == (1, 1, 2, 3)
    assert small_shape(()) == ()


def test_other_numbers_are_no_other_kernel(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import slangpy as spy

    import slangnb as sn

    asked = []
    text = "float numbered(float a, float3 v, float x) { return a * v.x * x * K; }"
    m = session.compile(f"extern static const float K = 2;\n{text}")
    monkeypatch.setattr(session.gate, "known", KnownGood(None))
    monkeypatch.setattr(session.guard, "check", lambda request: asked.append(request) or Verdict("ok"))
    x = sn.tensor([1.0, 2.0])
    for a in (2.0, 3.0):
        # What was changed is a function of its own, which remembers no other call.
        assert m.numbered.return_type("numpy")(a, spy.float3(a), x).tolist() == [2 * a * a, 4 * a * a]
    assert [r["args"][:2] for r in asked] == [[("plain", 0.0), ("math", "float3", [0, 0, 0])]]
    for k in (3.0, 4.0):
        assert m.numbered.constants({"K": k})(2.0, spy.float3(1), x, _result="numpy").tolist() == [2 * k, 4 * k]
    assert len(asked) == 3  # a constant is part of the kernel


def test_an_error_is_not_compiled_again(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import slangnb as sn

    asked = []
    check = session.guard.check
    monkeypatch.setattr(session.guard, "check", lambda request: asked.append(request) or check(request))
    text = "float f(float x, int n) { [ForceUnroll] for (int i = 0; i < n; i++) x *= x; return x; }"
    for _ in range(2):
        f = session.compile(text).f
        for _ in range(2):
            with pytest.raises(sn.CompileError, match="E40020"):
                f(2.0, 3)
    assert len([r for r in asked if "entry" in r]) == 1
