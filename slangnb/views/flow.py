"""Gradient flow: several tensors with their gradients, one compact row each. Pure, but for the view at the end.

Stacked pair pictures show each tensor large; the flow shows at one glance where gradients vanish or explode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangnb.errors import CallError
from slangnb.views.measure import Array, Floats, Histogram, Stats
from slangnb.views.model import PairModel, Panel
from slangnb.views.still import StillView, table
from slangnb.views.text import heading, number

if TYPE_CHECKING:
    from slangnb.views.page import Drawing

#: More tensors than this are shown as a flow unless it is said otherwise.
MOST_STACKED = 4
#: So many rows are drawn; words and table hold all.
MOST_DRAWN = 64
#: Norms further apart than this deserve a word.
FAR = 1e6
#: More elements than this are counted, in so many bins.
_FEW, _BINS = 48, 32


@dataclass(frozen=True, eq=False)
class FlowSide:
    """What a row shows of a value, or of a gradient: a histogram, or the elements themselves where they are few.

    A long line that was reduced to be drawn has neither; its range is shown.
    """

    stats: Stats
    histogram: Histogram | None = None
    points: Floats | None = None


@dataclass(frozen=True, eq=False)
class FlowRow:
    """One tensor. `ratio` is the norm of the gradient over that of the value, None where there is none."""

    name: str
    words: str
    value: FlowSide
    gradient: FlowSide | None
    ratio: float | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class FlowModel:
    """Rows, the decades that their norms span (powers of ten), and what deserves attention."""

    rows: tuple[FlowRow, ...]
    decades: tuple[int, int]
    caption: str


def wants_flow(count: int, flow: bool | None = None) -> bool:
    """Say whether tensors are shown as a flow: when asked for, else when they are more than four.

    Examples
    --------
    >>> wants_flow(4), wants_flow(5), wants_flow(2, True), wants_flow(9, False)
    (False, True, True, False)
    """
    return count > MOST_STACKED if flow is None else flow


def flow_model(models: Sequence[PairModel]) -> FlowModel:
    """Decide what the flow shows of some tensors.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> w = pair_model(np.array([3.0, 4.0]), np.array([0.0, 0.5]), name="w")
    >>> model = flow_model([w])
    >>> model.rows[0].ratio, model.decades
    (0.1, (-1, 1))
    """
    rows = tuple(_row(model) for model in models)
    return FlowModel(rows, _decades(rows), _caption(rows))


def _row(model: PairModel) -> FlowRow:
    value = _side(model.value)
    gradient = None if model.gradient is None else _side(model.gradient)
    note = model.note if gradient is not None else "; ".join(s for s in (model.note, "no gradient") if s)
    return FlowRow(model.name, heading(model), value, gradient, _ratio(value, gradient), note)


def _side(panel: Panel) -> FlowSide:
    if panel.histogram is not None:
        return FlowSide(panel.stats, panel.histogram)
    whole = panel.upper is None and panel.steps == (1, 1) and panel.array.size == panel.stats.count
    if not whole or not panel.array.size:
        return FlowSide(panel.stats)
    kept = _finite(panel.array)
    counts = _counted(kept)
    return FlowSide(panel.stats, counts) if counts is not None else FlowSide(panel.stats, None, kept)


def _finite(array: Array) -> Floats:
    flat = array.reshape(-1).astype(np.float64)
    return flat[np.isfinite(flat)]


def _counted(kept: Floats) -> Histogram | None:
    """Count elements in bins where they are too many to be drawn one by one."""
    if kept.size <= _FEW:
        return None
    low, high = float(kept.min()), float(kept.max())
    if not math.isfinite(high - low) or high - low <= 1e-12 * max(abs(low), abs(high)) or high - low < 1e-300:
        return None
    counts, edges = np.histogram(kept, _BINS)
    return Histogram(counts.astype(np.int64), edges)


def _ratio(value: FlowSide, gradient: FlowSide | None) -> float | None:
    if gradient is None or not value.stats.norm or gradient.stats.norm is None:
        return None
    ratio = gradient.stats.norm / value.stats.norm
    return ratio if math.isfinite(ratio) else None


def _norms(rows: Sequence[FlowRow]) -> list[float]:
    found = [s.stats.norm for row in rows for s in (row.value, row.gradient) if s is not None]
    return [norm for norm in found if norm and math.isfinite(norm)]


def _decades(rows: Sequence[FlowRow]) -> tuple[int, int]:
    """Give the powers of ten below and above all norms that are not zero."""
    norms = _norms(rows)
    if not norms:
        return -1, 1
    low = math.ceil(math.log10(min(norms))) - 1
    return low, max(math.ceil(math.log10(max(norms))), low + 2)


def _caption(rows: Sequence[FlowRow]) -> str:
    """Say how far the gradients are apart, and what is missing."""
    said: list[str] = []
    there = [(row.gradient.stats.norm, row.name) for row in rows if row.gradient and row.gradient.stats.norm]
    if len(there) > 1:
        low, high = min(there), max(there)
        words = f"gradient norms from {number(low[0], 3)} ({low[1]}) to {number(high[0], 3)} ({high[1]})"
        said.append(words + (f", {number(high[0] / low[0], 2)} times apart" if high[0] / low[0] >= FAR else ""))
    for what, names in (
        ("gradient 0 everywhere", [row.name for row in rows if row.gradient and row.gradient.stats.all_zero]),
        ("gradient not finite", [row.name for row in rows if row.gradient and row.gradient.stats.not_finite]),
        ("no gradient", [row.name for row in rows if row.gradient is None]),
    ):
        if names:
            said.append(
                f"{what}: {', '.join(' '.join(n.split())[:24] for n in names[:4])}"
                + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            )
    return "; ".join(said)


def plain(model: FlowModel) -> str:
    """Write the rows as a table of text.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> print(plain(flow_model([pair_model(np.array([3.0, 4.0]), np.array([0.0, 0.5]), name="w")])))
    tensor  elements      norm  norm of gradient  ratio  zeros  NaN
    w       float64 (2,)  5     0.5               0.1    0, 1   0, 0
    """
    head = ("tensor", "elements", "norm", "norm of gradient", "ratio", "zeros", "NaN")
    lines = [head, *(_cells(row) for row in model.rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*text, *([model.caption] if model.caption else [])])


def _norm(side: FlowSide | None) -> str:
    return "–" if side is None or side.stats.norm is None else number(side.stats.norm)


def _cells(row: FlowRow) -> tuple[str, ...]:
    sides = [side.stats for side in (row.value, row.gradient) if side is not None]
    ratio = "–" if row.ratio is None else number(row.ratio, 3)
    return (
        " ".join(row.name.split()),
        row.words,
        _norm(row.value),
        _norm(row.gradient),
        ratio,
        ", ".join(str(s.zeros) for s in sides),
        ", ".join(str(s.nan) for s in sides),
    )


def alternative(model: FlowModel) -> str:
    """Describe the picture for those who do not see it."""
    said = [
        f"{row.name}: norm {_norm(row.value)}, gradient norm {_norm(row.gradient)}" + (f", {row.note}" * bool(row.note))
        for row in model.rows
    ]
    return f"gradient flow of {len(model.rows)} tensors. " + ". ".join(said)


class FlowView(StillView):
    """Several tensors with their gradients, one row each: histograms, norms on one scale, zeros and NaN.

    Parameters
    ----------
    models : sequence of PairModel
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> FlowView([pair_model(np.array([3.0, 4.0]), name="w")])
    tensor  elements      norm  norm of gradient  ratio  zeros  NaN
    w       float64 (2,)  5     –                 –      0      0
    no gradient: w
    """

    # The numbers of so many columns would be too small to read.
    _least = 700

    def __init__(self, models: Sequence[PairModel], title: str = "") -> None:
        if not models:
            raise CallError("no tensors were given to show", remedy="write show(W1, W2, flow=True)")
        self.model = flow_model(models)
        self.title = title or "gradient flow"

    def __repr__(self) -> str:
        return plain(self.model)

    def _drawing(self) -> Drawing:
        from slangnb.views.flow_figure import drawing

        return drawing(self.model, self.title)

    def _alternative(self) -> str:
        return alternative(self.model)

    def _table(self) -> str:
        head = ("tensor", "elements", "norm", "norm of gradient", "ratio", "zeros", "zeros of gradient", "NaN")
        rows: list[tuple[str, ...]] = []
        for row in self.model.rows:
            cells = _cells(row)
            slope = "–" if row.gradient is None else str(row.gradient.stats.zeros)
            nans = "–" if row.gradient is None else str(row.gradient.stats.nan)
            rows.append((*cells[:5], str(row.value.stats.zeros), slope, str(row.value.stats.nan), nans))
        return table((*head, "NaN of gradient"), rows)
