"""SlangPy's values in text: tensors within tuples and dicts, vectors, and a closed device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.views import showing, tensor_arrays
from slangnb.views.tensor_arrays import tensor_words


@pytest.fixture(scope="module")
def spy(session: Any) -> Any:
    return pytest.importorskip("slangpy")


def text(shell: Any, value: Any) -> str:
    return shell.display_formatter.format(value)[0]["text/plain"]


def test_tensors_in_containers_are_a_few_words(shell: Any) -> None:
    x, big = sn.tensor([1.0, 2.5]), sn.tensor(np.zeros((64, 32), np.float32), grad=True)
    assert text(shell, (x, big)) == "(<tensor float32 (2,) [1. 2.5]>, <tensor float32 (64, 32) with a gradient>)"
    assert text(shell, [x]) == "[<tensor float32 (2,) [1. 2.5]>]"
    assert text(shell, {"a": x}) == "{'a': <tensor float32 (2,) [1. 2.5]>}"
    assert text(shell, (2.0, {"x": (x,)})) == "(2.0, {'x': (<tensor float32 (2,) [1. 2.5]>,)})"


def test_a_tensor_alone_is_still_measured_and_only_once(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    shown = showing.show
    monkeypatch.setattr(showing, "show", lambda *args: calls.append(args) or shown(*args))
    x = sn.tensor([1.0, 2.5])
    assert "min 1  max 2.5" in text(shell, x)
    assert len(calls) == 1
    assert text(shell, (x,)) == "(<tensor float32 (2,) [1. 2.5]>,)"
    assert set(shell.display_formatter.format(x)[0]) == {"text/plain", "text/html", "image/png"}


def test_words_of_other_elements(spy: Any, session: Any) -> None:
    device = session.device
    assert tensor_words(spy.Tensor.zeros(device, (2,), "float3")) == "<tensor float3 (2,) [[0. 0. 0.] [0. 0. 0.]]>"
    assert tensor_words(spy.Tensor.zeros(device, (3,), "int")) == "<tensor int32 (3,) [0 0 0]>"
    assert tensor_words(spy.Tensor.zeros(device, (20,), "bool")) == "<tensor bool (20,)>"
    ball = session.compile("struct Ball { float3 at; float size; }").Ball
    assert tensor_words(spy.Tensor.empty(device, (2, 5), ball)) == "<tensor Ball (2, 5)>"


def test_a_closed_device_is_not_read(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = sn.tensor([1.0])
    gone = SimpleNamespace(
        shape=x.shape, dtype=x.dtype, device=SimpleNamespace(slang_session=None), grad_out=None, grad_in=None
    )
    monkeypatch.setattr(tensor_arrays, "fits", lambda tensor: pytest.fail("it was looked at"))
    assert tensor_words(gone) == "<tensor float32 (1,) on a device that was closed>"  # pyright: ignore[reportArgumentType]


def test_vectors_and_matrices_have_their_names(shell: Any, spy: Any) -> None:
    assert text(shell, spy.float3(2, 4, 6)) == "float3(2, 4, 6)"
    assert text(shell, (spy.int2(1, 2), 5)) == "(int2(1, 2), 5)"
    assert text(shell, spy.math.bool2(True, False)) == "bool2(true, false)"
    assert text(shell, spy.math.float2x2([1, 2, 3, 4])) == "float2x2((1, 2), (3, 4))"


def test_unloading_takes_the_printers_away(shell: Any, spy: Any) -> None:
    from slangnb.notebook import display

    assert text(shell, spy.float3(2, 4, 6)) == "float3(2, 4, 6)"
    display.unregister(shell)
    assert text(shell, spy.float3(2, 4, 6)) == "{2, 4, 6}"
    assert text(shell, (sn.tensor([1.0]),)).startswith("(Tensor(dtype=")
    display.register(shell)
