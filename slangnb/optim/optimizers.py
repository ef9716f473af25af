"""Rules that change parameters by their gradients, as data: what numpy does, and the Slang text of the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from slangnb.errors import CallError
from slangnb.runtime.checks import called
from slangnb.runtime.teaching import teaches

Floats = NDArray[np.float64]
Rate = float | Callable[[int], float]
_C = TypeVar("_C", bound=type)


class Optimizer(Protocol):
    """What `optimize` needs of an optimiser.

    Attributes
    ----------
    state : tuple of str
        Names of what it remembers of each parameter: an array of the parameter's shape, zero at first.
    update : str
        Slang statements that change ``p`` by its gradient ``g`` and the state; numbers come from `numbers`.
    """

    @property
    def state(self) -> tuple[str, ...]:
        """Names of what it remembers."""
        ...

    @property
    def update(self) -> str:
        """The change, in Slang."""
        ...

    def numbers(self, step: int) -> Mapping[str, float]:
        """Give the numbers of `update` at a step, from 1 on."""
        ...

    def change(self, p: Floats, g: Floats, state: dict[str, Floats], step: int) -> Floats:
        """Give the new values, and change the state in place."""
        ...


def _teach(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Say what to write for arguments that an optimiser does not have."""
    if "learning_rate" in kwargs:
        return f"write lr={_written(kwargs['learning_rate'])}"
    known = ", ".join(f"{one.name}={one.default!r}" for one in fields(args[0]))
    return f"write sn.{type(args[0]).__name__}({known}); the parameters go to sn.optimize(loss, params={{...}})"


def _taught(optimizer: _C) -> _C:
    optimizer.__init__ = teaches(_teach)(optimizer.__init__)
    return optimizer


@_taught
@dataclass(frozen=True, slots=True)
class SGD:
    """Gradient descent: ``p -= lr * g``; with momentum ``v = momentum * v + g; p -= lr * v``.

    The formula is that of ``torch.optim.SGD``.

    Parameters
    ----------
    lr : float or callable
        The learning rate; a function gives it by the number of the step, from 1 on.
    momentum : float
        From 0 to below 1.

    Raises
    ------
    CallError
        For a rate or a momentum outside of its range.

    Examples
    --------
    >>> SGD(lr=0.1, momentum=0.9)
    SGD(lr=0.1, momentum=0.9)
    """

    lr: Rate = 0.01
    momentum: float = 0.0

    def __post_init__(self) -> None:
        _check_rate(self)
        _check_share(self, "momentum")

    @property
    def state(self) -> tuple[str, ...]:
        """Names of what it remembers."""
        return ("v",) if self.momentum else ()

    @property
    def update(self) -> str:
        """The change, in Slang."""
        return "v = momentum * v + g; p -= lr * v;" if self.momentum else "p -= lr * g;"

    def numbers(self, step: int) -> Mapping[str, float]:
        """Give the numbers of `update` at a step."""
        lr = _rate(self.lr, step)
        return {"lr": lr, "momentum": self.momentum} if self.momentum else {"lr": lr}

    def change(self, p: Floats, g: Floats, state: dict[str, Floats], step: int) -> Floats:
        """Give the new values."""
        if self.momentum:
            g = state["v"] = self.momentum * state["v"] + g
        return p - _rate(self.lr, step) * g

    def __repr__(self) -> str:
        return f"SGD(lr={_written(self.lr)}{f', momentum={self.momentum!r}' if self.momentum else ''})"


@_taught
@dataclass(frozen=True, slots=True)
class Adam:
    """Adam: steps of about `lr` whatever the size of the gradient.

    Algorithm 1 of Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015; the defaults are theirs.

    Parameters
    ----------
    lr : float or callable
        The learning rate; a function gives it by the number of the step, from 1 on.
    betas : (float, float)
        How much of the mean gradient and of the mean square is kept at each step, from 0 to below 1.
    eps : float
        Added to the root of the mean square; above 0.

    Raises
    ------
    CallError
        For a number outside of its range.

    Examples
    --------
    >>> Adam(lr=0.05)
    Adam(lr=0.05)
    """

    lr: Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def __post_init__(self) -> None:
        _check_rate(self)
        if not isinstance(self.betas, tuple | list) or len(self.betas) != 2:
            raise CallError(f"Adam: betas is a pair of numbers, not {self.betas!r}", remedy="write betas=(0.9, 0.999)")
        _check_share(self, "betas", *self.betas)
        _check_above_0(self, "eps", "leave it out")

    @property
    def state(self) -> tuple[str, ...]:
        """Names of what it remembers."""
        return "m", "v"

    @property
    def update(self) -> str:
        """The change, in Slang."""
        return "m = b1 * m + a1 * g; v = b2 * v + a2 * g * g; p -= lr * (m / c1) / (sqrt(v / c2) + eps);"

    def numbers(self, step: int) -> Mapping[str, float]:
        """Give the numbers of `update` at a step."""
        b1, b2 = self.betas
        # `1 - b2` of floats would be off by 1e-5.
        derived = {"a1": 1 - b1, "a2": 1 - b2, "c1": 1 - b1**step, "c2": 1 - b2**step}
        return {"lr": _rate(self.lr, step), "b1": b1, "b2": b2, "eps": self.eps, **derived}

    def change(self, p: Floats, g: Floats, state: dict[str, Floats], step: int) -> Floats:
        """Give the new values."""
        n = self.numbers(step)
        m = state["m"] = n["b1"] * state["m"] + n["a1"] * g
        v = state["v"] = n["b2"] * state["v"] + n["a2"] * g * g
        return p - n["lr"] * (m / n["c1"]) / (np.sqrt(v / n["c2"]) + n["eps"])

    def __repr__(self) -> str:
        more = "" if tuple(self.betas) == (0.9, 0.999) else f", betas={self.betas!r}"
        return f"Adam(lr={_written(self.lr)}{more}{'' if self.eps == 1e-8 else f', eps={self.eps!r}'})"


def _written(lr: Rate) -> str:
    """Write a rate: of a function its name, since its own text has an address."""
    return getattr(lr, "__name__", "a function") if callable(lr) else repr(lr)


def _rate(lr: Rate, step: int) -> float:
    found = lr(step) if callable(lr) else lr
    if not isinstance(found, int | float | np.number) or not math.isfinite(found) or found < 0:
        raise CallError(f"the learning rate of step {step} is {found!r}", remedy="it is a number from 0 on")
    return float(found)


def _check_rate(optimizer: Any) -> None:
    if not callable(optimizer.lr):
        example = (
            f"write sn.{type(optimizer).__name__}(lr=0.05); the parameters go to sn.optimize(loss, params={{...}})"
        )
        _check_above_0(optimizer, "lr", "write a number such as 0.05", example)


def _check_above_0(optimizer: Any, word: str, remedy: str, no_number: str = "") -> None:
    """Refuse what is no finite number above 0; `no_number` is the remedy for what is no number."""
    value, name = getattr(optimizer, word), type(optimizer).__name__
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise CallError(f"{name}: {word} is a number, not {called(value)}", argument=word, remedy=no_number or remedy)
    if not 0 < value < math.inf:
        must = "finite" if value > 0 else "above 0"
        raise CallError(f"{name}: {word} must be {must}, not {value!r}", argument=word, remedy=remedy)


def _check_share(optimizer: Any, name: str, *numbers: float) -> None:
    for share in numbers or (getattr(optimizer, name),):
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 <= share < 1:
            kind = type(optimizer).__name__
            raise CallError(f"{kind}: {name} must be from 0 to below 1, not {share!r}", argument=name)
