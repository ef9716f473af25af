"""Masked arrays: no way in drops the mask, whatever the size."""

from typing import Any

import numpy as np
import pytest

import slangnb as sn


@pytest.fixture(scope="module")
def m(session: Any) -> Any:
    return session.compile("[Differentiable] float off(float a, float x) { return (a - x) * (a - x); }")


@pytest.mark.parametrize("count", [3, 5000])
def test_a_mask_is_never_dropped(m: Any, count: int) -> None:
    x: Any = np.ma.MaskedArray(np.ones(count, np.float32), mask=np.arange(count) == 1)
    shared = sn.Parameter(np.ones(count))
    ways: list[tuple[str, str, Any]] = [
        ("'x'", "pass x.filled(0)", lambda: sn.optimize(m.off, {"a": 1.0}, {"x": x}, steps=1)),
        ("'x'", "pass x.filled(0)", lambda: sn.optimize(m.off, {"x": x}, {"a": 1.0}, steps=1)),
        ("'x'", "pass x.filled(0)", lambda: m.off(1.0, x)),
        ("the data", "pass x.filled(0)", lambda: sn.tensor(x)),
        ("the data", "pass x.filled(0)", lambda: sn.Parameter(x)),
        ("the data", "pass x.filled(0)", lambda: setattr(shared, "value", x)),
        ("x", "show x.filled(np.nan), or x.filled(0) for whole numbers", lambda: sn.show(x=x)),
        ("x", "show x.filled(np.nan), or x.filled(0) for whole numbers", lambda: sn.show(x=x, kind="scatter")),
    ]
    for named, remedy, way in ways:
        with pytest.raises(sn.CallError, match=f"{named} is a masked array, whose mask would be lost") as caught:
            way()
        assert caught.value.remedy == remedy
