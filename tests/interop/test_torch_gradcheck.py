"""`torch.autograd.gradcheck` on ten functions in float and double, and sums over very many elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:Input #0 requires gradient and is not a double")

# Doubles have no sine in Vulkan: the functions are made of what all backends have for both types.
SOURCE = """
import slangpy;
[Differentiable] REAL poly(REAL a, REAL x) { return (a * x * x + x) * a; }
[Differentiable] REAL ratio(REAL a, REAL x) { return a / (1.0 + x * x); }
[Differentiable] REAL root(REAL a, REAL x) { return sqrt(a + x * x); }
[Differentiable] vector<REAL, 3> scaled(REAL a, vector<REAL, 3> v) { return v * (a * dot(v, v)); }
[Differentiable] matrix<REAL, 2, 2> squared(matrix<REAL, 2, 2> k, REAL x) { return mul(k, k) * x; }
struct Light : IDifferentiable { vector<REAL, 3> color; REAL power; }
[Differentiable] REAL lit(Light l, vector<REAL, 3> n) { return dot(l.color, n) * l.power * l.power; }
[Differentiable] void parts(REAL x, REAL y, out REAL sum, out REAL product) { sum = x + y * y; product = x * x * y; }
[Differentiable] REAL power(REAL x, int n)
{
    REAL r = 1.0;
    [MaxIters(8)] for (int i = 0; i < n; i++) r *= x;
    return r;
}
[Differentiable] REAL bent(REAL x)
{
    if (x < 0.5)
        return x * x;
    return 2.0 * x * x * x;
}
[Differentiable] T cube<T : IFloat>(T x) { return x * x * x; }
"""
CALLS = {
    "poly": lambda m, x: m.poly(x[0], x),
    "ratio": lambda m, x: m.ratio(x, x.flip(0)),
    "root": lambda m, x: m.root(x[:2, None], x[None, 2:]),
    "scaled": lambda m, x: m.scaled(x[0], x.reshape(2, 3)),
    "squared": lambda m, x: m.squared(x[:4].reshape(2, 2), x[4:]),
    "lit": lambda m, x: m.lit({"color": x[:3], "power": x[3]}, x.reshape(2, 3).flip(1)),
    "parts": lambda m, x: tuple(m.parts(x, x.flip(0)).values()),
    "power": lambda m, x: m.power(x, torch.arange(6, dtype=torch.int32, device=x.device)),
    "bent": lambda m, x: m.bent(x),
    "cube": lambda m, x: m.cube(x),
}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def usable(device: str) -> Any:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    return torch.device(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", CALLS)
def test_ten_functions(session: Any, name: str, real: str, device: str) -> None:
    """Doubles with torch's own tolerances; floats with a step that their differences can hold."""
    if real == "double" and session.backend.name == "metal":
        pytest.skip("Metal has no doubles")
    m = session.compile(SOURCE, defines={"REAL": real})
    dtype = torch.float64 if real == "double" else torch.float32
    # None of these is within a step of 0.5, where `bent` has a corner.
    x = torch.tensor([0.13, 0.91, 0.42, 0.77, 0.29, 0.64], dtype=dtype, device=usable(device), requires_grad=True)
    tolerances = {"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2} if real == "float" else {}
    assert torch.autograd.gradcheck(lambda x: CALLS[name](m, x), (x,), **tolerances)


def test_a_wrong_derivative_is_found(session: Any) -> None:
    """What passes above could fail."""
    wrong = session.compile("""
[BackwardDerivative(bad)] float cube(float x) { return x * x * x; }
void bad(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }
""").cube
    x = torch.rand(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(wrong, (x,), eps=1e-2, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("power", [22, pytest.param(26, marks=pytest.mark.gpu)])
def test_the_gradient_of_a_number_that_all_share(session: Any, power: int, device: str) -> None:
    """Its sum is right to 1e-6; adding float32 one after the other goes wrong long before 2^26."""
    m = session.compile(SOURCE, defines={"REAL": "float"})
    where = usable(device)
    numbers = np.random.default_rng(0).random(1 << power, np.float32)
    x = torch.from_numpy(numbers).to(where)
    a = torch.nn.Parameter(torch.tensor(2.0, device=where))
    m.ratio(a, x).sum().backward()
    right = np.sum(1 / (1 + numbers.astype(np.float64) ** 2))
    assert abs(float(a.grad) - right) <= 1e-6 * right
    b, weights = torch.nn.Parameter(torch.tensor(3.0, device=where)), x.flip(0)
    (m.ratio(b, x) * weights).sum().backward()  # the gradient that comes in is an array
    right = np.sum(numbers[::-1] / (1 + numbers.astype(np.float64) ** 2))
    assert abs(float(b.grad) - right) <= 1e-6 * right
