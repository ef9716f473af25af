"""Images of light: linear numbers are drawn through a gamma, so that they look as they would on a screen. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from slangnb.errors import CallError
from slangnb.views.axes import Axes
from slangnb.views.measure import Array, Floats
from slangnb.views.model import NO_COLOURS, PairModel, Panel
from slangnb.views.reduce import unit
from slangnb.views.source import Number, Source, Window, single
from slangnb.views.text import number


def encode(colours: Array, gamma: float = 2.2) -> Floats:
    """Bring linear colours to 0 to 1 as a screen shows them: cut, then to the power of 1 / gamma.

    Parameters
    ----------
    colours : numpy array (..., 3 or 4)
        Linear; 1 is the brightest that a screen can show. A fourth component is opacity, and only cut.
    gamma : float
        2.2 is near that of common screens, 1 leaves the numbers as they are.

    Returns
    -------
    float64 array of the same shape
        NaN stays NaN.

    Raises
    ------
    CallError
        `gamma` is no positive number.

    Examples
    --------
    >>> import numpy as np
    >>> encode(np.array([[0.25, 1.0, 7.0, 0.25]]), gamma=2.0)
    array([[0.5 , 1.  , 1.  , 0.25]])
    """
    checked_gamma(gamma)
    cut = np.clip(colours.astype(np.float64), 0.0, 1.0)
    cut[..., :3] **= 1.0 / gamma
    return cut


def checked_gamma(gamma: float) -> float:
    """Give gamma back.

    Raises
    ------
    CallError
        It is no positive number.
    """
    if isinstance(gamma, bool) or not isinstance(gamma, (int, float)) or not (0 < gamma < math.inf):
        raise CallError(f"gamma is {gamma!r}", remedy="give a positive number, as in show(image, gamma=2.2)")
    return float(gamma)


def with_gamma(model: PairModel, gamma: float = 2.2) -> PairModel:
    """Draw the value as an image of light; its gradient stays as it is.

    Parameters
    ----------
    model : PairModel
        Of an image with three or four components.
    gamma : float

    Returns
    -------
    PairModel
        Numbers outside of 0 to 1 are cut in the picture, and counted by the statistics as they are.

    Raises
    ------
    CallError
        It is no image of colours.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> model = with_gamma(pair_model(np.full((8, 8, 3), 2.0), name="light"), 2.2)
    >>> model.value.kind, model.caption
    ('rgb', 'last axis drawn as 3 components; gamma 2.2; numbers above 1 are cut')
    """
    checked_gamma(gamma)
    panel = model.value
    if panel.kind == "empty":
        return model
    if panel.kind not in ("rgb", "facets") or len(panel.labels) not in (3, 4):
        raise CallError(
            f"{model.name} is {model.dtype} {model.shape}, which is no image of colours",
            remedy="gamma is for images of shape (rows, columns, 3 or 4), or of float3 and float4",
        )
    drawn = _as_colours(panel)
    drawn = replace(drawn, array=encode(drawn.array, gamma))
    known = [part for part in model.caption.split("; ") if not part.startswith(NO_COLOURS)]
    said = [*known, f"gamma {number(gamma)}", _cut(panel)]
    if panel.kind == "facets" and panel.steps != (1, 1):
        said.append("each component of a pixel is chosen by itself")
    slope = model.gradient if model.gradient is None else replace(model.gradient, labels=drawn.labels)
    return replace(model, value=drawn, gradient=slope, caption="; ".join(word for word in said if word))


def _as_colours(panel: Panel) -> Panel:
    """Put components that were drawn apart, because they are outside of 0 to 1, together as colours."""
    if panel.kind == "rgb":
        return replace(panel, array=unit(panel.array))
    found = panel.marks.map(lambda mask: np.logical_or.reduce(mask, axis=0))
    labels = tuple("rgba"[: len(panel.labels)])
    array = np.ascontiguousarray(np.moveaxis(panel.array, 0, -1))
    if panel.array.dtype.kind in "iu":
        array = array / np.float64(np.iinfo(panel.array.dtype).max)
    return replace(panel, kind="rgb", array=array, marks=found, labels=labels, histogram=None)


def _brightest(dtype: str) -> int:
    """Give the number of a type in words that is drawn white.

    Examples
    --------
    >>> _brightest("uint16"), _brightest("int3"), _brightest("half4")
    (65535, 2147483647, 1)
    """
    found = re.match(r"u?int(8|16|32|64)?", dtype)
    return int(np.iinfo(found[0] if found[1] else f"{found[0]}32").max) if found else 1


def _cut(panel: Panel) -> str:
    low, high = panel.stats.min, panel.stats.max
    if low is None or high is None or panel.array.dtype.kind in "iub" or (high > 1 and panel.kind == "rgb"):
        return ""
    sides = [word for word, outside in (("below 0", low < 0), ("above 1", high > 1)) if outside]
    return f"numbers {' and '.join(sides)} are cut" if sides else ""


class LightSource(Source):
    """A source whose value is drawn as an image of light.

    Parameters
    ----------
    inner : Source
    gamma : float
    """

    def __init__(self, inner: Source, gamma: float) -> None:
        self._inner, self._gamma = inner, checked_gamma(gamma)
        self.name, self.dtype, self.device, self.remark = inner.name, inner.dtype, inner.device, inner.remark
        self.shape, self.element = inner.shape, inner.element
        self.has_gradient = inner.has_gradient

    @property
    def bytes_read(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Bytes read back from the device so far."""
        return self._inner.bytes_read

    def model(self, axes: Axes | None = None) -> PairModel:
        """Give what is drawn; a single component or a line is drawn as numbers."""
        model = self._inner.model(axes)
        if axes is not None and model.value.kind not in ("rgb", "facets"):
            return model
        return with_gamma(model, self._gamma)

    def window(self, axes: Axes, rows: tuple[int, int], columns: tuple[int, int], most: int = 512) -> Window:
        """Give a part of what is drawn."""
        found = self._inner.window(axes, rows, columns, most)
        if found.kind not in ("rgb", "facets") or len(found.value.array) not in (3, 4):
            return found
        array = np.moveaxis(found.value.array, 0, -1)
        # Integers that were drawn as components are still integers.
        if found.kind == "facets":
            array = array / np.float64(_brightest(self.dtype))
        drawn = np.moveaxis(encode(array, self._gamma), -1, 0)
        return replace(found, kind="rgb", value=replace(found.value, array=single(drawn)))

    def probe(self, index: tuple[int, ...]) -> tuple[Number, Number | None]:
        """Give one element, as it is."""
        return self._inner.probe(index)

    def changed(self) -> bool:
        """Whether the numbers may be others."""
        return self._inner.changed()

    def refresh(self) -> None:
        """Forget what was measured."""
        self._inner.refresh()
        self.has_gradient = self._inner.has_gradient
