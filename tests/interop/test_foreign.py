"""Optional libraries are found by the values themselves, and never imported first. Runs without any of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.foreign import host, library_of, library_of_type


@pytest.mark.parametrize("value", [1, 2.0, None, "text", np.zeros(3), [1.0], (), {}, {"a": {"b": 1.0}}, object()])
def test_values_of_no_library(value: Any) -> None:
    assert library_of((value,)) is None
    assert host(value) is value


def test_a_class_of_that_name_must_be_the_adapters_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter says which of a library's types it takes."""
    import slangnb.interop

    monkeypatch.setattr(slangnb.interop, "ADAPTERS", {"fakelib": "tests_fake_adapter"})
    fake: Any = type(sys)("tests_fake_adapter")
    fake.takes = lambda kind: kind.__name__ == "Array"
    monkeypatch.setitem(sys.modules, "tests_fake_adapter", fake)
    array = type("Array", (), {"__module__": "fakelib.core"})
    other = type("Device", (), {"__module__": "fakelib.core"})
    own = type("Mine", (array,), {"__module__": "__main__"})
    assert library_of_type(array) is fake
    assert library_of_type(other) is None
    assert library_of(({"a": {"b": array()}},)) is fake
    assert library_of_type(own) is None  # its name is not the adapter's


def test_calls_import_no_library() -> None:
    code = (
        "import sys, slangnb as sn, numpy as np; sn.torch\n"
        "s = sn.session(); s.device; before = 'torch' in sys.modules\n"  # SlangPy imports it where it is installed
        "m = sn.session().compile('[Differentiable] float f(float x) { return x * x; }')\n"
        "m.f(np.ones(3, np.float32)); sn.grad(m.f)(2.0)\n"
        "print(('torch' in sys.modules) == before, any('interop.torch_' in name for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True False"


def test_a_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "slangnb.interop.torch_module", raising=False)
    for name in list(sys.modules):
        if name.startswith("slangnb.interop.torch_"):
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(sn.CallError, match="needs PyTorch, which is not installed") as caught:
        sn.torch.SlangModule  # noqa: B018
    assert "pip install" in caught.value.remedy
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        sn.torch.Nonsense  # noqa: B018


def test_the_name_torch_is_not_exported() -> None:
    """``from slangnb import *`` must leave a person's own ``torch`` alone."""
    assert "torch" not in sn.__all__
    assert "torch" in dir(sn)
