"""The HTML: complete, safe, calm."""

import base64
import re
from html.parser import HTMLParser

import numpy as np

from slangnb.views.array_source import pair_model
from slangnb.views.model import PairModel
from slangnb.views.pair import PairView

VOID = {"img", "meta"}


class Tree(HTMLParser):
    """Checks that tags nest, and collects them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(text: str) -> Tree:
    tree = Tree()
    tree.feed(text)
    assert tree.open == []
    return tree


def model(name: str = "height"):
    gradient = np.array([-2.0, np.nan, 0.5])
    return pair_model(np.array([-0.5, 0.0, 1.0], np.float32), gradient, name=name, device="llvmpipe")


def fragment(*models: PairModel, title: str = "") -> str:
    return PairView(models, title)._fragment


def document(*models: PairModel, title: str = "") -> str:
    return PairView(models, title)._page()


def test_picture_alternative_text_and_numbers() -> None:
    text = PairView([model()])._figure((b"picture",))
    image = next(attributes for tag, attributes in parse(text).tags if tag == "img")
    assert image["src"] == "data:image/png;base64," + base64.b64encode(b"picture").decode()
    assert image["alt"] == ("height: float32 (3,) on llvmpipe, value from -0.5 to 1; gradient from -2 to 0.5, 1 NaN")
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    assert cells[:9] == ["-0.5", "1", "0.1667", "0.6236", "1.118", "1", "0", "0", "0"]
    assert cells[9:] == ["-2", "0.5", "-0.75", "1.25", "2.062", "0", "1", "0", "0"]
    assert "gradient: 1 NaN" in text


def test_user_text_is_escaped() -> None:
    nasty = '<script>alert("1")</script>&'
    for text in (fragment(model(nasty), title=nasty), document(model(nasty), title=nasty)):
        tags = [tag for tag, _ in parse(text.replace("<!doctype html>", "")).tags]
        assert "script" not in tags
        assert "<script" not in text


def test_no_scripts_ids_or_fixed_colours() -> None:
    text = PairView([model(), pair_model(np.zeros((0, 3)), name="empty")])._figure((b"",))
    tags = parse(text).tags
    assert not any("id" in attributes or "class" in attributes for _, attributes in tags)
    assert not re.search(r"<script|onclick|https?:|color:\s*#|background:\s*#", text)


def test_a_document_is_complete() -> None:
    text = document(model(), model("other"))
    assert text.startswith("<!doctype html>")
    assert "<title>height, other</title>" in text
    parse(text)
