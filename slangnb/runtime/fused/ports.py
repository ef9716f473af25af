"""Where the values of a call enter a launch, and where its gradients come out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.runtime.fused.folding import fold_dimensions, scalar_offset, scalar_strides, takes_all
from slangnb.runtime.fused.given import Given, GivenTensor
from slangnb.runtime.fused.job import accumulator
from slangnb.runtime.fused.policy import copies
from slangnb.runtime.fused.stage import Stage
from slangnb.runtime.fused.sums import Fold, Sums, storage
from slangnb.runtime.fused.values import address_of, scalars
from slangnb.runtime.tensors import SCALARS, check_extent, packed_strides

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session


class Input:
    """Binds the value of one leaf; what is the same as at the last call stays bound."""

    def __init__(self, session: Session, g: Given, main: Stage) -> None:
        self.given, self.role, self.route = g, g.role, g.route
        self._session, self._main = session, main
        self._name = f"sn_in_{g.leaf.id}"
        self._names = [f"{self._name}_{k}" for k in range(len(g.leaf.parts))]
        self._number = g.leaf.access == "uniform" and len(self._names) == 1
        self._addressed = g.leaf.addressed
        self._tensor: slangpy.Tensor | None = None
        self._storage: slangpy.Buffer | None = None
        self._own: slangpy.Buffer | None = None

    def bind(self, value: Any) -> None:
        """Bind the value of this call."""
        if self._number and type(value) is float:
            self._main.set(self._names[0], value)
            return
        if self._addressed and self.given.held.kind != "tensor":
            self._main.set(self._name, value if type(value) is int else address_of(value))
            return
        g = self.given
        if g.leaf.access == "uniform":
            for name, n in zip(self._names, scalars(value, g.held.kind, g.leaf.type, g.argument).tolist(), strict=True):
                self._main.set(name, n)
        elif g.held.kind == "tensor" and not g.held.copied:
            data = value.storage
            if value is not self._tensor or data is not self._storage:
                check_extent(value, repr(g.argument))
                self._tensor, self._storage = value, data
                self._main.put(self._name, data, self._addressed)
        else:
            array = scalars(value, g.held.kind, g.leaf.type, g.argument)
            if array.dtype.kind == "b":
                array = array.astype(np.int32)  # as the kernel reads it
            if self._own is None:
                memory = "upload" if self._session.backend.software else "device_local"
                self._own = storage(self._session.device, array.nbytes, memory)
                self._main.put(self._name, self._own)
            self._own.copy_from_numpy(array)


class Gradient:
    """Brings the gradient of a leaf to a tensor, or to a buffer that Python reads.

    A value for each element goes there directly. One that elements share is the sum of a row; one that is repeated
    along some dimensions is folded over these.
    """

    def __init__(
        self, session: Session, g: Given, shape: tuple[int, ...], main: Stage, sums: Sums, accumulate: bool
    ) -> None:
        self.given = g
        self._session, self._main, self._sums, self._accumulate = session, main, sums, accumulate
        self._shape = shape
        self._name = f"sn_out_{g.leaf.id}"
        self._fold: Fold | None = None
        self._folds_to: Any = None  # strides and offset of the target that it was made for
        self._parts = len(g.leaf.parts)
        #: Whether Python reads it: from the sums, or from a buffer.
        self.on_host = g.held.kind != "tensor"
        #: Whether it is among the sums, unless a target is given.
        self.by_sum = g.leaf.shared and self.on_host
        #: What Python reads it from.
        self.own: slangpy.Buffer | None = None
        self._kind: tuple[Any, Any, int] | None = None  # of new tensors: type, shape, bytes
        self._whole: slangpy.Buffer | None = None
        if not g.leaf.whole:
            size = np.dtype(SCALARS[g.leaf.type.scalar]).itemsize
            if self.on_host and not g.leaf.shared:
                memory = "read_back" if session.backend.software else "device_local"
                self.own = storage(session.device, math.prod(g.held.shape) * self._parts * size, memory)
            self._whole_size = math.prod(shape) * self._parts * size

    def bind(self, value: Any, target: slangpy.Tensor | None, factor: float) -> tuple[Any, list[Stage]]:
        """Bind the place of this call's gradient.

        Parameters
        ----------
        value : object
            The argument.
        target : Tensor or None
            Where the gradient goes; None: somewhere new.
        factor : float
            Of sums that stay on the device.

        Returns
        -------
        place : Tensor or Buffer or None
            Where it will be; None for a sum that Python reads.
        stages : list of Stage
            What brings it there after the main stage.
        """
        g = self.given
        if self.by_sum and target is None:
            return None, []
        made: Any = target if target is not None else self.own if self.on_host else self._like(value)
        buffer = made if made is self.own else made.storage
        if g.leaf.shared:
            return made, self._sum_into(made, factor)
        if g.held.shape == self._shape and (target is None or takes_all(target, g.held.shape)):
            self._main.put_loosely(self._name, buffer, g.leaf.addressed)
            return made, []
        if self._whole is None:
            self._whole = storage(self._session.device, self._whole_size)
        self._main.put(self._name, self._whole, g.leaf.addressed)
        to, offset = packed_strides(g.held.shape, self._parts), 0
        if target is not None:
            to, offset = scalar_strides(target, g.held.shape), scalar_offset(target)
        if self._fold is None or self._folds_to != (to, offset):
            self._folds_to = to, offset
            kept, folded = fold_dimensions(self._shape, g.held.shape, self._parts, to)
            kind = g.leaf.type.scalar
            types = (kind, accumulator(kind), kind)
            self._fold = Fold(self._session, types, kept, folded, 0, offset, self._accumulate)
        self._fold.bind(self._whole, buffer)
        return made, self._fold.stages

    @property
    def cleared(self) -> slangpy.Buffer | None:
        """What must be zero before the launch: what the main stage adds to, before it is folded."""
        return self._whole if self._accumulate else None

    def _sum_into(self, made: slangpy.Tensor, factor: float) -> list[Stage]:
        row = self._sums.rows.gradients_of(self.given.leaf.id)[0]
        source, start = self._sums.source(row)
        offset = scalar_offset(made)
        if self._fold is None or self._folds_to != ((), offset):
            self._folds_to = (), offset
            terms = self._sums.terms
            types = (row.scalar, row.scalar, self.given.leaf.type.scalar)
            kept = [(self._parts, terms, 1)]
            self._fold = Fold(self._session, types, kept, [(terms, 1)], start, offset, self._accumulate)
        self._fold.bind(source, made.storage, factor)
        return self._fold.stages

    def _like(self, value: slangpy.Tensor) -> slangpy.Tensor:
        """Make a tensor for the gradient of a tensor; of a struct's derivative for structs."""
        if self._kind is None:
            self._kind = self._kind_of(value)
        dtype, shape, size = self._kind
        return self._session.pool.tensor(dtype, shape, size)

    def _kind_of(self, value: slangpy.Tensor) -> tuple[Any, Any, int]:
        if self.given.leaf.whole:
            dtype = value.dtype.derivative
            return dtype, value.shape, value.element_count * dtype.buffer_layout.stride
        if value.dtype.buffer_layout.stride != np.dtype(SCALARS[self.given.leaf.type.scalar]).itemsize * math.prod(
            value.dtype.shape.as_tuple()
        ):
            raise ValueError("a tensor with gaps has no gradient of its own kind")
        return value.dtype, value.shape, value.element_count * value.dtype.buffer_layout.stride


class AddressedGradient:
    """Brings the gradient of a `DeviceArray` to an address; one that elements share is among the sums."""

    def __init__(self, session: Session, g: Given, shape: tuple[int, ...], main: Stage) -> None:
        self.given = g
        self.by_sum = g.leaf.shared
        self._main = main
        self._name = f"sn_out_{g.leaf.id}"
        self._fold: Fold | None = None
        if g.leaf.shared or g.held.shape == shape:
            return
        # It is repeated along some dimensions: the gradient for each element is folded over these.
        kind, parts = g.leaf.type.scalar, len(g.leaf.parts)
        self._whole = storage(session.device, math.prod(shape) * parts * np.dtype(SCALARS[kind]).itemsize)
        kept, folded = fold_dimensions(shape, g.held.shape, parts, packed_strides(g.held.shape, parts))
        self._fold = Fold(session, (kind, accumulator(kind), kind), kept, folded, addressed=True)
        main.set(self._name, self._whole.device_address)

    def bind(self, target: int) -> list[Stage]:
        """Bind the address that the gradient goes to; give what brings it there after the main stage."""
        if self._fold is None:
            self._main.set(self._name, target)
            return []
        self._fold.bind(self._whole, target)
        return self._fold.stages


class HostGradient:
    """Brings the gradient of a numpy array to another one, where kernels write to the memory of this process."""

    def __init__(self, session: Session, g: Given, shape: tuple[int, ...], main: Stage) -> None:
        self.given = g
        self._to = AddressedGradient(session, g, shape, main)
        self.by_sum = self._to.by_sum
        self._shape = g.shape
        self._dtype = SCALARS[g.leaf.type.scalar]
        #: Nothing must be zero before the launch, and no buffer be read after it.
        self.cleared = self.own = None

    def bind(self, value: Any, target: None, factor: float) -> tuple[np.ndarray, list[Stage]]:
        """Make an array for this call's gradient; give what brings the gradient there after the main stage."""
        made = np.empty(self._shape, self._dtype)
        return made, self._to.bind(address_of(made))


class TensorGradient:
    """Binds a tensor that the function indexes, and gathers its gradient from several copies."""

    def __init__(self, session: Session, t: GivenTensor, slots: int, main: Stage, accumulate: bool) -> None:
        self.given = t
        self._session, self._slots, self._main, self._accumulate = session, slots, main, accumulate
        self._copies: slangpy.Buffer | None = None
        self._fold: Fold | None = None
        self._folds_to = 0

    def bind(
        self, value: slangpy.Tensor, target: slangpy.Tensor | None, factor: float
    ) -> tuple[slangpy.Tensor, list[Stage]]:
        """Bind tensor and gradient; gives the place of the gradient and the stages that bring it there."""
        t = self.given
        check_extent(value, repr(t.name))
        inner = math.prod(value.dtype.shape.as_tuple())
        elements = value.element_count
        n = copies(elements * inner, self._slots)
        if self._copies is None:
            self._copies = storage(self._session.device, n * elements * value.dtype.buffer_layout.stride)
        shape = value.shape.as_tuple()
        bound = {"_data": self._copies, "_shape": list(shape), "_strides": list(packed_strides(shape)), "_offset": 0}
        self._main.put_dict(f"sn_in_{t.name}", {"_primal": value.uniforms(), "_grad_out": bound})
        self._main.set(f"sn_copies_{t.name}", n)
        self._main.set(f"sn_span_{t.name}", elements)
        made = target if target is not None else self._session.pool.like(value)
        to = scalar_offset(made)
        if self._fold is None or self._folds_to != to:
            size, self._folds_to = elements * inner, to
            self._fold = Fold(
                self._session, ("float", "float", "float"), [(size, 1, 1)], [(n, size)], 0, to, self._accumulate
            )
        self._fold.bind(self._copies, made.storage, factor)
        return made, self._fold.stages

    @property
    def cleared(self) -> slangpy.Buffer:
        """What must be zero before the launch."""
        assert self._copies is not None
        return self._copies
