"""What a session holds of cells without a name while the garbage collector takes some of them."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest


@pytest.mark.parametrize("at", range(12))
def test_modules_that_die_while_they_are_listed(session: Any, at: int) -> None:
    """The collector may run at any call of a Python function: here at the one numbered `at`."""
    calls = iter(range(10**6))

    def collect(_frame: Any, event: str, _argument: Any) -> None:
        if event == "call" and next(calls) == at:
            gc.collect()

    gc.collect()
    gc.disable()
    try:
        function = session.compile(f"float library_{at}(float x) {{ return x; }}")[f"library_{at}"]
        cycle = [function]
        cycle.append(cycle)  # type: ignore[arg-type]
        del function, cycle
        sys.setprofile(collect)
        alive = session._library._alive()
    finally:
        sys.setprofile(None)
        gc.enable()
    assert None not in alive.values()
