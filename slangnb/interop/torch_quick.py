"""Calls and transforms in memory shared with torch: a second call of the same kind goes straight to the launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.autograd import forward_ad  # pyright: ignore[reportMissingImports]

from slangnb.autodiff.callee import check_names, find
from slangnb.autodiff.transforms import Transform, make_call, split_seed
from slangnb.interop.torch_arguments import TorchArguments
from slangnb.interop.torch_autograd import second_derivative
from slangnb.interop.torch_backward import Backward, sums_way
from slangnb.interop.torch_memory import DTYPES, addresses, device_array, named_values, shares_memory
from slangnb.interop.torch_shared import DeviceCall, takes
from slangnb.interop.torch_watch import Watch, seen
from slangnb.runtime.binding import EXTRAS
from slangnb.runtime.function import Function
from slangnb.runtime.fused.addressed import AddressedLaunch
from slangnb.runtime.fused.engine import Wish
from slangnb.runtime.fused.values import ALIGNED, NotFusedError
from slangnb.runtime.nesting import Path, follow, nested
from slangnb.runtime.target import Target

#: What says that torch does not compute what is called, but transforms, replaces or records it. Not public, all of it.
_MODES = tuple(
    look
    for name in ("_are_functorch_transforms_active", "_len_torch_dispatch_stack", "_is_tracing")
    if (look := getattr(torch._C, name, None)) is not None
)


def computes_at_once() -> bool:
    """Tell whether torch computes what is called, as it is called: a kernel of ours is none of its operations.

    Otherwise calls go by `torch_autograd`, which torch knows how to treat, or to refuse.
    """
    for look in _MODES:  # `any` would take twice as long
        if look():
            return False
    return getattr(forward_ad, "_current_level", -1) < 0


def call_key(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    """Give all about a call's arguments that decides how it is launched; None for kinds that go another way."""
    if not computes_at_once():
        return None
    marks: list[Hashable] = [len(args), torch.is_grad_enabled(), *kwargs]
    try:
        for value in (*args, *kwargs.values()):
            mark = _mark(value)
            if mark is None:
                return None
            marks.append(mark)
    except RuntimeError:  # a tensor without memory, as within torch.vmap
        return None
    return tuple(marks)


def _mark(value: Any) -> Hashable:
    kind = type(value)
    if kind is float:
        return float
    if kind is int:
        return "int", value  # it may be the number of rounds of a loop, which the audit looks at
    if issubclass(kind, torch.Tensor):
        if value.layout is not torch.strided or value.is_neg():
            return None
        aligned = value.is_cuda or not value.data_ptr() % ALIGNED
        return value.dtype, value.shape, value.stride(), value.device, value.requires_grad, aligned
    if kind is dict:
        marks = tuple([(key, _mark(inner)) for key, inner in value.items()])
        return None if any(mark is None for _, mark in marks) else marks
    return None


class Chosen:
    """Finds the entries of `AddressedLaunch.routes` among the arguments of calls of one kind.

    Parameters
    ----------
    routes : list of Path
    read : TorchArguments
        The arguments of the first call.
    positions : int
        How many of them were passed by position.
    kwargs : mapping
        The others.
    """

    def __init__(self, routes: Sequence[Path], read: TorchArguments, positions: int, kwargs: Mapping[str, Any]) -> None:
        names = [*list(read.values)[:positions], *kwargs]
        tensors = dict(read.tensors())
        #: Numbers that are the same in all calls of this kind, since they are whole: see `call_key`.
        self._constants: list[Any] = []
        # Where in the list, and the route from all arguments, in the order in which they were passed.
        self._numbers: list[tuple[int, Path]] = []
        self._tensors: list[tuple[int, Path]] = []
        for k, route in enumerate(routes):
            value = follow(read.values, route)
            at = k, (names.index(route[0]), *route[1:])
            if route in tensors:
                self._tensors.append(at)
            elif type(value) is float:
                self._numbers.append(at)
            constant = value if type(value) is int else None  # nothing may keep a tensor alive
            self._constants.append(float(value) if type(value) is int and read.is_real(route) else constant)

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Give the arguments with addresses in the place of tensors, and the tensors.

        Raises
        ------
        NotFusedError
            For tensors without memory.
        """
        given = (*args, *kwargs.values())
        found = self._constants.copy()
        for k, at in self._numbers:
            found[k] = follow(given, at)
        tensors = [follow(given, at) for _, at in self._tensors]
        for (k, _), address in zip(self._tensors, addresses(tensors), strict=True):
            found[k] = address
        return found, tensors


class Quick:
    """A prepared call, and where its arguments stand."""

    def __init__(
        self, read: TorchArguments, args: Sequence[Any], kwargs: Mapping[str, Any], tracked: bool, reduce: str
    ) -> None:
        self.call = DeviceCall.prepare(read, reduce)
        self.tracked = tracked
        self._choose = Chosen(self.call.launch.routes, read, len(args), kwargs)

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call it, in torch's graph if a tensor requires a gradient."""
        at, tensors = self._choose(args, kwargs)
        made = SharedCall.apply(self.call, at, *tensors) if self.tracked else self.call.forward(at, tensors)
        if len(made) == 1:
            return made[0]
        return dict(zip([r[0] for r in self.call.results], made, strict=True)) or None


def quick_call(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], reduce: str = "") -> Quick | None:
    """Find or prepare a call by torch's own memory; None if it goes another way.

    With ``"sum"`` or ``"mean"`` it gives that of the results, which are not stored then.

    Raises
    ------
    CallError, CompileError
        For arguments that cannot be right, and faults in the source.
    """
    if not EXTRAS.isdisjoint(kwargs) or function.is_backward:
        return None
    key = call_key(args, kwargs)
    if key is None:
        return None
    return _remembered(function, function.target, (reduce, key), lambda: _prepared(function, args, kwargs, reduce))


@dataclass
class Remembered:
    """What was found for a kind of call: a prepared one, or None for those that go another way.

    `of` is the function or transform; it is held, since it is known by its identity.
    """

    of: Any
    found: Any
    bytes: int = 0


def _remembered(of: Any, target: Target, key: Hashable, make: Callable[[], Any]) -> Any:
    """Find what was prepared for a kind of call, with the session's other plans, or prepare it."""

    def made() -> Remembered:
        try:
            return Remembered(of, make())
        except NotFusedError:
            return Remembered(of, None)

    return target.session.plans.get((id(of), target.version, key), made).found


def _read(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TorchArguments | None:
    """Read a call's arguments; None if they lie elsewhere than where the session computes."""
    read = TorchArguments.read(function, tuple(args), kwargs)
    if not shares_memory(function.session, read.device):
        return None
    addresses([t for _, t in read.tensors()])  # none may be freed
    return read


def _prepared(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], reduce: str) -> Quick | None:
    read = _read(function, args, kwargs)
    if read is None or "_result" in read.values or any(method == "return_type" for method, _, _ in function.steps):
        return None
    tracked = torch.is_grad_enabled() and any(t.requires_grad for _, t in read.tensors())
    return Quick(read, args, kwargs, tracked, reduce) if takes(read, tracked) else None


class QuickTransform:
    """A prepared transform; its results stay where the session computes."""

    def __init__(
        self, transform: Transform, read: TorchArguments, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        function = transform.function
        places = {path for path, _ in read.tensors()}
        callee = find(function, (), named_values(read.values, device_array), transform.name)
        check_names(callee, transform.names)
        self._factor, seeds = split_seed(transform.seed, callee)
        call = make_call(function, callee, seeds=seeds)
        prepared = call.prepare(Wish("reverse", transform.names, value=transform.value, addressed=True))
        if not prepared.gradients:
            raise NotFusedError("there is no gradient")  # the other way says what is wrong
        if transform.reduce == "mean":
            self._factor /= prepared.count
        launch = AddressedLaunch(prepared)
        self._watch = Watch(function, transform.name) if transform.audited else None
        self._choose = Chosen(launch.routes, read, len(args), kwargs)
        self._backward = Backward.of(function, read.device, launch)
        row = next((r for r in prepared.sums.rows.all if r.kind == "value"), None)
        self._value = None if row is None else sums_way(launch, row, (), DTYPES[row.scalar])
        shown = transform.names or [a.name for a in prepared.job.arguments]
        self._paths = [path for path in self._backward.ways if path[0] in shown]
        self._ways = [self._backward.ways[path] for path in self._paths]
        self._are_tensors = [path in places for path in self._paths]

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Give value and gradients."""
        if self._watch is not None:
            function = self._watch.function
            self._watch.look(lambda: named_values(TorchArguments.read(function, tuple(args), kwargs).values, seen))
        at, tensors = self._choose(args, kwargs)
        made, totals = self._backward.run(at, (), self._factor, tensors)
        given = [way(made, totals) for way in self._ways]
        found = nested(self._paths, [g if t else g.tolist() for g, t in zip(given, self._are_tensors, strict=True)])
        return None if self._value is None else self._value(made, totals), found


def quick_transform(transform: Transform, args: Sequence[Any], kwargs: Mapping[str, Any]) -> QuickTransform | None:
    """Find or prepare a transform by torch's own memory; None if it goes another way."""
    if transform.tune or not isinstance(transform.seed, int | float | None):
        return None
    key = call_key(args, kwargs)
    if key is None:
        return None
    target = transform.function.target
    return _remembered(transform, target, key, lambda: _prepared_transform(transform, args, kwargs))


def _prepared_transform(transform: Transform, args: Sequence[Any], kwargs: Mapping[str, Any]) -> QuickTransform | None:
    read = None if any(name in EXTRAS for name in kwargs) else _read(transform.function, args, kwargs)
    return QuickTransform(transform, read, args, kwargs) if read is not None and takes(read, False) else None


class SharedCall(torch.autograd.Function):
    """The forward pass: ``apply(call, arguments with addresses, *tensors)``.

    It has no ``setup_context``, which costs as much as two launches. So it does not go through torch's function
    transforms; their tensors have no addresses, and do not come here.
    """

    @staticmethod
    def forward(ctx: Any, call: DeviceCall, at: list[Any], *tensors: Any) -> tuple[Any, ...]:
        """Run the kernel."""
        ctx.call, ctx.at, ctx.given = call, at, None
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        if call.ahead is None or not call.ahead.due():
            return call.forward(at, tensors)
        result, ctx.given = call.ahead.run(at, tensors)
        return (result,)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> tuple[Any, ...]:
        """Run the backward kernel."""
        tensors, wanted = ctx.saved_tensors, ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():  # create_graph=True: what comes out must refuse another derivative
            found = SharedBackward.apply(ctx.call, ctx.at, wanted, len(seeds), *seeds, *tensors)
        else:
            found = ctx.call.backward(ctx.at, tensors, wanted, seeds, ctx.given)
        return None, None, *found


class SharedBackward(torch.autograd.Function):
    """The backward pass where torch asks for its graph: ``apply(call, arguments, wanted, count, *seeds, *tensors)``."""

    @staticmethod
    def forward(ctx: Any, call: DeviceCall, at: Any, wanted: Any, count: int, *rest: Any) -> tuple[Any, ...]:
        """Run the kernel."""
        ctx.name = call.function.info.name
        return tuple(call.backward(at, rest[count:], wanted, rest[:count]))

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> Any:
        """Refuse second derivatives."""
        raise second_derivative(ctx.name)
