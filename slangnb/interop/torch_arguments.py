"""The arguments of a call with torch tensors among them: where these stand, and what a kernel gets in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.reflection import PLAIN_KINDS, REAL, FunctionInfo, Parameter, TypeInfo
from slangnb.errors import CallError, GradientError
from slangnb.interop.torch_bridge import Bridge, bridge_of
from slangnb.interop.torch_memory import SCALARS_OF
from slangnb.interop.torch_values import check_readable, from_host, to_host
from slangnb.runtime.binding import EXTRAS, bind
from slangnb.runtime.function import Function
from slangnb.runtime.nesting import Path, map_leaves
from slangnb.runtime.new_tensor import tensor
from slangnb.runtime.stale import copied
from slangnb.runtime.tensors import SCALARS


@dataclass(frozen=True, slots=True)
class TorchArguments:
    """The arguments of a call by name.

    Attributes
    ----------
    function : Function
    values : dict
        As they were passed.
    parameters : dict of str to Parameter
        What is known of them; empty for a generic function.
    device : torch.device
        Of all tensors.
    bridge : Bridge or None
        The way to the session and back that does not lead through host memory.
    """

    function: Function
    values: dict[str, Any]
    parameters: Mapping[str, Parameter]
    device: Any
    bridge: Bridge | None

    @classmethod
    def read(cls, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TorchArguments:
        """Bind the arguments of a call, but for SlangPy's own such as ``_result``.

        Raises
        ------
        CallError
            If they do not fit, or live on several devices.
        """
        info = function.info
        own = {name: value for name, value in kwargs.items() if name not in EXTRAS}
        bound = bind(info, args, own, need_outputs=False)
        if bound is not None:
            values = {s.parameter.name: s.value for s in bound.slots}
            if bound.result_place is not None:
                values["_result"] = bound.result
            parameters = {s.parameter.name: s.parameter for s in bound.slots}
        elif args:
            values, parameters = {**dict(zip(_names(info, len(args)), args, strict=True)), **own}, {}
        else:
            values, parameters = own, {}
        try:
            device = _device(values)
            return cls(function, values, parameters, device, bridge_of(function.session, device))
        except CallError as error:
            raise _named(error, info.name) from None

    def tensors(self) -> list[tuple[Path, Any]]:
        """List the torch tensors with their places."""
        return list(torch_tensors_in(self.values))

    def replaced(self, now: Mapping[Path, Any]) -> TorchArguments:
        """Give the same with other tensors, and with copies of what else may change in place."""
        return replace(self, values=map_leaves(self.values, lambda path, value: copied(now.get(path, value))))

    def derivable(self, path: Path) -> bool:
        """Tell whether the function's parameter, or the field, lets derivatives through."""
        p = self.parameters.get(path[0])
        if p is None:
            return True
        t = p.type
        if p.no_diff or not (t.differentiable or t.carries_gradient):
            return False
        for key in path[1:]:
            if key not in t.carries:
                return False
            t = t.fields[key]
        return True

    def host(self, now: Mapping[Path, Any] | None = None) -> dict[str, Any]:
        """Give the arguments with arrays, numbers and, by the bridge, SlangPy tensors in the place of torch tensors.

        Parameters
        ----------
        now : mapping, optional
            Tensors to take instead, by place.
        """
        now = now or {}

        def one(path: Path, t: Any) -> Any:
            if not isinstance(t, torch.Tensor):
                return t
            of, t = self.type_of(path), now.get(path, t)
            fits = of is not None and of.kind in PLAIN_KINDS and SCALARS_OF.get(t.dtype) == of.scalar
            if fits and self.bridge is not None and self.bridge.carries(t):
                return self.bridge.to_session(t)
            found = to_host(t, dotted(path), of)
            if of is not None and of.kind == "tensor":
                return tensor(found, session=self.function.session)
            return found

        try:
            return map_leaves(self.values, one)
        except CallError as error:
            raise _named(error, self.function.info.name) from None

    def back(self, found: Any, device: Any = None, dtype: Any = None) -> Any:
        """Give a number, an array or a SlangPy tensor of numbers as a torch tensor; by default on the call's device."""
        device = self.device if device is None else device
        if self.bridge is not None and self.bridge.brings_back(found):
            return self.bridge.to_torch(found).to(device=device, dtype=dtype)
        return from_host(found, device, dtype)

    def type_of(self, path: Path) -> TypeInfo | None:
        """Give the type of what stands at a place, if it is known."""
        p = self.parameters.get(path[0])
        t = p.type if p is not None else None
        for key in path[1:]:
            t = t.fields.get(key) if t is not None else None
        return t

    def is_real(self, path: Path) -> bool:
        """Tell whether a parameter, or a field, takes numbers with fractions."""
        of = self.type_of(path)
        return of is not None and of.scalar in REAL

    # What `slangnb.runtime.foreign.HostArguments` asks for:

    @property
    def named(self) -> Mapping[str, Any]:
        """The arguments with arrays and numbers in the place of torch tensors."""
        return self.host()

    def result(self, found: Any) -> Any:
        """Give results as torch tensors; structs stay SlangPy's."""
        if isinstance(found, dict):
            return {name: self.result(value) for name, value in found.items()}
        if hasattr(found, "storage") and found.dtype.full_name not in SCALARS and not found.dtype.shape.as_tuple():
            return found
        return self.back(found)

    def value(self, found: float) -> Any:
        """Give a sum as a tensor without dimensions."""
        signature = self.function.info.signature
        double = signature is not None and signature.returns.scalar == "double"
        return torch.tensor(found, dtype=torch.float64 if double else torch.float32, device=self.device)

    def gradient(self, name: str, found: Any) -> Any:
        """Give a gradient as the kind of value that the argument is."""
        return self._like(self.values.get(name), found)

    def gradients(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Give gradients by name as the kinds of values that the arguments are."""
        return {name: self.gradient(name, value) for name, value in found.items()}

    def _like(self, template: Any, found: Any) -> Any:
        """Make a gradient the kind of value that it is the gradient of."""
        if isinstance(template, torch.Tensor) and found is not None:
            return self.back(found, template.device, template.dtype).reshape(template.shape)
        if isinstance(template, dict) and isinstance(found, dict):
            return {key: self._like(template.get(key), value) for key, value in found.items()}
        return found


def _names(info: FunctionInfo, count: int) -> list[str]:
    """Give the names of the first parameters of a generic function, or of one with several overloads."""
    found = [[p.name for p in o.parameters[:count]] for o in info.overloads if len(o.parameters) >= count]
    if not info.overloads:
        found = [[p.name for p in d.parameters[:count]] for d in declarations(info.source) if d.kind == "function"]
    if not found or any(names != found[0] for names in found) or len(found[0]) < count:
        raise CallError(f"{info.name}: it cannot be told which parameters are meant", remedy="pass arguments by name")
    return found[0]


def _device(values: Mapping[str, Any]) -> Any:
    """Give the device of all tensors; numbers, which are tensors without dimensions, may live elsewhere."""
    found = None
    for path, t in torch_tensors_in(values):
        check_readable(t, dotted(path))
        if found is None or (found.dim() == 0 and t.dim()):
            found = t
        elif t.device != found.device and t.dim():
            name = dotted(path)
            raise CallError(
                f"{name!r} is on {t.device}, another argument on {found.device}",
                argument=name,
                remedy=f"move it: {name}.to({str(found.device)!r})",
            )
    return found.device if found is not None else torch.device("cpu")


def torch_tensors_in(values: Mapping[Any, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Give the torch tensors among values with their places, also inside dicts."""
    for key, value in values.items():
        if isinstance(value, torch.Tensor):
            yield (*path, key), value
        elif isinstance(value, dict):
            yield from torch_tensors_in(value, (*path, key))
        elif isinstance(value, list | tuple) and any(isinstance(v, torch.Tensor) for v in value):
            name = dotted((*path, key))
            raise CallError(
                f"{name!r} is a {type(value).__name__} of torch tensors",
                argument=name,
                remedy=f"pass one tensor: torch.stack({name}, dim=-1)",
            )


def dotted(path: Path) -> str:
    """Write a place for people."""
    return ".".join(map(str, path))


def tensor_kind(t: Any) -> tuple[Any, ...]:
    """Give what of a tensor is the same in the forward and the backward pass."""
    return t.dtype, t.shape, t.device


def replaced_paths(paths: Sequence[Path], kinds: Sequence[Any], tensors: Sequence[Any]) -> list[Path]:
    """Find the places where other tensors stand in the backward pass than in the forward pass."""
    return [path for path, kind, t in zip(paths, kinds, tensors, strict=True) if tensor_kind(t) != kind]


def replaced_error(function: str, path: Path) -> GradientError:
    """Say that a tensor was replaced since the forward pass: by ``.data =``, or by a hook for saved tensors."""
    name = dotted(path)
    return GradientError(
        f"{function}: {name!r} is another tensor in the backward pass than in the forward pass",
        function=function,
        argument=name,
        remedy="call backward() before its data is replaced or given back",
    )


def _named(error: CallError, function: str) -> CallError:
    """Put the function's name before a message that does not know it."""
    text = error.message if error.message.startswith(f"{function}:") else f"{function}: {error.message}"
    return CallError(text, function=function, argument=error.argument, remedy=error.remedy)
