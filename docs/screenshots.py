"""Takes the pictures of the README from a running app: `python docs/screenshots.py http://127.0.0.1:7860`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

HERE = Path(__file__).parent
MESSAGES = (
    "Name four seasons of the year, one per line.",
    "Write that list again, and then once more.",
)
"""The second repeats the first's answer, so that n-gram lookup has something to find."""
PICTURES = (
    ("page-light.png", "light", 1440, 1000),
    ("page-dark.png", "dark", 1440, 1000),
    ("page-narrow.png", "light", 390, 844),
)
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def main(url: str) -> None:
    """One visit a picture, each a conversation of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for name, theme, width, height in PICTURES:
            picture(browser, f"{url}?__theme={theme}", HERE / name, width, height)
        browser.close()


def picture(browser: Browser, url: str, file: Path, width: int, height: int) -> None:
    """Hold the conversation, then save what a visitor sees without scrolling the page."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(url)
    page.wait_for_function("() => (window.draftscope || {}).sid", timeout=120_000)
    for number, message in enumerate(MESSAGES, start=1):
        send(page, message, number)
    page.mouse.move(0, 0)
    page.evaluate("() => window.scrollTo(0, 0)")
    page.wait_for_timeout(1500)  # the charts' last draw
    page.screenshot(path=file)
    page.close()


def send(page: Page, message: str, number: int) -> None:
    """Send and wait for the end of the answer."""
    page.locator("#message textarea").fill(message)
    page.locator("#send").click()
    expect(page.locator("#chat .bot.message")).to_have_count(number, timeout=60_000)
    expect(page.locator("#stop")).to_be_disabled(timeout=300_000)


if __name__ == "__main__":
    main(sys.argv[1])
