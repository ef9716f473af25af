"""What optimisers do to numbers, against analysis, and against PyTorch where it is."""

from typing import Any

import numpy as np
import pytest

import slangnb as sn


def descend(optimizer: Any, gradients: list[np.ndarray], start: np.ndarray) -> np.ndarray:
    p, state = start, {name: np.zeros_like(start) for name in optimizer.state}
    for step, g in enumerate(gradients, 1):
        p = optimizer.change(p, g, state, step)
    return p


def test_sgd() -> None:
    g = np.array([1.0, -2.0])
    np.testing.assert_allclose(descend(sn.SGD(lr=0.1), [g, g, g], np.zeros(2)), -0.3 * g)
    # Velocities 1, 1.5, 1.75.
    np.testing.assert_allclose(descend(sn.SGD(lr=0.1, momentum=0.5), [g, g, g], np.zeros(2)), -0.425 * g)


def test_adam_takes_steps_of_the_rate_for_any_constant_gradient() -> None:
    g = np.array([1e-3, -40.0])
    np.testing.assert_allclose(descend(sn.Adam(lr=0.1), [g] * 7, np.zeros(2)), [-0.7, 0.7], rtol=2e-5)


def test_adam_by_hand() -> None:
    # m = 0.1, then 0.09 - 0.2 = -0.11, of 0.19: -0.5789. v = 0.001, then 0.004999, of 0.001999: 2.50075.
    found = descend(sn.Adam(lr=1.0), [np.array(1.0), np.array(-2.0)], np.array(0.0))
    assert found == pytest.approx(-1 + (0.11 / 0.19) / np.sqrt(0.004999 / 0.001999), rel=1e-7)


def test_a_rate_by_step() -> None:
    g = np.array(1.0)
    assert descend(sn.SGD(lr=lambda step: 1.0 / step), [g, g], np.array(0.0)) == -1.5
    with pytest.raises(sn.CallError, match="the learning rate of step 2 is nan"):
        descend(sn.SGD(lr=lambda step: 1.0 if step == 1 else float("nan")), [g, g], np.array(0.0))


@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.1, "betas": (0.8, 0.95)})]
)
def test_as_pytorch_does(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    gradients = [np.random.default_rng(k).normal(size=5) for k in range(20)]
    p = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    theirs = getattr(torch.optim, name)([p], **options)
    for g in gradients:
        p.grad = torch.from_numpy(g)
        theirs.step()
    np.testing.assert_allclose(descend(getattr(sn, name)(**options), gradients, np.zeros(5)), p.detach(), rtol=1e-12)


def test_how_they_are_written() -> None:
    assert repr(sn.SGD(lr=0.1)) == "SGD(lr=0.1)"
    assert repr(sn.SGD(lr=0.1, momentum=0.5)) == "SGD(lr=0.1, momentum=0.5)"
    assert repr(sn.Adam(betas=(0.8, 0.9), eps=1e-6)) == "Adam(lr=0.001, betas=(0.8, 0.9), eps=1e-06)"
    assert repr(sn.Adam(lr=lambda step: 1.0 / step)) == "Adam(lr=<lambda>)"  # without an address


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sn.Adam(lr=-1), "lr must be above 0, not -1"),
        (lambda: sn.SGD(lr=float("nan")), "lr must be above 0, not nan"),
        (lambda: sn.Adam([1.0]), "lr is a number, not a list"),  # pyright: ignore[reportArgumentType]
        (lambda: sn.SGD(0.1, momentum=1.0), "momentum must be from 0 to below 1, not 1.0"),
        (lambda: sn.Adam(betas=(0.9, 1.2)), "betas must be from 0 to below 1, not 1.2"),
        (lambda: sn.Adam(betas=0.9), "betas is a pair of numbers, not 0.9"),  # pyright: ignore[reportArgumentType]
        (lambda: sn.Adam(eps=0.0), "eps must be above 0, not 0.0"),
        (lambda: sn.Adam(eps="a"), "eps is a number, not a str"),  # pyright: ignore[reportArgumentType]
        (lambda: sn.Adam(eps=True), "eps is a number, not a bool"),
        (lambda: sn.Adam(eps=float("inf")), "eps must be finite, not inf"),
        (lambda: sn.SGD(lr=float("inf")), "lr must be finite, not inf"),
        (
            lambda: sn.Adam(learning_rate=0.1),  # pyright: ignore[reportCallIssue]
            "Adam: got an unexpected keyword argument 'learning_rate'\nremedy: write lr=0.1$",
        ),
        (
            lambda: sn.SGD([1.0], lr=0.1),  # pyright: ignore[reportCallIssue, reportArgumentType]
            r"SGD: multiple values for argument 'lr'\nremedy: write sn.SGD\(lr=0.01, momentum=0.0\); the parameters go",
        ),
    ],
)
def test_refusals(make: Any, said: str) -> None:
    with pytest.raises(sn.CallError, match=said):
        make()
