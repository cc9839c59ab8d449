"""Step mode in the page: an answer that waits says so in words, goes on with Step, and runs on when told to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp, running

pytestmark = pytest.mark.ui


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    """The default checkpoint behind the page."""
    from playground.service import chat_of, load_from_settings

    with running(load_from_settings, chat_of, load_s=120) as app:
        yield app


@pytest.fixture
def default_tab(app: RunningApp, tab: Callable[..., Tab]) -> Tab:
    return tab(app.url)


def test_an_answer_steps_stage_by_stage_and_then_runs_on(default_tab) -> None:
    page = default_tab.page
    page.locator("#stepping button").first.click()
    page.locator("#pace").get_by_label("Stage by stage").check()
    page.locator("#level").get_by_label("Student").check()
    default_tab.send("Name three fruits.")
    status = page.locator("#status")
    expect(status).to_contain_text("Next, a quick helper guesses", timeout=20_000)
    page.locator("#step").click()
    expect(status).to_contain_text(re.compile("The helper (guessed|has no guess)"), timeout=20_000)
    page.locator("#level").get_by_label("Engineer").check()
    expect(status).to_contain_text(re.compile(r"Next: one trunk forward over \d+ column"), timeout=20_000)
    page.locator("#step").click()
    expect(status).to_contain_text("Verified at width", timeout=20_000)
    page.locator("#step").click()
    expect(status).to_contain_text("stay in the caches", timeout=20_000)
    page.locator("#pace").get_by_label("Run on").check()
    default_tab.expect_idle()
    expect(status).to_contain_text("tokens")


def test_stop_ends_a_waiting_answer(default_tab) -> None:
    page = default_tab.page
    page.locator("#stepping button").first.click()
    page.locator("#pace").get_by_label("Round by round").check()
    default_tab.send("Name three fruits.")
    expect(page.locator("#status")).to_contain_text("proposes at most", timeout=20_000)
    page.reload()
    expect(page.locator("#status")).to_contain_text("proposes at most", timeout=20_000)
    page.locator("#stepping button").first.click()
    expect(page.locator("#pace").get_by_label("Round by round")).to_be_checked()
    page.locator("#stop").click()
    default_tab.expect_idle()
    expect(page.locator("#status")).to_contain_text("Stopped")
