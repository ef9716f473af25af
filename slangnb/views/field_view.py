"""A function of two variables as a view: a picture, words, and the numbers of its marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangnb.views.field import FieldModel, Mark, lowest, plain
from slangnb.views.still import StillView, table
from slangnb.views.text import number

if TYPE_CHECKING:
    from slangnb.views.page import Drawing


class FieldView(StillView):
    """A function of two variables, with arrows along its gradient and contours.

    Parameters
    ----------
    model : FieldModel
    title : str
        By default the function's name.
    """

    def __init__(self, model: FieldModel, title: str = "") -> None:
        self.model = model
        self.title = title or f"{model.name} over {model.axes[0]} and {model.axes[1]}"
        self._heading = title or model.name

    def __repr__(self) -> str:
        return plain(self.model)

    def _drawing(self) -> Drawing:
        from slangnb.views.field_figure import drawing

        return drawing(self.model, self._heading)

    def _alternative(self) -> str:
        return "; ".join(line.strip() for line in plain(self.model).splitlines())

    def _table(self) -> str:
        model = self.model
        marks = {mark.word: mark for mark in model.marks}
        ends = {"lowest": lowest(model.x, model.y, model.values), "highest": lowest(model.x, model.y, -model.values)}
        rows: list[tuple[str, ...]] = []
        for word in dict.fromkeys([*ends, *marks]):
            mark = marks.get(word) or ends.get(word)
            if mark is not None:
                rows.append((word, *_cells(mark, negated=word == "highest")))
        return table(("", *model.axes, "value"), rows)


def _cells(mark: Mark, *, negated: bool) -> list[str]:
    value = "–" if mark.value is None else number(-mark.value if negated else mark.value)
    return [number(mark.x), number(mark.y), value]
