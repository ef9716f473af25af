"""`show`: what it takes, what it gives, and what it refuses."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import slangnb as sn
from slangnb.errors import CallError
from slangnb.views import PairView, mimebundle, show


def names(view: PairView) -> list[str]:
    return [model.name for model in view.models]


def test_names_of_rows() -> None:
    assert names(show(1.0)) == ["tensor"]
    assert names(show(1.0, title="height")) == ["height"]
    assert names(show(height=1.0)) == ["height"]
    assert names(show(1.0, 2.0, z=3.0)) == ["tensor 1", "tensor 2", "z"]
    assert names(show({"a": 1.0, "b": {"c": 2.0}, "_type": "P"})) == ["a", "b.c"]
    assert names(show(p={"a": 1.0})) == ["p.a"]
    titled = show(1.0, 2.0, title="both")
    assert titled.title == "both"
    assert repr(titled).splitlines()[0] == "both"
    assert show(height=1.0, title="over it").title == "over it"


def test_show_survives_the_import_of_every_module() -> None:
    import slangnb.views.pair
    import slangnb.views.sources  # noqa: F401

    assert callable(sn.show)
    assert sn.show is show


def test_one_bundle() -> None:
    view = show(x=np.arange(4, dtype=np.float32))
    data, metadata = view._repr_mimebundle_()
    assert sorted(data) == ["image/png", "text/html", "text/plain"]
    assert data["text/plain"] == repr(view)
    assert "<script" not in data["text/html"]
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width == pytest.approx(1.25 * metadata["image/png"]["width"], abs=2)
    assert set(view._repr_mimebundle_(include={"text/plain"})[0]) == {"text/plain"}
    assert "image/png" not in view._repr_mimebundle_(exclude={"image/png"})[0]


def test_save(tmp_path: Path) -> None:
    view = show(x=[1.0, 2.0])
    picture, page = view.save(tmp_path / "x.png"), view.save(str(tmp_path / "x.HTML"))
    assert Image.open(picture).format == "PNG"
    assert "data:image/png;base64," in page.read_text(encoding="utf-8")
    with pytest.raises(CallError, match=r"'\.gif'") as refused:
        view.save(tmp_path / "x.gif")
    assert "x.png" in refused.value.remedy
    with pytest.raises(CallError, match="does not say"):
        view.save(tmp_path / "x")
    with pytest.raises(CallError, match="no folder"):
        view.save(tmp_path / "missing" / "x.png")


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ("words", "is of the type 'str'"),
        (None, "is None"),
        ([1, [2]], "lists of different lengths"),
        (np.array(1j), "complex"),
        ({}, "nothing"),
    ],
)
def test_refusals(thing: object, message: str) -> None:
    with pytest.raises(CallError, match=message) as refused:
        show(thing)
    assert refused.value.remedy


def test_nothing_and_a_title_that_is_data() -> None:
    with pytest.raises(CallError, match="nothing was given"):
        show()
    with pytest.raises(CallError, match="title is the title"):
        show(1.0, title=np.zeros(3))  # pyright: ignore[reportArgumentType]


def test_a_formatter_never_fails_the_cell() -> None:
    data, metadata = mimebundle(np.array(1j))
    assert list(data) == ["text/plain"]
    assert data["text/plain"].startswith("tensor, not drawn: tensor is complex")
    assert metadata == {}


def test_the_view_keeps_what_was_read() -> None:
    array = np.array([1.0, 2.0])
    view = show(x=array)
    text = repr(view)
    array[:] = 7.0
    assert repr(view) == text
    assert view.models[0].value.array.tolist() == [[1.0, 2.0]]
