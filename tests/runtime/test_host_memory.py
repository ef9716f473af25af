"""Kernels of software Vulkan work on numpy's own memory: right values for every kind of array, and nothing dangles."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.devices.host_memory import takes_host_addresses
from slangnb.runtime import entry
from slangnb.runtime.fused.plans import kind_of
from slangnb.runtime.fused.values import hold

SOURCE = """
struct Ray { float3 o; float3 d; }
[Differentiable] float line(float a, float x) { return a * x * x + x; }
[Differentiable] float3 scaled(float3 v, float t) { return v * t; }
[Differentiable] half small(half x) { return x * x; }
[Differentiable] double large(double x) { return x * x; }
[Differentiable] float two(float x, out float twice) { twice = 2 * x; return x * x; }
Ray ray(float3 o) { Ray r; r.o = o; r.d = 2 * o; return r; }
int doubled(int n) { return 2 * n; }
"""
N = 1 << 17  # from here on, plain calls are our own kernels


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def test_software_vulkan_is_seen_to_work_in_this_process(session: Any) -> None:
    if not session.backend.adapter.startswith("llvmpipe") or not Path("/proc/self/mem").exists():
        pytest.skip("another renderer, or not Linux")
    assert session.host_memory
    assert takes_host_addresses(session.device, session.backend)
    assert not takes_host_addresses(session.device, replace(session.backend, software=False))
    assert not takes_host_addresses(session.device, replace(session.backend, adapter="SwiftShader"))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: x[::-1],
        lambda x: x[::3],
        lambda x: x.reshape(2, -1).T,
        lambda x: x.astype(">f4"),
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32),
        lambda x: np.broadcast_to(x[:5], (4, 5)),
    ],
    ids=["plain", "reversed", "every third", "transposed", "big-endian", "unaligned", "repeated"],
)
def test_arrays_of_any_layout(m: Any, change: Any) -> None:
    x = change(numbers(300))
    x.flags.writeable = False
    value, grads = sn.value_and_grad(m.line)(a=2.0, x=x)
    x64 = x.astype(np.float64)
    np.testing.assert_allclose(value, (2 * x64**2 + x64).sum(), rtol=1e-5)
    np.testing.assert_allclose(grads["a"], (x64**2).sum(), rtol=1e-5)
    np.testing.assert_allclose(grads["x"], 4 * x64 + 1, rtol=1e-5)
    assert grads["x"].dtype == np.float32
    assert grads["x"].flags.writeable


def test_results_are_arrays_of_their_own(m: Any) -> None:
    x = numbers(300)
    before = x.copy()
    f = sn.grad(m.line, wrt="x")
    first = f(2.0, x)
    kept = first.copy()
    second = f(3.0, x)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(x, before)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, x)


def test_repeated_arrays_get_sums(m: Any) -> None:
    a, x = numbers(5), numbers(7, 5)
    _, grads = sn.value_and_grad(m.line)(a=a, x=x)
    np.testing.assert_allclose(grads["a"], (x.astype(np.float64) ** 2).sum(0), rtol=1e-5)
    v, t = numbers(6, 3), numbers(4, 6)
    _, grads = sn.value_and_grad(m.scaled)(v=v, t=t)
    np.testing.assert_allclose(grads["v"], np.repeat(t.astype(np.float64).sum(0)[:, None], 3, 1), rtol=1e-5)
    np.testing.assert_allclose(grads["t"], np.tile(v.astype(np.float64).sum(1), (4, 1)), rtol=1e-4)


@pytest.mark.parametrize(("name", "dtype"), [("small", np.float16), ("large", np.float64)])
def test_other_types(m: Any, name: str, dtype: Any) -> None:
    x = numbers(300).astype(dtype)
    found = sn.grad(m[name])(x)["x"]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, 2 * x)


def test_forward_mode_and_outputs(m: Any) -> None:
    x, dx = numbers(40), numbers(40) + 2
    y, dy = sn.jvp(m.line, {"a": 2.0, "x": x}, {"x": dx})
    np.testing.assert_allclose(y, 2 * x**2 + x, rtol=1e-5)
    np.testing.assert_allclose(dy, (4 * x + 1) * dx, rtol=1e-5)
    y, pull = sn.vjp(m.line, a=2.0, x=x)
    np.testing.assert_allclose(pull(dx)["x"], (4 * x + 1) * dx, rtol=1e-5)
    y, _ = sn.vjp(m.two, x)
    np.testing.assert_allclose(y["twice"], 2 * x, rtol=1e-6)
    np.testing.assert_allclose(y["result"], x * x, rtol=1e-6)


def test_arrays_of_a_subclass_are_known_by_their_shape(m: Any, tmp_path: Path) -> None:
    long = np.memmap(tmp_path / "long", np.float32, "w+", shape=(5000,))
    long[:] = 1.0
    short = np.memmap(tmp_path / "short", np.float32, "w+", shape=(7,))
    short[:] = 2.0
    assert kind_of(long) != kind_of(short)
    f = sn.value_and_grad(m.line)
    assert f(2.0, long)[0] == 15000.0
    assert f(2.0, short)[0] == 70.0
    assert f(2.0, short)[1]["x"].shape == (7,)


def test_the_plan_tells_arrays_apart_by_their_layout(session: Any, m: Any) -> None:
    square = numbers(6, 6)
    f = sn.grad(m.line, wrt="x")
    np.testing.assert_allclose(f(0.5, square), square + 1, atol=1e-6)
    np.testing.assert_allclose(f(0.5, square.T), square.T + 1, atol=1e-6)
    t = m.line.info.signature.parameters[1].type
    assert hold("line", "x", t, square, session.device).in_place
    assert not hold("line", "x", t, square.T, session.device).in_place


def test_plain_calls_of_many_elements(m: Any) -> None:
    x = numbers(N)
    want = 2 * x.astype(np.float64) ** 2 + x
    y = m.line(2.0, x, _result="numpy")
    assert isinstance(y, np.ndarray)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(m.line(2.0, x).to_numpy(), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(m.line(np.float32(2.0), x, _result="numpy"), want, rtol=1e-5, atol=1e-6)
    v, t = numbers(N, 3), numbers(N)
    found = m.scaled(v, t, _result="numpy")
    assert found.shape == (N, 3)
    np.testing.assert_allclose(found, v * t[:, None], rtol=1e-6)
    n = np.arange(N, dtype=np.int32)
    np.testing.assert_array_equal(m.doubled(n, _result="numpy"), 2 * n)
    rays = m.ray(v)
    assert rays.shape.as_tuple() == (N,)


def test_an_array_beside_a_tensor_may_go_at_once(session: Any, m: Any) -> None:
    x = numbers(N)
    want = 2 * x.astype(np.float64) ** 2 + x
    a = sn.tensor(np.full(N, 2.0, np.float32), session=session)
    passed = x.copy()
    y = m.line(a, passed)
    passed[:] = 0.0  # the call is over, as far as this array goes
    del passed
    np.testing.assert_allclose(y.to_numpy(), want, rtol=1e-5, atol=1e-6)


def test_nothing_keeps_arrays_alive(m: Any) -> None:
    x = numbers(300)
    f = sn.value_and_grad(m.line)
    f(2.0, x)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_a_stopped_wait_keeps_the_memory(session: Any, m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if not session.host_memory:
        pytest.skip("kernels take no addresses of this process")
    x = numbers(300)
    f = sn.value_and_grad(m.line)
    f(2.0, x)

    def stopped(*of: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(entry, "wait_for", stopped)
        with pytest.raises(KeyboardInterrupt):
            f(2.0, x)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is not None  # the kernel may still run
    session.device.wait()
    assert not session.busy()
    gc.collect()
    assert seen() is None
