"""Runs a job: compiles its kernels once, binds the values of a call, and reads back what is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.compiler.reflection import Signature, TypeInfo
from slangnb.runtime.fused.gather import Gathered, Given, GivenTensor, strides_in
from slangnb.runtime.fused.job import GROUP, Job, Output, accumulator, rows
from slangnb.runtime.fused.stage import Stage, submit
from slangnb.runtime.fused.sums import Fold, Sums, storage, table
from slangnb.runtime.fused.text import ENTRY, kernel_text
from slangnb.runtime.fused.tuning import copies, per_thread
from slangnb.runtime.fused.values import NotFusedError, packed_strides, scalars
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
    grads : dict of str to Tensor or Buffer
        Gradient of each wanted leaf that is not shared, and of each wanted indexed tensor, by id: a tensor where a
        tensor came in, else a buffer.
    outputs, tangents : dict of str to Tensor
        By the id of the output.
    """

    sums: dict[str, float] = field(default_factory=dict)
    grads: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    tangents: dict[str, Any] = field(default_factory=dict)


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
        `per_thread`, `exact` and `rank` are decided here.
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
        self._session, self._device, self._types = session, session.device, types
        if max((self.count * len(g.leaf.parts) for g in self.given), default=0) >= 1 << 32:
            raise NotFusedError("more than 2^32 numbers")
        strided = [g for g in self.given if g.leaf.access == "strided"]
        dims, strides = collapse(self.shape, [strides_in(g, self.shape) for g in strided])
        k = per_thread(self.count, session.backend.software)
        threads = -(-self.count // (k * GROUP)) * GROUP
        self.groups = threads // GROUP
        self.job = replace(
            job,
            per_thread=k,
            exact=threads * k == self.count,
            # Software Vulkan runs a barrier by switching between all threads of the group: measured 3 times slower.
            slots="thread" if session.backend.software else "group",
            rank=len(dims) if strided else 0,
        )
        slots = threads if self.job.slots == "thread" else self.groups
        self._main = Stage(self._device, session.kernel(kernel_text(self.job), ENTRY, owner))
        self._main.threads = threads
        for name, number in (("sn_count", self.count), ("sn_threads", threads), ("sn_slots", slots)):
            self._main.set(name, number)
        self._keep: list[slangpy.Buffer] = []
        if strided:
            offsets = [g.held.offset for g in strided]
            numbers = [n for o, s in zip(offsets, strides, strict=True) for n in (o, *s)]
            self._keep.append(table(self._device, [*dims, *numbers]))
            self._main.put("sn_layout", self._keep[-1])
        self.sums = Sums(session, rows(self.job), slots, self._main)
        #: About what it keeps alive: arguments, and buffers of its own.
        self.bytes = sum(8 * self.count * len(g.leaf.parts) for g in self.given if not g.leaf.shared)
        self._own: dict[str, slangpy.Buffer] = {}
        self._folds: dict[str, Fold] = {}

    def run(
        self,
        fetch: Callable[[Given | GivenTensor], Any],
        seed: float = 1.0,
        read: bool = True,
        targets: Mapping[str, slangpy.Tensor] | None = None,
        results: Mapping[str, slangpy.Tensor] | None = None,
    ) -> Ran:
        """Launch.

        Parameters
        ----------
        fetch : callable
            Gives the value of a leaf or tensor in this call.
        seed : float
            Upstream gradient of all elements, where there are no seeds.
        read : bool
            Wait, and read the sums.
        targets : mapping, optional
            Tensors that gradients are written to, by the leaf's id; by default new ones are made.
        results : mapping, optional
            Tensors that values are written to, by the output's id.
        """
        ran = Ran()
        main = self._main
        for g in self.given:
            self._bind(g, fetch(g))
        if self.job.mode == "reverse":
            main.set("sn_seed", seed)
        after: list[Stage] = list(self.sums.stages)
        if self.job.mode == "reverse":
            for g in self.given:
                if g.leaf.wanted:
                    after += self._gradient(g, fetch, targets, ran)
        cleared = self._bind_tensors(fetch, targets, after, ran)
        if self.job.stores:
            for o in self.job.outputs:
                ran.outputs[o.id] = made = self._result(o, results)
                main.put_loosely(f"out_{o.id}", made.storage)
                if self.job.mode == "tangent":
                    ran.tangents[o.id] = made = self._tangent_result(o)
                    main.put_loosely(f"tan_{o.id}", made.storage)
        number = submit(self._device, [main, *after], self.sums.copies if read else (), cleared)
        if read:
            self._session.wait(number)
            ran.sums = self.sums.read()
        return ran

    def _bind(self, g: Given, value: Any) -> None:
        leaf, main = g.leaf, self._main
        if leaf.access == "uniform":
            for k, n in enumerate(scalars(value, g.held.kind, leaf.type).tolist()):
                main.set(f"in_{leaf.id}_{k}", n)
        elif g.held.kind == "tensor" and not g.held.copied:
            main.put(f"in_{leaf.id}", value.storage)
        else:
            array = scalars(value, g.held.kind, leaf.type)
            own = self._scratch(f"in {leaf.id}", array.nbytes)
            own.copy_from_numpy(array)
            main.put(f"in_{leaf.id}", own)

    def _scratch(self, key: str, size: int) -> slangpy.Buffer:
        """Give a buffer of this job's own, the same at every launch."""
        found = self._own.get(key)
        if found is None or found.size < size:
            found = self._own[key] = storage(self._device, size)
        return found

    def _gradient(
        self, g: Given, fetch: Callable[[Given | GivenTensor], Any], targets: Mapping[str, Any] | None, ran: Ran
    ) -> list[Stage]:
        """Bind where a leaf's gradient goes; give the stages that bring it there."""
        leaf = g.leaf
        target = None if targets is None else targets.get(leaf.id)
        if leaf.shared:
            if target is None and g.held.kind == "tensor":
                target = ran.grads[leaf.id] = self._like(fetch(g), g)
            return self._send_sum(g, target, ran) if target is not None else []
        size = np.dtype(SCALARS[leaf.type.scalar]).itemsize if not leaf.whole else 0
        n = len(leaf.parts)
        made: Any
        if target is not None:
            made = target
        elif g.held.kind == "tensor":
            made = self._like(fetch(g), g)
        else:
            made = self._scratch(f"out {leaf.id}", math.prod(g.held.shape) * n * size)
        ran.grads[leaf.id] = made
        buffer = made if target is None and g.held.kind != "tensor" else made.storage
        direct = g.held.shape == self.shape and (target is None or is_plain(target))
        if direct:
            self._main.put_loosely(f"out_{leaf.id}", buffer)
            return []
        whole = self._scratch(f"whole {leaf.id}", self.count * n * size)
        self._main.put(f"out_{leaf.id}", whole)
        to = packed_strides(g.held.shape, n) if target is None else _scalar_strides(target, len(g.held.shape))
        offset = 0 if target is None else target.offset * math.prod(target.dtype.shape.as_tuple())
        fold = self._folds.get(leaf.id)
        if fold is None:
            kept, folded = fold_dimensions(self.shape, g.held.shape, n, to)
            kind = leaf.type.scalar
            types = (kind, accumulator(kind), kind)
            fold = self._folds[leaf.id] = Fold(
                self._session, types, kept, folded, 0, offset, self.job.accumulate and target is not None
            )
        fold.bind(whole, buffer)
        return fold.stages

    def _send_sum(self, g: Given, target: slangpy.Tensor, ran: Ran) -> list[Stage]:
        """Write, or add, the summed gradient of a shared leaf to a tensor."""
        leaf = g.leaf
        row = next(r for r in self.sums.rows.all if r.leaf == leaf.id)
        source, start = self.sums.source(row)
        fold = self._folds.get(leaf.id)
        if fold is None:
            terms = self.sums.terms
            types = (row.scalar, row.scalar, leaf.type.scalar)
            offset = target.offset * math.prod(target.dtype.shape.as_tuple())
            fold = self._folds[leaf.id] = Fold(
                self._session,
                types,
                [(len(leaf.parts), terms, 1)],
                [(terms, 1)],
                start,
                offset,
                self.job.accumulate and leaf.id not in ran.grads,
            )
        fold.bind(source, target.storage)
        return fold.stages

    def _bind_tensors(
        self,
        fetch: Callable[[Given | GivenTensor], Any],
        targets: Mapping[str, Any] | None,
        after: list[Stage],
        ran: Ran,
    ) -> list[slangpy.Buffer]:
        """Bind tensors that the function indexes; give the buffers to be cleared first."""
        cleared = []
        for t in self.tensors:
            value = fetch(t)
            name = f"in_{t.name}"
            if not t.wanted or self.job.mode != "reverse":
                self._main.put_dict(name, value.uniforms())
                continue
            shape = value.shape.as_tuple()
            inner = math.prod(value.dtype.shape.as_tuple())
            elements = math.prod(shape)
            n = copies(elements * inner, self.groups)
            buffer = self._scratch(f"copies {t.name}", n * elements * value.dtype.buffer_layout.stride)
            cleared.append(buffer)
            strides = list(packed_strides(shape))
            bound = {"_data": buffer, "_shape": list(shape), "_strides": strides, "_offset": 0}
            self._main.put_dict(name, {"_primal": value.uniforms(), "_grad_out": bound})
            self._main.set(f"sn_copies_{t.name}", n)
            self._main.set(f"sn_span_{t.name}", elements)
            target = None if targets is None else targets.get(t.name)
            made = target if target is not None else self._session.pool.like(value)
            fold = self._folds.get(t.name)
            if fold is None:
                kept, folded = [(elements * inner, 1, 1)], [(n, elements * inner)]
                accumulate = self.job.accumulate and target is not None
                fold = self._folds[t.name] = Fold(
                    self._session, ("float", "float", "float"), kept, folded, 0, 0, accumulate
                )
            fold.bind(buffer, made.storage)
            after += fold.stages
            ran.grads[t.name] = made
        return cleared

    def _like(self, value: slangpy.Tensor, g: Given) -> slangpy.Tensor:
        """Make a tensor for the gradient of a tensor; of a struct's derivative for structs."""
        import slangpy as spy

        if g.leaf.whole:
            return spy.Tensor.empty(self._device, shape=value.shape, dtype=value.dtype.derivative)
        if g.held.copied:
            flat = (*g.held.shape, *g.leaf.type.shape)
            kind = self._types(g.leaf.type.scalar)
            return self._session.pool.tensor(kind, flat, math.prod(flat) * kind.buffer_layout.stride)
        return self._session.pool.like(value)

    def _result(self, o: Output, results: Mapping[str, slangpy.Tensor] | None) -> slangpy.Tensor:
        if results is not None and o.id in results:
            return results[o.id]
        return self._empty(o.type, self._types(o.type.name))

    def _tangent_result(self, o: Output) -> slangpy.Tensor:
        made = self._types(o.type.name)
        return self._empty(o.type, made if o.type.kind != "struct" else made.derivative)

    def _empty(self, t: TypeInfo, dtype: Any) -> slangpy.Tensor:
        stride = dtype.buffer_layout.stride
        if t.kind != "struct" and stride != np.dtype(SCALARS[t.scalar]).itemsize * len(Output("", t).parts):
            raise NotFusedError(f"{t.name} is stored with gaps")
        return self._session.pool.tensor(dtype, self.shape or (1,), self.count * stride)


def is_plain(t: slangpy.Tensor) -> bool:
    """Tell whether a tensor's elements lie in order from the start of its storage."""
    return t.offset == 0 and t.strides.as_tuple() == packed_strides(t.shape.as_tuple())


def _scalar_strides(t: slangpy.Tensor, dims: int) -> tuple[int, ...]:
    step = math.prod(t.dtype.shape.as_tuple())
    return tuple(s * step for s in t.strides.as_tuple()[:dims])


def fold_dimensions(
    shape: tuple[int, ...], own: tuple[int, ...], parts: int, to: tuple[int, ...]
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Say which dimensions of a gradient for each element stay, and which are summed over.

    Parameters
    ----------
    shape, own : tuple of int
        Of the call, and of the value that was repeated.
    parts : int
        Scalars of an element.
    to : tuple of int
        Strides of the result, in scalars; a stride of 0 means that these elements are one in memory.

    Examples
    --------
    >>> fold_dimensions((5, 3), (3,), 2, (2,))
    ([(3, 2, 2), (2, 1, 1)], [(5, 6)])
    """
    steps = packed_strides(shape, parts)
    sizes = (1,) * (len(shape) - len(own)) + own
    targets = (0,) * (len(shape) - len(own)) + to
    kept, folded = [], []
    for n, size, step, target in zip(shape, sizes, steps, targets, strict=True):
        if size == 1 or target == 0:
            folded.append((n, step))
        else:
            kept.append((n, step, target))
    return [*kept, (parts, 1, 1)], folded or [(1, 0)]


def collapse(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Merge dimensions that lie one after the other for all strided values.

    Examples
    --------
    >>> collapse((4, 5, 3), [(0, 0, 1)])
    ((20, 3), [(0, 1)])
    >>> collapse((4, 5), [(5, 1), (1, 4)])
    ((4, 5), [(5, 1), (1, 4)])
    """
    dims: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if dims and all(m[-1] == s[d] * n for m, s in zip(merged, strides, strict=True)):
            dims[-1] *= n
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[d]
            continue
        dims.append(n)
        for m, s in zip(merged, strides, strict=True):
            m.append(s[d])
    if not dims:
        return (1,), [(0,) for _ in strides]
    return tuple(dims), [tuple(m) for m in merged]
