"""The adapter that `slangnb.runtime.foreign` finds when it first sees a torch tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.autodiff.transforms import Transform
from slangnb.errors import CallError, GradientError
from slangnb.interop.host_calls import written
from slangnb.interop.torch_arguments import TorchArguments, dotted
from slangnb.interop.torch_autograd import Node, SlangCall
from slangnb.interop.torch_quick import quick_call, quick_transform
from slangnb.interop.torch_values import to_array, to_host
from slangnb.runtime.binding import EXTRAS
from slangnb.runtime.checks import has_gradient
from slangnb.runtime.dispatch import tensor_class
from slangnb.runtime.function import Function
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.nesting import Path, map_leaves, values_in
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.saying import warn_once


def takes(kind: type) -> bool:
    """Tell whether this adapter is for values of a type."""
    return issubclass(kind, torch.Tensor)


def host(value: Any) -> Any:
    """Give a tensor, also inside dicts, as a numpy array or number."""
    return map_leaves(value, lambda _, v: to_host(v, "the tensor") if isinstance(v, torch.Tensor) else v)


def array(value: Any) -> Any:
    """Give a tensor as a numpy array of the same type, without its graph."""
    return to_array(value, "tensor")


def transform(of: Transform, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a transform; on the session's own card its results stay there."""
    quick = quick_transform(of, args, kwargs)
    if quick is not None:
        with suppress(NotFusedError):
            return of.give(*quick.run(args, kwargs))
    return of.by_host(given(of.function, args, kwargs))


def given(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TorchArguments:
    """Read the arguments of a call for a transform."""
    extras = [name for name in kwargs if name in EXTRAS]
    if extras:
        raise CallError(f"{function.info.name}: transforms take no {extras[0]}", function=function.info.name)
    return TorchArguments.read(function, args, kwargs)


@torch.compiler.disable  # a graph break: torch.compile cannot look into a kernel, and must not trace how it is launched
def call(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a function with torch tensors among its arguments: the result is a torch tensor, in torch's graph.

    Raises
    ------
    CallError, GradientError
        For arguments that do not fit.
    """
    quick = quick_call(function, args, kwargs)
    if quick is not None:
        with suppress(NotFusedError):
            return quick.run(args, kwargs)
    name = function.info.name
    if function.is_backward:
        raise GradientError(
            f"{name}.bwds takes no torch tensors: torch keeps the graph itself",
            function=name,
            remedy=f"y = {name}(...), then y.backward()",
        )
    if "_thread_count" in kwargs or "_this" in kwargs:
        raise CallError(f"{name}: torch tensors go with no _thread_count or _this", function=name)
    read = TorchArguments.read(function, args, kwargs)
    result = kwargs.get("_result", read.values.pop("_result", None))
    read, targets = _without_outputs(read)
    tracked = torch.is_grad_enabled() and any(t.requires_grad for _, t in read.tensors())
    if tracked:
        _refuse_other_gradients(read)
    inputs = [_in_graph(read, path, t) for path, t in read.tensors()]
    asked = _asked(function, result)
    if asked is not None and tracked:
        raise GradientError(
            f"{name}: a result of another kind would leave torch's graph without a word",
            function=name,
            remedy=f"leave the kind of result away, or call {name} within torch.no_grad()",
        )
    node = Node(read, [path for path, _ in read.tensors()])
    outputs = SlangCall.apply(node, *inputs)
    found = dict(zip(node.names, outputs, strict=True))
    if isinstance(result, torch.Tensor):
        targets["_result"] = result
    for output, target in targets.items():
        _write(name, output, target, found.pop("result" if output == "_result" else output))
    if asked is not None:
        found = {output: _as_kind(function, t, asked) for output, t in found.items()}
    if not found:
        return None
    return next(iter(found.values())) if len(found) == 1 else found


@torch.compiler.disable
def reduced(function: Function, reduce: str, kwargs: Mapping[str, Any]) -> Any:
    """Give the sum or mean over all elements of a call, in torch's graph.

    A result with several components counts with all of them, and the mean is that of the elements.

    Raises
    ------
    CallError, GradientError
        For arguments that do not fit, or a function with several results.
    """
    quick = quick_call(function, (), kwargs, reduce)
    if quick is not None:
        with suppress(NotFusedError):
            return quick.run((), kwargs)
    name, found = function.info.name, function(**kwargs)
    if not isinstance(found, torch.Tensor):
        raise CallError(f"{name} gives no single tensor to make a {reduce} of", function=name)
    signature = function.info.signature
    inner = math.prod(signature.returns.shape) if signature is not None else 1
    return found.sum() / (found.numel() // inner if reduce == "mean" else 1)


def _without_outputs(read: TorchArguments) -> tuple[TorchArguments, dict[str, Any]]:
    """Take the tensors away that are only written to: they are filled from the results, torch's own way."""
    targets, values = {}, dict(read.values)
    for p in written(read.function.info):
        value = values.get(p.name)
        if value is None:
            continue
        if not isinstance(value, torch.Tensor):
            raise CallError(
                f"{read.function.info.name}: {p.name!r} is written to, and is no torch tensor as the others are",
                function=read.function.info.name,
                argument=p.name,
            )
        targets[p.name] = value
        if p.io == "out" and p.type.kind != "tensor":
            del values[p.name]
    return replace(read, values=values), targets


def _write(function: str, output: str, target: Any, found: Any) -> None:
    """Fill a tensor that was passed for an output; torch sees it as an operation in place."""
    if target.shape != found.shape or target.dtype != found.dtype:
        raise CallError(
            f"{function}: {output!r} is {_kind(target)}, but the result is {_kind(found)}",
            function=function,
            argument=output,
        )
    if target.is_leaf and target.requires_grad and torch.is_grad_enabled():
        raise CallError(
            f"{function}: {output!r} is written to, but it is a leaf that requires a gradient",
            function=function,
            argument=output,
            remedy=f"pass {output}.detach(), or a tensor without requires_grad",
        )
    target.copy_(found)


def _kind(t: Any) -> str:
    return f"{str(t.dtype).removeprefix('torch.')} of shape {tuple(t.shape)}"


def _in_graph(read: TorchArguments, path: Path, t: Any) -> Any:
    """Give a tensor as an input of the graph's node.

    One that the call writes to as well goes as a copy, since the backward pass needs the values from before. One that
    the function lets no derivative through goes detached.
    """
    p, function = read.parameters.get(path[0]), read.function
    if p is not None and p.writes_by_index:
        if p.type.access == "read_write" and t.requires_grad and torch.is_grad_enabled():
            raise GradientError(
                f"{function.info.name}: {p.name!r} is read and written by index, and requires a gradient",
                function=function.info.name,
                argument=p.name,
                remedy=f"pass {p.name}.detach(), or read from one tensor and write to another",
            )
        return t.detach().clone()
    if p is not None and p.io != "in":
        return t.clone()
    if p is None or not t.requires_grad or read.derivable(path) or not torch.is_grad_enabled():
        return t
    if not p.no_diff:
        reason = f"{dotted(path)!r} requires a gradient, but its parameter {p.why_not}; it gets none"
        warn_once(function.target, f"{function.info.name}: {reason}")
    return t.detach()


def _refuse_other_gradients(read: TorchArguments) -> None:
    """Refuse values whose gradients torch's backward pass would not write."""
    for name, value in read.values.items():
        for inner in values_in((value,)):
            what = ""
            if isinstance(inner, Parameter):
                what = "sn.Parameter"
            elif isinstance(inner, tensor_class()) and has_gradient(inner):
                what = "SlangPy tensor with a gradient"
            if what:
                function = read.function.info.name
                raise GradientError(
                    f"{function}: {name!r} is a {what}, which torch's backward() does not reach",
                    function=function,
                    argument=name,
                    remedy="pass a torch.nn.Parameter, or a torch tensor",
                )


def _asked(function: Function, result: Any) -> Any:
    """Give the kind of result that was asked for: "numpy", "tensor", a SlangPy tensor to fill; None for torch's."""
    if result is None or isinstance(result, torch.Tensor):
        kinds = [args[0] for method, args, _ in function.steps if method == "return_type" and args]
        result = kinds[-1] if kinds and result is None else None
    if result is None or (isinstance(result, str) and result in ("numpy", "tensor")):
        return result
    raise CallError(
        f"{function.info.name}: torch tensors go with a result that is a torch tensor, 'numpy' or 'tensor'",
        function=function.info.name,
        argument="_result",
    )


def _as_kind(function: Function, t: Any, kind: str) -> Any:
    from slangnb.runtime.new_tensor import tensor

    array = t.detach().cpu().numpy()
    return array if kind == "numpy" else tensor(array, session=function.session)
