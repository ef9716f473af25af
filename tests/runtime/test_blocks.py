"""Eight elements at a time: the same numbers as one at a time, for all kinds of arguments; and when it is not done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.compiler.reflection import Parameter, TypeInfo
from slangnb.runtime.fused import finish
from slangnb.runtime.fused.blocks import BLOCK, MOST_LETTERS, block_of
from slangnb.runtime.fused.job import Argument, Job, Leaf

SOURCE = """
struct Ball : IDifferentiable { float3 at; float size; }
[Differentiable] float line(float a, float x) { return a * x * x + x; }
[Differentiable] float3 turned(float3 v, float t) { return v.yzx * t + v; }
[Differentiable] float inside(Ball b, float3 p) { return b.size * b.size - dot(p - b.at, p - b.at); }
[Differentiable] float both(float x, out float3 more) { more = float3(x, 2 * x, x * x); return 3 * x; }
[Differentiable] float mixed(half h, double d, float x) { return float(h) * float(d) * x; }
[Differentiable] float scaled(float x, int n) { return x * n; }
uint twice(uint n) { return 2 * n; }
int negated(int n) { return -n; }
"""
N = 1 << 15


@pytest.fixture
def m(session: Any) -> Any:
    if not session.host_memory:
        pytest.skip("kernels take no addresses of this process")
    return session.compile(SOURCE)


@pytest.fixture(params=[True, False], ids=["blocks", "elements"])
def blocks(request: pytest.FixtureRequest, session: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the blocks that are chosen, or choose none; nothing prepared before, or here, is used again."""
    chosen: list[int] = []

    def choose(*of: Any) -> int:
        chosen.append(block_of(*of) if request.param else 1)
        return chosen[-1]

    monkeypatch.setattr(finish, "block_of", choose)
    session.plans.clear()
    request.addfinalizer(session.plans.clear)

    def check() -> None:
        assert not chosen or max(chosen) == (BLOCK if request.param else 1)

    request.addfinalizer(check)
    return chosen


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1, shape).astype(dtype)


def test_arrays_and_tensors(session: Any, m: Any, blocks: list[int]) -> None:
    x = numbers(N)
    x64 = x.astype(np.float64)
    for given in (x, sn.tensor(x, session=session)):
        value, grads = sn.value_and_grad(m.line)(a=2.0, x=given)
        dx = grads["x"] if isinstance(grads["x"], np.ndarray) else grads["x"].to_numpy()
        np.testing.assert_allclose(value, (2 * x64**2 + x64).sum(), rtol=1e-6)
        np.testing.assert_allclose(grads["a"], (x64**2).sum(), rtol=1e-6)
        np.testing.assert_allclose(dx, 4 * x64 + 1, rtol=1e-6)
    assert len(set(blocks)) == 1


def test_vectors(m: Any, blocks: list[int]) -> None:
    v, t, seed = numbers(N, 3), numbers(N), numbers(N, 3)
    y, pull = sn.vjp(m.turned, v=v, t=t)
    np.testing.assert_allclose(y, v[:, [1, 2, 0]] * t[:, None] + v, rtol=1e-6)
    grads = pull(seed)
    np.testing.assert_allclose(grads["v"], seed[:, [2, 0, 1]] * t[:, None] + seed, rtol=1e-6)
    np.testing.assert_allclose(grads["t"], (seed * v[:, [1, 2, 0]]).sum(1), rtol=1e-5)


def test_structs(m: Any, blocks: list[int]) -> None:
    ball = {"at": numbers(N, 3), "size": numbers(N)}
    p = numbers(3)
    grads = sn.grad(m.inside)(b=ball, p=p)
    away = (p - ball["at"]).astype(np.float64)
    np.testing.assert_allclose(grads["b"]["at"], 2 * away, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(grads["b"]["size"], 2 * ball["size"], rtol=1e-6)
    np.testing.assert_allclose(grads["p"], -2 * away.sum(0), rtol=1e-5)


def test_outputs_and_tangents(m: Any, blocks: list[int]) -> None:
    x, dx = numbers(N), numbers(N) + 1
    y, dy = sn.jvp(m.both, {"x": x}, {"x": dx})
    np.testing.assert_allclose(y["more"], np.stack([x, 2 * x, x * x], 1), rtol=1e-6)
    np.testing.assert_allclose(y["result"], 3 * x, rtol=1e-6)
    np.testing.assert_allclose(dy["more"], np.stack([dx, 2 * dx, 2 * x * dx], 1), rtol=1e-6)
    np.testing.assert_allclose(dy["result"], 3 * dx, rtol=1e-6)


def test_types_of_other_widths_stand_beside(m: Any, blocks: list[int]) -> None:
    h, d, x = numbers(N, dtype=np.float16), numbers(N, dtype=np.float64), numbers(N)
    grads = sn.grad(m.mixed)(h=h, d=d, x=x)
    np.testing.assert_allclose(grads["x"], h * d, rtol=1e-5)
    np.testing.assert_allclose(grads["d"], h.astype(np.float64) * x, rtol=1e-5)
    np.testing.assert_allclose(grads["h"], d * x, rtol=2e-3)
    n = np.arange(N, dtype=np.int32)
    np.testing.assert_allclose(sn.grad(m.scaled)(x=x, n=n)["x"], n, rtol=1e-6)


def test_repeated_arguments(m: Any, blocks: list[int]) -> None:
    a, x = numbers(16), numbers(N // 16, 16)
    grads = sn.grad(m.line)(a=a, x=x)
    np.testing.assert_allclose(grads["a"], (x.astype(np.float64) ** 2).sum(0), rtol=1e-5)
    np.testing.assert_allclose(grads["x"], 2 * a * x + 1, rtol=1e-6)


@pytest.mark.parametrize(("name", "dtype"), [("twice", np.uint32), ("negated", np.int32)])
def test_whole_numbers_keep_all_bits(m: Any, blocks: list[int], name: str, dtype: Any) -> None:
    n = np.random.default_rng(1).integers(0, 1 << 31, 1 << 18).astype(dtype)
    want = 2 * n if name == "twice" else -n
    np.testing.assert_array_equal(m[name](n, _result="numpy"), want)


def test_a_thread_in_the_middle_of_the_last_group(m: Any, blocks: list[int]) -> None:
    for n in (N + 8, N + 8 * 255, 3 * N - 16, N + 4):
        x = numbers(n)
        value, grads = sn.value_and_grad(m.line)(a=1.0, x=x)
        np.testing.assert_allclose(value, (x.astype(np.float64) ** 2 + x).sum(), rtol=1e-6)
        np.testing.assert_allclose(grads["x"], 2 * x + 1, rtol=1e-6)


def test_arrays_between_two_words(m: Any, blocks: list[int]) -> None:
    x = numbers(N + 1)
    f = sn.grad(m.line, wrt="x")
    for part in (x[:-1], x[1:], x[:-1]):
        np.testing.assert_allclose(f(2.0, part), 4 * part + 1, rtol=1e-6)


def leaf(**changes: Any) -> Leaf:
    given = {"access": "each", "addressed": True, "aligned": True, **changes}
    return Leaf("x", "", TypeInfo("float", "scalar", "float", (), True), **given)


@pytest.mark.parametrize(
    ("job", "count", "texts", "want"),
    [
        ({}, 64, ["f(x) { return x; }"], BLOCK),
        ({}, 63, ["f(x) { return x; }"], 1),
        ({"accumulate": True}, 64, ["f(x) { return x; }"], 1),
        ({}, 64, ["f(x) { for (;;) x += 1; }"], 1),
        ({}, 64, ["f(x) { return format(x); }"], BLOCK),
        ({}, 64, ["x" * (MOST_LETTERS + 1)], 1),
        ({}, 64, [], 1),
        ({"leaf": leaf(aligned=False)}, 64, ["f"], 1),
        ({"leaf": leaf(access="strided")}, 64, ["f"], 1),
    ],
)
def test_when(job: dict[str, Any], count: int, texts: list[str], want: int) -> None:
    x = Argument(Parameter("x", leaf().type), (job.pop("leaf", leaf()),))
    assert block_of(Job("f", (), (x,), (), "forward", **job), count, texts) == want
