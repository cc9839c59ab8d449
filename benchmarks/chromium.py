"""Headless Chromium for the measurements of the page."""

from __future__ import annotations

import shutil
import time

from playwright.sync_api import Browser, Page, Playwright

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def launch(playwright: Playwright) -> Browser:
    """Debian's Chromium; none is downloaded."""
    return playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))


def goto_when_up(page: Page, url: str) -> None:
    """Open `url` as soon as somebody listens there, for a minute."""
    for _ in range(60):
        try:
            page.goto(url)
            return
        except Exception:  # noqa: BLE001  # whatever the browser says while nobody listens yet
            time.sleep(1)
