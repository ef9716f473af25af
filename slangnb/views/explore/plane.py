"""What is drawn of a function over two ranges, decided as pure data: the field, the probe, and all that is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from slangnb.views import field
from slangnb.views.explore.model import Slider, derivative, settings, symbol, written
from slangnb.views.field import FieldModel
from slangnb.views.measure import measure
from slangnb.views.text import digits, number


@dataclass(frozen=True, eq=False)
class PlaneModel:
    """A function over two ranges.

    Attributes
    ----------
    field : FieldModel
        Its values and its gradient on a grid.
    call, words : str
        "explore(saddle, x=(-3, 3), y=(-2, 2), axes=('x', 'y'))"; "float on llvmpipe".
    sliders : tuple of Slider
    fixed : mapping of str to str
        What else the function was given, in words.
    probe : int
        Which of the points is looked at, counted row by row.
    """

    field: FieldModel
    call: str
    words: str
    sliders: tuple[Slider, ...]
    fixed: Mapping[str, str]
    probe: int

    @property
    def count(self) -> int:
        """The number of points."""
        return self.field.values.size

    @property
    def symbol(self) -> str:
        """What the value is called."""
        return symbol(self.field.name, self.field.axes, self.sliders, self.fixed)

    @property
    def slope_names(self) -> tuple[str, ...]:
        """What the derivatives are called."""
        return tuple(derivative(self.symbol, axis) for axis in self.field.axes)


def readout(model: PlaneModel, at: int | None = None) -> tuple[tuple[str, str], ...]:
    """Give what the probe reads, or what there is at another point, as names and numbers."""
    shown = model.field
    at = model.probe if at is None else at
    row, column = divmod(at, len(shown.x))
    places = zip(shown.axes, (shown.x, shown.y), (column, row), strict=True)
    said = [(name, number(float(along[i]), digits(measure(along)))) for name, along, i in places]
    said.append((model.symbol, written(float(shown.values[row, column]))))
    slopes = shown.gradient or ()
    said += [(name, written(float(one[row, column]))) for name, one in zip(model.slope_names, slopes, strict=False)]
    return tuple(said)


def _ends(model: PlaneModel) -> list[tuple[str, int]]:
    """Give where the value is lowest and where it is highest."""
    values = model.field.values.reshape(-1)
    finite = np.isfinite(values)
    if not finite.any():
        return []
    least, most = np.where(finite, values, np.inf).argmin(), np.where(finite, values, -np.inf).argmax()
    return [("lowest", int(least)), ("highest", int(most))]


def rows(model: PlaneModel) -> list[tuple[str, ...]]:
    """Give the numbers where the value is lowest, where it is highest, and at the probe, for a table."""
    points = (*_ends(model), ("probe", model.probe))
    return [(word, *(said for _, said in readout(model, at))) for word, at in points]


def lines(model: PlaneModel) -> tuple[tuple[str, str], ...]:
    """Give the statistics of the values and of the gradient, each with its name."""
    stats, said = model.field.stats, []
    for word, at in _ends(model) if stats.min != stats.max else []:
        across, up, value, *_ = readout(model, at)
        said.append(f"{word} {value[1]} at {across[0]} = {across[1]}, {up[0]} = {up[1]}")
    if stats.min is not None and not said:
        said = [f"{written(stats.min)} {'where finite' if stats.not_finite else 'everywhere'}"]
    values = "  ".join(one for one in (*(said or ["nothing finite"]), stats.not_finite) if one)
    steep = field.steepest(model.field)
    return ((model.symbol, values), *([] if steep is None else [("gradient", f"up to {number(steep)}")]))


def plain(model: PlaneModel) -> str:
    """Write the model as a few lines of plain text."""
    fixed = ", ".join(said for said in (settings(model.sliders, model.fixed), model.words) if said)
    lines = field.plain(replace(model.field, fixed=fixed)).splitlines()
    return "\n".join([*lines, "  at " + "  ".join(f"{name} = {said}" for name, said in readout(model))])
