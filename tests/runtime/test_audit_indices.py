"""Equal indices into one array lose gradients in Slang: the audit refuses these calls, and lets the others pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

Z = np.array([2, 3, 4], np.float32)
M = np.array([[1, 2], [3, 4]], np.float32)
SOURCE = """
struct Row { float z[3]; };
[Differentiable] float pair(float z[3], int k) { return z[0] * z[k]; }
[Differentiable] float two(float z[3], int k, int j) { return z[k] * z[j]; }
[Differentiable] float entropy(float z[3], int t) { return log(exp(z[0]) + exp(z[1]) + exp(z[2])) - z[t]; }
[Differentiable] float matrix(float2x2 z, int k) { return z[0][1] * z[k][0]; }
[Differentiable] float vector(float3 z, int k) { return z[0] * z[k]; }
[Differentiable] float early(float z[3], int k) { if (k < 2) return z[0] * z[k]; return z[k]; }
[Differentiable] float mixed(float z[3], int i, float x) { return lerp(z[i], z[min(i + 1, 2)], x); }
[Differentiable] float at(float z[3], int k) { return z[k]; }
[Differentiable] float helped(float z[3], int k) { return at(z, 0) * at(z, k); }
[Differentiable] float same(float z[3], int k) { return z[k] * z[k]; }
[Differentiable] float looped(float z[3], int k)
{ float r = 0; [MaxIters(3)] for (int i = 0; i < 3; i++) r += z[i] * z[i]; return r * k; }
"""
REFUSED = "where two indices into one array, vector or matrix are equal"


@pytest.fixture
def m(session: Any) -> Any:
    return session.compile(SOURCE, force=True)


@pytest.mark.parametrize(
    ("name", "z", "fine", "equal"),
    [
        ("pair", Z, (1,), (0,)),
        ("two", Z, (0, 2), (1, 1)),
        ("matrix", M, (1,), (0,)),
        ("vector", Z, (2,), (0,)),
        ("early", Z, (1,), (0,)),
        ("mixed", Z, (0, 0.5), (2, 0.5)),
    ],
)
def test_equal_indices_are_refused_after_others_passed(m: Any, name: str, z: Any, fine: Any, equal: Any) -> None:
    g = sn.grad(m[name], "z")
    x = dict(
        zip(
            ("z", "k", "j") if name == "two" else ("z", "i", "x") if name == "mixed" else ("z", "k"),
            (z, *fine),
            strict=False,
        )
    )
    assert sn.gradcheck(m[name], **x).ok
    found = g(z, *fine)
    for _ in range(2):
        with pytest.raises(sn.GradientError, match=REFUSED):
            g(z, *equal)
    np.testing.assert_array_equal(g(z, *fine), found)


def test_cross_entropy(m: Any) -> None:
    with pytest.raises(sn.GradientError, match=REFUSED):
        sn.grad(m.entropy, "z")(Z, 1)


def test_one_equal_pair_among_many(m: Any) -> None:
    k = np.ones(3000, np.int32)
    k[2017] = 0
    with pytest.raises(sn.GradientError, match=REFUSED):
        sn.grad(m.pair, "z")(Z, k)
    k[2017] = 2
    grads = sn.grad(m.pair, "z")(Z, k)
    assert grads.tolist() == [2999 * 3 + 4, 2999 * 2, 2]


def test_one_equal_pair_in_a_large_tensor(m: Any) -> None:
    k = np.ones(1 << 15, np.int32)
    k[1 << 14] = 0
    with pytest.raises(sn.GradientError, match=REFUSED):
        sn.grad(m.pair, "z")(Z, sn.tensor(k))


def test_an_array_inside_a_struct(session: Any) -> None:
    f = session.compile(
        "struct Row : IDifferentiable { float z[3]; };\n"
        "[Differentiable] float inside(Row r, int k) { return r.z[1] * r.z[k]; }"
    ).inside
    assert sn.grad(f)(r={"z": Z}, k=2)["r"]["z"].tolist() == [0, 4, 3]
    with pytest.raises(sn.GradientError, match=REFUSED):
        sn.grad(f)(r={"z": Z}, k=1)


def test_second_derivatives_and_backward_calls(m: Any, ones: Any) -> None:
    with pytest.raises(sn.GradientError, match=REFUSED):
        sn.hvp(m.pair, wrt="z")(Z, 0, v=np.array([1, 0, 0], np.float32))
    with pytest.raises(sn.GradientError, match=REFUSED):
        sn.vjp(m.pair, Z, 0)
    z = sn.Parameter(Z)
    y = m.pair(z, np.zeros(2, np.int32), _result="tensor")
    with pytest.raises(sn.GradientError, match=REFUSED):
        m.pair.bwds(z, np.zeros(2, np.int32), _result=ones(y))


def test_right_ways_pass(m: Any) -> None:
    assert sn.grad(m.helped, "z")(Z, 0).tolist() == [4, 0, 0]
    assert sn.grad(m.helped, "z")(Z, 2).tolist() == [4, 0, 2]
    assert sn.grad(m.same, "z")(Z, 1).tolist() == [0, 6, 0]
    assert sn.grad(m.looped, "z")(Z, 1).tolist() == [4, 6, 8]
    for k in range(3):
        assert sn.grad(m.at, "z")(Z, k).tolist() == [float(i == k) for i in range(3)]
