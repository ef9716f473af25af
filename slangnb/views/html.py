"""What stands beside the picture of a pair view in HTML: the same in words, and a table of the numbers.

Nothing but inline styles, in the colours of the page it lands on, so that it reads in light and dark themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from slangnb.views.model import PairModel, Panel, Role
from slangnb.views.still import table
from slangnb.views.text import alternative, digits, heading, mean, number

_COLUMNS = ("min", "max", "mean", "std", "norm", "zeros", "NaN", "+Inf", "-Inf")


def alternative_text(models: Sequence[PairModel], title: str = "") -> str:
    """Describe the whole picture in one line."""
    said = ". ".join(alternative(model) for model in models)
    return f"{title}: {said}" if title else said


def _numbers(role: Role, panel: Panel) -> tuple[str, ...]:
    stats = panel.stats
    most = digits(stats)
    cells = [number(v, most) if v is not None else "–" for v in (stats.min, stats.max)]
    cells += [number(v) if v is not None else "–" for v in (stats.std, stats.norm)]
    cells.insert(2, mean(stats))
    return (role, *cells, *(str(v) for v in (stats.zeros, stats.nan, stats.pos_inf, stats.neg_inf)))


def _table(model: PairModel) -> str:
    return table(("panel", *_COLUMNS), [_numbers(role, panel) for role, panel in model.panels])


def _section(model: PairModel) -> str:
    parts = [
        f"<strong>{escape(model.name)}</strong>",
        f'<span style="opacity:0.65">{escape(heading(model))}</span>',
    ]
    parts += [escape(said) for said in (model.note, model.caption) if said]
    line = " · ".join(parts)
    return f'<div style="margin-top:0.3em">{line}</div>' + ("" if model.value.stats.empty else _table(model))


def sections(models: Sequence[PairModel]) -> str:
    """Write what each tensor is, what deserves attention in it, and its numbers as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> "a &lt; b" in sections([pair_model(np.array(1.0), name="a < b")])
    True
    """
    return "".join(_section(model) for model in models)
