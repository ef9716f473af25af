"""Every example of SlangPy's two pages on automatic differentiation, through slangnb, with the right values.

The examples are written anew. Known slips of the pages are put right: the values of 2x^2 + 8x - 1 at 1, 2, 3, 4 are
9, 23, 41, 63; the loop of the linear layer needs ``[MaxIters]`` and its bound outside the condition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangnb as sn

XS = np.array([1, 2, 3, 4], np.float32)
VALUES = [9.0, 23.0, 41.0, 63.0]  # 2x^2 + 8x - 1
SLOPES = [12.0, 16.0, 20.0, 24.0]  # 4x + 8


def equal(got: Any, right: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), right, rtol=1e-6)


# Page 1: basic automatic differentiation


@pytest.fixture
def polynomial(session: Any) -> Any:
    return session.compile("""
[Differentiable]
float polynomial(float a, float b, float c, float x)
{
    return (a * x + b) * x + c;
}
""").polynomial


@pytest.fixture
def x(session: Any) -> Any:
    """A tensor made with SlangPy's own calls, as the page does."""
    import slangpy as spy

    return spy.Tensor.from_numpy(session.device, XS).with_grads(zero=True)


def test_result_as_a_new_tensor(polynomial: Any, x: Any) -> None:
    import slangpy as spy

    result = polynomial(a=2, b=8, c=-1, x=x, _result="tensor")
    assert isinstance(result, spy.Tensor)
    equal(result.to_numpy(), VALUES)


def test_result_in_a_tensor_made_before(session: Any, polynomial: Any, x: Any) -> None:
    import slangpy as spy

    module = session.compile("float unused(float x) { return x; }")
    result = spy.Tensor.empty(session.device, shape=(4,), dtype=module.float)  # pyright: ignore[reportArgumentType]
    polynomial(a=2, b=8, c=-1, x=x, _result=result)
    equal(result.to_numpy(), VALUES)


def test_result_by_return_type(polynomial: Any, x: Any) -> None:
    import slangpy as spy

    result = polynomial.return_type(spy.Tensor)(a=2, b=8, c=-1, x=x)
    assert isinstance(result, spy.Tensor)
    equal(result.to_numpy(), VALUES)
    equal(polynomial.return_type("numpy")(a=2, b=8, c=-1, x=x), VALUES)


def test_backward_with_a_seed_of_ones(polynomial: Any, x: Any) -> None:
    result = polynomial(a=2, b=8, c=-1, x=x, _result="tensor").with_grads()
    result.grad.storage.copy_from_numpy(np.array([1, 1, 1, 1], np.float32))
    polynomial.bwds(a=2, b=8, c=-1, x=x, _result=result)
    equal(x.grad.to_numpy(), SLOPES)


def test_backward_starts_from_zero_unless_told_to_accumulate(polynomial: Any, x: Any, ones: Any) -> None:
    result = ones(polynomial(a=2, b=8, c=-1, x=x, _result="tensor"))
    for _ in range(3):
        polynomial.bwds(a=2, b=8, c=-1, x=x, _result=result)
    equal(x.grad.to_numpy(), SLOPES)
    polynomial.bwds(a=2, b=8, c=-1, x=x, _result=result, accumulate=True)
    equal(x.grad.to_numpy(), np.multiply(SLOPES, 2))


# Page 2: differentiable tensors


@pytest.mark.parametrize(("read", "write"), [("IDiffTensor", "IWDiffTensor"), ("DiffTensor", "WDiffTensor")])
def test_tensors_as_parameters(session: Any, x: Any, ones: Any, read: str, write: str) -> None:
    import slangpy as spy

    f = session.compile(f"""
import "slangpy";
[Differentiable]
void polynomial(int at, float a, float b, float c, {read}<float, 1> x, {write}<float, 1> result)
{{
    float v = x[at];
    result[at] = (a * v + b) * v + c;
}}
""").polynomial
    result = spy.Tensor.empty(session.device, shape=(4,), dtype=float)  # pyright: ignore[reportArgumentType]
    if write == "WDiffTensor":  # a concrete type binds a gradient buffer even forward
        result = result.with_grads()
    f(at=spy.grid(x.shape), a=2, b=8, c=-1, x=x, result=result)
    equal(result.to_numpy(), VALUES)
    result = ones(result)
    f.bwds(at=spy.grid(x.shape), a=2, b=8, c=-1, x=x, result=result)
    equal(x.grad.to_numpy(), SLOPES)


def test_concrete_type_without_gradient_is_refused(session: Any) -> None:
    import slangpy as spy

    f = session.compile("""
import "slangpy";
[Differentiable] float pick(int at, DiffTensor<float, 1> x) { return x[at]; }
""").pick
    plain = spy.Tensor.from_numpy(session.device, XS)
    with pytest.raises(sn.CallError, match=r"(?s)'x' has no gradient.*with_grads"):
        f(spy.grid((4,)), plain)
    equal(f(spy.grid((4,)), plain.with_grads(), _result="numpy"), XS)


def test_update_in_place_with_two_gradient_buffers(session: Any) -> None:
    import slangpy as spy

    f = session.compile("""
import "slangpy";
[Differentiable]
void double_it(int at, IRWDiffTensor<float, 1> data)
{
    data[at] = data[at] * 2.0;
}
""").double_it
    seed = spy.Tensor.from_numpy(session.device, np.ones(4, np.float32))
    into = spy.Tensor.zeros(session.device, shape=(4,), dtype=float)  # pyright: ignore[reportArgumentType]
    data = spy.Tensor.from_numpy(session.device, XS).with_grads(
        grad_in=seed,
        grad_out=into,
        zero=False,  # the page leaves this out; it is True by default, and wipes the seed
    )
    f(at=spy.grid(data.shape), data=data)
    equal(data.to_numpy(), 2 * XS)
    with pytest.warns(sn.GradientWarning, match="updated in place"):
        f.bwds(at=spy.grid(data.shape), data=data)
    equal(data.grad_out.to_numpy(), [2, 2, 2, 2])


def test_custom_derivative_through_a_concrete_tensor(session: Any, ones: Any) -> None:
    import slangpy as spy

    f = session.compile("""
import "slangpy";

[Differentiable]
[BackwardDerivative(smooth_bwd)]
float smooth(int at, DiffTensor<float, 1> data)
{
    float t = saturate(data.load(at));
    return t * t * (3.0 - 2.0 * t);
}

void smooth_bwd(int at, DiffTensor<float, 1> data, float upstream)
{
    float t = data._primal.load(at);
    float slope = t > 0.0 && t < 1.0 ? 6.0 * t * (1.0 - t) : 0.0;
    data._grad_out.add(at, slope * upstream);
}
""").smooth
    points = np.array([-0.5, 0.25, 0.5, 1.5], np.float32)
    data = sn.tensor(points, grad=True)
    y = f(spy.grid((4,)), data, _result="tensor")
    equal(y.to_numpy(), [0.0, 0.15625, 0.5, 1.0])
    f.bwds(spy.grid((4,)), data, _result=ones(y))
    equal(data.grad.to_numpy(), [0.0, 1.125, 1.5, 0.0])


def test_linear_layer(session: Any, branch_reads_refused: bool) -> None:
    import slangpy as spy

    f = session.compile("""
import "slangpy";
[Differentiable]
void linear_layer(int row, IDiffTensor<float, 2> weights, IDiffTensor<float, 1> bias,
                  IDiffTensor<float, 1> input, IWDiffTensor<float, 1> output)
{
    float total = bias[row];
    int count = weights.shape[1];
    [MaxIters(8)]
    for (int i = 0; i < count; i++)
        total += weights[row, i] * input[i];
    output[row] = total;
}
""").linear_layer
    rng = np.random.default_rng(0)
    w, b, v, seed = (rng.standard_normal(s).astype(np.float32) for s in ((3, 5), (3,), (5,), (3,)))
    weights, bias, data = (sn.tensor(a, grad=True) for a in (w, b, v))
    output = spy.Tensor.empty(session.device, shape=(3,), dtype=float).with_grads()  # pyright: ignore[reportArgumentType]
    f(spy.grid(shape=(3,)), weights, bias, data, output)
    np.testing.assert_allclose(output.to_numpy(), w @ v + b, rtol=1e-5)
    output.grad.copy_from_numpy(seed)
    if branch_reads_refused:
        with pytest.raises(sn.GradientError, match="slang use cuda"):
            f.bwds(spy.grid(shape=(3,)), weights, bias, data, output)
        return
    f.bwds(spy.grid(shape=(3,)), weights, bias, data, output)
    np.testing.assert_allclose(weights.grad.to_numpy(), np.outer(seed, v), rtol=1e-5)
    np.testing.assert_allclose(bias.grad.to_numpy(), seed, rtol=1e-5)
    np.testing.assert_allclose(data.grad.to_numpy(), w.T @ seed, rtol=1e-5, atol=1e-6)


def test_linear_layer_as_the_page_has_it_says_what_is_missing(session: Any) -> None:
    with pytest.raises(sn.CompileError, match=r"(?s)MaxIters"):
        session.compile("""
import "slangpy";
[Differentiable]
void linear_layer(int row, IDiffTensor<float, 2> weights, IDiffTensor<float, 1> input, IWDiffTensor<float, 1> output)
{
    uint count = weights.shape[1];
    float total = 0;
    for (uint i = 0; i < count; i++)
        total += weights[row, i] * input[i];
    output[row] = total;
}
""")
