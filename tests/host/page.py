"""Ask in a real browser and take a picture: used by tests and to make the README's picture."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium_path() -> str | None:
    """Return where Chromium is, None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def ask_in_page(
    address: str,
    token: str,
    question: str,
    *,
    wait_for: str,
    picture: Path | None = None,
    timeout_ms: int = 60_000,
    height: int = 1000,
) -> str:
    """Open a new chat, ask, wait for a text in the answer, and return the page's text."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium_path(), headless=True, args=FLAGS
        )
        try:
            context = browser.new_context(
                locale="ru-RU", viewport={"width": 1280, "height": height}
            )
            page = context.new_page()
            page.goto(f"{address}/auth")
            page.evaluate("token => localStorage.setItem('token', token)", token)
            page.goto(f"{address}/?models=portfolio_agent")
            _wait_for_input(page, timeout_ms)
            close = page.locator("button:has-text('Окей, поехали!'), button:has-text('Okay, Let')")
            if close.count():
                close.first.click()
            page.click("#chat-input")
            page.keyboard.type(question)
            page.keyboard.press("Enter")
            page.wait_for_selector(f"text={wait_for}", timeout=timeout_ms)
            page.wait_for_timeout(2500)
            if picture is not None:
                picture.parent.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=str(picture))
            return str(page.inner_text("body"))
        finally:
            browser.close()


def _wait_for_input(page: Any, timeout_ms: int) -> None:
    """Wait for the input box; a page that came up without it is loaded once more."""
    from playwright.sync_api import TimeoutError as PageTimeout

    try:
        page.wait_for_selector("#chat-input", timeout=timeout_ms / 3)
    except PageTimeout:
        page.reload()
        page.wait_for_selector("#chat-input", timeout=timeout_ms)
