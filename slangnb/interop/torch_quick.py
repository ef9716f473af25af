"""Calls and transforms by torch's memory on CUDA: a second call of the same kind goes straight to the launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.autodiff.callee import check_names, find
from slangnb.autodiff.transforms import Transform, make_call, split_seed
from slangnb.interop.torch_arguments import Path, TorchArguments
from slangnb.interop.torch_autograd import second_derivative
from slangnb.interop.torch_cuda import Backward, DeviceCall, sums_way, takes
from slangnb.interop.torch_memory import DTYPES, addresses, device_array, named_values, placed, shares_memory
from slangnb.runtime.binding import EXTRAS
from slangnb.runtime.function import Function, Target
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Wish
from slangnb.runtime.fused.values import NotFusedError


def call_key(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    """Give all about a call's arguments that decides how it is launched; None for kinds that go another way."""
    marks: list[Hashable] = [len(args), torch.is_grad_enabled(), *kwargs]
    for value in (*args, *kwargs.values()):
        mark = _mark(value)
        if mark is None:
            return None
        marks.append(mark)
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
        return value.dtype, value.shape, value.stride(), value.device, value.requires_grad
    if kind is dict:
        marks = tuple([(key, _mark(inner)) for key, inner in value.items()])
        return None if any(mark is None for _, mark in marks) else marks
    return None


class Quick:
    """A prepared call, and where its arguments stand."""

    def __init__(self, read: TorchArguments, args: Sequence[Any], tracked: bool, reduce: str) -> None:
        self.call = DeviceCall.prepare(read, reduce)
        self.tracked = tracked
        self._names = tuple(read.values)[: len(args)]
        self._places = self.call.places

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call it, in torch's graph if a tensor requires a gradient."""
        values, tensors = sorted_values(self._names, self._places, args, kwargs)
        at = self.call.addresses(values, tensors)
        made = SharedCall.apply(self.call, values, at, *tensors) if self.tracked else self.call.forward(at, tensors)
        if len(made) == 1:
            return made[0]
        return dict(zip([r[0] for r in self.call.results], made, strict=True)) or None


def sorted_values(
    names: Sequence[str], places: Sequence[Path], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Any]]:
    """Sort arguments into numbers by name, with None in the place of tensors, and the tensors."""
    values = {**dict(zip(names, args, strict=True)), **kwargs}
    tensors = []
    for path in places:
        values, t = _taken(values, path)
        tensors.append(t)
    return values, tensors


def _taken(values: dict[Any, Any], path: Path) -> tuple[dict[Any, Any], Any]:
    """Take what stands at a place out of a dict, leaving None; dicts inside are copied."""
    if len(path) == 1:
        found = values[path[0]]
        values[path[0]] = None
        return values, found
    values[path[0]], found = _taken(dict(values[path[0]]), path[1:])
    return values, found


def quick_call(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], reduce: str = "") -> Quick | None:
    """Find or prepare a call by torch's own memory; None if it goes another way.

    With ``"sum"`` or ``"mean"`` it gives that of the results, which are not stored then.

    Raises
    ------
    CallError, CompileError
        For arguments that cannot be right, and faults in the source.
    """
    if any(name in EXTRAS for name in kwargs) or function._backward:
        return None
    key = call_key(args, kwargs)
    if key is None:
        return None
    return _remembered(function, function._target, (reduce, key), lambda: _prepared(function, args, kwargs, reduce))


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
    whole = (id(of), target.version, key)
    return target.session.plans.get(whole, lambda: Remembered(of, make())).found


def _prepared(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], reduce: str) -> Quick | None:
    read = TorchArguments.read(function, tuple(args), kwargs)
    tracked = torch.is_grad_enabled() and any(t.requires_grad for _, t in read.tensors())
    if "_result" in read.values or not shares_memory(function._target.session, read.device):
        return None
    if any(method == "return_type" for method, _, _ in function._chain) or not takes(read, tracked):
        return None
    try:
        addresses([t for _, t in read.tensors()])
        return Quick(read, args, tracked, reduce)
    except NotFusedError:
        return None


class QuickTransform:
    """A prepared transform; its results stay on the card."""

    def __init__(self, transform: Transform, read: TorchArguments, args: Sequence[Any]) -> None:
        function = transform.function
        self._names = tuple(read.values)[: len(args)]
        self._places = [path for path, _ in read.tensors()]
        named = named_values(read.values, device_array)
        callee = find(function, (), named, transform.name)
        check_names(callee, transform.names)
        self._factor, seeds = split_seed(transform.seed, callee)
        call = make_call(function, callee, seeds=seeds)
        prepared = call.prepare(Wish("reverse", transform.names, value=transform.value, addressed=True))
        if not prepared.gradients:
            raise NotFusedError("there is no gradient")  # the other way says what is wrong
        if transform.audited:
            audit(call)
        if transform.reduce == "mean":
            self._factor /= prepared.count
        self._launch = Backward.of(function, read.device, prepared)
        rows = prepared.sums.rows
        row = next((r for r in rows.all if r.kind == "value"), None)
        self._value = (
            None if row is None else sums_way(row.scalar, rows.of(row.scalar).index(row), (), DTYPES[row.scalar])
        )
        shown = transform.names or [a.name for a in prepared.job.arguments]
        self._ways = [(path, way) for path, way in self._launch.ways.items() if path[0] in shown]

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Give value and gradients."""
        values, tensors = sorted_values(self._names, self._places, args, kwargs)
        at = placed(values, self._places, addresses(tensors))
        made, totals = self._launch.run(at, {}, self._factor, tensors)
        found: dict[str, Any] = {}
        for path, way in self._ways:
            inside = found
            for key in path[:-1]:
                inside = inside.setdefault(key, {})
            gradient = way(made, totals)
            inside[path[-1]] = gradient if path in self._places else gradient.tolist()
        return None if self._value is None else self._value(made, totals), found


def quick_transform(transform: Transform, args: Sequence[Any], kwargs: Mapping[str, Any]) -> QuickTransform | None:
    """Find or prepare a transform by torch's own memory; None if it goes another way."""
    if transform.tune or not isinstance(transform.seed, int | float | None):
        return None
    key = call_key(args, kwargs)
    if key is None:
        return None
    target = transform.function._target
    return _remembered(transform, target, key, lambda: _prepared_transform(transform, args, kwargs))


def _prepared_transform(transform: Transform, args: Sequence[Any], kwargs: Mapping[str, Any]) -> QuickTransform | None:
    if any(name in EXTRAS for name in kwargs):
        return None
    read = TorchArguments.read(transform.function, tuple(args), kwargs)
    if not shares_memory(transform.function._target.session, read.device) or not takes(read, False):
        return None
    try:
        addresses([t for _, t in read.tensors()])
        return QuickTransform(transform, read, args)
    except NotFusedError:
        return None


class SharedCall(torch.autograd.Function):
    """The forward pass: ``apply(call, numbers by name, arguments with addresses, *tensors)``.

    It has no ``setup_context``, which costs as much as two launches. So it does not go through torch's function
    transforms; their tensors have no addresses, and do not come here.
    """

    @staticmethod
    def forward(ctx: Any, call: DeviceCall, values: Any, at: Any, *tensors: Any) -> tuple[Any, ...]:
        """Run the kernel."""
        ctx.call, ctx.values = call, values
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return call.forward(at, tensors)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> tuple[Any, ...]:
        """Run the backward kernel."""
        tensors, wanted = ctx.saved_tensors, ctx.needs_input_grad[3:]
        if torch.is_grad_enabled():  # create_graph=True: what comes out must refuse another derivative
            found = SharedBackward.apply(ctx.call, ctx.values, wanted, len(seeds), *seeds, *tensors)
        else:
            found = ctx.call.backward(ctx.values, tensors, wanted, seeds)
        return None, None, None, *found


class SharedBackward(torch.autograd.Function):
    """The backward pass where torch asks for its graph: ``apply(call, values, wanted, count, *seeds, *tensors)``."""

    @staticmethod
    def forward(ctx: Any, call: DeviceCall, values: Any, wanted: Any, count: int, *rest: Any) -> tuple[Any, ...]:
        """Run the kernel."""
        ctx.name = call.function.info.name
        return tuple(call.backward(values, rest[count:], wanted, rest[:count]))

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> Any:
        """Refuse second derivatives."""
        raise second_derivative(ctx.name)
