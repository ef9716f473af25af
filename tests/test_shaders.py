"""The Slang library in `shaders/`: values against numpy, gradients against differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slangnb as sn

SHADERS = Path(__file__).parent.parent / "shaders"
P = np.random.default_rng(3).uniform(-2, 2, (200, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def sdf(session: Any) -> Any:
    return session.load(SHADERS / "sdf.slang")


def test_distances(sdf: Any) -> None:
    r = np.linalg.norm(P.astype(np.float64), axis=1)
    np.testing.assert_allclose(sdf.sd_sphere(P, 1.5, _result="numpy"), r - 1.5, atol=1e-5)
    q = np.abs(P.astype(np.float64)) - [1.0, 0.5, 0.25]
    box = np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)
    np.testing.assert_allclose(sdf.sd_box(P, (1.0, 0.5, 0.25), _result="numpy"), box, atol=2e-6)
    assert sdf.sd_smooth_union(1.0, 1.0, 0.4) == pytest.approx(0.9)
    assert sdf.sd_smooth_union(1.0, 3.0, 0.4) == pytest.approx(1.0)


def test_gradients(sdf: Any) -> None:
    assert sn.gradcheck(sdf.sd_sphere, P, 1.5).ok
    assert sn.gradcheck(sdf.sd_box, P, np.array([1.0, 0.5, 0.25], np.float32)).ok
    assert sn.gradcheck(sdf.sd_smooth_union, P[:, 0].copy(), P[:, 1].copy(), 0.4).ok
    gradient = sn.grad(sdf.sd_sphere, wrt="p")(P, 1.5)
    np.testing.assert_allclose(gradient, P / np.linalg.norm(P, axis=1, keepdims=True), atol=1e-5)


def test_cells_import_it(session: Any) -> None:
    f = session.compile("import sdf; float scene(float3 p) { return sd_sphere(p, 1.0); }", include=(SHADERS,)).scene
    assert f((3.0, 0.0, 4.0)) == pytest.approx(4.0)


@pytest.fixture(scope="module")
def mlp(session: Any) -> Any:
    code = """
    import mlp;
    import slangpy;
    [Differentiable]
    float net(IDiffTensor<float, 2> w1, IDiffTensor<float, 1> b1, IDiffTensor<float, 1> w2, float x[3])
    {
        return dot(w2, tanh(linear<5>(w1, b1, x)));
    }
    float[5] layer(IDiffTensor<float, 2> w, IDiffTensor<float, 1> b, float x[3]) { return linear<5>(w, b, x); }
    """
    return session.compile(code, include=(SHADERS,))


def network() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(4)
    return tuple(rng.standard_normal(size).astype(np.float32) for size in ((5, 3), 5, 5, (1000, 3)))


def test_layers_give_values(mlp: Any) -> None:
    w1, b1, w2, x = network()
    hidden = x.astype(np.float64) @ w1.T + b1
    np.testing.assert_allclose(mlp.layer(sn.tensor(w1), sn.tensor(b1), x, _result="numpy"), hidden, atol=2e-6)
    value, _ = sn.value_and_grad(mlp.net)(sn.tensor(w1), sn.tensor(b1), sn.tensor(w2), x)
    assert value == pytest.approx((np.tanh(hidden) @ w2).sum(), abs=1e-3)


def test_layers_have_gradients(mlp: Any) -> None:
    w1, b1, w2, x = network()
    h = np.tanh(x.astype(np.float64) @ w1.T + b1)
    d = w2 * (1 - h * h)
    expected = {"w1": d.T @ x, "b1": d.sum(axis=0), "w2": h.sum(axis=0), "x": d @ w1}
    _, grads = sn.value_and_grad(mlp.net)(sn.tensor(w1), sn.tensor(b1), sn.tensor(w2), x)
    for name, gradient in expected.items():
        found = grads[name] if name == "x" else grads[name].to_numpy()
        np.testing.assert_allclose(found, gradient, atol=1e-6 * np.abs(gradient).max(), err_msg=name)
