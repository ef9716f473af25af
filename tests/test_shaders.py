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


@pytest.fixture(scope="module")
def splat(session: Any) -> Any:
    code = """
    import slangpy;
    import splat;
    [Differentiable]
    float light(float2 p, float3 weight, IDiffTensor<float, 2> spots, no_diff int count)
    {
        return dot(weight, spots_at(p, spots, count));
    }
    [Differentiable]
    float alone(float2 p, float2 centre, float2 log_width, float turn) { return spot(p, centre, log_width, turn); }
    """
    return session.compile(code, include=(SHADERS,))


def colours_of(spots: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Give the colours at points, in float64."""
    d = p[:, None, :].astype(np.float64) - spots[:, :2]
    c, s = np.cos(spots[:, 4]), np.sin(spots[:, 4])
    along, across = c * d[..., 0] + s * d[..., 1], c * d[..., 1] - s * d[..., 0]
    u, v = along / np.exp(spots[:, 2]), across / np.exp(spots[:, 3])
    return np.exp(-(u * u + v * v) / 2) @ spots[:, 5:]


def test_spots(splat: Any) -> None:
    rng = np.random.default_rng(6)
    spots = rng.uniform(-0.7, 0.7, (7, 8)).astype(np.float32)
    p, weight = P[:, :2].copy(), rng.uniform(0.5, 1, 3).astype(np.float32)
    value, grads = sn.value_and_grad(splat.light, ("p", "spots"))(p, weight, sn.tensor(spots), 7)
    exact = spots.astype(np.float64)
    terms = colours_of(exact, p) * weight
    assert value == pytest.approx(terms.sum(), abs=1e-6 * np.abs(terms).sum())  # they are of both signs

    def differences(values: np.ndarray, loss: Any) -> np.ndarray:
        found, step = np.zeros(values.shape), 1e-6
        for at in np.ndindex(values.shape):
            more, less = values.copy(), values.copy()
            more[at] += step
            less[at] -= step
            found[at] = (loss(more) - loss(less)) / (2 * step)
        return found

    by_spot = differences(exact, lambda one: (colours_of(one, p) @ weight).sum())
    np.testing.assert_allclose(grads["spots"].to_numpy(), by_spot, atol=2e-6 * np.abs(by_spot).max())
    few = p[:9].astype(np.float64)
    by_place = differences(few, lambda at: (colours_of(exact, at) @ weight).sum())
    np.testing.assert_allclose(grads["p"][:9], by_place, atol=2e-6 * np.abs(by_place).max())


def test_a_spot_turns_counterclockwise(splat: Any) -> None:
    wide = np.log([2.0, 0.5]).astype(np.float32)
    assert splat.alone((0.0, 0.0), (0.0, 0.0), wide, 0.3) == 1.0
    for turn, p in ((0.0, (2.0, 0.0)), (np.pi / 2, (0.0, 2.0)), (np.pi / 4, (2**0.5, 2**0.5))):
        assert splat.alone(p, (0.0, 0.0), wide, turn) == pytest.approx(np.exp(-0.5), rel=1e-6)  # one width away
    assert sn.gradcheck(splat.alone, P[:, :2].copy(), (0.2, 0.1), wide, 0.4).ok
