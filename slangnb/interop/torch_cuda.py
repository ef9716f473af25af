"""Calls with torch tensors on the session's own card: kernels read and write torch's memory, and nothing waits.

Both are in the card's primary context, so an address of torch is one of the session. A kernel goes to torch's current
stream, and so runs between torch's own kernels in the order of the program. What this module does not take, the way
through host copies does (`torch_autograd`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import get_ident
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
    placed,
    seed_array,
)
from slangnb.runtime.function import Function
from slangnb.runtime.fused.audit import audit
from slangnb.runtime.fused.engine import Call, Wish
from slangnb.runtime.fused.job import PLAIN_KINDS, REAL
from slangnb.runtime.fused.launch import Prepared
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

    Attributes
    ----------
    function : Function
    places : list of Path
        Where the tensors stand.
    device : torch.device
    version : int
        Of what the function means.
    prepared : Prepared
        The forward launch.
    results : list of (id, shape, dtype, number of dimensions of the type)
    reduce : {"", "sum", "mean"}
        What is made of the results of all elements.
    """

    function: Function
    places: list[Path]
    device: Any
    version: int
    prepared: Prepared
    results: list[tuple[str, tuple[int, ...], Any, int]]
    reduce: str = ""
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
        places = [path for path, _ in read.tensors()]
        named = named_values(read.values, device_array)
        callee = HostCall(function, named).callee()
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
        return cls(function, places, read.device, target.version, prepared, results, reduce)

    @property
    def _factor(self) -> float:
        return 1 / self.prepared.count if self.reduce == "mean" else 1.0

    def addresses(self, values: Mapping[str, Any], tensors: Sequence[Any]) -> dict[str, Any]:
        """Give the arguments with addresses in the place of tensors.

        Raises
        ------
        NotFusedError
            For tensors without memory, as they are within ``torch.vmap``.
        """
        return placed(values, self.places, addresses(tensors))

    def forward(self, at: Mapping[str, Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Give the results as new tensors, for arguments with addresses; `tensors` own the memory there."""
        made = [torch.empty(shape, dtype=dtype, device=self.device) for _, shape, dtype, _ in self.results]
        results = {r[0]: t.data_ptr() for r, t in zip(self.results, made, strict=True)}
        sums = {r.scalar: made[0].data_ptr() for r in self.prepared.sums.rows.all}
        session = self.function._target.session
        held = (tensors, made)
        launch_on(session, self.device, self.prepared, {"value": at}, results, {}, sums, self._factor, held)
        if not self.prepared.looked:
            self.prepared.looked = True
            session.wait()  # an endless kernel shows itself here, where it can be interrupted
        return tuple(made)

    def backward(
        self, values: Mapping[str, Any], tensors: Sequence[Any], wanted: Sequence[bool], seeds: Sequence[Any]
    ) -> list[Any]:
        """Give the gradients of the wanted tensors, None for the others."""
        target = self.function._target
        if target.session.thread != get_ident():  # torch's backward passes run in threads of its own
            target.session.enter()
        if target.version != self.version:
            name = self.function.info.name
            raise GradientError(
                f"{name} was compiled again after this result was computed",
                function=name,
                remedy="compute the result again, then call backward()",
            )
        if all(seed is None for seed in seeds):
            return [None] * len(tensors)
        arrays = [None if s is None else seed_array(s, r[3]) for s, r in zip(seeds, self.results, strict=True)]
        kinds = tuple([None if a is None else (a[1].shape, a[1].strides, a[1].scalar) for a in arrays])
        key = (tuple(wanted), kinds)
        plan = self.backwards.get(key)
        if plan is None:
            named = named_values(placed(values, self.places, tensors), device_array)
            weights = {r[0]: None if a is None else a[1] for r, a in zip(self.results, arrays, strict=True)}
            plan = self.backwards[key] = Backward.prepare(self, named, wanted, weights)
        places = {r[0]: a[1].address for r, a in zip(self.results, arrays, strict=True) if a is not None}
        made, totals = plan.run(self.addresses(values, tensors), places, self._factor, (tensors, arrays))
        ways = [plan.ways.get(path) if w else None for path, w in zip(self.places, wanted, strict=True)]
        return [None if way is None else way(made, totals) for way in ways]


Way = Callable[[Mapping[str, Any], Mapping[str, Any]], Any]


@dataclass
class Backward:
    """A launch for gradients.

    Attributes
    ----------
    stored : list of (leaf, shape, dtype)
        Gradients that have memory of their own.
    totals : dict of str to (count, dtype)
        Sums by Slang's name of their type.
    ways : dict of Path to callable
        From that memory to the gradient of what stands at a place.
    """

    function: Function
    device: Any
    prepared: Prepared
    stored: list[tuple[str, tuple[int, ...], Any]]
    totals: dict[str, tuple[int, Any]]
    ways: dict[Path, Way]

    @classmethod
    def prepare(
        cls, call: DeviceCall, named: Mapping[str, Any], wanted: Sequence[bool], seeds: Mapping[str, Any]
    ) -> Backward:
        """Prepare a launch, after a look at whether the compiler differentiates the function rightly."""
        function = call.function
        wrt = tuple(dict.fromkeys(path[0] for path, w in zip(call.places, wanted, strict=True) if w))
        callee = find(function, (), named, "backward()")
        made = make_call(function, callee, seeds=seeds)
        prepared = made.prepare(Wish("reverse", wrt, addressed=True))
        audit(made)
        return cls.of(function, call.device, prepared)

    @classmethod
    def of(cls, function: Function, device: Any, prepared: Prepared) -> Backward:
        """Say where the gradients of a launch will be.

        Raises
        ------
        NotFusedError
            If one is of a list of numbers for each element, which has no memory on the device.
        """
        rows = prepared.sums.rows
        stored, ways = [], {}
        for out in prepared.gradients:
            g = out.given
            path = (g.argument, *g.route[1:])
            full = (*g.held.shape, *g.leaf.type.shape)
            dtype = DTYPES[g.leaf.type.scalar]
            if out.by_sum:
                of = rows.gradients_of(g.leaf.id)
                ways[path] = sums_way(of[0].scalar, rows.of(of[0].scalar).index(of[0]), full, dtype)
            elif g.held.kind == "array":
                stored.append((g.leaf.id, full, dtype))
                ways[path] = memory_way(g.leaf.id)
            else:
                raise NotFusedError(f"{g.argument!r} is a list")
        return cls(function, device, prepared, stored, {s: (len(rows.of(s)), DTYPES[s]) for s in rows.scalars}, ways)

    def run(
        self, values: Mapping[str, Any], seeds: Mapping[str, int], factor: float, held: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Launch; give the memory of gradients by leaf, and of the sums by type. `held` owns what is read."""
        made = {id_: torch.empty(shape, dtype=dtype, device=self.device) for id_, shape, dtype in self.stored}
        totals = {s: torch.empty(n, dtype=dtype, device=self.device) for s, (n, dtype) in self.totals.items()}
        launch_on(
            self.function._target.session,
            self.device,
            self.prepared,
            {"value": values, "seed": seeds},
            gradients={id_: t.data_ptr() for id_, t in made.items()},
            sums={s: t.data_ptr() for s, t in totals.items()},
            factor=factor,
            held=(held, made, totals),
        )
        if not self.prepared.looked:
            self.prepared.looked = True
            self._look(made, totals)
        return made, totals

    def _look(self, made: Mapping[str, Any], totals: Mapping[str, Any]) -> None:
        """Warn if a gradient is not finite, or zero everywhere."""
        target, sizes = self.function._target, {}
        target.session.wait()
        for out in self.prepared.gradients:
            g = out.given
            found = self.ways[(g.argument, *g.route[1:])](made, totals)
            kind = torch.float64 if found.dtype is torch.float64 else torch.float32
            sizes[g.leaf.id] = torch.linalg.vector_norm(found, 1, dtype=kind).item()
        look_at_sizes(target.session, self.function.info.name, self.prepared, sizes, 6)


def memory_way(leaf: str) -> Way:
    """Give the gradient of a leaf from its own memory."""
    return lambda made, totals: made[leaf]


def sums_way(scalar: str, start: int, shape: tuple[int, ...], dtype: Any) -> Way:
    """Give the gradient of a shared leaf from the sums."""
    count = math.prod(shape)
    if not shape and DTYPES[scalar] is dtype:
        return lambda made, totals: totals[scalar].select(0, start)

    def way(made: Mapping[str, Any], totals: Mapping[str, Any]) -> Any:
        found = totals[scalar].narrow(0, start, count).view(shape)
        return found if found.dtype is dtype else found.to(dtype)

    return way
