"""The page that a history is saved as: its slider, by pointer and by keyboard, and the page without scripts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from slangnb.views import show


@pytest.fixture
def address(tmp_path: Path) -> str:
    x = np.arange(6.0)
    history = show(x=x, history=True)
    for _ in range(3):
        x *= 0.5
        history.update()
    return history.save(tmp_path / "steps.html").as_uri()


def test_the_page_has_a_slider_that_works(browser: Browser, address: str) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    assert page.locator(".still").is_hidden()
    assert page.locator("output").inner_text() == "step 3"
    slider = page.get_by_role("slider", name="step")
    last = page.locator(".player img").first.get_attribute("src")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("output").inner_text() == "step 2"
    assert page.locator(".player img").first.get_attribute("src") != last
    assert (page.locator(".player img").first.get_attribute("alt") or "").startswith("step 2: x: float64 (6,)")
    page.get_by_role("button", name="play").click()
    expect(page.locator("output")).to_have_text("step 3")
    assert not faults
    context.close()


def test_without_scripts_the_picture_is_there(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator(".still img").first.is_visible()
    assert page.locator(".player").is_hidden()
    context.close()
