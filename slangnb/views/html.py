"""Writes pair views as HTML without scripts: the picture, its caption, and a table of the numbers.

Nothing but inline styles, in the colours of the page it lands on, so that it reads in light and dark themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from slangnb.views.figure import page_size
from slangnb.views.model import PairModel, Panel, Role
from slangnb.views.still import document as whole_page
from slangnb.views.still import figure
from slangnb.views.text import alternative, heading, mean, number

_COLUMNS = ("min", "max", "mean", "std", "norm", "zeros", "NaN", "+Inf", "-Inf")
_CELL = "padding:0.1em 0.9em 0.1em 0;text-align:right;border:0;background:none"
_HEAD = _CELL + ";font-weight:normal;opacity:0.65"


def alternative_text(models: Sequence[PairModel], title: str = "") -> str:
    """Describe the whole picture in one line."""
    said = ". ".join(alternative(model) for model in models)
    return f"{title}: {said}" if title else said


def _numbers(role: Role, panel: Panel) -> str:
    stats = panel.stats
    cells = [number(v) if v is not None else "–" for v in (stats.min, stats.max, stats.std, stats.norm)]
    cells.insert(2, mean(stats))
    cells += [str(v) for v in (stats.zeros, stats.nan, stats.pos_inf, stats.neg_inf)]
    row = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
    return f'<tr style="background:none"><th scope="row" style="{_CELL};text-align:left">{role}</th>{row}</tr>'


def _table(model: PairModel) -> str:
    head = "".join(f'<th scope="col" style="{_HEAD}">{word}</th>' for word in ("panel", *_COLUMNS))
    body = "".join(_numbers(role, panel) for role, panel in model.panels)
    return (
        '<table style="border-collapse:collapse;border:0;margin:0.2em 0 0.4em;'
        'font-family:monospace;font-size:0.85em">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _section(model: PairModel) -> str:
    parts = [
        f"<strong>{escape(model.name)}</strong>",
        f'<span style="opacity:0.65">{escape(heading(model))}</span>',
    ]
    parts += [escape(said) for said in (model.note, model.caption) if said]
    line = " · ".join(parts)
    return f'<div style="margin-top:0.3em">{line}</div>' + ("" if model.value.stats.empty else _table(model))


def fragment(models: Sequence[PairModel], *pictures: bytes, title: str = "") -> str:
    """Write a `<figure>` that stands by itself: the picture inside, and its numbers folded away below it.

    Parameters
    ----------
    models : sequence of PairModel
    *pictures : bytes
        Their picture; a second one is for dark themes.
    title : str

    Returns
    -------
    str
        Holds no scripts, ids, addresses or times; the same models and picture give the same text.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.model import pair_model
    >>> page = fragment([pair_model(np.array(1.0), name="a < b")], b"")
    >>> "a &lt; b" in page, "<script" in page
    (True, False)
    """
    sections = "".join(_section(model) for model in models)
    return figure(pictures, alternative_text(models, title), page_size(models, title)[0], sections)


def document(models: Sequence[PairModel], *pictures: bytes, title: str = "") -> str:
    """Write a whole HTML file around `fragment`."""
    name = title or ", ".join(model.name for model in models)
    return whole_page(name, fragment(models, *pictures, title=title))
