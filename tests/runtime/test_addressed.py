"""Launches by address: the memory of another library, here that of buffers of the session's own device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slangnb.autodiff.callee import find
from slangnb.autodiff.transforms import make_call
from slangnb.runtime.fused.addressed import AddressedLaunch
from slangnb.runtime.fused.engine import Wish
from slangnb.runtime.fused.launch import follow
from slangnb.runtime.fused.sums import storage
from slangnb.runtime.fused.values import DeviceArray, NotFusedError

SOURCE = """import slangpy;
[Differentiable] float line(float a, float3 v, float x) { return a * x * x + dot(v, v) * x; }
[Differentiable] float read(IDiffTensor<float, 1> t, float x) { return t[0] * x; }
"""


class Memory:
    """Gives addresses of float arrays on the device."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.held: list[Any] = []

    def of(self, array: np.ndarray, shape: tuple[int, ...] | None = None) -> DeviceArray:
        data = np.ascontiguousarray(array, np.float32)
        buffer = self.empty(data.size)
        buffer.copy_from_numpy(data)
        strides = tuple(s // array.itemsize for s in array.strides)
        return DeviceArray(buffer.device_address, array.shape if shape is None else shape, strides, "float")

    def empty(self, count: int) -> Any:
        self.held.append(storage(self.device, 4 * count))
        return self.held[-1]


def launched(prepared: Any, given: dict[str, Any], **places: Any) -> None:
    launch = AddressedLaunch(prepared)
    values = [follow(given, route) for route in launch.routes]
    launch.run([v.address if isinstance(v, DeviceArray) else v for v in values], **places)


def numbers(buffer: Any, *shape: int) -> np.ndarray:
    return buffer.to_numpy().view(np.float32)[: int(np.prod(shape))].reshape(shape)


@pytest.fixture
def memory(session: Any) -> Memory:
    if session.backend.name not in ("cuda", "vulkan"):
        pytest.skip("kernels take no addresses here")
    return Memory(session.device)


@pytest.mark.parametrize("n", [1, 300, 70_001])
def test_gradients_and_sums(session: Any, memory: Memory, n: int) -> None:
    f = session.compile(SOURCE).line
    rng = np.random.default_rng(n)
    a, v, x, seed = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((), (3,), (n,), (n,)))
    given = {"a": memory.of(a), "v": memory.of(v), "x": memory.of(x)}
    call = make_call(f, find(f, (), given, "test"), seeds={"result": memory.of(seed)})
    prepared = call.prepare(Wish("reverse", ("a", "v", "x"), value=True, addressed=True))
    dx, sums = memory.empty(n), memory.empty(6)
    leaf = next(out.given.leaf for out in prepared.gradients if out.given.argument == "x")
    places = [] if leaf.shared else [dx.device_address]
    weights = memory.of(seed).address
    launched(prepared, given, seeds=[weights], gradients=places, sums=[sums.device_address], factor=0.5)
    session.wait()
    a, v, x, seed = (t.astype(np.float64) for t in (a, v, x, seed))
    if leaf.shared:
        want = [(a * x**2 + v @ v * x) @ seed, (x**2) @ seed, *(2 * v * (x @ seed)), (2 * a * x + v @ v) @ seed]
    else:
        want = [(a * x**2 + v @ v * x) @ seed, (x**2) @ seed, *(2 * v * (x @ seed))]
        np.testing.assert_allclose(numbers(dx, n), 0.5 * (2 * a * x + v @ v) * seed, rtol=1e-5, atol=1e-6)
    got = numbers(sums, len(want))
    order = [(r.kind, r.leaf) for r in prepared.sums.rows.all]
    assert order[0] == ("value", "")
    np.testing.assert_allclose(got, 0.5 * np.array(want), rtol=2e-6 * max(1, n**0.5), atol=1e-6 * n**0.5)


def test_values_and_repeated_arguments(session: Any, memory: Memory) -> None:
    f = session.compile(SOURCE).line
    rng = np.random.default_rng(7)
    a, v, x = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((6,), (3,), (4, 1)))
    given = {"a": memory.of(a), "v": [float(c) for c in v], "x": memory.of(x)}
    callee = find(f, (), given, "test")
    forward = make_call(f, callee).prepare(Wish("forward", stores=True, addressed=True))
    y = memory.empty(24)
    launched(forward, given, results=[y.device_address])
    backward = make_call(f, callee).prepare(Wish("reverse", ("a", "x"), addressed=True))
    da, dx = memory.empty(6), memory.empty(4)
    assert [out.given.argument for out in backward.gradients] == ["a", "x"]
    launched(backward, given, gradients=[da.device_address, dx.device_address])
    session.wait()
    a, v, x = (t.astype(np.float64) for t in (a, v, x))
    np.testing.assert_allclose(numbers(y, 4, 6), a * x**2 + v @ v * x, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(numbers(da, 6), np.broadcast_to((x**2).sum(), 6), rtol=1e-6)
    np.testing.assert_allclose(numbers(dx, 4, 1), (2 * a * x + v @ v).sum(1, keepdims=True), rtol=1e-5)


def test_strides(session: Any, memory: Memory) -> None:
    f = session.compile(SOURCE).line
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    turned = DeviceArray(memory.of(whole).address, (4, 3), (1, 4), "float")
    given = {"a": 1.0, "v": [0.0, 0.0, 0.0], "x": turned}
    prepared = make_call(f, find(f, (), given, "test")).prepare(Wish("forward", stores=True, addressed=True))
    y = memory.empty(12)
    launched(prepared, given, results=[y.device_address])
    session.wait()
    np.testing.assert_array_equal(numbers(y, 4, 3), whole.T**2)


def test_what_goes_another_way(session: Any, memory: Memory) -> None:
    m = session.compile(SOURCE)
    spread = DeviceArray(memory.of(np.zeros((2, 6))).address, (2, 3), (6, 2), "float")
    given = {"a": 1.0, "v": spread, "x": 1.0}
    with pytest.raises(NotFusedError, match="gaps"):
        make_call(m.line, find(m.line, (), given, "test")).prepare(Wish("forward", stores=True, addressed=True))
    import slangnb as sn

    given = {"t": sn.tensor([1.0, 2.0]), "x": memory.of(np.ones(3, np.float32))}
    with pytest.raises(NotFusedError, match="indexed"):
        make_call(m.read, find(m.read, (), given, "test")).prepare(Wish("forward", stores=True, addressed=True))
