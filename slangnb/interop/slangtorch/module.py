"""What a source for slangtorch becomes: functions that check their arguments before anything runs on the GPU."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from slangnb.compiler.reading.declarations import Declaration
from slangnb.compiler.torch_source import BOUND, DTYPES, element
from slangnb.errors import CallError, GradientError
from slangnb.interop.slangtorch.errors import call_error
from slangnb.runtime.saying import warn

ON_CPU = "on the CPU, and functions of slangtorch run on the GPU"
#: What torch raises for a launch or an argument that it refuses.
_REFUSALS = (RuntimeError, TypeError, IndexError, ValueError)
_CASTS = {
    "float32": "float",
    "float16": "half",
    "float64": "double",
    "bfloat16": "bfloat16",
    "int32": "int",
    "int16": "short",
    "int64": "long",
    "uint8": "byte",
    "bool": "bool",
}


class TorchFunction:
    """A function that slangtorch built: takes torch tensors on the GPU, by position or by name.

    Attributes
    ----------
    __name__, __doc__ : str
        Its name and its Slang signature.
    parameters : tuple of str
        Names of its arguments.

    Examples
    --------
    >>> from slangnb.compiler.torch_source import exports
    >>> declared = exports("[TorchEntryPoint] TorchTensor<float> same(TorchTensor<float> x) { return x; }")[0]
    >>> same = TorchFunction("same", lambda x: x, declared)
    >>> same
    <slangtorch function TorchTensor<float> same(TorchTensor<float> x)>
    """

    def __init__(self, name: str, raw: Any, declared: Declaration | None) -> None:
        self.__name__ = self.__qualname__ = name
        self._raw = raw
        self._declared = declared
        self._by_name = hasattr(raw, "argnames")
        self.parameters: tuple[str, ...] = tuple(
            raw.argnames if self._by_name else [p.name for p in declared.parameters] if declared else []
        )
        self.returns = declared.type if declared else ""
        #: One that gives nothing back writes to its arguments, and must get those themselves.
        self._gives_back = self.returns not in ("", "void")
        self.__doc__ = declared.signature if declared else f"{name}({', '.join(self.parameters)})"
        if declared:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            self.__signature__ = inspect.Signature([inspect.Parameter(p, kind) for p in self.parameters])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; a kernel bound by [AutoPyBindCUDA] gives a `Launch`, which runs by ``launchRaw``."""
        return self._call(self._raw, args, kwargs)

    def bwd(self, *args: Any, **kwargs: Any) -> Any:
        """Give the launch of a kernel's backward pass, which Slang derives from a [Differentiable] kernel."""
        raw = self._derived("bwd")
        self._need_gradients(self._bound(args, kwargs))
        return self._call(raw, args, kwargs)

    def fwd(self, *args: Any, **kwargs: Any) -> Any:
        """Give the launch of a kernel's forward derivative."""
        raw = self._derived("fwd")
        self._need_gradients(self._bound(args, kwargs))
        return self._call(raw, args, kwargs)

    def _derived(self, which: str) -> Any:
        if getattr(self._raw, f"{which}_wrapped_fn", None) is None:
            remedy = f"a kernel with [{BOUND}] [CudaKernel] [Differentiable] has one"
            raise CallError(f"{self.__name__} has no derivative", function=self.__name__, remedy=remedy)
        return getattr(self._raw, which)

    def _call(self, raw: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = self._bound(args, kwargs)
        device = _check(self, values)
        with on_device(device):
            try:
                if self._by_name:
                    return Launch(raw(**values), self, device)
                return raw(*(whole(v) if self._gives_back else v for v in values.values()))
            except _REFUSALS as error:
                raise call_error(error, self.__name__, self.__doc__ or "") from error

    def _need_gradients(self, values: Mapping[str, Any]) -> None:
        """Refuse a tensor without its gradient: slangtorch would let the kernel write behind one of a single number."""
        for name, value in values.items():
            if not self.types().get(name, "").startswith("DiffTensorView"):
                continue
            pair = tuple(value) if isinstance(value, tuple | list) else (value,)
            if len(pair) < 2 or pair[1] is None:
                remedy = f"pass ({name}, torch.zeros_like({name})), or the seed for a result"
                message = f"{self.__name__}: {name!r} has no gradient"
                raise GradientError(message, function=self.__name__, argument=name, remedy=remedy)
            shapes = [tuple(t.shape) for t in pair[:2]]
            if shapes[0] != shapes[1]:
                message = f"{self.__name__}: {name!r} has shape {shapes[0]}, and its gradient {shapes[1]}"
                raise GradientError(message, function=self.__name__, argument=name)

    def types(self) -> Mapping[str, str]:
        """Give the declared types of the arguments, as far as they are known."""
        return {p.name: p.type for p in self._declared.parameters} if self._declared else {}

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments by name, in the order of the parameters."""
        name, names = self.__name__, self.parameters
        if not names and not kwargs:  # it comes from an imported file, or has no arguments
            return {str(k): value for k, value in enumerate(args)}
        takes = f"its signature is {self.__doc__}"
        unknown = next((k for k in kwargs if k not in names), None)
        if unknown is not None:
            close = difflib.get_close_matches(unknown, names, 1, 0.5)
            remedy = f"did you mean {close[0]!r}?" if close else takes
            raise CallError(f"{name} has no argument {unknown!r}", function=name, argument=unknown, remedy=remedy)
        if len(args) > len(names):
            count = f"{len(names)} argument{'s' * (len(names) != 1)}"
            raise CallError(f"{name} takes {count}, {len(args)} were given", function=name, remedy=takes)
        found = dict(zip(names, args, strict=False))
        twice = next((k for k in kwargs if k in found), None)
        if twice is not None:
            raise CallError(f"{name}: {twice!r} is given twice", function=name, argument=twice)
        found |= kwargs
        lacking = [n for n in names if n not in found]
        if lacking:
            raise CallError(f"{name}: {lacking[0]!r} is not given", function=name, argument=lacking[0], remedy=takes)
        return {n: found[n] for n in names}

    def __repr__(self) -> str:
        return f"<slangtorch function {self.__doc__}>"


class Launch:
    """A kernel with its arguments: ``launchRaw(blockSize=(x, y, z), gridSize=(x, y, z))`` runs it."""

    def __init__(self, raw: Any, function: TorchFunction, device: Any) -> None:
        self._raw = raw
        self._function = function
        self._device = device

    def launchRaw(self, blockSize: tuple[int, int, int], gridSize: tuple[int, int, int]) -> None:  # noqa: N802, N803
        """Run it, under slangtorch's own names: `blockSize` threads in each of `gridSize` groups."""
        with on_device(self._device):
            try:
                self._raw.launchRaw(blockSize=blockSize, gridSize=gridSize)
            except _REFUSALS as error:
                raise call_error(error, self._function.__name__, self._function.__doc__ or "") from error

    def __repr__(self) -> str:
        return f"<launch of {self._function.__name__}: .launchRaw(blockSize=(x, y, z), gridSize=(x, y, z)) runs it>"


class TorchModule:
    """What ``sn.torch.load`` returns: ``m.f`` or ``m["f"]`` is a function; iteration gives their names.

    Struct types that the functions take are attributes too: ``m.Light(power=2.0)``.
    """

    def __init__(self, label: str, raw: Any, declared: Mapping[str, Declaration]) -> None:
        self._label = label
        self._raw = raw
        names = [n for n in dir(raw) if not n.startswith("_") and callable(getattr(raw, n))]
        names = [n for n in names if not isinstance(getattr(raw, n), type)]  # a struct's tuple type
        ordered = [*(n for n in declared if n in names), *(n for n in names if n not in declared)]
        self._functions = {n: TorchFunction(n, getattr(raw, n), declared.get(n)) for n in ordered}

    def __getitem__(self, name: str) -> Any:
        if name in self._functions:
            return self._functions[name]
        found = getattr(self._raw, name, None)
        if isinstance(found, type):
            return found
        close = difflib.get_close_matches(name, self, 1, 0.5)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise KeyError(f"{self._label} has no function or struct {name!r}{hint}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __dir__(self) -> list[str]:
        return [*self]

    def __repr__(self) -> str:
        return f"<slangtorch module {self._label}: {', '.join(self)}>"


def summary(declared: Mapping[str, Declaration]) -> str:
    """Say in one line what a source gives to Python.

    Examples
    --------
    >>> from slangnb.compiler.torch_source import exports
    >>> summary({d.name: d for d in exports("[TorchEntryPoint] int f(int a, int b) { return a; }")})
    'f(a, b)'
    """
    return ", ".join(f"{name}({', '.join(p.name for p in d.parameters)})" for name, d in declared.items())


@contextlib.contextmanager
def on_device(device: Any) -> Iterator[None]:
    """Make the GPU of the arguments the current one: slangtorch allocates and launches on that."""
    if device is None:
        yield
        return
    import torch  # pyright: ignore[reportMissingImports]

    with torch.cuda.device(device):
        yield


def whole(value: Any) -> Any:
    """Give a tensor with memory for each element: slangtorch refuses repeated ones, such as the gradient of a sum.

    ``contiguous`` is not enough: it leaves a repeated dimension of size 1 as it is.
    """
    import torch  # pyright: ignore[reportMissingImports]

    if isinstance(value, torch.Tensor) and value.numel() and 0 in value.stride():
        return value.clone(memory_format=torch.contiguous_format)
    return value


def _check(function: TorchFunction, values: Mapping[str, Any]) -> Any:
    """Refuse what the built code would refuse in other words, or read wrongly; give the tensors' GPU."""
    import torch  # pyright: ignore[reportMissingImports]

    types = function.types()
    devices: dict[Any, str] = {}
    for name, value in values.items():
        if not isinstance(value, torch.Tensor):
            for tensor in _inner(value, torch.Tensor):
                if not tensor.is_cuda:
                    _fail(function, name, f"has a tensor {ON_CPU}", f"make all tensors of {name} with device='cuda'")
                devices[tensor.device] = name
            if element(types.get(name, "")):
                _fail(function, name, f"is {_kind(value)}", f"pass torch.tensor(..., device='cuda') for {name}")
            continue
        if not value.is_cuda:
            _fail(function, name, f"is {ON_CPU}", f"pass {name}.cuda()")
        scalar = element(types.get(name, "")).rstrip("234")
        wanted = DTYPES.get(element(types.get(name, ""))) or DTYPES.get(scalar)
        given = str(value.dtype).removeprefix("torch.")
        if wanted and given != wanted:
            message = f"holds {given}, and the parameter is {types[name]}"
            _fail(function, name, message, f"pass {name}.{_CASTS[wanted]}()")
        devices[value.device] = name
        if value.requires_grad and torch.is_grad_enabled():
            warn(
                f"{function.__name__}: {name!r} asks for a gradient, and the result carries none. "
                f"sn.torch.autograd({function.__name__}, its backward function) makes a torch.autograd.Function."
            )
    if len(devices) > 1:
        where = ", ".join(f"{name!r} on {device}" for device, name in devices.items())
        raise CallError(f"{function.__name__}: the tensors are on different GPUs: {where}", function=function.__name__)
    return next(iter(devices), None)


def _inner(value: Any, kind: type) -> Iterator[Any]:
    """Give the tensors in a tuple: a value with its gradient, or the fields of a struct."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _inner(one, kind)


def _fail(function: TorchFunction, argument: str, what: str, remedy: str) -> None:
    message = f"{function.__name__}: {argument!r} {what}"
    raise CallError(message, function=function.__name__, argument=argument, remedy=remedy)


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
