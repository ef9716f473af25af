"""Memory that the device does not have: room is made first, and what is said if there is none."""

from __future__ import annotations

import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import slangnb as sn
from slangnb.runtime.fused.pool import Pool
from slangnb.runtime.memory import MOST_BYTES_SOFTWARE, allocated, check_bytes, making_room

REFUSED = "m_device->rhi_device()->createBuffer(rhi_desc, nullptr, ...) failed with error: -2147467259 (SLANG_FAIL)"


class Card:
    """A device whose memory is taken until somebody gives it back."""

    info = SimpleNamespace(adapter_name="NVIDIA H100")

    def __init__(self, text: str = REFUSED) -> None:
        self.text, self.full, self.done = text, True, []

    def make(self) -> str:
        self.done.append("make")
        if self.full:
            raise RuntimeError(self.text)
        return "made"

    def wait(self) -> None:
        self.done.append("wait")

    def give_back(self) -> None:
        self.done.append("give back")
        self.full = False


def test_tensors_beyond_what_software_vulkan_has() -> None:
    software: Any = SimpleNamespace(info=SimpleNamespace(adapter_name="llvmpipe (LLVM 19)"))
    card: Any = SimpleNamespace(info=SimpleNamespace(adapter_name="NVIDIA H100"))
    check_bytes(software, MOST_BYTES_SOFTWARE - 1)
    check_bytes(card, MOST_BYTES_SOFTWARE)
    with pytest.raises(sn.CallError, match=r"2.1 GB in one piece"):
        check_bytes(software, MOST_BYTES_SOFTWARE)


def test_room_is_made_by_what_is_kept_for_later() -> None:
    card: Any = Card()
    assert allocated(card, 8, card.make, card.give_back) == "made"
    assert card.done == ["make", "give back", "wait", "make"]


def test_the_pool_lets_go_of_what_is_free(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(session.device)
    first = pool.buffer(1 << 12)
    seen = weakref.ref(first) if hasattr(first, "__weakref__") else None
    del first
    kept = [len(of) for of in pool._kept.values()]
    make, calls = pool._device, []

    class Full:
        info = make.info

        def create_buffer(self, **given: Any) -> Any:
            calls.append(sum(len(of) for of in pool._kept.values()))
            if len(calls) == 1:
                raise RuntimeError(REFUSED)
            return make.create_buffer(**given)

        def wait(self) -> None:
            make.wait()

    monkeypatch.setattr(pool, "_device", Full())
    assert pool.buffer(1 << 13).size == 1 << 13
    assert seen is None or seen() is None
    assert (kept, calls) == ([1], [1, 0])


def test_no_room_is_said_with_the_size() -> None:
    card: Any = Card()
    with pytest.raises(sn.CallError, match=r"this needs 8\.5 GB, and the device has no such piece of memory left"):
        allocated(card, 8_500_000_000, card.make)
    assert card.done == ["make", "wait", "make"]


def test_other_faults_stay_what_they_are() -> None:
    card: Any = Card("the device was lost")
    with pytest.raises(RuntimeError, match="the device was lost"):
        allocated(card, 8, card.make, card.give_back)
    assert card.done == ["make"]


def test_torch_keeps_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert making_room().endswith("torch.cuda.empty_cache()")
    monkeypatch.delitem(sys.modules, "torch")
    assert making_room().endswith("del x")


def test_a_call_whose_result_is_too_large(session: Any) -> None:
    m = session.compile("float4x4 table(float a, float b) { return float4x4(a * b); }", name="m")
    rows, columns = np.ones((1 << 18, 1), np.float32), np.ones((1, 1 << 18), np.float32)
    with pytest.raises(sn.CallError, match="not enough memory for this call of 262144 x 262144 elements") as error:
        m.table(rows, columns)
    assert "take the data in parts" in error.value.remedy
