"""The live widget of a pair view: answers the browser, and sends it what is drawn."""

from __future__ import annotations

import time
from typing import Any

import traitlets

from slangnb.errors import CallError
from slangnb.views import frames, frontend
from slangnb.views.axes import Axes, default_axes, with_axis, with_pick
from slangnb.views.frames import Look
from slangnb.views.live_widget import LiveWidget, script, style
from slangnb.views.measure import Stats
from slangnb.views.model import PairModel, Role
from slangnb.views.palette import palettes
from slangnb.views.source import Source, Window

#: Pixels of a picture in each direction, and seconds between two pictures at least.
MOST, PACE = 512, 1 / 40
_ALL = (0, 1 << 40)


class LivePair(LiveWidget):
    """One value beside its gradient, in a browser.

    Parameters
    ----------
    source : Source
    key, group, row, count
        As of `LiveWidget`.
    """

    _esm = script("pair.js")
    _css = style("pair.css")

    look = traitlets.Dict().tag(sync=True)
    maps = traitlets.Dict().tag(sync=True)

    def __init__(self, source: Source, *, key: str = "", group: str = "", row: int = 0, count: int = 1) -> None:
        self._source = source
        self._axes: Axes = default_axes(source.shape, source.element)
        self._model: PairModel | None = None
        self._last, self._waiting = 0.0, False
        super().__init__(key=key, group=group, row=row, count=count)
        self.observe(self._redraw, "look")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._source.name}>"

    @property
    def source(self) -> Source:
        """What it draws."""
        return self._source

    def _begin(self) -> None:
        self.maps = palettes()
        self._draw()

    def update(self) -> None:
        """Read the numbers again and draw them; faster than the eye, only the last picture is sent."""
        if not self.seen:
            return
        left = self._last + PACE - time.monotonic()
        if left <= 0:
            self._read_again()
        elif not self._waiting:
            loop = frontend.running_loop()
            if loop is None:
                self._read_again()
            else:
                self._waiting = True
                loop.call_later(left, self.flush)

    def flush(self) -> None:
        """Draw now what was left for later."""
        if self._waiting and self.seen:
            self._read_again()

    def _read_again(self) -> None:
        try:
            self._source.refresh()
        except CallError as error:
            self._say(str(error))
            return
        self._draw(fresh=True)

    def _redraw(self, _change: object = None) -> None:
        if self._shown:
            self._draw()

    def _draw(self, *, fresh: bool = False) -> None:
        self._waiting = False
        try:
            meta, data = self._picture(fresh)
        except CallError as error:
            self._say(str(error))
            return
        self._put(meta, data)
        self._last = time.monotonic()

    def _say(self, sentence: str) -> None:
        """Show a sentence instead of a picture."""
        self._put({"kind": "said", "name": self._source.name, "said": sentence}, b"")

    def _picture(self, fresh: bool) -> tuple[dict[str, Any], bytes]:
        source = self._source
        if 0 in source.shape + source.element or not source.shape + source.element:
            return self._sentence(), b""
        window = source.window(self._axes, _ALL, _ALL, MOST)
        stats = self._quick(window) if fresh and self._model is not None else None
        if stats is None:
            self._model = model = source.model(self._axes)
            stats, note = _stats(model), None
        else:
            model = self._model
            note = "gradient is 0 everywhere" if "gradient" in stats and stats["gradient"].all_zero else ""
        assert model is not None
        about, data = frames.pixels(window, Look.of(self.look), self._spans(stats))
        about |= frames.words(model, stats, note) | {
            "axes": frames.about_axes(self._axes, source.shape, source.element)
        }
        about["gradient"] = source.has_gradient
        return about, data

    def _spans(self, stats: dict[Role, Stats]) -> dict[Role, Stats]:
        """Give what the scales cover: by default the elements themselves."""
        return stats

    def _sentence(self) -> dict[str, Any]:
        model = self._source.model()
        stats = _stats(model)
        numbers = {role: panel.text for role, panel in model.panels}
        return {"kind": model.value.kind, "numbers": numbers, **frames.words(model, stats)}

    def _quick(self, window: Window) -> dict[Role, Stats] | None:
        """Measure what is drawn, where that is all there is: a full measurement takes longer than a frame."""
        if window.steps != (1, 1) or window.kind != "image" or self._axes.picks or self._source.element:
            return None
        parts: dict[Role, Any] = {"value": window.value}
        if (window.gradient is not None) != self._source.has_gradient:
            return None
        if window.gradient is not None:
            parts["gradient"] = window.gradient
        if self._model is None or {role for role, _ in self._model.panels} != set(parts):
            return None
        found: dict[Role, Stats] = {}
        for role, part in parts.items():
            stats = frames.quick_stats(part.array)
            if stats is None:
                return None
            found[role] = stats
        return found

    def _answer(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        kind = message.get("kind")
        if kind == "hello":
            self.appear()
        elif kind == "axes":
            self._turn(message)
            self._draw()
        elif kind in ("probe", "window"):
            try:
                self._reply(kind, message)
            except CallError as error:
                self.send({"kind": kind, "id": message.get("id"), "error": str(error)})

    def _reply(self, kind: str, message: dict[str, Any]) -> None:
        source = self._source
        answer: dict[str, Any] = {"kind": kind, "id": message.get("id")}
        if kind == "probe":
            place = frames.place_of(self._axes, source.shape, source.element, message["row"], message["column"])
            index, rest = place[: len(source.shape)], place[len(source.shape) :]
            value, gradient = (frames.spoken(found, rest, source.element) for found in source.probe(index))
            about = source.probed(index)
            self.send(answer | {"index": list(place), "value": value, "gradient": gradient, "note": about})
            return
        rows, columns = tuple(message["rows"]), tuple(message["columns"])
        window = source.window(self._axes, rows, columns, MOST)
        model = self._model if self._model is not None else source.model(self._axes)
        about, data = frames.pixels(window, Look.of(self.look), self._spans(_stats(model)))
        self.send(answer | {"about": about, "seq": self.seq}, buffers=[data])

    def _turn(self, message: dict[str, Any]) -> None:
        """Draw other axes, or another place on those that are not drawn."""
        shape, element = self._source.shape, self._source.element
        if "place" in message:
            self._axes = with_pick(self._axes, int(message["place"]), int(message["pick"]))
        elif "role" in message:
            self._axes = with_axis(self._axes, message["role"], int(message["axis"]), shape, element)
        elif "component" in message:
            axes = self._axes
            self._axes = Axes(axes.rows, axes.columns, axes.picks, message["component"])
        self._model = None


def _stats(model: PairModel) -> dict[Role, Stats]:
    return {role: panel.stats for role, panel in model.panels}
