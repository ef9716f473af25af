"""Fixtures for all tests: a driver in place, one session, clean IPython shells."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from slangnb.devices import driver

#: Notebooks that need more than the package itself, and what.
NOTEBOOKS = {"04-inside-pytorch.ipynb": ("torch", "PyTorch")}


def pytest_configure(config: pytest.Config) -> None:
    """Bring the software driver where there is none, before anything imports SlangPy."""
    # A shell that starts us in the background without job control lets us ignore the stop button, which we test.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    driver.ensure()
    driver.activate()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say why GPU tests do not run on a machine without a GPU, and notebooks without what they show."""
    for item in items:
        module, name = NOTEBOOKS.get(item.path.name, ("", ""))
        if module and importlib.util.find_spec(module) is None:
            item.add_marker(pytest.mark.skip(reason=f"{item.path.name} needs {name}, which is not installed"))
    if any(item.get_closest_marker("gpu") for item in items):
        from slangnb.devices.backend import enumerate_backends

        if all(b.software or b.name == "cpu" for b in enumerate_backends()):
            for item in items:
                if item.get_closest_marker("gpu"):
                    item.add_marker(pytest.mark.skip(reason="this machine has no GPU"))


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """The session that all tests share; SLANGNB_TEST_BACKEND chooses another backend than the best."""
    from slangnb.runtime.current import set_session
    from slangnb.runtime.session import Session

    made = Session(os.environ.get("SLANGNB_TEST_BACKEND"), guard_seconds=60)
    set_session(made)
    yield made
    made.close()


@pytest.fixture
def branch_reads_refused(session: Any) -> bool:
    """Whether this backend is refused for backward passes with tensor reads in branches and loops."""
    b = session.backend
    return b.name == "vulkan" and b.adapter.startswith("NVIDIA")


@pytest.fixture
def ones() -> Any:
    """Give a result tensor a gradient of ones, as the seed of a backward call."""

    def seeded(y: Any) -> Any:
        y = y.with_grads()
        value = y.to_numpy()
        y.grad.copy_from_numpy(np.ones_like(value))
        return y

    return seeded


@pytest.fixture
def shell(session: Any) -> Iterator[Any]:
    """A fresh IPython shell with slangnb loaded; the session survives it."""
    from IPython.core.interactiveshell import InteractiveShell

    from slangnb.notebook import extension

    session.take_warnings()  # of other tests
    session.take_broken()
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    extension.load_ipython_extension(made)
    yield made
    _keep_session(made)
    InteractiveShell.clear_instance()


def _keep_session(shell: Any) -> None:
    from slangnb.notebook import extension
    from slangnb.runtime.current import session as current
    from slangnb.runtime.current import set_session

    kept = current()
    set_session(None)
    extension.unload_ipython_extension(shell)
    set_session(kept)
