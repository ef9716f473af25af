"""What a pair view shows, as plain data: no drawing, no device, no browser.

Frozen dataclasses hold what is drawn and said; everything that draws reads those and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from slangnb.compiler.reflection import REAL
from slangnb.errors import CallError
from slangnb.views import reduce
from slangnb.views.measure import Array, Histogram, Limits, Marks, Measured, Stats, limits, marks
from slangnb.views.reduce import Kind, Layout
from slangnb.views.text import elements, number

Role = Literal["value", "gradient"]
#: Said of an image of floats that would be colours, were all of its numbers between 0 and 1.
NO_COLOURS = "not drawn as colours"
_NEARLY = (-0.5, 2.0)


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture: an array small enough to draw and what was measured on the whole of it.

    Attributes
    ----------
    kind : "scalar", "line", "image", "facets", "rgb" or "empty"
    array : numpy array
        scalar (), line (k, n), image (rows, columns), facets (k, rows, columns), rgb (rows, columns, 3 or 4),
        which is of bytes, or of numbers from 0 to 1.
    limits, marks, stats
        `marks` has the shape of `array` (for rgb without the last axis); `stats` are of the whole tensor.
    upper : numpy array or None
        Of a reduced line: `array` holds the smallest and `upper` the largest element of each column.
    positions : float64 array (n,)
        Of a line: where its points lie, in elements.
    steps : (int, int)
        Of an image: rows and columns of elements that one drawn pixel stands for.
    labels : tuple of str
        Names of the components of a vector type.
    text : str
        The elements on one line, or empty when there are too many.
    """

    kind: Kind
    array: Array
    limits: Limits
    marks: Marks
    stats: Stats
    histogram: Histogram | None = None
    upper: Array | None = None
    positions: Array | None = None
    steps: tuple[int, int] = (1, 1)
    labels: tuple[str, ...] = ()
    text: str = ""
    caption: str = ""

    @property
    def remark(self) -> str:
        """What deserves attention, in a few words; an empty string when nothing does."""
        if self.limits.symmetric and self.stats.all_zero:
            return "0 everywhere"
        outside = self.stats.not_finite and self.kind != "empty" and not self.marks.any
        return self.stats.not_finite + (" (none in this slice)" if outside else "")


@dataclass(frozen=True, eq=False)
class PairModel:
    """A tensor's value and gradient, ready to be drawn or written.

    Attributes
    ----------
    name, dtype, device : str
        dtype as in "float32" or "float3"; device empty for plain arrays.
    shape : tuple of int
        Of the tensor; the axes of a vector type are not part of it.
    value, gradient : Panel
        `gradient` is None when the tensor has none.
    caption : str
        What the picture leaves out: slices, reductions, a gradient that is not that of these elements.
    note : str
        What deserves attention, in words: "gradient is 0 everywhere", "value: 3 NaN".
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    device: str
    value: Panel
    gradient: Panel | None
    caption: str = ""
    note: str = ""

    @property
    def panels(self) -> tuple[tuple[Role, Panel], ...]:
        """The panels there are, each with its role, value first."""
        value: tuple[Role, Panel] = ("value", self.value)
        return (value,) if self.gradient is None else (value, ("gradient", self.gradient))


def checked(array: Array, what: str) -> Array:
    """Give the array back; a CallError when it holds no real numbers."""
    if array.dtype.kind == "c":
        raise CallError(
            f"{what} is complex ({array.dtype}), which has no single picture",
            remedy="show its parts: show(real=z.real, imag=z.imag)",
        )
    if array.dtype.kind not in "fiub":
        raise CallError(
            f"{what} holds no numbers (dtype {array.dtype})", remedy="convert it first: show(x.astype(float))"
        )
    return array


def check_pair(value: Array, gradient: Array | None, name: str) -> None:
    """Refuse a value that cannot be drawn, and a gradient that is not its own.

    Examples
    --------
    >>> import numpy as np
    >>> check_pair(np.zeros(3), np.zeros(2), "x")
    Traceback (most recent call last):
    slangnb.errors.CallError: the gradient of x has shape (2,) and its value (3,)
    remedy: give a gradient of the value's own shape
    """
    checked(value, name)
    if gradient is not None and checked(gradient, f"the gradient of {name}").shape != value.shape:
        raise CallError(
            f"the gradient of {name} has shape {gradient.shape} and its value {value.shape}",
            remedy="give a gradient of the value's own shape",
        )


def is_colour(dtype: np.dtype[Any], stats: Stats) -> bool:
    """Whether elements of three or four components can be drawn as colours."""
    if dtype.kind == "u" and dtype.itemsize == 1:
        return True
    inside = stats.min is not None and stats.max is not None and stats.min >= 0 and stats.max <= 1
    return dtype.kind == "f" and inside


def make_panel(
    array: Array,
    layout: Layout,
    *,
    role: Role = "value",
    measured: Measured | None = None,
) -> Panel:
    """Reduce an array to what is drawn of it, and measure it.

    Parameters
    ----------
    array : numpy array
        Of the tensor's axes followed by those of its elements.
    layout : Layout
        From `slangnb.views.reduce.choose`.
    role : {"value", "gradient"}
        The limits of a gradient are centred on zero, and the elements farthest from zero are kept of it.
    measured : Measured or None
        That of `array`, where there is one.

    Returns
    -------
    Panel

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.reduce import choose
    >>> panel = make_panel(np.array([3.0, -4.0]), choose((2,)), role="gradient")
    >>> panel.kind, panel.limits
    ('line', Limits(lo=-4.0, hi=4.0, symmetric=True))
    """
    measured = Measured.of(array) if measured is None else measured
    part = array[layout.index] if layout.index else array
    if layout.kind == "facets":
        part = np.moveaxis(part, -1, 0)
    panel = Panel(
        kind=layout.kind,
        array=part,
        limits=limits(measured.stats, symmetric=role == "gradient"),
        marks=marks(part),
        stats=measured.stats,
        labels=layout.labels,
        text=elements(array),
        caption=layout.caption,
    )
    if layout.kind == "line":
        panel = _line(panel)
    elif layout.kind in ("image", "facets", "rgb"):
        panel = _image(panel, role)
        if layout.kind != "rgb":
            panel = replace(panel, histogram=measured.histogram)
    elif layout.kind == "empty":
        panel = replace(panel, text="")
    # What changes in the caller's array later must not change the picture.
    shared = np.may_share_memory(panel.array, array)
    return replace(panel, array=panel.array.copy()) if shared else panel


def _line(panel: Panel) -> Panel:
    # Components become lines, except of a single element: that is one line over its components.
    lines = panel.array.T if panel.array.ndim == 2 else panel.array[None]
    lines = np.ascontiguousarray(lines)
    count = lines.shape[1]
    if count <= reduce.LINE_POINTS:
        return replace(panel, array=lines, marks=marks(lines), positions=np.arange(count, dtype=np.float64))
    low, high, found, positions = reduce.envelope(lines)
    said = join_words(panel.caption, said_envelope(count))
    return replace(panel, array=low, upper=high, marks=found, positions=positions, caption=said)


def said_envelope(count: int) -> str:
    """Say how a long line is drawn."""
    return f"{count} elements drawn as the smallest and largest of each of {reduce.LINE_COLUMNS} columns"


def said_blocks(steps: tuple[int, int], colours: bool) -> str:
    """Say how a large image is drawn; nothing when all of it is."""
    which = "first" if colours else "most extreme"
    return f"each pixel shows the {which} of {steps[0]} x {steps[1]} elements" if steps != (1, 1) else ""


def _image(panel: Panel, role: Role) -> Panel:
    image = panel.array
    rows, columns = image.shape[1:] if panel.kind == "facets" else image.shape[:2]
    steps = reduce.block_steps(rows, columns, reduce.image_words(image.dtype, image.size // (rows * columns)))
    if panel.kind == "rgb":
        return _colours(panel, steps)
    if steps == (1, 1):
        return panel
    if panel.kind == "image":
        drawn, found = reduce.blocks(image, steps, about_zero=role == "gradient")
    else:
        drawn, found = reduce.layers(image, steps, about_zero=role == "gradient")
    said = said_blocks(steps, False)
    return replace(panel, array=drawn, marks=found, steps=steps, caption=join_words(panel.caption, said))


def _colours(panel: Panel, steps: tuple[int, int]) -> Panel:
    image, found = reduce.colours(panel.array, steps)
    said = said_blocks(steps, True)
    return replace(panel, array=image, marks=found, steps=steps, caption=join_words(panel.caption, said))


def join_words(*parts: str) -> str:
    """Write what is said about a picture on one line, nothing twice."""
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _notes(value: Panel, gradient: Panel | None) -> str:
    parts = [f"value: {value.remark}"] if value.remark else []
    if gradient is not None and gradient.stats.all_zero:
        parts.append("gradient is 0 everywhere")
    elif gradient is not None and gradient.remark:
        parts.append(f"gradient: {gradient.remark}")
    return join_words(*parts)


def drawn_as(shape: tuple[int, ...], element: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Take a last axis that is as short as a vector for components: most likely an image or a field of vectors.

    Examples
    --------
    >>> drawn_as((64, 64, 3), ()), drawn_as((3, 64, 64), ())
    (((64, 64), (3,)), ((3, 64, 64), ()))
    """
    if not element and len(shape) == 3 and shape[-1] in (2, 3, 4) and min(shape[:2]) > 4:
        return shape[:2], shape[2:]
    return shape, element


def said_last_axis(element: tuple[int, ...], colour: bool) -> str:
    """Say that the last axis was taken for components."""
    as_colour = colour and element[0] > 2
    return "last axis drawn as colour" if as_colour else f"last axis drawn as {element[0]} components"


def said_no_colours(value: Panel, dtype: str) -> str:
    """Say why three or four components that are nearly colours are not drawn as such; nothing of other components."""
    low, high = value.stats.min, value.stats.max
    named = value.labels in (("x", "y", "z"), ("x", "y", "z", "w"))
    if value.kind != "facets" or not named or low is None or high is None or not dtype.startswith(REAL):
        return ""
    if low < _NEARLY[0] or high > _NEARLY[1]:
        return ""
    outside = number(high if high > 1 else low, 8)
    return f"{NO_COLOURS}: {outside} is outside of 0 to 1 (gamma=1 cuts it)"


def join_panels(
    value: Panel,
    gradient: Panel | None,
    *,
    name: str,
    dtype: str,
    shape: tuple[int, ...],
    device: str = "",
    said: str = "",
    remark: str = "",
) -> PairModel:
    """Put two panels together; the captions and what deserves attention become those of the pair."""
    if gradient is not None and value.kind == "rgb":
        gradient = replace(gradient, labels=value.labels)
    return PairModel(
        name=name,
        dtype=dtype,
        shape=shape,
        device=device,
        value=value,
        gradient=gradient,
        caption=join_words(
            said, said_no_colours(value, dtype), value.caption, gradient.caption if gradient is not None else "", remark
        ),
        note=_notes(value, gradient),
    )
