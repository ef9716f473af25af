"""The backward launch of a call in shared memory, and where its gradients are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.autodiff.callee import find
from slangnb.autodiff.transforms import make_call
from slangnb.interop.torch_memory import DTYPES, addresses, launch_on
from slangnb.runtime.function import Function
from slangnb.runtime.fused.addressed import AddressedLaunch
from slangnb.runtime.fused.engine import Wish
from slangnb.runtime.fused.job import Row
from slangnb.runtime.fused.values import NotFusedError
from slangnb.runtime.health import look_at_sizes
from slangnb.runtime.nesting import Path

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
    totals : list of (shape, dtype)
        Sums by their type; a single one has no dimensions.
    ways : dict of Path to callable
        From that memory to the gradient of what stands at a place.
    chosen : list of callable or None
        The ways to the gradients that were asked for.
    """

    function: Function
    device: Any
    launch: AddressedLaunch
    stored: list[tuple[tuple[int, ...], Any]]
    totals: list[tuple[tuple[int, ...], Any]]
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
        value: bool = False,
        stores: bool = False,
    ) -> Backward:
        """Prepare a launch.

        With `value` it sums the results as well, with `stores` it stores them.
        """
        wrt = tuple(dict.fromkeys(path[0] for path in paths if path is not None))
        callee = find(function, (), named, "backward()")
        made = make_call(function, callee, seeds=seeds)
        launch = AddressedLaunch(made.prepare(Wish("reverse", wrt, value, stores, addressed=True)))
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
            g, path = out.given, cls.path_of(out)
            dtype = DTYPES[g.leaf.type.scalar]
            if out.by_sum:
                row = launch.prepared.sums.rows.gradients_of(g.leaf.id)[0]
                ways[path] = sums_way(launch, row, g.shape, dtype)
            elif g.held.kind == "array":
                ways[path] = memory_way(len(stored))
                stored.append((g.shape, dtype))
            else:
                raise NotFusedError(f"{g.argument!r} is a list")
        totals = [((n,) if n > 1 else (), DTYPES[scalar]) for scalar, n in launch.totals]
        return cls(function, device, launch, stored, totals, ways)

    @staticmethod
    def path_of(out: Any) -> Path:
        """Give the place in a call whose gradient one of the launch's is."""
        return out.given.argument, *out.given.route[1:]

    def run(
        self, arguments: Sequence[Any], seeds: Sequence[int], factor: float, held: Any, results: Sequence[int] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Launch; give the memory of gradients, and that of the sums by type. `held` owns what is read and stored."""
        device = self.device
        made = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in self.stored]
        totals = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in self.totals]
        launch_on(
            self.function.session,
            device,
            self.launch,
            arguments,
            seeds=seeds,
            results=results,
            gradients=addresses(made),
            sums=addresses(totals),
            factor=factor,
            held=(held, made, totals),
        )
        if not self.launch.prepared.looked:
            self.launch.prepared.looked = True
            self._look(made, totals)
        return made, totals

    def _look(self, made: Sequence[Any], totals: Sequence[Any]) -> None:
        """Warn if a gradient is not finite, or zero everywhere."""
        target, sizes, prepared = self.function.target, {}, self.launch.prepared
        target.session.wait()
        for out in prepared.gradients:
            g = out.given
            found = self.ways[self.path_of(out)](made, totals)
            kind = torch.float64 if found.dtype is torch.float64 else torch.float32
            sizes[g.leaf.id] = torch.linalg.vector_norm(found, 1, dtype=kind).item()
        look_at_sizes(target, self.function.info.name, prepared, sizes)


def memory_way(k: int) -> Way:
    """Give a gradient from its own memory."""
    return lambda made, totals: made[k]


def sums_way(launch: AddressedLaunch, row: Row, shape: tuple[int, ...], dtype: Any) -> Way:
    """Give the gradient of a shared leaf, or the value, from the sums; `row` is the first of its rows.

    Sums of one type lie side by side. Each is a tensor in its own right, as `data` gives it: to torch, work in place
    on a mere view changes all views. Copies would be launches.
    """
    k = [scalar for scalar, _ in launch.totals].index(row.scalar)
    start, count = launch.prepared.sums.rows.of(row.scalar).index(row), math.prod(shape)
    alone = launch.totals[k][1] == 1
    if not shape and DTYPES[row.scalar] is dtype:
        return (lambda made, totals: totals[k]) if alone else (lambda made, totals: totals[k].select(0, start).data)

    def way(made: Sequence[Any], totals: Sequence[Any]) -> Any:
        found = (totals[k] if alone else totals[k].narrow(0, start, count)).view(shape).data
        return found if found.dtype is dtype else found.to(dtype)

    return way
