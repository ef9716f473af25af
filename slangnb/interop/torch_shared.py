"""Calls with torch tensors in memory that the session computes in: kernels read and write it, and nothing is copied.

On CUDA both are in the card's primary context, so an address of torch is one of the session. A kernel goes to torch's
current stream, and so runs between torch's own kernels in the order of the program; nothing waits. Software Vulkan
computes in the memory of the process, and waits. What this module does not take, the way through host copies does
(`torch_autograd`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from slangnb.compiler.reflection import PLAIN_KINDS, REAL
from slangnb.interop.host_calls import HostCall
from slangnb.interop.torch_ahead import Ahead, Given
from slangnb.interop.torch_arguments import TorchArguments, replaced_error, replaced_paths, tensor_kind
from slangnb.interop.torch_autograd import refuse_batched
from slangnb.interop.torch_backward import Backward
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
from slangnb.interop.torch_watch import Watch, seen
from slangnb.runtime.function import Function
from slangnb.runtime.fused.addressed import AddressedLaunch
from slangnb.runtime.fused.engine import Call, Wish
from slangnb.runtime.fused.values import ALIGNED, NotFusedError
from slangnb.runtime.nesting import Path, nested, values_in
from slangnb.runtime.stale import compiled_again


def takes(read: TorchArguments, tracked: bool) -> bool:
    """Tell whether a call may go this way: tensors of the parameters' own types, and numbers."""
    if not read.parameters or any(p.io != "in" or p.type.kind == "tensor" for p in read.parameters.values()):
        return False
    if not all(isinstance(value, torch.Tensor | int | float) for value in values_in(read.values.values())):
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


def layout_of(t: Any) -> tuple[Any, ...]:
    """Give how a tensor lies, and how far off the next alignment."""
    return t.stride(), t.data_ptr() % ALIGNED


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
    kinds : list of (dtype, shape, device)
        Of the tensors.
    layouts : list of (strides, int)
        Of the tensors: how they lie, and how far off the next alignment.
    reduce : {"", "sum", "mean"}
        What is made of the results of all elements.
    factor : float
        Of that.
    backwards : dict
        The launches for gradients, by what is asked for.
    ahead : Ahead or None
        The launch that gives the gradients along, for calls whose gradients are asked for again and again.
    looked_ahead : bool
        Whether there can be one was found out.
    watch : Watch
        Of the gradients.
    """

    function: Function
    device: Any
    version: int
    launch: AddressedLaunch
    results: list[tuple[str, tuple[int, ...], Any, int]]
    spots: list[int]
    kinds: list[tuple[Any, ...]]
    layouts: list[tuple[Any, ...]]
    reduce: str = ""
    factor: float = 1.0
    backwards: dict[Any, Backward] = field(default_factory=dict)
    ahead: Ahead | None = None
    looked_ahead: bool = False
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = Watch(self.function, "backward()")

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
        function = read.function
        callee = HostCall(function, named_values(read.values, device_array)).callee()
        if callee is None:
            raise NotFusedError("SlangPy makes this call")
        target = function.target
        call = Call.of(target, callee.bound, callee.call, callee.prelude)
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
        kinds = [tensor_kind(t) for _, t in read.tensors()]
        layouts = [layout_of(t) for _, t in read.tensors()]
        factor = 1 / prepared.count if reduce == "mean" else 1.0
        return cls(function, read.device, target.version, launch, results, spots, kinds, layouts, reduce, factor)

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
        places = addresses(made)
        session, launch, held = self.function.session, self.launch, (tensors, made)
        if self.reduce:
            launch_on(session, self.device, launch, arguments, sums=places, factor=self.factor, held=held)
        else:
            launch_on(session, self.device, launch, arguments, results=places, held=held)
        if not launch.prepared.looked:
            launch.prepared.looked = True
            session.wait()  # an endless kernel shows itself here, where it can be interrupted
        return made

    def backward(
        self,
        arguments: Sequence[Any],
        tensors: Sequence[Any],
        wanted: tuple[bool, ...],
        seeds: Sequence[Any],
        given: Given | None = None,
    ) -> list[Any]:
        """Give the gradients of the wanted tensors, None for the others; `given` is what the forward launch gave."""
        target = self.function.target
        target.require()
        if target.version != self.version:
            raise compiled_again(self.function.info.name)
        refuse_batched(self.function.info.name, seeds)
        self.watch.look(lambda: self._named(arguments, tensors, seen))
        at = self._placed_again(arguments, tensors)
        if self.ahead is not None:
            self.ahead.unasked = 0
        scaled = given.gradients(wanted, seeds[0]) if given is not None else None
        if scaled is not None:
            return scaled
        if given is not None:
            given.found.clear()  # a result that is kept would keep them
        if not target.session.entered:  # torch's backward passes run in threads of its own
            target.session.enter()
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
        # Torch's hooks may give other tensors back than those of the forward pass.
        layouts = [layout_of(t) for t in tensors]
        key = (wanted, *marks, *layouts)
        plan = self.backwards.get(key)
        if plan is None:
            plan = self.backwards[key] = self._backward(arguments, tensors, wanted, marks, held)
        elif len(seeds) == 1 and not any(seeds[0].stride()) and layouts == self.layouts:
            self._look_ahead(arguments, tensors, wanted)
        places = [seed.data_ptr() for seed in held]
        found = plan.run(at, places, self.factor, (tensors, held))
        return [None if way is None else way(*found) for way in plan.chosen]

    def _look_ahead(self, arguments: Sequence[Any], tensors: Sequence[Any], wanted: tuple[bool, ...]) -> None:
        """Let later forward launches give the gradients along, once a second backward pass asked for them."""
        if not self.looked_ahead:
            self.looked_ahead = True
            self.ahead = Ahead.prepare(self, *self._described(arguments, tensors, wanted))

    def _placed_again(self, arguments: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
        """Do as `placed`; refuse tensors that were replaced by others since the forward pass."""
        routes = self.launch.routes
        if [tensor_kind(t) for t in tensors] == self.kinds:
            try:
                return self.placed(arguments, tensors)
            except NotFusedError:  # the memory was given back
                other = [routes[spot] for spot, t in zip(self.spots, tensors, strict=True) if not t.data_ptr()]
        else:
            other = replaced_paths([routes[spot] for spot in self.spots], self.kinds, tensors)
        raise replaced_error(self.function.info.name, other[0])

    def _backward(
        self,
        arguments: Sequence[Any],
        tensors: Sequence[Any],
        wanted: tuple[bool, ...],
        marks: Sequence[Any],
        held: Sequence[Any],
    ) -> Backward:
        rest = iter(held)
        weights = {
            result[0]: None if mark is None else seed_array(next(rest), mark)
            for result, mark in zip(self.results, marks, strict=True)
        }
        return Backward.prepare(self.function, self.device, *self._described(arguments, tensors, wanted), weights)

    def _described(
        self, arguments: Sequence[Any], tensors: Sequence[Any], wanted: tuple[bool, ...]
    ) -> tuple[dict[str, Any], list[Path | None]]:
        """Give the arguments by name, with descriptions of the tensors, and the places of the wanted gradients."""
        routes = self.launch.routes
        paths = [routes[spot] if w else None for spot, w in zip(self.spots, wanted, strict=True)]
        return self._named(arguments, tensors, device_array), paths

    def _named(
        self, arguments: Sequence[Any], tensors: Sequence[Any], describe: Callable[[Any], Any]
    ) -> dict[str, Any]:
        """Give the arguments by name, with descriptions of the tensors."""
        described = list(arguments)
        for spot, t in zip(self.spots, tensors, strict=True):
            described[spot] = describe(t)
        return nested(self.launch.routes, described)
