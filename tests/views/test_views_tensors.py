"""Real SlangPy tensors, on software Vulkan where there is no GPU."""

from typing import Any

import numpy as np
import pytest

from slangnb.errors import CallError
from slangnb.views import device_source, mimebundle, show

SOURCE = """
[Differentiable] float poly(float x) { return 2 * x * x + 8 * x - 1; }
struct P { float a; float b; };
"""


@pytest.fixture(scope="module")
def spy() -> Any:
    return pytest.importorskip("slangpy")


@pytest.fixture(scope="module")
def device(session: Any) -> Any:
    return session.device


def test_value_and_gradient(spy: Any, device: Any) -> None:
    module = spy.Module(device.load_module_from_source("views_tensors", SOURCE))
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3, 4], np.float32)).with_grads(zero=True)
    y = module.poly(x, _result="tensor").with_grads()
    y.grad.storage.copy_from_numpy(np.ones(4, np.float32))
    module.poly.bwds(x, _result=y)
    first, second = show(x, y).models
    assert first.value.text == "[1. 2. 3. 4.]"
    assert first.gradient is not None
    assert first.gradient.text == "[12. 16. 20. 24.]"
    assert second.value.text == "[9. 23. 41. 63.]"
    assert (first.dtype, first.shape) == ("float32", (4,))
    assert first.device
    assert "(" not in first.device


def test_tensor_of_structs(session: Any) -> None:
    module = session.compile(
        "struct P { float a; float2 b; }; P make(float a) { P p; p.a = a; p.b = { a, 2 * a }; return p; }"
    )
    made = module.make(np.array([1, 2, 3], np.float32), _result="tensor")
    a, b = show(p=made).models
    assert (a.name, a.value.text, b.name, b.dtype) == ("p.a", "[1. 2. 3.]", "p.b", "float2")
    assert b.value.array.tolist() == [[1, 2, 3], [2, 4, 6]]


def test_no_gradient(spy: Any, device: Any) -> None:
    assert show(spy.Tensor.zeros(device, (3,), "float")).models[0].gradient is None


@pytest.mark.parametrize(
    ("dtype", "words", "kind"),
    [
        ("int", "int32", "image"),
        ("bool", "bool", "image"),
        ("half", "float16", "image"),
        ("double", "float64", "image"),
        ("float2", "float2", "facets"),
        ("float3", "float3", "rgb"),
        ("half4", "half4", "rgb"),
        ("float2x2", "float2x2", "image"),
    ],
)
def test_element_types(spy: Any, device: Any, dtype: str, words: str, kind: str) -> None:
    tensor = spy.Tensor.zeros(device, (5, 6), dtype)
    model = show(tensor).models[0]
    assert (model.dtype, model.shape, model.value.kind) == (words, (5, 6), kind)


def test_a_slice_shows_no_wrong_gradient(spy: Any, device: Any) -> None:
    whole = spy.Tensor.zeros(device, (3, 4), "float").with_grads(zero=True)
    model = show(whole[1]).models[0]
    assert model.gradient is None
    assert model.caption.startswith("gradient not shown: it is that of the whole tensor (3, 4)")


def test_a_seed_alone_is_named(spy: Any, device: Any) -> None:
    seed = spy.Tensor.from_numpy(device, np.ones(3, np.float32))
    model = show(spy.Tensor.zeros(device, (3,), "float").with_grads(seed, None, zero=False)).models[0]
    assert model.gradient is not None
    assert model.caption == "the gradient shown is the seed (grad_in)"


def test_large_tensors_fail_no_cell(spy: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_source, "LARGEST_READ", 1 << 20)
    monkeypatch.setattr(device_source, "session_of", lambda device: None)
    tensor = spy.Tensor.zeros(device, (1 << 19,), "float")
    with pytest.raises(CallError, match="2 MiB") as refused:
        show(tensor)
    assert "show(x[:n])" in refused.value.remedy
    assert list(mimebundle(tensor)[0]) == ["text/plain"]


def test_the_formatter_gives_what_show_gives(spy: Any, device: Any) -> None:
    tensor = spy.Tensor.from_numpy(device, np.arange(6, dtype=np.float32).reshape(2, 3))
    assert mimebundle(tensor) == show(tensor)._repr_mimebundle_()
