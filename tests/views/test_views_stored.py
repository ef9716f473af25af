"""The stored picture follows its view; IPython's kernel is a fake here."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from slangnb.views import PairView, frontend, show, stored
from slangnb.views.array_source import ArraySource
from slangnb.views.compact import compact
from slangnb.views.figure import to_png
from slangnb.views.frontend import Keys
from slangnb.views.still import STORED_DPI


class Publisher:
    """What kernels send displays through; it keeps what was sent."""

    def __init__(self) -> None:
        self.hooks: list[Callable[[Any], Any]] = []
        self.sent: list[dict[str, Any]] = []

    def register_hook(self, hook: Callable[[Any], Any]) -> None:
        self.hooks.append(hook)

    def unregister_hook(self, hook: Callable[[Any], Any]) -> None:
        self.hooks.remove(hook)

    def publish(self, data: Any, metadata: Any, transient: Any = None, update: bool = False) -> None:
        content = {"data": data, "metadata": metadata, "transient": dict(transient or {})}
        message = {"header": {"msg_type": "update_display_data" if update else "display_data"}, "content": content}
        for hook in self.hooks:
            message = hook(message)
        self.sent.append(message)

    def updates(self) -> list[tuple[str, str]]:
        """Give the id and the text of each picture that was drawn again."""
        return [
            (m["content"]["transient"]["display_id"], m["content"]["data"]["text/plain"])
            for m in self.sent
            if m["header"]["msg_type"] == "update_display_data"
        ]


class Shell:
    """IPython's shell in a kernel, as far as views know it."""

    def __init__(self, paged: bool) -> None:
        self.meta: dict[str, Any] = {}
        self.display_pub, self.displayhook = Publisher(), SimpleNamespace(msg=None)
        self.kernel, self.events = self, self
        self.callbacks: dict[str, list[Any]] = {"pre_run_cell": [], "post_run_cell": [], "post_execute": []}
        self.paged, self.runs, self.request = paged, 0, {}

    def get_parent(self) -> dict[str, Any]:
        return self.request

    def register(self, name: str, act: Any) -> None:
        self.callbacks[name].append(act)

    def unregister(self, name: str, act: Any) -> None:
        self.callbacks[name].remove(act)

    def run(self, cell: Callable[[], Any], code: str = "view", name: str = "") -> Any:
        """Run a cell; its value is shown as IPython does it."""
        self.runs += 1
        header = {"msg_id": str(self.runs), "msg_type": "execute_request"}
        named = {"cellId": name or str(self.runs)} if self.paged else {}
        self.request = {"header": header, "metadata": named, "content": {"code": code}}
        for act in self.callbacks["pre_run_cell"]:
            act(None)
        value = cell()
        if isinstance(value, PairView):
            self.displayhook.msg = {}
            value._ipython_display_()
            self.displayhook.msg = None
        for name_ in ("post_execute", "post_run_cell"):
            for act in list(self.callbacks[name_]):
                act(*([None] if name_ == "post_run_cell" else []))
        return value

    def display(self, view: PairView, **options: Any) -> None:
        data, metadata = view._repr_mimebundle_()
        self.display_pub.publish(data, metadata, **options)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A kernel that no page watches."""
    shell = Shell(False)
    monkeypatch.setattr(frontend, "shell", lambda: shell)
    yield shell
    stored.release(shell)


@pytest.fixture
def paged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A kernel that JupyterLab watches; its pictures wait for a moment."""
    shell = Shell(True)
    monkeypatch.setattr(frontend, "shell", lambda: shell)
    for name, seconds in (("QUIET", 0.2), ("QUIET_CELL", 0.1), ("LONGEST", 30.0)):
        monkeypatch.setattr(stored, name, seconds)
    yield shell
    stored.release(shell)


def in_a_loop(act: Callable[[], Any]) -> Any:
    """Run a coroutine in a thread of its own: where browsers were tested, this one may have a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, act()).result()


def numbers() -> np.ndarray:
    return np.arange(12.0).reshape(3, 4)


def test_names_are_distinct_and_the_same_on_every_run() -> None:
    cells = [("a", "view"), ("b", "view"), ("c", "view\n"), ("d", "other")]

    def run(keys: Keys, cell: str, code: str, msg: str) -> list[str]:
        request = {"header": {"msg_id": msg}, "metadata": {"cellId": cell}, "content": {"code": code}}
        return [keys.next(request) for _ in range(2)]

    once, again = Keys(), Keys()
    first = [run(once, cell, code, cell) for cell, code in cells]
    assert len({key for pair in first for key in pair}) == 8
    assert [run(again, cell, code, f"x{cell}") for cell, code in cells] == first
    assert run(once, "b", "view", "later") == first[1], "a cell that runs again shows the same picture"
    no_page = Keys()
    requests = [{"header": {"msg_id": str(i)}, "content": {"code": code}} for i, (_, code) in enumerate(cells)]
    assert [[no_page.next(r) for _ in range(2)] for r in requests] == first, "what runs without a page names alike"


def test_without_a_page_the_picture_is_drawn_at_the_end_of_the_cell(plain: Shell) -> None:
    x = numbers()
    view = plain.run(lambda: show(x=x))
    first = plain.display_pub.sent[0]["content"]
    assert sorted(first["data"]) == ["image/png", "text/html", "text/plain"]

    def cell() -> None:
        for i in range(5):
            x[:] = i
            view.update()
        assert not plain.display_pub.updates()

    plain.run(cell)
    plain.run(lambda: None)
    [(display, text)] = plain.display_pub.updates()
    assert display == first["transient"]["display_id"] and "min 4" in text
    changed = plain.display_pub.sent[-1]["content"]["data"]
    assert stored.key_of(changed["text/html"]) == stored.key_of(first["data"]["text/html"])
    assert changed["image/png"] != first["data"]["image/png"]
    assert (drawn(changed["image/png"]) == drawn(light_of(changed["text/html"]))).all()


def test_what_update_read_is_drawn(plain: Shell) -> None:
    x = numbers()
    view = plain.run(lambda: show(x=x))

    def cell() -> None:
        x[:] = 1.0
        view.update()

    plain.run(cell)
    plain.run(lambda: x.fill(2.0))
    assert [("max 1" in text) for _, text in plain.display_pub.updates()] == [True]


def test_a_live_view_follows_cells(plain: Shell) -> None:
    x = numbers()
    plain.run(lambda: show(x=x, live=True))
    plain.run(lambda: None)
    assert not plain.display_pub.updates()
    plain.run(lambda: x.fill(2.0))
    assert ["min 2" in text for _, text in plain.display_pub.updates()] == [True]


def test_every_picture_of_a_view_follows(plain: Shell) -> None:
    x = numbers()
    view = show(x=x)

    def twice() -> None:
        plain.display(view)
        plain.display(view, transient={"display_id": "mine"})

    plain.run(twice)
    plain.run(lambda: (x.fill(2.0), view.update()))
    ids = [display for display, _ in plain.display_pub.updates()]
    assert len(ids) == 2 and "mine" in ids and len(set(ids)) == 2
    other = show(y=numbers())
    # `handle.update(other)`: the place belongs to another view now.
    plain.run(lambda: plain.display(other, transient={"display_id": "mine"}, update=True))
    count = len(plain.display_pub.sent)
    plain.run(lambda: (x.fill(3.0), view.update()))
    assert [m["content"]["transient"]["display_id"] for m in plain.display_pub.sent[count:]] == [
        display for display in ids if display != "mine"
    ]


def test_display_has_its_own_ways(plain: Shell) -> None:
    with pytest.raises(NotImplementedError):
        show(x=1.0)._ipython_display_()


def test_a_view_that_nobody_holds_is_let_go(plain: Shell) -> None:
    plain.run(lambda: plain.display(show(x=numbers())))
    [place] = stored.of(plain)._places.values()
    assert place.view() is None


def test_a_page_gets_it_when_the_kernel_is_idle(paged: Shell) -> None:
    x = numbers()

    async def act() -> None:
        view = paged.run(lambda: show(x=x))
        for i in range(20):  # a slider
            x[:] = i
            view.update()
            await asyncio.sleep(0.02)
        assert not paged.display_pub.updates()
        await asyncio.sleep(1.0)
        assert ["min 19" in text for _, text in paged.display_pub.updates()] == [True]
        view.update()
        await asyncio.sleep(0.6)

    in_a_loop(act)
    texts = [m["content"]["data"]["image/png"] for m in paged.display_pub.sent]
    assert texts[-1] == texts[-2]


def test_a_page_gets_it_at_the_end_of_a_cell_but_not_of_each(paged: Shell) -> None:
    x = numbers()

    def change(view: PairView) -> None:
        x[:] += 1
        view.update()

    async def act() -> None:
        view = paged.run(lambda: show(x=x))
        for count in range(1, 4):
            paged.run(lambda: change(view))
            assert len(paged.display_pub.updates()) == 1, f"after {count} cells"
        await asyncio.sleep(0.6)

    in_a_loop(act)
    assert ["max 12" in text or "max 14" in text for _, text in paged.display_pub.updates()] == [True, True]


def test_it_does_not_wait_for_ever(paged: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "LONGEST", 0.3)
    x = numbers()

    async def act() -> None:
        view = paged.run(lambda: show(x=x))
        for i in range(60):
            x[:] = i
            view.update()
            await asyncio.sleep(0.02)

    in_a_loop(act)
    assert 1 <= len(paged.display_pub.updates()) <= 5


def test_a_cell_that_runs_again_replaces_its_widgets(paged: Shell) -> None:
    view = paged.run(lambda: show(x=numbers()), name="a")
    first = view._widgets[0]
    again = paged.run(lambda: show(x=numbers()), name="a")
    other = paged.run(lambda: show(x=numbers()), name="b")
    assert first.comm is None and again._widgets[0].key == first.key != other._widgets[0].key
    assert len(stored.of(paged)._places) == 2


def test_only_the_last_pictures_stay_alive(paged: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MOST_KEPT", 2)
    views = [paged.run(lambda: show(x=numbers())) for _ in range(4)]
    assert [view.alive for view in views] == [False, False, True, True]


def test_outside_of_kernels_nothing_happens() -> None:
    view = show(x=numbers())
    view.update()
    assert stored.key_of(view._repr_mimebundle_()[0]["text/html"]) == ""


def light_of(html: str) -> str:
    """Give the bytes of what a page shows in light themes."""
    return html.partition("base64,")[2].partition('"')[0]


def drawn(picture: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB"), int)


def smooth(n: int = 512) -> list[tuple[np.ndarray, np.ndarray]]:
    y, x = np.mgrid[:n, :n] / (n - 1.0) * 2 - 1
    r = np.hypot(x, y)
    fields = [np.exp(-3 * r**2), np.sin(3 * x) * np.cos(2 * y), np.sin(9 * x) * np.cos(6 * y), x**2 - y**2]
    fields += [np.cos(12 * r) * np.exp(-r), np.tanh(4 * (x + 0.3 * np.sin(3 * y))), x * y + 0.3 * np.sin(5 * x + 3 * y)]
    fields += [1 / (1 + 20 * (r - 0.5) ** 2), np.sin(20 * x) * np.sin(20 * y), (1 - x) ** 2 + 20 * (y - x**2) ** 2]
    return [(f.astype(np.float32), np.add(*np.gradient(f)).astype(np.float32)) for f in fields]


def stored_bytes(value: np.ndarray, gradient: np.ndarray) -> int:
    """Give the size of a whole output, which holds a picture for each theme."""
    one = ArraySource(value, gradient, name="x")
    data = PairView([one.model()], sources=[one])._repr_mimebundle_()[0]
    assert data["text/html"].count('class="slangnb-dark"') == 1
    return sum(map(len, data.values()))


def test_ten_smooth_pairs_take_less_than_a_megabyte() -> None:
    assert sum(stored_bytes(*pair) for pair in smooth()) < 870_000


def test_a_noisy_pair_takes_a_fifth_of_a_megabyte() -> None:
    noise = np.random.default_rng(0).normal(size=(2, 512, 512)).astype(np.float32)
    assert 100_000 < stored_bytes(*noise) < 185_000


def test_a_large_picture_keeps_its_colours_and_its_words() -> None:
    value, gradient = smooth()[2]
    one = ArraySource(value, gradient, name="x")
    whole = to_png([one.model()], STORED_DPI)
    pictures = [np.asarray(Image.open(io.BytesIO(p)).convert("RGB"), int) for p in (whole, compact(whole))]
    away = np.abs(pictures[0] - pictures[1]).max(axis=2)
    assert away.mean() < 8
    # Above and below what is drawn nothing is lost but the last shades of grey.
    assert away[:80].max() <= 16 and away[-50:].max() <= 16


def test_stems_keep_their_colours() -> None:
    one = ArraySource(np.array([1, 2, 3], np.float32), np.array([1, -2, 3], np.float32), name="x")
    drawn = Image.open(io.BytesIO(compact(to_png([one.model()], STORED_DPI)))).convert("RGB")
    seen = np.array([colour for _, colour in drawn.getcolors(256) or []])
    for colour, most in (((0xB7, 0xD3, 0xDE), 0), ((0xF3, 0xC2, 0x9B), 6), ((0xA8, 0xCB, 0xE2), 6)):
        assert np.abs(seen - colour).max(axis=1).min() <= most


def test_equal_bundles_for_equal_numbers() -> None:
    one, two = (show(x=numbers())._repr_mimebundle_()[0] for _ in range(2))
    assert one == two
    assert base64.b64decode(one["image/png"])[:4] == b"\x89PNG"
