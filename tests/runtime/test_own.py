"""Plain and backward calls by our own kernels: right sums, the same results as SlangPy's, and stale results refused."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime import entry
from slangnb.runtime.own import LARGE

SOURCE = """
[Differentiable] float scale(float a, float x) { return a * x * x; }
[Differentiable] float weigh(float3 w, float3 x) { return dot(w, x); }
[Differentiable] float3 spread(float3 x, float a) { return x * a; }
struct Line : IDifferentiable { float slope; float offset; }
[Differentiable] float line(Line p, float x) { return p.slope * x + p.offset; }
"""
X = np.array([1, 2, 3], np.float32)


@pytest.fixture
def module(session: Any) -> Any:
    return session.compile(SOURCE)


def backward(f: Any, *args: Any, ones: Any, **kwargs: Any) -> Any:
    y = ones(f(*args, _result="tensor"))
    f.bwds(*args, _result=y, **kwargs)
    return y


def test_one_number_for_all_is_summed_right(module: Any, ones: Any) -> None:
    xs = np.random.default_rng(1).random(1 << 20).astype(np.float32)
    a, x = sn.tensor([2.0], grad=True), sn.tensor(xs, grad=True)
    y = backward(module.scale, a, x, ones=ones)
    exact = (xs.astype(np.float64) ** 2).sum()
    assert a.grad.to_numpy()[0] == pytest.approx(exact, rel=1e-6)
    bits = {a.grad.to_numpy()[0].tobytes()}
    for _ in range(9):
        module.scale.bwds(a, x, _result=y)
        bits.add(a.grad.to_numpy()[0].tobytes())
    assert len(bits) == 1
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * xs, rtol=1e-6)


def test_parameters(module: Any, ones: Any) -> None:
    a, x = sn.Parameter(2.0), sn.tensor(X, grad=True)
    y = backward(module.scale, a, x, ones=ones)
    assert y.to_numpy().tolist() == [2, 8, 18]
    assert a.grad == 14.0 and x.grad.to_numpy().tolist() == [4, 8, 12]
    module.scale.bwds(a, x, _result=y, accumulate=True)
    assert a.grad == 28.0 and x.grad.to_numpy().tolist() == [8, 16, 24]
    module.scale.bwds(a, x, _result=y)
    assert a.grad == 14.0 and x.grad.to_numpy().tolist() == [4, 8, 12]
    w = sn.Parameter([1, 2, 3])
    backward(module.weigh, w, sn.tensor(np.ones((5, 3), np.float32), dtype="float3"), ones=ones)
    assert w.grad.tolist() == [5, 5, 5]
    p = {"slope": sn.Parameter(2.0), "offset": sn.Parameter(1.0)}
    backward(module.line, p, sn.tensor(X), ones=ones)
    assert (p["slope"].grad, p["offset"].grad) == (6.0, 3.0)
    assert module.scale(a, 3.0) == 18.0 and module.scale(a, X, _result="numpy").tolist() == [2, 8, 18]


@pytest.mark.parametrize("accumulate", [False, True])
def test_one_value_for_several_arguments_gets_the_sum_of_their_gradients(
    session: Any, ones: Any, accumulate: bool
) -> None:
    times, x = 2 if accumulate else 1, sn.tensor([1, 2], dtype="float")
    source = """
    [Differentiable] float twice(float p, float q, float x) { return p * q * x; }
    struct Pair : IDifferentiable { float u; float w; }
    [Differentiable] float both(Pair p, float q, float x) { return p.u * p.w * q * x; }
    [Differentiable] float kinds(float3 a, float b[3], float x) { return (a.x * b[0] + a.y * b[2]) * x; }
    """
    m = session.compile(source)
    for p in (sn.Parameter(3.0), sn.tensor([3], grad=True, dtype="float")):  # d(p * p * 3) = 6 p
        y = backward(m.twice, p, p, x, ones=ones)
        m.twice.bwds(p, p, x, _result=y, accumulate=accumulate)
        assert np.asarray(p.grad if isinstance(p, sn.Parameter) else p.grad.to_numpy()).item() == 18 * times
    p = sn.Parameter(2.0)
    y = backward(m.both, {"u": p, "w": p}, p, x, ones=ones)  # d(3 p**3) = 9 p**2
    m.both.bwds({"u": p, "w": p}, p, x, _result=y, accumulate=accumulate)
    assert p.grad == 36 * times
    v = sn.Parameter([1, 2, 4])
    y = backward(m.kinds, v, v, x, ones=ones)  # d 3(v0**2 + v1 v2) = 3 (2 v0, v2, v1)
    m.kinds.bwds(v, v, x, _result=y, accumulate=accumulate)
    assert v.grad.tolist() == [6 * times, 12 * times, 6 * times]


@pytest.mark.parametrize("accumulate", [False, True])
def test_broadcast_gradients(module: Any, ones: Any, accumulate: bool) -> None:
    a = sn.tensor(np.array([[1.0], [2.0]], np.float32), grad=True)
    x = sn.tensor(np.ones((2, 4), np.float32), grad=True)
    y = backward(module.scale, a, x, ones=ones)
    module.scale.bwds(a, x, _result=y, accumulate=accumulate)
    times = 2 if accumulate else 1
    assert a.grad.to_numpy().tolist() == [[4 * times], [4 * times]]
    assert x.grad.to_numpy().tolist() == [[2 * times] * 4, [4 * times] * 4]


def test_gradient_of_a_repeated_tensor(module: Any, ones: Any) -> None:
    a: Any = sn.tensor([2.0], grad=True)
    backward(module.scale, a.broadcast_to((3,)), sn.tensor(X), ones=ones)
    assert a.grad.to_numpy().tolist() == [14]


def test_large_calls_are_the_same_as_slangpys(module: Any) -> None:
    import slangpy as spy

    xs = np.random.default_rng(2).random((LARGE + 5, 3)).astype(np.float32)
    x = sn.tensor(xs, dtype="float3")
    own = module.spread(x, 3.0)
    plain = module.spread.slangpy(x, 3.0, _result="tensor")
    assert isinstance(own, spy.Tensor) and own.shape == plain.shape and own.dtype.full_name == plain.dtype.full_name
    np.testing.assert_array_equal(own.to_numpy(), plain.to_numpy())
    given = sn.tensor(np.zeros_like(xs), dtype="float3")
    assert module.spread(x, 3.0, _result=given) is None
    np.testing.assert_array_equal(given.to_numpy(), plain.to_numpy())
    np.testing.assert_array_equal(module.spread(x, 3.0, _result="numpy"), plain.to_numpy())
    again = module.spread(x, 5.0)  # the same tensors, another number
    np.testing.assert_array_equal(again.to_numpy(), xs * np.float32(5))
    np.testing.assert_array_equal(own.to_numpy(), plain.to_numpy())


def test_large_backward_calls(module: Any, ones: Any) -> None:
    xs = np.random.default_rng(3).random(LARGE).astype(np.float32)
    x = sn.tensor(xs, grad=True)
    y = backward(module.scale, 2.0, x, ones=ones)
    np.testing.assert_array_equal(x.grad.to_numpy(), 4 * xs)
    module.scale.bwds(3.0, x, _result=y)
    np.testing.assert_allclose(x.grad.to_numpy(), 6 * xs, rtol=1e-6)
    module.scale.bwds(2.0, x, _result=y, accumulate=True)
    np.testing.assert_allclose(x.grad.to_numpy(), 10 * xs, rtol=1e-6)


@pytest.mark.parametrize("count", [3, LARGE])
def test_results_from_before_a_recompile_are_refused(session: Any, ones: Any, count: int) -> None:
    def text(factor: int) -> str:
        return (
            f"[Differentiable] float f(float x) {{ return {factor} * x * x; }}\n"
            "[Differentiable] float g(float x) { return x; }"
        )

    m = session.compile(text(1), name="results_again")
    x = sn.tensor(np.ones(count, np.float32), grad=True)
    y, other = ones(m.f(x, _result="tensor")), ones(m.g(x, _result="tensor"))
    given = ones(sn.tensor(np.zeros(count, np.float32)))
    m.f(x, _result=given)
    m.f.bwds(x, _result=y)
    session.compile(text(3), name="results_again")
    for old in (y, given):
        with pytest.raises(sn.GradientError, match="f was compiled again after this result was computed") as caught:
            m.f.bwds(x, _result=old)
        assert caught.value.remedy == "compute the result again, then its gradient"
    seed = ones(sn.tensor(np.zeros(count, np.float32)))
    for right in (other, seed, ones(m.f(x, _result="tensor"))):  # of another function, a mere seed, computed again
        m.f.bwds(x, _result=right)
        np.testing.assert_array_equal(x.grad.to_numpy(), np.full(count, 6))
    session.compile(text(1), name="results_again")  # what it was
    m.f.bwds(x, _result=y)
    np.testing.assert_array_equal(x.grad.to_numpy(), np.full(count, 2))


@pytest.mark.parametrize("count", [3, LARGE])
def test_stale_results_are_refused(module: Any, ones: Any, count: int) -> None:
    x = sn.tensor(np.ones(count, np.float32), grad=True)
    y = backward(module.scale, 2.0, x, ones=ones)
    module.scale(3.0, x, _result=x)
    with pytest.raises(sn.GradientError, match="written after _result was computed"):
        module.scale.bwds(2.0, x, _result=y)
    module.scale(2.0, x, _result=y)
    module.scale.bwds(2.0, x, _result=y)
    assert x.grad.to_numpy()[0] == 4 * 3


@pytest.mark.parametrize("count", [3, LARGE])
def test_a_parameter_changed_after_the_result_is_refused(module: Any, ones: Any, count: int) -> None:
    a, x = sn.Parameter(2.0), sn.tensor(np.ones(count, np.float32), grad=True)
    y = backward(module.scale, a, x, ones=ones)
    a.value = 10.0
    for _ in range(2):
        with pytest.raises(sn.GradientError, match="written after _result was computed"):
            module.scale.bwds(a, x, _result=y)
    assert x.grad.to_numpy()[0] == 4  # of the first backward pass
    module.scale(a, x, _result=y)
    module.scale.bwds(a, x, _result=y)
    assert x.grad.to_numpy()[0] == 20 and a.grad == count
    module.scale.bwds(sn.Parameter(3.0), x, _result=y)  # another Parameter is the caller's affair
    assert x.grad.to_numpy()[0] == 6


def test_a_parameter_in_a_dict_changed_after_the_result_is_refused(module: Any, ones: Any) -> None:
    fields, x = {"slope": sn.Parameter(2.0), "offset": sn.Parameter(1.0)}, sn.tensor(X, grad=True)
    y = backward(module.line, fields, x, ones=ones)
    assert x.grad.to_numpy().tolist() == [2, 2, 2] and fields["slope"].grad == 6
    fields["slope"].value = 3.0
    with pytest.raises(sn.GradientError, match="written after _result was computed"):
        module.line.bwds(fields, x, _result=y)


def test_fields_whose_names_begin_with_an_underscore_count(session: Any, ones: Any) -> None:
    m = session.compile(
        "struct P : IDifferentiable { float _a; }\n[Differentiable] float f(P p, float x) { return p._a * p._a * x; }"
    )
    x, a = sn.tensor(X, grad=True), sn.Parameter(3.0)
    backward(m.f, {"_a": x}, 2.0, ones=ones)
    assert x.grad.to_numpy().tolist() == [4, 8, 12]
    backward(m.f, {"_a": a}, sn.tensor(X), ones=ones)
    assert a.grad == 36.0


def test_new_seeds_in_a_training_loop_are_taken(module: Any) -> None:
    a, x = sn.Parameter(2.0), sn.tensor(X, grad=True)
    for k in range(100):
        assert module.scale(a, x, _result="tensor").to_numpy()[0] == 2 + k
        seed = sn.tensor(X, grad=True)  # its buffer may have the identity of an earlier result's
        seed.grad.copy_from_numpy(np.ones(3, np.float32))
        module.scale.bwds(a, x, _result=seed)
        assert x.grad.to_numpy().tolist() == [2 * (2 + k) * n for n in (1, 2, 3)]
        a.value = a.value + 1.0


def test_lost_parameters_are_refused(session: Any, ones: Any) -> None:
    f = session.compile("[Differentiable] void store(float a, float x, out float y) { y = a * x; }").store
    a, x, y = sn.Parameter(2.0), sn.tensor(X), sn.tensor(X, grad=True)
    f(a, x, y)
    assert y.to_numpy().tolist() == [2, 4, 6]
    with pytest.raises(sn.GradientError, match="no gradient for the Parameter 'a'"):
        f.bwds(a, x, y)


def test_odd_gradients_are_said_once(module: Any, session: Any, ones: Any) -> None:
    f = session.compile("[Differentiable] float odd(float x) { return 1.0 / x; }").odd
    x = sn.tensor([0.0, 4.0], grad=True)
    with pytest.warns(sn.GradientWarning, match="'x' is not finite everywhere"):
        y = backward(f, x, ones=ones)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.bwds(x, _result=y)


@pytest.mark.parametrize(
    ("call", "want"),
    [
        (lambda m: m.third(2.0), 8.0),
        (lambda m: m.next(3), 4),
        (lambda m: m.spread(2.0), [2.0, 4.0, 6.0]),
        (lambda m: m.third(np.float32(2.0)), 8.0),
        (lambda m: m.third(np.full(3, 2, np.float32)).to_numpy(), [8.0] * 3),
    ],
)
def test_calls_that_wait_can_be_stopped(session: Any, monkeypatch: pytest.MonkeyPatch, call: Any, want: Any) -> None:
    """SlangPy would wait inside of its call, where the stop button does not reach."""
    m = session.compile(
        "float third(float x) { return x * x * x; } int next(int k) { return k + 1; }"
        "float3 spread(float x) { return x * float3(1, 2, 3); }"
    )
    kind = type(call(m))
    with monkeypatch.context() as patch:
        patch.setattr(entry, "wait_for", lambda *of: (_ for _ in ()).throw(KeyboardInterrupt))
        if session.host_memory or kind is not np.ndarray:
            with pytest.raises(KeyboardInterrupt):
                call(m)
    session.device.wait()
    found = call(m)
    assert type(found) is kind
    assert [found[k] for k in range(3)] == want if isinstance(want, list) else found == want


def test_a_number_for_a_vector_is_one_for_all_components(session: Any) -> None:
    found = session.compile("float3 twice(float3 v) { return 2 * v; }").twice(1.5)
    assert [found[k] for k in range(3)] == [3.0, 3.0, 3.0]


def test_a_count_of_threads_is_not_ours(session: Any) -> None:
    f = session.compile("float twice(float x) { return 2 * x; }").twice
    with pytest.raises(sn.CallError, match="_thread_count"):
        f(np.ones(2, np.float32), _thread_count=7)


def test_large_tensors_are_not_kept_alive(session: Any, module: Any) -> None:
    x = sn.tensor(np.ones(4 * LARGE, np.float32))
    held = x.storage
    before = sys.getrefcount(held)
    for _ in range(3):
        module.scale(2.0, x, _result="tensor")
    session.wait()
    session.plans.clear()
    assert sys.getrefcount(held) == before


def test_memory_that_is_taken_again_is_new(session: Any) -> None:
    """A result of forward mode in the memory of a dead result, which is older than what it was made of."""
    m = session.compile("[Differentiable] float sq(float x) { return x * x; } float plus(float x) { return x + 1.0; }")
    start, x = sn.tensor(np.ones(LARGE, np.float32)), sn.tensor(np.ones(LARGE, np.float32), grad=True)
    dead = m.sq(x, _result="tensor")
    del dead
    m.plus(start, _result=x)
    y = sn.jvp(m.sq, {"x": x}, {"x": np.ones(LARGE, np.float32)})[0].with_grads()
    y.grad.copy_from_numpy(np.ones(LARGE, np.float32))
    m.sq.bwds(x, _result=y)
    assert (x.grad.to_numpy() == 4).all()
