"""Runs a job: compiles its kernels once, binds the values of a call, and reads back what is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reading.calls import reached
from slangnb.compiler.reflection import Signature, TypeInfo, plain_name
from slangnb.errors import CallError
from slangnb.runtime.fused.finish import Facts, finish
from slangnb.runtime.fused.given import Gathered
from slangnb.runtime.fused.job import Job, Output, components
from slangnb.runtime.fused.ports import AddressedGradient, Gradient, HostGradient, Input, TensorGradient
from slangnb.runtime.fused.stage import Stage, run_stages
from slangnb.runtime.fused.sums import Sums, table, totals
from slangnb.runtime.fused.text import ENTRY, kernel_text
from slangnb.runtime.fused.values import NotFusedError, address_of
from slangnb.runtime.nesting import follow
from slangnb.runtime.tensors import SCALARS

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.module import Module
    from slangnb.runtime.session import Session


@dataclass(slots=True)
class Ran:
    """What a launch gave.

    Attributes
    ----------
    sums : dict of str to float
        By the id of the row; empty unless they were read.
    grads : dict of str to Tensor, Buffer, ndarray or None
        Gradient of each wanted leaf, by id, and of each wanted indexed tensor, by name: a tensor where a tensor came
        in, else a buffer; nothing for one that is among the sums.
    outputs, tangents : dict of str to Tensor or ndarray
        By the id of the output.
    """

    sums: dict[str, float] = field(default_factory=dict)
    grads: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    tangents: dict[str, Any] = field(default_factory=dict)


NOTHING: Mapping[str, Any] = MappingProxyType({})
Sources = Mapping[str, Mapping[Any, Any]]


class Prepared:
    """A job for calls of one kind: same types, same shapes, same wishes.

    Parameters
    ----------
    session : Session
    owner : Module
        The module of the function.
    signature : Signature
        Of the function; held, since plans are found by its identity.
    job : Job
        `finish` decides what it leaves open.
    gathered : Gathered
        The arguments of the first call.
    types : callable
        Name of a type -> SlangPy's type.
    """

    def __init__(
        self,
        session: Session,
        owner: Module,
        signature: Signature,
        job: Job,
        gathered: Gathered,
        types: Callable[[str], Any],
    ) -> None:
        self.signature = signature
        self.shape = gathered.shape
        self.count = math.prod(gathered.shape)
        self.given = gathered.given
        self.tensors = gathered.tensors
        self.session, self._device, self._types = session, session.device, types
        # Results become numpy arrays where no tensor came in, see `autodiff.assemble.results`.
        kinds = {"tensor"} if gathered.tensors or job.tensors else {g.held.kind for g in gathered.given}
        self._for_host = session.backend.software and kinds <= {"number", "numpy"}
        in_place = [g for g in gathered.given if g.leaf.addressed and g.held.kind == "numpy"]
        self._as_arrays = bool(in_place) and kinds <= {"number", "numpy", "parameter"}
        #: Whether a launch must be waited for, since memory that it works on may not outlive the call.
        self.waits = self._for_host or bool(in_place)
        texts = reached(signature.name, session.texts_of(owner)) if session.host_memory else ()
        facts = Facts(session.backend.key, session.host_memory, session.tuned.get, tuple([one.text for one in texts]))
        finished = finish(job, gathered, facts)
        self.job, self.slots, self.kernel_id = finished.job, finished.slots, finished.kernel_id
        self.main = Stage(self._device, session.kernel(kernel_text(self.job), ENTRY, owner))
        self.main.threads = finished.threads
        self.main.set("sn_count", self.count)
        self.main.set("sn_slots", self.slots)
        self._keep: list[slangpy.Buffer] = []
        if finished.layout:
            self._keep.append(table(self._device, list(finished.layout)))
            self.main.put("sn_layout", self._keep[-1])
        self.sums: Any = (totals if job.addressed else Sums)(session, self.job, self.slots, self.main)
        #: About what it keeps alive: arguments, and buffers of its own.
        self.bytes = sum(8 * self.count * len(g.leaf.parts) for g in self.given if not g.leaf.shared)
        #: The rows that tell what is odd about a gradient.
        self.sizes = [r for r in self.sums.rows.all if r.kind == "size"]
        #: The row of the value, if it is asked for.
        self.values = [r for r in self.sums.rows.all if r.kind == "value"]
        #: Whether the gradients of this kind of call were looked at.
        self.looked = False
        #: How often they were.
        self.looks = 0
        #: The leaves that had a gradient other than zero: zeros later on, as at the end of a descent, are no fault.
        self.alive: set[str] = set()
        self._make_ports()

    def _make_ports(self) -> None:
        session, job, main = self.session, self.job, self.main
        reverse = job.mode == "reverse"
        self.inputs = [Input(session, g, main) for g in self.given]
        wanted = [g for g in self.given if g.leaf.wanted and reverse]
        #: The gradients that come out, in the order of the arguments.
        self.gradients: list[Any] = [
            AddressedGradient(session, g, self.shape, main)
            if g.held.kind == "array"
            else HostGradient(session, g, self.shape, main)
            if g.leaf.addressed and g.held.kind == "numpy"
            else Gradient(session, g, self.shape, main, self.sums, job.accumulate)
            for g in wanted
        ]
        self.indexed = [TensorGradient(session, t, self.slots, main, job.accumulate) for t in self.tensors if t.wanted]
        self._read = [t for t in self.tensors if not t.wanted]

    def run(
        self,
        sources: Sources,
        factor: float = 1.0,
        read: bool = True,
        targets: Mapping[str, slangpy.Tensor] = NOTHING,
        results: Mapping[str, slangpy.Tensor] = NOTHING,
    ) -> Ran:
        """Launch.

        Parameters
        ----------
        sources : mapping
            By role, ``"value"``, ``"tangent"`` and ``"seed"``: the values of this call by position or name.
        factor : float
            Of all gradients, but not of the sums that are read.
        read : bool
            Wait, and read the sums.
        targets : mapping, optional
            Tensors that gradients are written to, by the leaf's id or the indexed tensor's name; by default new ones
            are made.
        results : mapping, optional
            Tensors that values are written to, by the output's id.
        """
        entry = self.session.entry
        with entry.lock:
            if not entry.open:
                self.session.enter()
            return self._run(sources, factor, read, targets, results)

    def _run(
        self,
        sources: Sources,
        factor: float,
        read: bool,
        targets: Mapping[str, slangpy.Tensor],
        results: Mapping[str, slangpy.Tensor],
    ) -> Ran:
        ran = Ran()
        main = self.main
        for port in self.inputs:
            port.bind(follow(sources[port.role], port.route))
        for t in self._read:
            main.put_dict(f"sn_in_{t.name}", follow(sources["value"], t.route).uniforms())
        if self.job.scaled:
            main.set("sn_factor", factor)
        stages = [main, *self.sums.stages]
        for out in self.gradients:
            if not targets and out.by_sum:
                continue
            g = out.given
            place, extra = out.bind(follow(sources["value"], g.route), targets.get(g.leaf.id), factor)
            ran.grads[g.leaf.id] = place
            stages += extra
        for out in self.indexed:
            t = out.given
            value = follow(sources["value"], t.route)
            ran.grads[t.name], extra = out.bind(value, targets.get(t.name), factor)
            stages += extra
        if self.job.stores:
            for o in self.job.outputs:
                ran.outputs[o.id] = made = self._result(o, results)
                self._place(o, f"sn_out_o_{o.mark}", made)
                if self.job.mode == "tangent" and o.derivable:
                    ran.tangents[o.id] = made = self._tangent_result(o)
                    self._place(o, f"sn_tan_o_{o.mark}", made)
        cleared = [out.cleared for out in (*self.indexed, *self.gradients) if out.cleared is not None]
        copies = self.sums.copies if read else ()
        run_stages(self.session, stages, read or self.waits, (sources, ran), copies, cleared)
        if read:
            ran.sums = self.sums.read()
            for out in self.gradients:
                if out.own is not None and out.given.leaf.id in ran.grads:
                    ran.grads[out.given.leaf.id] = out.own.to_numpy()
        return ran

    def _place(self, o: Output, name: str, made: Any) -> None:
        """Bind what a result goes to."""
        if isinstance(made, np.ndarray):
            self.main.set(name, address_of(made))
        else:
            self.main.put_loosely(name, made.storage, self.job.by_address(o))

    def _result(self, o: Output, results: Mapping[str, slangpy.Tensor]) -> Any:
        if o.id in results:
            return results[o.id]
        if self._as_arrays and self.job.by_address(o):
            return np.empty((*self.shape, *o.type.shape), SCALARS[o.type.scalar])
        return self._empty(o.type, self._types(o.type.name))

    def _tangent_result(self, o: Output) -> Any:
        if self._as_arrays and self.job.by_address(o):
            return np.empty((*self.shape, *o.type.shape), SCALARS[o.type.scalar])
        made = self._types(o.type.name)
        return self._empty(o.type, made if o.type.kind != "struct" else made.derivative)

    def _empty(self, t: TypeInfo, dtype: Any) -> slangpy.Tensor:
        stride = dtype.buffer_layout.stride
        if t.scalar == "bool" and t.kind != "scalar":
            name, function = plain_name(t.name), self.signature.name
            raise CallError(
                f"{function} gives {name}, which SlangPy 0.43 cannot read back",
                function=function,
                remedy=f"make it {name.replace('bool', 'int')}",
            )
        one = np.dtype(SCALARS[t.scalar]).itemsize if t.scalar in SCALARS else stride  # a bool's is the backend's own
        if t.kind != "struct" and stride != one * len(components(t)):
            raise NotFusedError(f"{t.name} is stored with gaps")
        memory = "read_back" if self._for_host and t.kind != "struct" else "device_local"
        made = self.session.pool.tensor(dtype, self.shape or (1,), self.count * stride, memory)
        self.session.writes.forget(made)
        return made
