"""Calls with torch tensors in memory that the session computes in: kernels read and write it, and nothing is copied.

On CUDA both are in the card's primary context, so an address of torch is one of the session. A kernel goes to torch's
current stream, and so runs between torch's own kernels in the order of the program; nothing waits. Software Vulkan
computes in the memory of the process, and waits. What this module does not take, the way through host copies does
(`torch_autograd`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.autodiff.callee import find
from slangnb.autodiff.transforms import make_call
from slangnb.errors import GradientError
from slangnb.interop.host_calls import HostCall
from slangnb.interop.torch_arguments import Path, TorchArguments
from slangnb.interop.torch_memory import (
    DTYPES,
    SCALARS_OF,
    addresses,
    device_array,
    launch_on,
    named_values,
    seed_array,
    seed_mark,
)
from slangnb.runtime.function import Function
from slangnb.runtime.fused.addressed import AddressedLaunch
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Call, Wish
from slangnb.runtime.fused.job import PLAIN_KINDS, REAL, Row
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.health import look_at_sizes


def takes(read: TorchArguments, tracked: bool) -> bool:
    """Tell whether a call may go this way: tensors of the parameters' own types, and numbers."""
    if not read.parameters or any(p.io != "in" or p.type.kind == "tensor" for p in read.parameters.values()):
        return False
    for value in read.values.values():
        if not _is_plain(value):
            return False
    for path, t in read.tensors():
        of = read.type_of(path)
        if t.device != read.device or not t.numel() or t.is_neg() or of is None or of.kind not in PLAIN_KINDS:
            return False
        if SCALARS_OF.get(t.dtype) != of.scalar or (not t.dim() and of.scalar not in REAL):
            return False  # a whole number without dimensions may say how often a loop runs: the audit must see it
        if tracked and t.requires_grad and not read.derivable(path):
            return False  # a warning is due
    return True


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, torch.Tensor | int | float)


@dataclass
class DeviceCall:
    """A call for arguments of one kind; the tensors and numbers come with each run.

    Arguments are given as a list in the order of `launch.routes`, with addresses in the place of tensors.

    Attributes
    ----------
    function : Function
    device : torch.device
    version : int
        Of what the function means.
    launch : AddressedLaunch
        The forward launch.
    results : list of (id, shape, dtype, number of dimensions of the type)
    spots : list of int
        Where the tensors stand in the list of arguments.
    reduce : {"", "sum", "mean"}
        What is made of the results of all elements.
    factor : float
        Of that.
    """

    function: Function
    device: Any
    version: int
    launch: AddressedLaunch
    results: list[tuple[str, tuple[int, ...], Any, int]]
    spots: list[int]
    reduce: str = ""
    factor: float = 1.0
    backwards: dict[Any, Backward] = field(default_factory=dict)

    @classmethod
    def prepare(cls, read: TorchArguments, reduce: str = "") -> DeviceCall:
        """Prepare the forward launch.

        Raises
        ------
        CallError, CompileError
            For arguments that cannot be right, and faults in the source.
        NotFusedError
            For calls that must go another way.
        """
        function, session = read.function, read.function._target.session
        callee = HostCall(function, named_values(read.values, device_array)).callee()
        if callee is None:
            raise NotFusedError("SlangPy makes this call")
        target = function._target
        call = Call(session, target.owner, function._loaded(), callee.bound, callee.call, callee.prelude)
        prepared = call.prepare(Wish("forward", stores=not reduce, value=bool(reduce), addressed=True))
        outputs, results = prepared.job.outputs, []
        if reduce and (len(outputs) != 1 or outputs[0].type.name not in ("float", "double")):
            raise NotFusedError("torch sums results of other types")
        for o in outputs:
            if o.type.kind not in PLAIN_KINDS or o.type.scalar not in DTYPES:
                raise NotFusedError(f"{o.id} has no type of torch's")
            shape = () if reduce else (*prepared.shape, *o.type.shape)
            results.append((o.id, shape, DTYPES[o.type.scalar], len(o.type.shape)))
        launch = AddressedLaunch(prepared)
        spots = [launch.routes.index(path) for path, _ in read.tensors()]
        factor = 1 / prepared.count if reduce == "mean" else 1.0
        return cls(function, read.device, target.version, launch, results, spots, reduce, factor)

    def placed(self, arguments: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
        """Give the arguments with the addresses of these tensors.

        Raises
        ------
        NotFusedError
            For tensors without memory, as they are within ``torch.vmap``.
        """
        found = list(arguments)
        for spot, address in zip(self.spots, addresses(tensors), strict=True):
            found[spot] = address
        return found

    def forward(self, arguments: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Give the results as new tensors; `tensors` own the memory at the addresses among the arguments."""
        made = tuple([torch.empty(shape, dtype=dtype, device=self.device) for _, shape, dtype, _ in self.results])
        places = [t.data_ptr() for t in made]
        session, launch, held = self.function._target.session, self.launch, (tensors, made)
        if self.reduce:
            launch_on(session, self.device, launch, arguments, sums=places, factor=self.factor, held=held)
        else:
            launch_on(session, self.device, launch, arguments, results=places, held=held)
        if not launch.prepared.looked:
            launch.prepared.looked = True
            session.wait()  # an endless kernel shows itself here, where it can be interrupted
        return made

    def backward(
        self, arguments: Sequence[Any], tensors: Sequence[Any], wanted: tuple[bool, ...], seeds: Sequence[Any]
    ) -> list[Any]:
        """Give the gradients of the wanted tensors, None for the others."""
        target = self.function._target
        if not target.session.entered:  # torch's backward passes run in threads of its own
            target.session.enter()
        if target.version != self.version:
            name = self.function.info.name
            raise GradientError(
                f"{name} was compiled again after this result was computed",
                function=name,
                remedy="compute the result again, then call backward()",
            )
        marks, held = [], []
        for seed, result in zip(seeds, self.results, strict=True):
            if seed is None:
                marks.append(None)
                continue
            seed, mark = seed_mark(seed, result[3])
            marks.append(mark)
            held.append(seed)
        if not held:
            return [None] * len(tensors)
        key = (wanted, *marks)
        plan = self.backwards.get(key)
        if plan is None:
            plan = self.backwards[key] = self._backward(arguments, tensors, wanted, marks, held)
        places = [seed.data_ptr() for seed in held]
        found = plan.run(self.placed(arguments, tensors), places, self.factor, (tensors, held))
        return [None if way is None else way(*found) for way in plan.chosen]

    def _backward(
        self,
        arguments: Sequence[Any],
        tensors: Sequence[Any],
        wanted: tuple[bool, ...],
        marks: Sequence[Any],
        held: Sequence[Any],
    ) -> Backward:
        described = list(arguments)
        for spot, t in zip(self.spots, tensors, strict=True):
            described[spot] = device_array(t)
        routes, rest = self.launch.routes, iter(held)
        weights = {
            result[0]: None if mark is None else seed_array(next(rest), mark)
            for result, mark in zip(self.results, marks, strict=True)
        }
        paths = [routes[spot] if w else None for spot, w in zip(self.spots, wanted, strict=True)]
        return Backward.prepare(self.function, self.device, by_name(routes, described), paths, weights)


def by_name(routes: Sequence[Path], values: Sequence[Any]) -> dict[str, Any]:
    """Put values where their routes lead, in dicts.

    Examples
    --------
    >>> by_name([("x",), ("p", "k")], [1.0, 2.0])
    {'x': 1.0, 'p': {'k': 2.0}}
    """
    found: dict[str, Any] = {}
    for route, value in zip(routes, values, strict=True):
        inside = found
        for key in route[:-1]:
            inside = inside.setdefault(key, {})
        inside[route[-1]] = value
    return found


Way = Callable[[Sequence[Any], Sequence[Any]], Any]


@dataclass
class Backward:
    """A launch for gradients.

    Attributes
    ----------
    function : Function
    device : torch.device
    launch : AddressedLaunch
    stored : list of (shape, dtype)
        Gradients that have memory of their own.
    totals : list of (count, dtype)
        Sums by their type.
    ways : dict of Path to callable
        From that memory to the gradient of what stands at a place.
    chosen : list of callable or None
        The ways to the gradients that were asked for.
    """

    function: Function
    device: Any
    launch: AddressedLaunch
    stored: list[tuple[tuple[int, ...], Any]]
    totals: list[tuple[int, Any]]
    ways: dict[Path, Way]
    chosen: list[Way | None] = field(default_factory=list)

    @classmethod
    def prepare(
        cls,
        function: Function,
        device: Any,
        named: Mapping[str, Any],
        paths: Sequence[Path | None],
        seeds: Mapping[str, Any],
    ) -> Backward:
        """Prepare a launch, after a look at whether the compiler differentiates the function rightly."""
        wrt = tuple(dict.fromkeys(path[0] for path in paths if path is not None))
        callee = find(function, (), named, "backward()")
        made = make_call(function, callee, seeds=seeds)
        launch = AddressedLaunch(made.prepare(Wish("reverse", wrt, addressed=True)))
        audit(made)
        found = cls.of(function, device, launch)
        found.chosen = [None if path is None else found.ways.get(path) for path in paths]
        return found

    @classmethod
    def of(cls, function: Function, device: Any, launch: AddressedLaunch) -> Backward:
        """Say where the gradients of a launch will be.

        Raises
        ------
        NotFusedError
            If one is of a list of numbers for each element, which has no memory on the device.
        """
        stored, ways = [], {}
        for out in launch.prepared.gradients:
            g = out.given
            path = (g.argument, *g.route[1:])
            full = (*g.held.shape, *g.leaf.type.shape)
            dtype = DTYPES[g.leaf.type.scalar]
            if out.by_sum:
                ways[path] = sums_way(launch, launch.prepared.sums.rows.gradients_of(g.leaf.id)[0], full, dtype)
            elif g.held.kind == "array":
                ways[path] = memory_way(len(stored))
                stored.append((full, dtype))
            else:
                raise NotFusedError(f"{g.argument!r} is a list")
        return cls(function, device, launch, stored, [(n, DTYPES[s]) for s, n in launch.totals], ways)

    def run(
        self, arguments: Sequence[Any], seeds: Sequence[int], factor: float, held: Any
    ) -> tuple[list[Any], list[Any]]:
        """Launch; give the memory of gradients, and that of the sums by type. `held` owns what is read."""
        device = self.device
        made = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in self.stored]
        totals = [torch.empty(n, dtype=dtype, device=device) for n, dtype in self.totals]
        launch_on(
            self.function._target.session,
            device,
            self.launch,
            arguments,
            seeds=seeds,
            gradients=[t.data_ptr() for t in made],
            sums=[t.data_ptr() for t in totals],
            factor=factor,
            held=(held, made, totals),
        )
        if not self.launch.prepared.looked:
            self.launch.prepared.looked = True
            self._look(made, totals)
        return made, totals

    def _look(self, made: Sequence[Any], totals: Sequence[Any]) -> None:
        """Warn if a gradient is not finite, or zero everywhere."""
        target, sizes, prepared = self.function._target, {}, self.launch.prepared
        target.session.wait()
        for out in prepared.gradients:
            g = out.given
            found = self.ways[(g.argument, *g.route[1:])](made, totals)
            kind = torch.float64 if found.dtype is torch.float64 else torch.float32
            sizes[g.leaf.id] = torch.linalg.vector_norm(found, 1, dtype=kind).item()
        look_at_sizes(target.session, self.function.info.name, prepared, sizes, 6)


def memory_way(k: int) -> Way:
    """Give a gradient from its own memory."""
    return lambda made, totals: made[k]


def sums_way(launch: AddressedLaunch, row: Row, shape: tuple[int, ...], dtype: Any) -> Way:
    """Give the gradient of a shared leaf, or the value, from the sums; `row` is the first of its rows."""
    k = [scalar for scalar, _ in launch.totals].index(row.scalar)
    start, count = launch.prepared.sums.rows.of(row.scalar).index(row), math.prod(shape)
    if not shape and DTYPES[row.scalar] is dtype:
        return lambda made, totals: totals[k].select(0, start)

    def way(made: Sequence[Any], totals: Sequence[Any]) -> Any:
        found = totals[k].narrow(0, start, count).view(shape)
        return found if found.dtype is dtype else found.to(dtype)

    return way
