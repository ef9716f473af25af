"""`optimize`: the loop that fits parameters, and what it keeps of its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from difflib import get_close_matches
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.autodiff.transforms import value_and_grad
from slangnb.errors import CallError
from slangnb.optim.held import held, placed
from slangnb.optim.optimizers import Adam, Optimizer
from slangnb.optim.panel import Panel
from slangnb.optim.result import Descent
from slangnb.runtime.checks import called
from slangnb.runtime.function import Function
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.saying import unsaid, warn
from slangnb.runtime.teaching import teaches

if TYPE_CHECKING:
    from slangnb.compiler.reflection import TypeInfo

_LOSS = "loss"
_SMALLER, _START = "a smaller learning rate may help, or another start", "look at the start and the data"


def _teach(_: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    known = signature(optimize).parameters
    loose = [name for name in kwargs if name not in known]
    if "lr" in kwargs:
        return f"write optimizer=sn.Adam(lr={kwargs['lr']!r})"
    if "epochs" in kwargs or "iterations" in kwargs:
        return "write steps="
    close = get_close_matches(loose[0], known, 1, 0.7) if loose else []
    if close:
        return f"did you mean {close[0]}?"
    more = f"; {loose[0]!r} goes into params or data" if loose else ""
    return f"write sn.optimize(loss, params={{'a': 2.0}}, data={{'x': x}}, steps=300){more}"


@teaches(_teach)
def optimize(
    loss: Function,
    params: Mapping[str, Any],
    data: Mapping[str, Any] | None = None,
    optimizer: Optimizer | None = None,
    steps: int = 100,
    *,
    reduce: str = "mean",
    callback: Callable[[int, float, dict[str, Any]], Any] | None = None,
    live: bool = True,
) -> Descent:
    """Fit parameters of a Slang function, so that its mean over all data becomes small.

    Each step is one fused kernel for the loss and its gradients. Small parameters are changed on the host in float64;
    tensors, and arrays of more than 4096 numbers, are changed on the device, where the optimiser's memory of them is.
    In JupyterLab the picture of the loss is drawn again as the loop runs. The stop button ends it; the result has the
    steps so far, with the parameters of the last one; those on the device may be one step further.

    Parameters
    ----------
    loss : Function
        A differentiable Slang function. Its results are averaged over all elements.
    params : dict
        The arguments to fit, by name, with their start: a number, an array, a SlangPy tensor, an `sn.Parameter`, or a
        dict of these for a struct. Tensors and Parameters are changed in place; all else is left alone.
    data : dict, optional
        The other arguments, by name. Arrays and lists are read once, at the start; tensors at each step, so that a
        callback may write the next batch into one, as ``x.copy_from_numpy(batch)`` does.
    optimizer : SGD or Adam, optional
        By default ``Adam(lr=0.05)``.
    steps : int
        How often the parameters are changed.
    reduce : {"mean", "sum"}
        What is made of the loss of all elements.
    callback : callable, optional
        Called before each change with the step's number, the loss, and the parameters; the loop ends if it gives True.
    live : bool
        Whether the picture is shown and follows.

    Returns
    -------
    Descent
        With ``.params``, ``.history``, ``.loss``; on the last line of a cell it is a picture.

    Raises
    ------
    CallError, GradientError
        If the arguments do not fit the function, or it has no derivative.

    Warns
    -----
    GradientWarning
        If the loss is not finite; the loop ends there.

    Examples
    --------
    >>> import numpy as np
    >>> import slangnb as sn
    >>> m = sn.session().compile(
    ...     "[Differentiable] float line(float a, float b, float x, float y)"
    ...     "{ float r = a * x + b - y; return r * r; }"
    ... )
    >>> x = np.linspace(-1, 1, 50, dtype=np.float32)
    >>> fit = sn.optimize(m.line, {"a": 0.0, "b": 0.0}, {"x": x, "y": 2 * x + 1}, sn.Adam(lr=0.1), steps=300)
    >>> round(fit.params["a"], 3), round(fit.params["b"], 3)
    (2.0, 1.0)
    """
    optimizer = Adam(lr=0.05) if optimizer is None else optimizer
    data = {} if data is None else data
    _check(loss, params, data, optimizer, steps)
    _refuse_shared(params)
    _check_callback(callback)
    both = value_and_grad(loss, wrt=tuple(params), reduce=reduce)
    session, types = loss.session, _types(loss)
    fixed = {name: placed(name, value, types.get(name), session) for name, value in data.items()}
    ours = {name: held(name, value, types.get(name), optimizer, session) for name, value in params.items()}
    descent = Descent(loss.info.name, repr(optimizer), ours, dict(data), reduce)

    def run(panel: Panel) -> str:
        first = value = math.inf
        for step in range(steps + 1):
            # Where the loss has grown, gradients overflow by its growth, whatever their function does; the loss soon
            # overflows as well, and that is said.
            with unsaid(session, ".* is not finite") if value > first else nullcontext():
                value, grads = both(**fixed, **{name: one.given for name, one in ours.items()})
            first = value if step == 0 else first
            descent.add(value)
            if not math.isfinite(value):
                ended = f"the loss is {value} at step {step}"
                warn(f"{loss.info.name}: {ended}; {_SMALLER if step else _START}")
                return ended
            if step == steps:
                break
            if callback is not None and callback(step, value, descent.params) is True:
                return f"the callback ended it at step {step}"
            panel.follow()
            for name, one in ours.items():
                one.step(grads[name], step + 1)
        return ""

    with Panel(descent, live) as panel:
        try:
            descent.stopped = run(panel)
        except KeyboardInterrupt:
            if descent.steps < 0:
                raise
            # Who presses the stop button wants what was found so far; a step of which the loss is unknown is none.
            descent.go_back()
            descent.stopped = f"it was interrupted at step {descent.steps}"
    return descent


def _types(loss: Function) -> dict[str, TypeInfo]:
    found = loss.info.signature
    return {} if found is None else {p.name: p.type for p in found.parameters}


def _refuse_shared(params: Mapping[str, Any]) -> None:
    """Refuse one Parameter or tensor under two names: each would change it by its own gradient alone."""
    seen: dict[int, str] = {}
    for name, value in _leaves(params):
        kind = "Parameter" if isinstance(value, Parameter) else "tensor"
        if kind == "tensor" and not hasattr(value, "storage"):
            continue  # of a number or an array each has its own copy
        if id(value) in seen:
            raise CallError(
                f"optimize: {seen[id(value)]!r} and {name!r} are one and the same {kind}",
                argument=name,
                remedy="give each its own, or write a loss with one parameter in the place of both",
            )
        seen[id(value)] = name


def _leaves(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value


def _check(loss: Any, params: Any, data: Any, optimizer: Any, steps: Any) -> None:
    """Refuse what is no loss, no parameters, or no optimiser."""
    example = "write sn.optimize(loss, params={'a': 2.0}, data={'x': x}, optimizer=sn.Adam(lr=0.05), steps=300)"
    for given, word in ((params, "params"), (data, "data")):
        if not isinstance(given, Mapping):
            raise CallError(f"optimize: {word} is a dict by name, not {called(given)}", argument=word, remedy=example)
    if not params:
        raise CallError("optimize: params is empty, so there is nothing to fit", argument="params", remedy=example)
    twice = [name for name in params if name in data]
    if twice:
        raise CallError(
            f"optimize: {twice[0]!r} is in params and in data", argument=twice[0], remedy="leave it in one of them"
        )
    if _LOSS in params:
        raise CallError("optimize: a parameter named 'loss' would hide the history of the loss", remedy="rename it")
    if isinstance(optimizer, type) or not all(hasattr(optimizer, n) for n in ("change", "update", "numbers", "state")):
        what = optimizer.__name__ if isinstance(optimizer, type) else called(optimizer)
        raise CallError(
            f"optimize: the optimizer is {what}", argument="optimizer", remedy="write optimizer=sn.Adam(lr=0.05)"
        )
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
        raise CallError(f"optimize: steps is a whole number from 0 on, not {steps!r}", remedy="write steps=300")
    if not isinstance(loss, Function) or loss.is_backward:
        what = called(loss) if not isinstance(loss, Function) else "a backward pass"
        raise CallError(
            f"optimize: the loss is {what}; it must be a Slang function",
            argument="loss",
            remedy="write the loss as a [Differentiable] function in a %%slang cell",
        )


def _check_callback(callback: Any) -> None:
    """Refuse what cannot be called with what a callback gets."""
    if callback is None:
        return
    try:
        signature(callback).bind(0, 0.0, {})
    except ValueError:
        return  # a function in C that does not tell
    except TypeError:
        raise CallError(
            "optimize: the callback does not take its three arguments: the step, the loss, and the parameters",
            argument="callback",
            remedy="write it as `def callback(step, loss, params): ...`",
        ) from None
