"""A newcomer's first five minutes, on the default checkpoint: what the README promises, done by what the page says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from engine.errors import CheckpointError
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp, running

pytestmark = [pytest.mark.ui, pytest.mark.slow]
MINUTES = 5


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    """The default checkpoint behind the page."""
    from playground.service import chat_of, load_from_settings

    with running(load_from_settings, chat_of, load_s=120) as app:
        yield app


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[RunningApp]:
    """Another installation, which has no model."""

    def load(settings: Any, progress: Any) -> Any:
        raise CheckpointError("There is no model here; give another.")

    with running(load) as app:
        yield app


def test_the_box_to_write_in_is_whole_on_the_first_screen_of_a_phone(app: RunningApp, tab: Callable[..., Tab]) -> None:
    """Teeth: it is cut off with the height that the chat has on a large screen."""
    page = tab(app.url, width=390, height=844).page
    expect(page.locator("#engine")).to_contain_text("Exactness")  # the header has its full height
    page.locator("#send:not([disabled])").wait_for()
    ends = "() => document.querySelector('#message').getBoundingClientRect().bottom"
    assert page.evaluate("() => scrollY") == 0
    assert page.evaluate(ends) <= 844
    page.add_style_tag(content="#chat#chat#chat { height: min(58vh, 620px) !important; }")
    assert page.evaluate(ends) > 844


def test_from_the_first_look_to_a_trace_that_opens_elsewhere(
    app: RunningApp, elsewhere: RunningApp, tab: Callable[..., Tab], tmp_path: Path
) -> None:
    began = time.monotonic()
    visit = tab(app.url)
    page = visit.page
    chat(visit)
    share = page.locator("#kpi [data-figure=draft_acceptance_rate] dd")
    expect(share).to_have_text(re.compile(r"^\d+\.\d%$"))
    why_one_was_rejected(page)
    rewind(visit)
    race(page)
    sweep(page)
    page.get_by_role("tab", name="Chat").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download trace").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    open_elsewhere(page, elsewhere.url, file)
    assert time.monotonic() - began < 60 * MINUTES


def chat(visit: Tab) -> None:
    for message in ("Name five fruits, one per line.", "Write that list again, and then once more."):
        visit.send(message)
        visit.expect_idle()


def why_one_was_rejected(page: Page) -> None:
    """The token in place of a rejected draft is marked as a correction; a click tells its story."""
    turn_before = page.locator("#tokens").get_by_role("button", name="Turn before")
    corrections = page.locator("#tokens .ds-tokens .ds-token[data-origin=correction]")
    expect(page.locator("#tokens .ds-tokens .ds-token").first).to_be_visible()
    if not corrections.count():
        turn_before.click()
    corrections.first.click()
    inspector = page.locator("[data-panel=inspector]")
    expect(inspector.locator(".ds-says .for-engineer")).to_contain_text("Rejected: the argmax is")
    page.locator("#level").get_by_label("Student").check()
    expect(inspector.locator(".ds-says .for-student")).to_contain_text("where the drafter had guessed")
    page.keyboard.press("Escape")


def rewind(visit: Tab) -> None:
    """A point in the panel of committed length selects itself under Go back, where it is gone back to."""
    page = visit.page
    page.locator("[data-panel=length] .ds-back button").last.click()
    button = page.locator("#rewind")
    expect(button).to_be_enabled()
    expect(page.locator("#rewind_point input")).not_to_have_value("")
    button.click()
    expect(page.locator("#chat .bot.message")).to_have_count(1, timeout=20_000)
    visit.expect_idle()


def race(page: Page) -> None:
    page.get_by_role("tab", name="Race").click()
    set_number(page, "race_max_new", 32)
    page.locator("#race_start").click()
    expect(page.locator("#race_verdict")).to_contain_text("Identical: all ", timeout=60_000)


def sweep(page: Page) -> None:
    page.get_by_role("tab", name="Sweep").click()
    kinds = page.locator("#sweep_categories input[type=checkbox]")
    expect(kinds.first).to_be_visible()
    for i in range(1, kinds.count()):
        kinds.nth(i).uncheck()
    set_number(page, "sweep_max_new", 16)
    set_number(page, "sweep_repeats", 1)
    page.locator("#sweep_start").click()
    expect(page.locator("#sweep_status")).to_contain_text("complete", timeout=120_000)
    expect(page.locator("#sweep_verdict")).to_contain_text(re.compile("Best: |plain decoding", re.IGNORECASE))


def open_elsewhere(page: Page, url: str, file: Path) -> None:
    page.goto(url)
    page.wait_for_function("() => (window.draftscope || {}).sid", timeout=30_000)
    page.get_by_role("tab", name="Replay").click()
    page.locator("#replay_view input[type=file]").set_input_files(file)
    expect(page.locator("#replay_bar .rp-banner")).to_contain_text("read-only", timeout=20_000)
    expect(page.locator("#replay_talk .rp-turn").first).to_contain_text("Turn 1")


def set_number(page: Page, name: str, value: int) -> None:
    box = page.locator(f"#{name} input[type=number]")
    expect(box).to_be_visible()
    page.wait_for_timeout(400)  # what is filled in before a section took its first values would be lost
    box.fill(str(value))
    box.press("Tab")
