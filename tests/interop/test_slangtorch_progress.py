"""The one line that is shown while slangtorch builds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slangnb.errors import BackendError
from slangnb.interop.slangtorch.progress import Progress, printed


def clock(*times: float) -> Callable[[], float]:
    return iter(times).__next__


def test_one_line_that_counts_and_ends_with_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[tuple[str, bool]] = []
    times = clock(10.0, 10.5, 11.1, 11.9, 12.0, 26.04)
    with Progress(lambda line, finished: shown.append((line, finished)), times) as progress:
        progress.start("compiling f(x) for PyTorch")
        for _ in range(4):
            progress.tick()
    assert shown == [
        ("compiling f(x) for PyTorch ...", False),
        ("compiling f(x) for PyTorch ... 1 s", False),
        ("compiling f(x) for PyTorch ... 2 s", False),
        ("compiling f(x) for PyTorch ... 16.0 s", True),
    ]
    assert capsys.readouterr() == ("", "")


def test_what_is_printed_grows() -> None:
    written: list[str] = []
    with Progress(printed(written.append), clock(0.0, 1.5, 2.5, 3.0)) as progress:
        progress.start("compiling f(x) for PyTorch")
        assert "".join(written) == "compiling f(x) for PyTorch ..."
        progress.tick()
        progress.tick()
    assert "".join(written) == "compiling f(x) for PyTorch ... 3.0 s\n"


@pytest.mark.parametrize(
    ("error", "how"), [(BackendError("no"), "failed after"), (KeyboardInterrupt(), "stopped after")]
)
def test_the_line_ends_also_when_it_fails(error: BaseException, how: str) -> None:
    written: list[str] = []
    with pytest.raises(type(error)), Progress(printed(written.append), clock(0.0, 3.0)) as progress:
        progress.start("compiling f() for PyTorch")
        raise error
    assert "".join(written) == f"compiling f() for PyTorch ... {how} 3.0 s\n"


def test_nothing_is_said_before_it_starts_or_when_quiet() -> None:
    written: list[str] = []
    with pytest.raises(BackendError), Progress(printed(written.append)):
        raise BackendError("no")
    assert written == []
    with Progress(None) as progress:
        progress.start("x")
        progress.tick()
