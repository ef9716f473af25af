"""A Slang call as a node of torch's graph: forward by one kernel, backward by another, with accurate sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from slangnb.errors import CallError, GradientError
from slangnb.interop.host_calls import HostCall
from slangnb.interop.torch_arguments import TorchArguments, replaced_error, replaced_paths, tensor_kind
from slangnb.runtime.nesting import Path


@dataclass
class Node:
    """What a call is, apart from the numbers in its torch tensors.

    Attributes
    ----------
    given : TorchArguments
        Once the forward pass is over it has no tensors: torch keeps them, and watches that nobody writes to them.
    paths : list of Path
        Where they stand.
    kinds : list of (dtype, shape, device)
        Of them, set by the forward pass.
    call : HostCall
        Set by the forward pass.
    names : tuple of str
        Of the results.
    """

    given: TorchArguments
    paths: list[Path]
    kinds: list[tuple[Any, ...]] = field(default_factory=list)
    call: HostCall | None = None
    names: tuple[str, ...] = ()
    empty: bool = False

    def forward(self, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        """Give the results in the order of `names`."""
        given, self.kinds = self.given, [tensor_kind(t) for t in tensors]
        named = given.host(dict(zip(self.paths, tensors, strict=True)))
        self.call = HostCall(given.function, named, on_device=given.bridge is not None)
        found = self.call.forward()
        self.names = tuple(found)
        self.empty = any(np.size(array) == 0 for array in found.values())
        self.call.named = {}  # the arrays may be large
        self.given = given.replaced({path: torch.empty(0) for path in self.paths})
        self.call.watch(self.given.values)
        return tuple([given.back(array) for array in found.values()])

    def backward(self, wanted: list[bool], seeds: tuple[Any, ...], tensors: tuple[Any, ...]) -> list[Any]:
        """Give the gradients of the wanted tensors, None for the others."""
        assert self.call is not None
        if all(seed is None for seed in seeds):
            return [None] * len(tensors)
        refuse_batched(self.given.function.info.name, seeds)
        other = replaced_paths(self.paths, self.kinds, tensors)
        if other:
            raise replaced_error(self.given.function.info.name, other[0])
        if self.empty:
            return [torch.zeros_like(t) if w else None for t, w in zip(tensors, wanted, strict=True)]
        now = dict(zip(self.paths, tensors, strict=True))
        wrt = tuple(dict.fromkeys(path[0] for path, w in zip(self.paths, wanted, strict=True) if w))
        named = self.given.host(now)
        weights = {name: self._seed(seed) for name, seed in zip(self.names, seeds, strict=True)}
        # Torch's backward passes run in threads of its own, where the current card is that of the tensors.
        with self.given.function.session.device.cuda_context_scope():
            found = self.call.gradients(named, wrt, weights)
        return [
            self._gradient(found, path, t) if w else None
            for path, t, w in zip(self.paths, tensors, wanted, strict=True)
        ]

    def _seed(self, seed: Any) -> Any:
        """Give the gradient of a result to the session; that of the only one, if it is a single number, as a number.

        ``y.sum()`` and ``y.mean()`` give such gradients.
        """
        if seed is None:
            return None
        if len(self.names) == 1 and seed.numel() and not any(seed.stride()):
            return float(seed.flatten()[0])
        bridge = self.given.bridge
        if bridge is not None and bridge.carries(seed):
            return bridge.to_session(seed)
        return seed.detach().resolve_neg().cpu().contiguous().numpy()

    def _gradient(self, found: Mapping[str, Any], path: Path, t: Any) -> Any:
        value: Any = found
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return None if value is None else self.given.back(value, t.device, t.dtype).reshape(t.shape)


class SlangCall(torch.autograd.Function):
    """The forward pass: ``apply(node, *tensors)``."""

    @staticmethod
    def forward(node: Node, *tensors: Any) -> tuple[Any, ...]:
        """Run the kernel."""
        return node.forward(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Let torch keep the arguments."""
        ctx.node = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> tuple[Any, ...]:
        """Run the backward kernel; its results carry a graph only to refuse a second derivative."""
        wanted = list(ctx.needs_input_grad[1:])
        return None, *SlangBackward.apply(ctx.node, wanted, len(seeds), *seeds, *ctx.saved_tensors)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Refuse: a Slang function maps itself."""
        raise vmap_refused(args[0].given.function.info.name)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Refuse forward mode by torch."""
        name = ctx.node.given.function.info.name
        raise GradientError(
            f"{name}: torch's forward mode does not go through Slang functions",
            function=name,
            remedy=f"use sn.jvp({name}, primals, tangents)",
        )


class SlangBackward(torch.autograd.Function):
    """The backward pass: ``apply(node, wanted, number of seeds, *seeds, *tensors)``."""

    @staticmethod
    def forward(node: Node, wanted: list[bool], count: int, *values: Any) -> tuple[Any, ...]:
        """Run the kernel."""
        return tuple(node.backward(wanted, values[:count], values[count:]))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Remember the name for the refusal."""
        ctx.name = inputs[0].given.function.info.name

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Refuse, as the forward pass does."""
        raise vmap_refused(args[0].given.function.info.name)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> Any:
        """Refuse second derivatives."""
        raise second_derivative(ctx.name)


def second_derivative(name: str) -> GradientError:
    """Say that torch can take no second derivative of a function."""
    return GradientError(
        f"{name}: torch cannot differentiate the gradient of a Slang function again",
        function=name,
        remedy=f"use sn.hvp({name}, wrt=...) for products with the second derivative; for the derivative by what the "
        f"result is multiplied with, sn.jvp({name}, primals, tangents)",
    )


def vmap_refused(name: str) -> CallError:
    """Say that a Slang function maps itself."""
    return CallError(
        f"torch.vmap does not go through the Slang function {name}",
        function=name,
        remedy=f"call {name} with the whole tensors: it runs once for each element, and broadcasts; for Jacobians, "
        f"call the pull of sn.vjp({name}, ...) once for each row, without vectorize or is_grads_batched",
    )


def refuse_batched(name: str, seeds: Sequence[Any]) -> None:
    """Refuse the gradients of ``is_grads_batched=True``, which have no memory, and of which torch tells nothing else.

    Raises
    ------
    CallError
    """
    try:
        for seed in seeds:
            if seed is not None:
                seed.data_ptr()
    except RuntimeError:
        raise vmap_refused(name) from None
