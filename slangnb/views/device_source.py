"""SlangPy tensors as sources: small ones are read whole, large ones are reduced where they lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from slangnb.compiler.reflection import innermost_scalar
from slangnb.errors import BackendError, CallError
from slangnb.runtime.current import has_session, session
from slangnb.runtime.tensors import SCALARS, check_extent, check_open, extent
from slangnb.views import reduce
from slangnb.views.array_source import ArraySource
from slangnb.views.axes import Arrangement, Axes, arrange
from slangnb.views.device import Cells, Reader
from slangnb.views.device_layout import View
from slangnb.views.device_panel import cells_of_all, device_panel, device_part, element_of, part_of
from slangnb.views.device_pieces import KEYS
from slangnb.views.measure import Array, Measured
from slangnb.views.model import PairModel, Panel, Role, drawn_as, is_colour, join_panels, said_last_axis
from slangnb.views.source import (
    LARGEST_READ,
    Number,
    Source,
    Window,
    check_index,
    exact,
    is_struct,
    spans,
)
from slangnb.views.text import device_words, dtype_words

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session

#: Tensors of at most so many numbers are read whole: that is as fast, and all of them are at hand.
SMALL = reduce.LARGE
#: Kernels count elements, and Vulkan the bytes of a buffer, in 32 bits.
LARGEST_BUFFER = (1 << 32) - 1


class TensorSource(Source):
    """A SlangPy tensor, read as far as it is drawn.

    Parameters
    ----------
    tensor : slangpy.Tensor
        Not of structs.
    name : str
    """

    def __init__(self, tensor: slangpy.Tensor, name: str) -> None:
        dtype = tensor.dtype
        self.name = name
        check_open(tensor, name)
        if is_struct(tensor):
            raise CallError(
                f"{name} is a tensor of the struct {dtype.full_name}, which has no single picture",
                remedy="show its fields: keep them as a dict of tensors and write show({'a': a, 'b': b})",
            )
        check_extent(tensor, name)
        self._tensor = tensor
        self._shape = tuple(tensor.shape.as_tuple())
        self._element = tuple(dtype.shape.as_tuple())
        self.shape, self.element = drawn_as(self._shape, self._element)
        self.device = device_words(tensor.device)
        self._large = math.prod(self._shape + self._element) > SMALL
        self._inner: ArraySource | None = None
        self._read_before = 0
        self._open()

    def _open(self) -> None:
        """Look at the tensor as it is now."""
        check_open(self._tensor, self.name)
        self._gradient, self.remark = _gradient(self._tensor)
        self.has_gradient = self._gradient is not None
        self._known: dict[Role, Measured] = {}
        self._readers: dict[Role, Reader] = {}
        self._inner = None
        owner = session_of(self._tensor.device) if self._large else None
        kept = [self._tensor, *([self._gradient] if self._gradient is not None else [])]
        readers = [r for r in (reader(owner, t) for t in kept) if r is not None] if owner is not None else []
        if len(readers) == len(kept) and all(one.compiles() for one in readers):
            roles: tuple[Role, ...] = ("value", "gradient")
            self._readers = dict(zip(roles, readers, strict=False))
            self._known = {role: Measured(one.stats, one.histogram) for role, one in self._readers.items()}
            self.dtype = dtype_words(readers[0].dtype, self._element)
            return
        size = max(math.prod(self._shape) * t.dtype.buffer_layout.stride for t in kept)
        if size > LARGEST_READ:
            raise CallError(
                f"{self.name} is {size / 2**20:.0f} MiB, and this session's kernels cannot reduce it where it lies; no "
                f"more than {LARGEST_READ >> 20} MiB are read to draw one",
                remedy="show a part: show(x[:n]). It has no gradient, because SlangPy does not slice gradients",
            )
        self.dtype = self._arrays().dtype

    def _check(self) -> None:
        """Look whether the device is open, and still that of the session; `Session.use` changes it."""
        check_open(self._tensor, self.name)
        if self._readers and session_of(self._tensor.device) is None:
            self.refresh()

    @property
    def bytes_read(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Bytes read back from the device so far."""
        return self._read_before + sum(r.bytes_read for r in self._readers.values())

    @property
    def reduced(self) -> bool:
        """Whether the tensor is reduced where it lies, and not read whole."""
        return bool(self._readers)

    def model(self, axes: Axes | None = None) -> PairModel:
        """Give what is drawn."""
        self._check()
        if not self._readers:
            return self._arrays().model(axes)
        plain = arrange(axes, self.shape, self.element)
        cells = {role: self._measure_while_drawing(role, plain) for role in self._readers}
        colour = self._colour()
        at = arrange(axes, self.shape, self.element, colour=colour)
        return join_panels(
            self._panel("value", at, cells["value"]),
            self._panel("gradient", plain, cells["gradient"]) if self.has_gradient else None,
            name=self.name,
            dtype=self.dtype,
            shape=self._shape,
            device=self.device,
            said=said_last_axis(self.element, colour) if self.element != self._element else "",
            remark=self.remark,
        )

    def window(self, axes: Axes, rows: tuple[int, int], columns: tuple[int, int], most: int = 512) -> Window:
        """Give a part of what is drawn."""
        self._check()
        if not self._readers:
            return self._arrays().window(axes, rows, columns, most)
        for role in self._readers:
            self._measure_while_drawing(role, arrange(axes, self.shape, self.element))
        at = arrange(axes, self.shape, self.element, colour=self._colour())
        shape = part_of(self._readers["value"].view, at).sizes
        words = reduce.image_words(self._readers["value"].dtype, shape[0])
        rows, columns, steps = spans(at.layout.kind, shape, rows, columns, most, words)
        parts = {
            role: device_part(one, at, rows, columns, steps, most, role=role, marked=self._marked(role))
            for role, one in self._readers.items()
        }
        return Window(at.layout.kind, rows, columns, steps, parts["value"], parts.get("gradient"))

    def probe(self, index: tuple[int, ...]) -> tuple[Number, Number | None]:
        """Give one element."""
        self._check()
        if not self._readers:
            return self._arrays().probe(index)
        check_index(index, self.shape, self.name)
        found = {role: exact(element_of(one, index)) for role, one in self._readers.items()}
        return found["value"], found.get("gradient")

    def changed(self) -> bool:
        """Say yes: SlangPy's tensors do not tell when they are written."""
        return True

    def refresh(self) -> None:
        """Forget what was measured, and look whether there is a gradient now."""
        self._read_before = self.bytes_read
        self._open()

    def _arrays(self) -> ArraySource:
        """Read the whole tensor, once."""
        if self._inner is None:
            value: Array = self._tensor.to_numpy()
            slope: Array | None = None if self._gradient is None else self._gradient.to_numpy()
            self._read_before += value.nbytes + (0 if slope is None else slope.nbytes)
            self._inner = ArraySource(
                value,
                slope,
                name=self.name,
                element=self._element,
                device=self.device,
                remark=self.remark,
                watched=False,
            )
        return self._inner

    def _marked(self, role: Role) -> bool:
        known = self._known[role]
        return not known.taken or bool(known.stats.not_finite)

    def _colour(self) -> bool:
        # Measuring costs a pass over the tensor, and numbers without components are no colours.
        return bool(self.element) and is_colour(self._readers["value"].dtype, self._known["value"].stats)

    def _measure_while_drawing(self, role: Role, at: Arrangement) -> Cells | None:
        """Read the numbers once, where they are measured for the first time and all of them are drawn."""
        # Components may be colours, which are drawn otherwise; statistics tell whether they are.
        if self._known[role].taken or self.element:
            return None
        found = cells_of_all(self._readers[role], at, role)
        if found is None:
            return None
        cells, stats = found
        self._known[role] = Measured.known(stats, self._readers[role].histogram)
        return cells

    def _panel(self, role: Role, at: Arrangement, cells: Cells | None) -> Panel:
        return device_panel(self._readers[role], at, self._known[role], role=role, cells=cells)


def session_of(device: slangpy.Device) -> Session | None:
    """Give the session whose kernels run on a device; None for a device that slangnb did not open."""
    if not has_session():
        return None
    try:
        current = session()
        return current if current.device is device else None
    except BackendError:
        return None


def reader(owner: Session, tensor: slangpy.Tensor) -> Reader | None:
    """Give what reads a tensor by kernels; None where only SlangPy can read it."""
    import slangpy as spy

    dtype: Any = tensor.dtype
    scalar = innermost_scalar(dtype)
    element = tuple(dtype.shape.as_tuple())
    per_element = math.prod(element)
    if scalar not in KEYS or not owner.device.has_feature(spy.Feature.double):
        return None
    stride = dtype.buffer_layout.stride
    if scalar == "bool":
        size = stride // per_element
        stored = {1: "uint8_t", 4: "uint"}.get(size, "")
    else:
        size, stored = _size(scalar), scalar
    # Elements with gaps between their numbers, as some matrices have, are left to SlangPy.
    if not stored or stride != size * per_element or tensor.storage.size > LARGEST_BUFFER:
        return None
    inner = tuple(math.prod(element[i + 1 :]) for i in range(len(element)))
    strides = (*(s * per_element for s in tensor.strides.as_tuple()), *inner)
    view = View((*tensor.shape.as_tuple(), *element), strides, tensor.offset * per_element)
    # A view of stride 0 can have more elements than its buffer.
    most = max(view.count, extent(view.sizes, view.strides, view.offset))
    return Reader(owner, tensor.storage, scalar, stored, view) if most < 1 << 32 else None


def _size(scalar: str) -> int:
    import numpy as np

    return np.dtype(SCALARS[scalar]).itemsize


def gradient_of(tensor: slangpy.Tensor) -> slangpy.Tensor | None:
    """Give what a tensor carries as its gradient, or the seed; None where there is neither."""
    # `.grad` raises where there is none; these two are None.
    return tensor.grad_out if tensor.grad_out is not None else tensor.grad_in


def _gradient(tensor: slangpy.Tensor) -> tuple[slangpy.Tensor | None, str]:
    """Give the gradient; None with a reason where it is not that of these elements."""
    kept = gradient_of(tensor)
    if kept is None:
        return None, ""
    theirs = tuple(kept.shape.as_tuple())
    if theirs != tuple(tensor.shape.as_tuple()):
        return None, f"gradient not shown: it is that of the whole tensor {theirs}, SlangPy does not slice it"
    if kept.dtype.shape.as_tuple() != tensor.dtype.shape.as_tuple():
        return None, f"gradient not shown: its elements are {kept.dtype.full_name}"
    return kept, "" if tensor.grad_out is not None else "the gradient shown is the seed (grad_in)"
