"""The recipe of ``notebooks/jax.md``: values, gradients, jit and vmap."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = importlib.import_module("jax.numpy")

PAGE = Path(sn.__file__).parents[1] / "notebooks" / "jax.md"

SOURCE = """
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
[Differentiable] float3 scaled(float a, float3 v) { return v * a; }
[Differentiable] float2x2 squared(float2x2 k, float x) { return mul(k, k) * x; }
[Differentiable] float power(float x, int n)
{
    float r = 1.0;
    [MaxIters(8)] for (int i = 0; i < n; i++) r *= x;
    return r;
}
[Differentiable] float weighted(no_diff float w, float x) { return w * x; }
"""


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def recipe() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(blocks()[0], names)
    return names


@pytest.fixture
def m(session: Any, recipe: dict[str, Any]) -> Any:
    module = session.compile(SOURCE)
    return type("Functions", (), {name: staticmethod(recipe["in_jax"](module[name])) for name in module})


@pytest.fixture
def x() -> Any:
    return jnp.asarray(np.random.default_rng(0).random(6), jnp.float32)


def same(got: Any, right: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(right), rtol=2e-5, atol=1e-6)


def agree(slang: Any, plain: Any, *args: Any) -> None:
    """Compare values, and the gradients of a sum of squares by all arguments, plainly and compiled."""
    which = tuple(i for i, a in enumerate(args) if jnp.result_type(a) == jnp.float32)
    ours, theirs = (lambda *a: (slang(*a) ** 2).sum()), (lambda *a: (plain(*a) ** 2).sum())
    for wrap in (lambda f: f, jax.jit):
        got = wrap(slang)(*args)
        assert (got.shape, got.dtype) == (plain(*args).shape, jnp.float32)
        same(got, plain(*args))
        value, grads = wrap(jax.value_and_grad(ours, which))(*args)
        right, right_grads = jax.value_and_grad(theirs, which)(*args)
        same(value, right)
        for g, r in zip(grads, right_grads, strict=True):
            assert (g.shape, g.dtype) == (r.shape, r.dtype)
            same(g, r)


def test_the_page_runs(session: Any, recipe: dict[str, Any]) -> None:
    exec(blocks()[1], recipe)
    x = np.linspace(0, 1, 5)
    same(recipe["value"], 2 * np.sin(x).sum())
    same(recipe["da"], np.sin(x).sum())
    same(recipe["dx"], 2 * np.cos(x))
    assert len(blocks()[0].splitlines()) < 100


def test_numbers_and_broadcasting(m: Any, x: Any) -> None:
    def plain(a: Any, x: Any) -> Any:
        return a * x * x + x

    agree(m.poly, plain, jnp.float32(2.0), x)
    agree(m.poly, plain, jnp.float32(2.0), jnp.float32(3.0))
    agree(m.poly, plain, x.reshape(3, 2, 1)[:, :1], x.reshape(2, 3))


def test_vectors_and_matrices(m: Any, x: Any) -> None:
    agree(m.scaled, lambda a, v: a[..., None] * v, jnp.float32(2.0), x.reshape(2, 3))
    agree(m.scaled, lambda a, v: a[..., None] * v, x[:2], x.reshape(2, 3))
    agree(m.squared, lambda k, x: (k @ k) * x[:, None, None], x[:4].reshape(2, 2), x)


def test_arguments_without_a_derivative(m: Any, x: Any) -> None:
    agree(m.power, lambda x, n: x**n, x, jnp.arange(6))
    got = jax.grad(lambda w, x: m.weighted(w, x).sum(), argnums=(0, 1))(jnp.float32(3.0), x)
    same(got[0], 0.0)  # as the function says
    same(got[1], jnp.full(6, 3.0))


def test_vmap(m: Any, x: Any) -> None:
    rows = x.reshape(3, 2)
    same(jax.vmap(m.poly, in_axes=(0, 0))(x[:3], rows), x[:3, None] * rows**2 + rows)
    got = jax.vmap(jax.grad(lambda x: m.poly(jnp.float32(2.0), x).sum()))(rows)
    same(got, 4 * rows + 1)


def test_in_a_loop_that_jax_compiles(m: Any, x: Any) -> None:
    """Ten steps of a descent to 1 inside ``lax.scan``."""

    def step(x: Any, _: Any) -> Any:
        return x - 0.25 * jax.grad(lambda x: ((m.poly(jnp.float32(0.0), x) - 1) ** 2).sum())(x), None

    found, _ = jax.jit(lambda x: jax.lax.scan(step, x, None, length=10))(x)
    same(found, 1 + (np.asarray(x) - 1) * 0.5**10)


def test_a_sum_of_many_terms_is_accurate(m: Any) -> None:
    x = np.random.default_rng(1).random(1 << 20).astype(np.float32)
    got = jax.jit(jax.grad(lambda a, x: m.poly(a, x).sum()))(jnp.float32(2.0), jnp.asarray(x))
    right = np.sum(x.astype(np.float64) ** 2)
    assert abs(float(got) - right) <= 1e-6 * right


def test_what_jax_refuses(m: Any, x: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"(?i)jvp|forward-mode"):
        jax.jvp(m.poly, (jnp.float32(2.0), x), (jnp.float32(1.0), x))
    with pytest.raises(ValueError, match="JVP"):
        jax.grad(lambda x: jax.grad(lambda x: m.poly(jnp.float32(2.0), x).sum())(x).sum())(x)
