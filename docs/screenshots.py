"""Takes the pictures in this folder from a running app: `python docs/screenshots.py URL [NAME ...]`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

HERE = Path(__file__).parent
MESSAGES = (
    "Name four seasons of the year, one per line.",
    "Write that list again, and then once more.",
)
"""The second repeats the first's answer, so that n-gram lookup has something to find."""
Pose = Callable[[Page], None]
PICTURES: tuple[tuple[str, str, int, int, Pose], ...] = (
    ("page-light.png", "light", 1440, 1000, lambda page: None),
    ("page-dark.png", "dark", 1440, 1000, lambda page: None),
    ("page-narrow.png", "light", 390, 844, lambda page: None),
    ("inspector.png", "light", 1440, 1000, lambda page: inspect(page)),
    ("inspector-narrow.png", "dark", 390, 844, lambda page: inspect(page)),
    ("states.png", "dark", 1440, 1000, lambda page: to_panel(page, "pending")),
    ("conversations.png", "light", 1440, 1000, lambda page: conversations(page)),
    ("race.png", "light", 1440, 1420, lambda page: race(page)),
    ("sweep.png", "dark", 1440, 1240, lambda page: sweep(page)),
    ("models.png", "light", 1440, 1000, lambda page: open_tab(page, "Models")),
    ("replay.png", "dark", 1440, 1000, lambda page: replay(page)),
)
"""File, theme, width, height, and what is done after the conversation."""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def main(url: str, *wanted: str) -> None:
    """One visit a picture, each a conversation of its own; only those of `wanted` if any are named."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for name, theme, width, height, pose in PICTURES:
            if not wanted or name in wanted:
                picture(browser, f"{url}?__theme={theme}", HERE / name, (width, height), pose)
        browser.close()


def picture(browser: Browser, url: str, file: Path, size: tuple[int, int], pose: Pose) -> None:
    """Hold the conversation, strike the pose, and save what a visitor sees then."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(url)
    page.wait_for_function("() => (window.draftscope || {}).sid", timeout=120_000)
    for number, message in enumerate(MESSAGES, start=1):
        send(page, message, number)
    page.mouse.move(0, 0)
    page.evaluate("() => window.scrollTo(0, 0)")
    pose(page)
    page.wait_for_timeout(1500)  # the charts' last draw
    page.screenshot(path=file)
    page.close()


def send(page: Page, message: str, number: int) -> None:
    """Send and wait for the end of the answer."""
    page.locator("#message textarea").fill(message)
    page.locator("#send").click()
    expect(page.locator("#chat .bot.message")).to_have_count(number, timeout=60_000)
    expect(page.locator("#stop")).to_be_disabled(timeout=300_000)


def open_tab(page: Page, name: str) -> None:
    """Turn to one of the page's parts."""
    page.get_by_role("tab", name=name).click()
    page.wait_for_timeout(800)


def inspect(page: Page) -> None:
    """Look into a token that stands where a draft was rejected, or else into a drafted one."""
    tokens = page.locator("#tokens .ds-tokens .ds-token")
    corrected = page.locator("#tokens .ds-tokens .ds-token[data-origin=correction]")
    if not corrected.count():
        page.locator("#tokens").get_by_role("button", name="Turn before").click()
        page.wait_for_timeout(600)
    (corrected if corrected.count() else tokens).first.click()
    to_panel(page, "tokens")


def to_panel(page: Page, name: str) -> None:
    """Scroll a panel to the top."""
    page.locator(f"[data-panel={name}]").evaluate("node => node.scrollIntoView()")


def conversations(page: Page) -> None:
    """Go back and ask something else, so that there is a branch, and unfold the list."""
    page.locator("[data-panel=length] .ds-back button").last.click()
    expect(page.locator("#rewind")).to_be_enabled()
    page.locator("#rewind").click()
    expect(page.locator("#chat .bot.message")).to_have_count(1, timeout=20_000)
    send(page, "Which of them is the warmest?", 2)
    page.locator("#conversations summary").first.click()
    page.wait_for_timeout(600)
    page.locator("#conversations").evaluate("node => node.scrollIntoView()")


def race(page: Page) -> None:
    """A race to its end."""
    open_tab(page, "Race")
    page.locator("#race_start").click()
    expect(page.locator("#race_verdict")).to_contain_text("Identical", timeout=120_000)


def sweep(page: Page) -> None:
    """A small sweep to its end."""
    open_tab(page, "Sweep")
    for name, value in (("sweep_max_new", "48"), ("sweep_repeats", "1")):
        box = page.locator(f"#{name} input[type=number]")
        box.fill(value)
        box.press("Tab")
    page.locator("#sweep_start").click()
    expect(page.locator("#sweep_status")).to_contain_text("complete", timeout=300_000)
    page.locator("#sweep_status").evaluate("node => node.scrollIntoView()")


def replay(page: Page) -> None:
    """The conversation's own trace, opened read-only and scrubbed to its middle."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Download trace").click()
    file = Path(tempfile.mkdtemp()) / download.value.suggested_filename
    download.value.save_as(file)
    open_tab(page, "Replay")
    page.locator("#replay_view input[type=file]").set_input_files(file)
    expect(page.locator("#replay_bar .rp-banner")).to_be_visible(timeout=30_000)


if __name__ == "__main__":
    main(*sys.argv[1:])
