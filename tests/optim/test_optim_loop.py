"""`optimize`: fits whose result is known, the kinds that come back, where it ends, and what it refuses."""

import warnings
from typing import Any

import numpy as np
import pytest

import slangnb as sn

SOURCE = """
[Differentiable] float line(float a, float b, float x, float y) { float r = a * x + b - y; return r * r; }
[Differentiable] float ramp(float a, float x) { return a * x; }
[Differentiable] float near(float p, float t) { return (p - t) * (p - t); }
[Differentiable] float near3(float3 p, float3 t) { return dot(p - t, p - t); }
[Differentiable] double near_double(double p, double t) { return (p - t) * (p - t); }
[Differentiable] half near_half(half p, half t) { return (p - t) * (p - t); }
[Differentiable] float fourth(float p, float q, float t) { float r = p * q - t; return r * r * r * r; }
[Differentiable] float steep(float p, float t) { return p * t * t; }
struct Lamp : IDifferentiable { float power; float3 colour; };
[Differentiable] float lit(Lamp lamp, float3 t) { float3 r = lamp.power * lamp.colour - t; return dot(r, r); }
"""
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, 200).astype(np.float32)
Y = (3 * X - 0.5 + RNG.normal(size=200) * 0.1).astype(np.float32)
DATA = {"x": X, "y": Y}
wrong: Any = sn.optimize  # for calls that no type checker lets through


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile(SOURCE)


@pytest.mark.parametrize("optimizer", [sn.Adam(lr=0.05), sn.SGD(lr=0.3, momentum=0.5)])
def test_least_squares(m: Any, optimizer: Any) -> None:
    fit = sn.optimize(m.line, {"a": 0.0, "b": 0.0}, DATA, optimizer, steps=500)
    want = np.polyfit(X.astype(np.float64), Y.astype(np.float64), 1)
    np.testing.assert_allclose([fit.params["a"], fit.params["b"]], want, rtol=2e-6)
    assert isinstance(fit.params["a"], float)
    assert fit.steps == 500


def test_the_history_is_that_of_the_loss(m: Any) -> None:
    fit = sn.optimize(m.line, {"a": 1.0, "b": [0.5]}, DATA, sn.SGD(lr=0.3), steps=20)
    a, b, losses = fit.history["a"], fit.history["b"][:, 0], fit.history["loss"]
    assert a.shape == losses.shape == (21,)
    residual = np.multiply.outer(a, X) + b[:, None] - Y.astype(np.float64)
    np.testing.assert_allclose(losses, (residual**2).mean(axis=1), rtol=1e-6)
    assert (a[0], a[-1], losses[-1]) == (1.0, fit.params["a"], fit.loss)
    # One step, by the formula of the gradient.
    np.testing.assert_allclose(a[1], 1 - 0.3 * (2 * residual[0] * X).mean(), rtol=1e-6)


def test_a_sum_is_steeper_by_the_number_of_elements(m: Any) -> None:
    mean = sn.optimize(m.ramp, {"a": 0.0}, {"x": X}, sn.SGD(lr=1.0), steps=1)
    whole = sn.optimize(m.ramp, {"a": 0.0}, {"x": X}, sn.SGD(lr=1.0 / X.size), steps=1, reduce="sum")
    assert mean.params["a"] == pytest.approx(-X.astype(np.float64).mean(), rel=1e-6)
    assert whole.params["a"] == pytest.approx(mean.params["a"], rel=1e-6)


@pytest.mark.parametrize("optimizer", [sn.Adam(lr=0.1, betas=(0.8, 0.9)), sn.SGD(lr=0.1, momentum=0.4), sn.SGD(0.2)])
def test_the_device_does_what_the_host_does(m: Any, optimizer: Any) -> None:
    target = RNG.uniform(-1, 1, 5000).astype(np.float32)  # more than the host takes
    few, start = slice(0, 50), np.zeros(5000, np.float32)
    # By the sum, since the mean over fewer elements is steeper.
    on_host = sn.optimize(m.near, {"p": start[few]}, {"t": target[few]}, optimizer, 12, reduce="sum")
    on_device = sn.optimize(m.near, {"p": start}, {"t": target}, optimizer, 12, reduce="sum")
    np.testing.assert_allclose(on_device.params["p"][few], on_host.params["p"], rtol=1e-4)
    assert not start.any()
    assert "p" in on_host.history
    assert "p" not in on_device.history


def test_kinds_that_come_back(m: Any) -> None:
    t = RNG.uniform(0, 1, (4, 3)).astype(np.float32)
    array = sn.optimize(m.near3, {"p": np.zeros((4, 3), np.float64)}, {"t": t}, steps=400).params["p"]
    assert array.dtype == np.float64
    np.testing.assert_allclose(array, t, atol=1e-5)
    tensor = sn.tensor(np.zeros((4, 3)), dtype="float3")
    assert sn.optimize(m.near3, {"p": tensor}, {"t": t}, steps=400).params["p"] is tensor
    np.testing.assert_allclose(tensor.to_numpy(), t, atol=1e-5)
    own = sn.Parameter([0.0, 0.0, 0.0])
    fit = sn.optimize(m.near3, {"p": own}, {"t": t}, steps=400)
    assert fit.params["p"] is own
    np.testing.assert_allclose(own.value, t.mean(axis=0), atol=1e-5)  # one value for all: their mean


def test_halves(m: Any) -> None:
    t = RNG.uniform(0, 1, 8).astype(np.float16)
    p = sn.tensor(np.zeros(8), dtype="half")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sn.optimize(m.near_half, {"p": p}, {"t": t}, sn.Adam(lr=0.02), steps=300)
    np.testing.assert_allclose(p.to_numpy(), t, atol=2e-3)


@pytest.mark.parametrize("optimizer", [sn.SGD(lr=0.1), sn.SGD(lr=0.1, momentum=0.7), sn.Adam(lr=0.1)])
def test_doubles_are_fitted_in_double_precision_on_the_device_too(m: Any, optimizer: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few, many = (
            sn.optimize(m.near_double, {"p": np.ones(n)}, {"t": np.full(n, 2.0)}, optimizer, 3, reduce="sum")
            for n in (5, 5000)
        )
    assert "p" not in many.history
    np.testing.assert_allclose(many.params["p"][:5], few.params["p"], rtol=1e-13)


def test_structs(m: Any) -> None:
    start = {"lamp": {"power": 1.0, "colour": [0.2, 0.3, 0.4]}}
    t = RNG.uniform(0.2, 1, (50, 3)).astype(np.float32)
    lamp = sn.optimize(m.lit, start, {"t": t}, sn.Adam(lr=0.02), steps=800).params["lamp"]
    np.testing.assert_allclose(lamp["power"] * np.array(lamp["colour"]), t.mean(axis=0), atol=1e-5)
    assert start == {"lamp": {"power": 1.0, "colour": [0.2, 0.3, 0.4]}}


@pytest.mark.parametrize("count", [4096, 4097])
def test_arrays_are_read_once_and_tensors_at_each_step(m: Any, count: int) -> None:
    x, t = np.ones(count, np.float32), sn.tensor(np.ones(count, np.float32))

    def next_batch(step: int, *_: Any) -> None:
        x[:] = 100.0
        t.copy_from_numpy(np.full(count, step + 2, np.float32))

    fit = sn.optimize(m.line, {"a": 0.0}, {"b": 0.0, "x": x, "y": t}, sn.SGD(1e-9), 3, callback=next_batch)
    np.testing.assert_allclose(fit.history["loss"], [1, 4, 9, 16], rtol=1e-6)
    many = sn.optimize(m.near, {"p": 1.0}, {"t": x}, sn.SGD(0.5), 1, callback=lambda *_: x.fill(7.0))
    assert many.params["p"] == 100.0


def test_lists_and_fields_are_read_once_too(m: Any) -> None:
    t, lamp = [3.0, 3.0, 3.0], {"power": np.array([1.0], np.float32), "colour": np.zeros((1, 3), np.float32)}

    def change(*_: Any) -> None:
        t[:] = [7.0, 7.0, 7.0]
        lamp["power"][:] = 7.0
        lamp["colour"][:] = 7.0

    fit = sn.optimize(m.lit, {"t": t}, {"lamp": lamp}, sn.SGD(0.5), 1, callback=change)
    assert (fit.history["loss"][0], fit.params["t"]) == (27.0, [0.0, 0.0, 0.0])
    near = sn.optimize(m.near3, {"p": [0.0, 0.0, 0.0]}, {"t": t}, sn.SGD(1e-9), 1, callback=lambda *_: t.clear())
    np.testing.assert_allclose(near.history["loss"], [147, 147], rtol=1e-6)


def test_zero_gradients_at_the_minimum_are_no_fault(m: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = sn.optimize(m.near, {"p": np.zeros(4, np.float32)}, {"t": np.ones(4, np.float32)}, sn.SGD(2.0), 5)
    assert fit.history["loss"].tolist() == [1, 0, 0, 0, 0, 0]


def test_it_ends_where_the_loss_is_not_finite(m: Any) -> None:
    with pytest.warns(sn.GradientWarning, match="line: the loss is (inf|nan) at step"):
        fit = sn.optimize(m.line, {"a": 0.0, "b": 0.0}, DATA, sn.SGD(lr=50.0), steps=300)
    assert fit.steps < 60
    assert fit.stopped.startswith("the loss is ")
    assert fit.stopped in repr(fit)


def test_a_loss_that_grows_beyond_all_numbers_is_one_warning(m: Any) -> None:
    with pytest.warns(sn.GradientWarning) as given:
        fit = sn.optimize(m.fourth, {"p": 2.0, "q": 1.0}, {"t": np.zeros(2, np.float32)}, sn.SGD(lr=1.0))
    assert fit.steps >= 2
    said = f"fourth: the loss is inf at step {fit.steps}; a smaller learning rate may help, or another start"
    assert [str(one.message) for one in given] == [said]


def test_a_gradient_that_is_not_finite_before_the_loss_grows_is_told(m: Any) -> None:
    with pytest.warns(sn.GradientWarning, match="the gradient of 'p' is not finite everywhere; likely NaN"):
        sn.optimize(m.steep, {"p": 0.0}, {"t": np.full(2, 1e30, np.float32)}, sn.SGD(lr=1.0))


def test_a_start_that_is_no_number(m: Any) -> None:
    with pytest.warns(sn.GradientWarning, match="the loss is nan at step 0; look at the start and the data"):
        fit = sn.optimize(m.line, {"a": float("nan"), "b": 0.0}, DATA)
    assert fit.steps == 0


def test_the_callback_sees_and_ends_it(m: Any) -> None:
    seen: list[Any] = []

    def see(step: int, loss: float, params: dict[str, Any]) -> bool:
        seen.append((step, loss, params["a"]))
        return step == 3

    fit = sn.optimize(m.line, {"a": 0.0, "b": 0.0}, DATA, steps=50, callback=see)
    assert fit.steps == 3
    assert seen == [(k, fit.history["loss"][k], fit.history["a"][k]) for k in range(4)]


def test_the_stop_button_leaves_the_steps_so_far(m: Any) -> None:
    def press(step: int, *_: Any) -> None:
        if step == stop:
            raise KeyboardInterrupt

    stop = 3
    fit = sn.optimize(m.line, {"a": 0.0, "b": 0.0}, DATA, steps=50, callback=press)
    assert (fit.steps, fit.stopped) == (3, "it was interrupted at step 3")
    assert fit.params["a"] == fit.history["a"][3] > 0
    assert sn.optimize(m.line, fit.params, DATA, steps=200).loss < fit.loss  # and on from there


def test_a_stop_within_a_step_gives_the_parameters_of_the_last_whole_one(m: Any) -> None:
    asked: list[int] = []

    def rate(step: int) -> float:
        asked.append(step)
        if asked.count(3) == 2:  # `a` has changed, `b` not yet
            raise KeyboardInterrupt
        return 0.1

    a = sn.Parameter(0.0)
    fit = sn.optimize(m.line, {"a": a, "b": 0.0}, DATA, sn.SGD(lr=rate), steps=50)
    assert fit.steps == 2
    assert (a.value, fit.params["b"]) == (np.float32(fit.history["a"][-1]), fit.history["b"][-1])
    on = sn.optimize(m.line, {"a": a.value, "b": fit.params["b"]}, DATA, steps=0)
    assert on.loss == fit.loss


def test_a_stop_in_the_next_kernel_gives_the_parameters_of_the_last_loss(m: Any, monkeypatch: Any) -> None:
    def stops(*args: Any, **kwargs: Any) -> Any:
        both = sn.value_and_grad(*args, **kwargs)

        def call(**given: Any) -> Any:
            calls.append(given)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return both(**given)

        return call

    calls: list[Any] = []
    monkeypatch.setattr("slangnb.optim.loop.value_and_grad", stops)
    lamp = {"power": 1.0, "colour": [0.2, 0.3, 0.4]}
    fit = sn.optimize(m.lit, {"lamp": lamp}, {"t": np.ones((5, 3), np.float32)})
    assert fit.steps == 2
    assert fit.params["lamp"] == calls[2]["lamp"] != calls[3]["lamp"]


def test_a_stop_before_the_first_step_is_one(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("slangnb.optim.loop.value_and_grad", lambda *_, **__: stopped)
    with pytest.raises(KeyboardInterrupt):
        sn.optimize(m.line, {"a": 0.0, "b": 0.0}, DATA)


def test_text_and_picture(m: Any) -> None:
    fit = sn.optimize(m.near, {"p": 1.0}, {"t": 3.0}, sn.SGD(lr=0.5), steps=1)
    assert repr(fit) == "near by SGD(lr=0.5): 1 steps, mean of the loss 4 to 0\n  p  1 to 3"
    data, _ = fit._repr_mimebundle_()
    assert data["text/plain"] == repr(fit)
    assert "<script" not in data["text/html"]
    assert "near by SGD" in data["text/html"]
    assert data["image/png"].startswith("iVBOR")


def test_one_thing_under_two_names_is_refused(m: Any) -> None:
    p, t, array = sn.Parameter(1.0), sn.tensor(np.zeros(200, np.float32)), np.zeros(200, np.float32)
    for one, what in ((p, "Parameter"), (t, "tensor")):
        with pytest.raises(sn.CallError, match=f"optimize: 'a' and 'b' are one and the same {what}\n") as caught:
            sn.optimize(m.line, {"a": one, "b": one}, DATA)
        assert caught.value.remedy == "give each its own, or write a loss with one parameter in the place of both"
    with pytest.raises(sn.CallError, match=r"'lamp\.power' and 't' are one and the same"):
        sn.optimize(m.lit, {"lamp": {"power": p, "colour": [1.0, 1.0, 1.0]}, "t": p})
    fit = sn.optimize(m.line, {"a": array, "b": array}, DATA, steps=1)
    assert fit.params["a"] is not fit.params["b"]
    assert not array.any()


@pytest.mark.parametrize(
    ("call", "said", "remedy"),
    [
        (lambda m: wrong(m.line, {"a": 0.0}), "arguments 'b' and 'x' and 'y' are missing", "signature"),
        (lambda m: wrong(m.line, {"q": 0.0}, DATA), "no parameter 'q'", "signature"),
        (lambda m: wrong(m.line, {}, DATA), "params is empty", "params="),
        (lambda m: wrong(m.line, 0.0), "params is a dict by name, not a float", "params="),
        (lambda m: wrong(m.line, {"x": 0.0}, DATA), "'x' is in params and in data", "one of them"),
        (lambda m: wrong(m.line, {"a": "2"}, DATA), "the start of 'a' is a str", "params="),
        (lambda m: wrong(m.line, {"a": 0.0, "b": 0.0}, DATA, sn.Adam), "the optimizer is Adam", "sn.Adam("),
        (lambda m: wrong(m.line, {"a": 0.0, "b": 0.0}, DATA, steps=2.5), "steps is a whole number", "steps="),
        (lambda m: wrong(m.line, {"a": 0.0}, lr=0.1), "unexpected keyword argument 'lr'", "sn.Adam(lr=0.1)"),
        (lambda m: wrong(m.line, {"a": 0.0}, step=9), "unexpected keyword argument 'step'", "did you mean steps?"),
        (lambda m: wrong(m.line, {"a": 0.0}, steps=9, x=1), "argument 'x'", "steps=300); 'x' goes into params or data"),
        (
            lambda m: wrong(m.line, {"a": 0.0, "b": 0.0}, DATA, callback=lambda step: True),
            "the callback does not take its three arguments: the step, the loss, and the parameters",
            "write it as `def callback(step, loss, params): ...`",
        ),
        (lambda m: wrong(lambda a: a, {"a": 0.0}), "the loss is a function", "%%slang"),
        (lambda m: wrong(m.line.bwds, {"a": 0.0, "b": 0.0}, DATA), "the loss is a backward pass", "%%slang"),
        (lambda m: wrong(m.line, {"a": 0.0, "b": 0.0}, DATA, reduce="max"), "reduce must be", "mean"),
    ],
)
def test_refusals(m: Any, call: Any, said: str, remedy: str) -> None:
    with pytest.raises(sn.CallError, match=said) as caught:
        call(m)
    assert remedy in (caught.value.remedy or "")


def test_torch_has_its_own_optimisers(m: Any) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(sn.CallError, match="'a' is a Tensor; sn\\.optimize fits") as caught:
        wrong(m.line, {"a": torch.tensor(0.0), "b": 0.0}, DATA)
    assert "torch.optim" in (caught.value.remedy or "")
