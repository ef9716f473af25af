"""Functions that read tensors, beside which reverse mode is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
W = np.array([1.5, -0.5, 2, 3], np.float32)


def made(session: Any, parameters: str, body: str) -> Any:
    return session.compile(f"import slangpy; [Differentiable] float f({parameters}) {{ {body} }}").f


@pytest.mark.parametrize("kind", ["IDiffTensor", "Tensor", "ITensor"])
def test_a_scalar_that_meets_a_vector(session: Any, kind: str) -> None:
    body = "float3 y = {}; return y.x * y.y + y.z * w[0] + p;"
    parameters = f"{kind}<float, 1> w, float p, float3 x"
    with pytest.raises(sn.GradientError, match="reverse mode is wrong for 'p'"):
        sn.grad(made(session, parameters, body.format("p * x")), wrt="p")(sn.tensor(W), 1.5, X)
    found = sn.grad(made(session, parameters, body.format("x * p")), wrt="p")(sn.tensor(W), 1.5, X)
    x = X.astype(np.float64)
    assert found == pytest.approx((2 * 1.5 * x[:, 0] * x[:, 1] + x[:, 2] * 1.5 + 1).sum(), rel=1e-5)


def test_a_loop_that_is_too_long(session: Any) -> None:
    body = "float r = 1; [MaxIters(4)] for (int i = 0; i < n; i++) { r = r * x + w[i % 4]; } return r;"
    g = sn.grad(made(session, "IDiffTensor<float, 1> w, float x, int n", body))
    found = g(sn.tensor(W), 1.5, 3)
    assert found["x"] == pytest.approx(3 * 1.5**2 + 2 * 1.5 * W[0] + W[1])
    assert found["w"].to_numpy().tolist() == [2.25, 1.5, 1, 0]
    with pytest.raises(sn.GradientError, match="MaxIters"):
        g(sn.tensor(W), 1.5, 12)


def test_equal_indices(session: Any) -> None:
    f = made(session, "IDiffTensor<float, 1> w, float x[3], int k", "return x[0] * x[k] * w[k];")
    apart = np.array([1, 1, 2, 1, 1, 2, 1], np.int32)
    found = sn.grad(f, wrt="x")(sn.tensor(W), X, apart)
    assert found[:, 0] == pytest.approx(X[np.arange(7), apart] * W[apart], rel=1e-6)
    with pytest.raises(sn.GradientError, match="two indices"):
        sn.grad(f, wrt="x")(sn.tensor(W), X, np.array([0, 1, 2, 1, 1, 2, 1], np.int32))


def test_what_cannot_be_wrong_costs_nothing(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of a fixed length, one read of an array in each round; places that real numbers choose."""
    layer = made(
        session,
        "IDiffTensor<float, 1> w, float x[3]",
        "float s = 0; for (int k = 0; k < 3; k++) s += w[k] * x[k]; return s * s;",
    )
    pixel = made(session, "IDiffTensor<float, 1> w, float2 at", "return w[int(floor(at.x))] * at.y;")
    monkeypatch.setattr("slangnb.runtime.fused.audit._compared", None)  # to call it would be an error
    found = sn.grad(layer, wrt="x")(sn.tensor(W), X)
    x = X.astype(np.float64)
    assert found == pytest.approx(2 * (x @ W[:3])[:, None] * W[:3], rel=1e-5)
    at = np.array([[0.5, 2], [3.5, 4]], np.float32)
    assert sn.grad(pixel, wrt="w")(sn.tensor(W), at).to_numpy().tolist() == [2, 0, 0, 4]


def test_right_functions_of_tensors_pass(session: Any) -> None:
    """Also where derivatives are 0 but for roundings, as springs at rest have."""
    body = "float2 d = p[i + 1] - p[i]; float l = length(d) - 1; return k * l * l;"
    f = made(session, "IDiffTensor<float2, 1> p, float k, int i", body)
    rest = np.stack([np.arange(9), np.zeros(9)], axis=1).astype(np.float32)
    with pytest.warns(sn.GradientWarning, match="zero everywhere"):
        found = sn.value_and_grad(f)(sn.tensor(rest, dtype="float2"), 2.0, np.arange(8, dtype=np.int32))
    assert found[0] == 0 and found[1]["k"] == 0
    bent = rest.copy()
    bent[4, 1] = 0.75  # both neighbours are 1.25 away
    value, found = sn.value_and_grad(f)(sn.tensor(bent, dtype="float2"), 2.0, np.arange(8, dtype=np.int32))
    assert value == pytest.approx(2 * 2 * 0.25**2) and found["k"] == pytest.approx(2 * 0.25**2)
    assert found["p"].to_numpy()[4] == pytest.approx([0, 2 * 2 * 2 * 0.25 * 0.75 / 1.25], abs=1e-6)
