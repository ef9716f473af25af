"""Makes a `torch.autograd.Function` of a forward and a backward function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.errors import CallError, GradientError
from slangnb.interop.slangtorch.module import TorchFunction, whole


def autograd(fwd: Callable[..., Any], bwd: Callable[..., Any]) -> type:
    """Make the ``torch.autograd.Function`` whose forward pass is `fwd` and whose backward pass is `bwd`.

    Parameters
    ----------
    fwd : callable
        Takes tensors and other values, by position; gives a tensor, or a tuple of tensors.
    bwd : callable
        Takes the same, and then the gradient of each result. Gives the gradient of each argument that is a tensor of
        real numbers, in their order: one tensor, or a tuple.

    Returns
    -------
    type
        A subclass of ``torch.autograd.Function``: call its ``apply``.

    Raises
    ------
    CallError
        If the two do not fit together.

    Examples
    --------
    >>> Square = autograd(lambda x: x * x, lambda x, grad: 2 * x * grad)
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> Square.apply(x).sum().backward()
    >>> x.grad
    tensor([6., 8.])
    """
    _check_pair(fwd, bwd)
    name = _name(fwd)

    class SlangFunction(torch.autograd.Function):
        """A function of slangtorch and its derivative."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
            ctx.save_for_backward(*tensors)
            ctx.others = [None if isinstance(v, torch.Tensor) else v for v in inputs]
            ctx.places = [k for k, v in enumerate(inputs) if isinstance(v, torch.Tensor)]
            found = fwd(*inputs)
            return tuple(found) if isinstance(found, list) else found

        @staticmethod
        def backward(ctx: Any, *seeds: Any) -> Any:
            def run(*tensors: Any) -> tuple[Any, ...]:
                inputs = list(ctx.others)
                for place, tensor in zip(ctx.places, tensors[len(seeds) :], strict=True):
                    inputs[place] = tensor
                # The gradient of a sum is one number with strides of 0, and a kernel may go by its pointer.
                found = bwd(*inputs, *(whole(seed.contiguous()) for seed in tensors[: len(seeds)]))
                return _gradients(_name(bwd), found, inputs)

            return _Backward.apply(run, _name(bwd), *seeds, *ctx.saved_tensors)

    SlangFunction.__name__ = SlangFunction.__qualname__ = f"SlangFunction_{name}"
    return SlangFunction


class _Backward(torch.autograd.Function):
    """The backward pass as a node of its own: its results carry a graph only to refuse a second derivative."""

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Any], name: str, *tensors: Any) -> Any:
        ctx.name = name
        return run(*tensors)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> Any:
        raise GradientError(
            f"{ctx.name} cannot be differentiated again",
            function=ctx.name,
            remedy="write the second derivative as a function of its own, and wrap it with sn.torch.autograd too",
        )


def _check_pair(fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
    if not (isinstance(fwd, TorchFunction) and isinstance(bwd, TorchFunction)):
        return
    if not fwd.returns.startswith("TorchTensor"):  # a struct of tensors, or nothing: the number is not known here
        return
    wanted = len(fwd.parameters) + 1
    if len(bwd.parameters) != wanted:
        raise CallError(
            f"{bwd.__name__} takes {len(bwd.parameters)} arguments, and must take {wanted}",
            function=bwd.__name__,
            remedy=f"those of {fwd.__name__} ({', '.join(fwd.parameters)}), and then the gradient of its result",
        )


def _gradients(name: str, found: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """Give one gradient for each input: None for what is no tensor of real numbers."""
    real = [k for k, v in enumerate(inputs) if isinstance(v, torch.Tensor) and v.dtype.is_floating_point]
    given = list(found) if isinstance(found, tuple | list) else [found]
    tensors = [inputs[k] for k in real]
    if len(given) != len(tensors):
        raise GradientError(
            f"{name} gives {len(given)} gradients for {len(tensors)} tensors",
            function=name,
            remedy="give one for each argument that is a tensor of real numbers, in their order",
        )
    for k, (gradient, tensor) in enumerate(zip(given, tensors, strict=True)):
        if gradient is not None and gradient.shape != tensor.shape:
            raise GradientError(
                f"{name}: gradient {k + 1} has shape {tuple(gradient.shape)}, its tensor {tuple(tensor.shape)}",
                function=name,
            )
    gradients: list[Any] = [None] * len(inputs)
    for place, gradient in zip(real, given, strict=True):
        gradients[place] = gradient
    return tuple(gradients)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
