"""Fixtures of the browser tests: JupyterLab, Chromium, and notebooks opened in them."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from chromium import find_or_install
from lab import Lab, Notebook, open_lab, running_lab, write_notebook
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

OpenNotebook = Callable[[Path | Sequence[str]], Notebook]


# Playwright keeps an event loop running in this thread. It ends with this folder, since other tests
# want loops of their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium; no browser, no test."""
    path, reason = find_or_install()
    if path is None:
        pytest.skip(reason)
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield made
        made.close()


@pytest.fixture(scope="package")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab with empty settings; it needs no start where there is no browser."""
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="package")
def page(lab: Lab, browser: Browser) -> Iterator[Page]:
    """Lab's page, in the size of the README's picture; a second one would cost some seconds."""
    made = browser.new_page(viewport={"width": 1120, "height": 1000}, device_scale_factor=1.5)
    open_lab(made, lab)
    yield made
    made.close()


@pytest.fixture(scope="package")
def open_notebook(lab: Lab, page: Page) -> OpenNotebook:
    """Open a file, or a list of cells, as a notebook; whoever calls this ends it."""
    numbers = itertools.count(1)

    def opened(source: Path | Sequence[str]) -> Notebook:
        if isinstance(source, Path):
            name = source.name
            shutil.copyfile(source, lab.root / name)
        else:
            name = f"typed-{next(numbers)}.ipynb"
            write_notebook(lab.root / name, source)
        return Notebook(page, lab, name)

    return opened


@pytest.fixture
def notebook(open_notebook: OpenNotebook) -> Iterator[OpenNotebook]:
    """Open notebooks that end with the test."""
    opened: list[Notebook] = []

    def open_one(source: Path | Sequence[str]) -> Notebook:
        opened.append(open_notebook(source))
        return opened[-1]

    yield open_one
    for one in opened:
        one.end()
