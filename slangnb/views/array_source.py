"""Arrays that Python holds as sources: what is drawn of them, a part of it, one element."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace

import numpy as np

from slangnb.errors import CallError
from slangnb.views import reduce
from slangnb.views.axes import Arrangement, Axes, arrange
from slangnb.views.measure import Array, Measured, marks
from slangnb.views.model import (
    PairModel,
    Panel,
    Role,
    check_pair,
    drawn_as,
    is_colour,
    join_panels,
    make_panel,
    said_last_axis,
)
from slangnb.views.source import Number, Part, Source, Window, check_index, exact, single, spans
from slangnb.views.text import dtype_words, elements


class ArraySource(Source):
    """Numbers that Python holds; the arrays are looked at, not copied, until something of them is drawn."""

    def __init__(
        self,
        value: Array,
        gradient: Array | None = None,
        *,
        name: str,
        element: tuple[int, ...] = (),
        device: str = "",
        remark: str = "",
        watched: bool = True,
    ) -> None:
        check_pair(value, gradient, name)
        self._arrays: dict[Role, Array] = {"value": value}
        if gradient is not None:
            self._arrays["gradient"] = gradient
        self._shape = value.shape[: value.ndim - len(element)]
        self.shape, self.element = drawn_as(self._shape, element)
        self._split = self.element != element
        self.name, self.device, self.remark = name, device, remark
        self.dtype = dtype_words(value.dtype, element)
        self.has_gradient = gradient is not None
        self._known = self._unmeasured()
        # Whoever made the arrays for this source alone knows that nobody writes to them.
        self._seen = self._state() if watched else None

    def model(self, axes: Axes | None = None) -> PairModel:
        """Give what is drawn."""
        colour = is_colour(self._arrays["value"].dtype, self._known["value"].stats)
        return join_panels(
            self._panel("value", arrange(axes, self.shape, self.element, colour=colour)),
            self._panel("gradient", arrange(axes, self.shape, self.element)) if self.has_gradient else None,
            name=self.name,
            dtype=self.dtype,
            shape=self._shape,
            device=self.device,
            said=said_last_axis(self.element, colour) if self._split else "",
            remark=self.remark,
        )

    def window(self, axes: Axes, rows: tuple[int, int], columns: tuple[int, int], most: int = 512) -> Window:
        """Give a part of what is drawn."""
        at = arrange(axes, self.shape, self.element, colour=self._colour())
        if at.layout.kind in ("empty", "scalar"):
            raise CallError(f"{self.name} has nothing to zoom into")
        part = _part(self._arrays["value"], at)
        words = reduce.image_words(part.dtype, part.shape[0] if part.ndim == 3 else 1)
        rows, columns, steps = spans(at.layout.kind, part.shape, rows, columns, most, words)
        parts = {role: _cut_part(a, role, at, rows, columns, steps, most) for role, a in self._arrays.items()}
        return Window(at.layout.kind, rows, columns, steps, parts["value"], parts.get("gradient"))

    def probe(self, index: tuple[int, ...]) -> tuple[Number, Number | None]:
        """Give one element."""
        check_index(index, self.shape, self.name)
        found = {role: exact(array[index]) for role, array in self._arrays.items()}
        return found["value"], found.get("gradient")

    def changed(self) -> bool:
        """Whether the bytes are others; of large arrays that is not looked at, and the answer is yes."""
        return self._seen is None or self._state() != self._seen

    def refresh(self) -> None:
        """Forget what was measured."""
        self._known = self._unmeasured()
        self._seen = self._state()

    def _state(self) -> tuple[int, ...] | None:
        if self._arrays["value"].size > reduce.LARGE:
            return None
        return tuple(zlib.crc32(a.tobytes()) for a in self._arrays.values())

    def _unmeasured(self) -> dict[Role, Measured]:
        return {role: Measured.of(array) for role, array in self._arrays.items()}

    def _colour(self) -> bool:
        """Whether elements are drawn as colours; measuring all numbers for that would take longer than drawing."""
        if self.element not in ((3,), (4,)):
            return False
        value, measured = self._arrays["value"], self._known["value"]
        if not measured.taken and value.dtype.kind == "f" and value.size:
            low, high = float(value.min()), float(value.max())
            if math.isfinite(low) and math.isfinite(high):
                return low >= 0 and high <= 1
        return is_colour(value.dtype, measured.stats)

    def _panel(self, role: Role, at: Arrangement) -> Panel:
        array = self._arrays[role]
        panel = make_panel(array.transpose(at.order), at.layout, role=role, measured=self._known[role])
        text = "" if panel.kind == "empty" else elements(array)
        return panel if panel.text == text else replace(panel, text=text)


def pair_model(
    value: Array,
    gradient: Array | None = None,
    *,
    name: str,
    element: tuple[int, ...] = (),
    device: str = "",
    remark: str = "",
) -> PairModel:
    """Decide what is drawn of a value and its gradient.

    Parameters
    ----------
    value : numpy array, boolean, integer or floating
        Of the tensor's axes followed by those of its elements.
    gradient : numpy array of the same shape, or None
    name : str
    element : tuple of int
        Shape of one element: `(3,)` for float3, `()` for a scalar type.
    device : str
        Where the tensor lives, as in "llvmpipe".
    remark : str
        Added to the caption: what the caller left out.

    Returns
    -------
    PairModel

    Raises
    ------
    CallError
        The arrays are complex, hold no numbers, or differ in shape.

    Examples
    --------
    >>> import numpy as np
    >>> model = pair_model(np.array([1.0, 2.0]), np.zeros(2), name="x")
    >>> model.value.kind, model.note
    ('line', 'gradient is 0 everywhere')
    """
    # Nobody asks this source whether the numbers changed.
    held = ArraySource(value, gradient, name=name, element=element, device=device, remark=remark, watched=False)
    return held.model()


def _part(array: Array, at: Arrangement) -> Array:
    part = array.transpose(at.order)[at.layout.index]
    if at.layout.kind == "line":
        return part.T if part.ndim == 2 else part[None]
    return np.moveaxis(part, -1, 0) if at.layout.kind in ("facets", "rgb") else part


def _cut_part(
    array: Array,
    role: Role,
    at: Arrangement,
    rows: tuple[int, int],
    columns: tuple[int, int],
    steps: tuple[int, int],
    most: int,
) -> Part:
    part = _part(array, at)[..., columns[0] : columns[1]]
    if at.layout.kind == "line":
        if steps[1] == 1:
            return Part(single(part), marks(part))
        low, high, found, _ = reduce.envelope(part, most)
        return Part(single(low), found, single(high))
    part = part[..., rows[0] : rows[1], :]
    colours = at.layout.kind == "rgb" and role == "value"
    if steps == (1, 1):
        return Part(single(reduce.unit(part) if colours else part), marks(part))
    if colours:
        drawn, found = reduce.colours(np.moveaxis(part, 0, -1), steps)
        return Part(
            single(reduce.unit(np.moveaxis(drawn, -1, 0))), found.map(lambda mask: np.stack([mask] * len(part)))
        )
    if part.ndim == 2:
        drawn, found = reduce.blocks(part, steps, about_zero=role == "gradient")
        return Part(single(drawn), found)
    drawn, found = reduce.layers(part, steps, about_zero=role == "gradient")
    return Part(single(drawn), found)
