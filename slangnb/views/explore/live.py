"""The live widgets of explored functions: they take where sliders and probe go, and send what is drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slangnb.errors import SlangNbError
from slangnb.views.explore.model import ExploreModel, Slider, notes, plain, spans, text_lines
from slangnb.views.live_widget import LiveWidget, script, style

if TYPE_CHECKING:
    from slangnb.views.explore.explored import Explored
    from slangnb.views.explore.plane import PlaneModel


class LiveExplored(LiveWidget):
    """A function with sliders, in a browser.

    Parameters
    ----------
    view : Explored
        Evaluates the function; all widgets of a view show the same.
    key, group
        As of `LiveWidget`.
    """

    def __init__(self, view: Explored[Any, Any], *, key: str = "", group: str = "") -> None:
        self._view = view
        super().__init__(key=key, group=group)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._view.title}>"

    def update(self) -> None:
        """Send what the function gives now."""
        if self.seen:
            self._begin()

    def flush(self) -> None:
        """Nothing is left for later."""

    def _begin(self) -> None:
        meta, frame = self._content()
        self._put({"title": self._view.title, **meta}, frame)

    @abstractmethod
    def _content(self) -> tuple[dict[str, Any], bytes]:
        """Give all that is written, and the numbers."""

    def _answer(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        kind = message.get("kind")
        if kind == "hello":
            self.appear()
        elif kind == "probe":
            self._view.probe(int(message["index"]))
        elif kind == "set":
            try:
                self._view.update(**message["values"])
            except SlangNbError as error:
                # The picture stays as it was.
                self._put({**self.meta, "said": str(error)}, self.frame)


class LiveExplore(LiveExplored):
    """A function over one range with sliders, in a browser."""

    _esm = script("explored.js", "explore.js")
    _css = style("pair.css", "explore.css")

    def _content(self) -> tuple[dict[str, Any], bytes]:
        model = self._view.model
        return about(model), numbers(model)


def controls(sliders: Sequence[Slider]) -> list[dict[str, Any]]:
    """Give where sliders go, and where they stand."""
    return [
        {
            "name": one.range.name,
            "lo": one.range.lo,
            "hi": one.range.hi,
            "start": one.range.start,
            "whole": one.range.whole,
            "steps": one.range.steps,
            "value": one.value,
        }
        for one in sliders
    ]


def head(model: ExploreModel | PlaneModel, text: str) -> dict[str, Any]:
    """Give what is written of either kind of model, whose plain text this is, and where sliders and probe stand."""
    return {
        "call": model.call,
        "words": model.words,
        "symbol": model.symbol,
        "probe": model.probe,
        "sliders": controls(model.sliders),
        "alt": "; ".join(line.strip() for line in text.splitlines()),
    }


def about(model: ExploreModel) -> dict[str, Any]:
    """Give all that is written, and where the sliders stand."""
    curve, slopes = spans(model)
    return {
        **head(model, plain(model)),
        "what": f"{model.symbol}({model.axis})",
        "axis": model.axis,
        "slope": model.slope_name,
        "labels": list(model.labels),
        "components": len(model.values),
        "points": len(model.x),
        "gradient": model.slopes is not None,
        "spans": [[one.lo, one.hi] for one in (curve, *slopes)],
        "digits": model.digits,
        "lines": [list(one) for one in text_lines(model)],
        "notes": notes(model),
    }


def numbers(model: ExploreModel) -> bytes:
    """Give the numbers of the axis, of the components, and of their derivatives, one after the other."""
    rows = [model.x[None], model.values, *([] if model.slopes is None else [model.slopes])]
    return np.concatenate(rows).astype("<f8").tobytes()
