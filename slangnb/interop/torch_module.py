"""A Slang function as a `torch.nn.Module`: its parameters are trained by torch's optimisers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from slangnb.autodiff.callee import check_function
from slangnb.compiler.reflection import TypeInfo
from slangnb.errors import CallError
from slangnb.interop.torch_adapter import reduced
from slangnb.runtime.function import Function
from slangnb.runtime.parameter import Parameter
from slangnb.runtime.tensors import SCALARS


class _Fields(torch.nn.Module):
    """Values by name, some of them fields of structs."""

    def __init__(self, values: Mapping[str, Any], types: Mapping[str, TypeInfo], path: str = "") -> None:
        super().__init__()
        self._places: dict[str, str] = {}
        for name, value in values.items():
            full = f"{path}{name}"
            t = types.get(name)
            # A name such as "type" or "forward" is torch's own.
            place = self._places[name] = f"param_{name}" if hasattr(self, name) else name
            if isinstance(value, Mapping):
                setattr(self, place, _Fields(value, t.fields if t is not None else {}, f"{full}."))
            else:
                self.register_parameter(place, _as_parameter(value, full, t))

    def values(self) -> dict[str, Any]:
        """Give the values as a call takes them."""
        found = {}
        for name, place in self._places.items():
            value = getattr(self, place)
            found[name] = value.values() if isinstance(value, _Fields) else value
        return found


class _Callable:
    """Holds the Slang function, of which a copied module has no copy."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __deepcopy__(self, memo: dict[int, Any]) -> _Callable:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a SlangModule cannot be pickled; save its state_dict(), and make the module again")


class SlangModule(_Fields):
    """A Slang function as a layer: ``params`` are its own, the other arguments come with each call.

    Parameters
    ----------
    function : Function
        A differentiable Slang function.
    params : mapping
        Starting values by the names of the function's parameters: numbers, lists, numpy arrays, torch tensors,
        `torch.nn.Parameter` or `sn.Parameter`, and dicts of these for structs. They become `torch.nn.Parameter`; a
        tensor that is one already is used itself, and may be shared with other modules.
    reduce : {"sum", "mean"}, optional
        Give that of the results of all elements, as a loss does. On CUDA, and on software
        Vulkan, one kernel does it without storing them. Once `backward()` was called twice, that kernel gives the
        gradients along: they take their memory from then on, and do not see what is written by ``x.data`` in between.

    Raises
    ------
    CallError
        If the function has no parameter of a name, or it is called with an argument that is among `params`.

    Examples
    --------
    >>> import torch
    >>> import slangnb as sn
    >>> m = sn.session().compile("[Differentiable] float line(float a, float b, float x) { return a * x + b; }")
    >>> layer = SlangModule(m.line, params={"a": 2.0, "b": 1.0})
    >>> layer(x=torch.tensor([1.0, 2.0])).sum().backward()
    >>> layer.a.grad, sorted(layer.state_dict())
    (tensor(3.), ['a', 'b'])
    """

    def __init__(self, function: Function, params: Mapping[str, Any], reduce: str | None = None) -> None:
        if reduce not in (None, "sum", "mean"):
            raise CallError(f"reduce must be 'sum' or 'mean', not {reduce!r}", argument="reduce")
        info = check_function(function, "SlangModule").info
        types = {}
        if info.signature is not None:
            types = {p.name: p.type for p in info.signature.parameters}
            for name in params:
                if name not in types:
                    raise CallError(
                        f"{info.name} has no parameter {name!r}",
                        function=info.name,
                        argument=name,
                        remedy=f"params may name {', '.join(types)}",
                    )
        super().__init__(params, types)
        self._of = _Callable(function)
        self._reduce = reduce
        self._free = tuple(name for name in types if name not in params)

    @torch.compiler.disable  # here, and not only at the launch: each of our functions above would be a graph break
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; positional arguments are those parameters that are not among `params`, in order."""
        function, named = self._of.function, self.values()
        if len(args) > len(self._free):
            raise CallError(
                f"{function.info.name} takes {len(self._free)} arguments beside its params, {len(args)} were given",
                function=function.info.name,
                remedy=f"they are {', '.join(self._free)}" if self._free else "pass the arguments by name",
            )
        named.update(zip(self._free, args, strict=False))
        if not named.keys().isdisjoint(kwargs):
            key = next(key for key in kwargs if key in named)
            name = function.info.name
            raise CallError(f"{name}: {key!r} is given twice", function=name, argument=key)
        named.update(kwargs)
        return function(**named) if self._reduce is None else reduced(function, self._reduce, named)

    def extra_repr(self) -> str:
        """Say which function it is."""
        return repr(self._of.function)


def _as_parameter(value: Any, name: str, t: TypeInfo | None) -> Any:
    if isinstance(value, torch.nn.Parameter):
        return value
    if isinstance(value, Parameter):
        value = value.array
    if isinstance(value, torch.Tensor):
        return torch.nn.Parameter(value.detach().clone(), requires_grad=value.is_floating_point())
    dtype = SCALARS.get(t.scalar if t is not None else "", "float32")
    try:
        array = np.array(value, dtype)
    except (TypeError, ValueError) as error:
        raise CallError(f"{name!r} is no value for a parameter: {error}", argument=name) from error
    return torch.nn.Parameter(torch.from_numpy(array), requires_grad=array.dtype.kind == "f")
