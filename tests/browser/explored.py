"""What tests of live explored functions look at."""

from __future__ import annotations

import re

from lab import Notebook
from playwright.sync_api import Locator, expect


def at(notebook: Notebook, index: int) -> Locator:
    """Give the live view of a cell, drawn and in sight."""
    found = notebook.cell(index).locator(".snb-explore")
    expect(found).to_have_attribute("data-seq", re.compile(r"\d+"))
    found.locator(".snb-stage").scroll_into_view_if_needed()
    return found


def readout(view: Locator) -> Locator:
    """Give what the probe reads."""
    return view.locator(".snb-readout")
