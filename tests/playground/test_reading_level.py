"""One page, two readings: the toggle changes panels, figures and the words of a waiting turn, and is remembered."""

from __future__ import annotations

from collections.abc import Callable

import gradio as gr
import pytest
from playwright.sync_api import expect

from playground.reading_level import ReadingLevel
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp


def test_the_level_belongs_to_a_conversation_and_only_known_ones_are_taken(fake_app: RunningApp) -> None:
    with gr.Blocks():
        level = ReadingLevel(fake_app.service)
    mine, other = fake_app.service.registry.new(), fake_app.service.registry.new()
    level.set(mine.sid, "student")
    assert (mine.stepping.level, other.stepping.level) == ("student", "engineer")
    for wrong in ("wizard", None, ["student"], 1):
        level.set(mine.sid, wrong)
        assert mine.stepping.level == "student"
    level.set("nobody", "engineer")
    assert mine.stepping.level == "student"


@pytest.mark.ui
def test_the_page_is_read_as_a_student_and_a_reload_remembers(fake_app: RunningApp, tab: Callable[..., Tab]) -> None:
    visit = tab(fake_app.url)
    page, about = visit.page, visit.page.locator("[data-panel=fate] .ds-about:visible")
    expect(about).to_have_count(1)
    expect(about).to_contain_text("One column a verify round")
    page.locator("#level").get_by_label("Student").check()
    expect(about).to_have_count(1)
    expect(about).to_contain_text("A quick helper guesses")
    page.locator(".ds-help-toggle").click()
    expect(page.locator("#ds-formula-draft_acceptance_rate")).to_contain_text(
        "How many of the helper's guesses were right"
    )
    page.reload()
    expect(page.locator("#level").get_by_label("Student")).to_be_checked(timeout=20_000)
    expect(about).to_contain_text("A quick helper guesses")
    sid = Tab(page).sid
    page.wait_for_timeout(300)
    assert fake_app.service.registry.get(sid).stepping.level == "student"
    page.locator("#level").get_by_label("Engineer").check()
    expect(about).to_contain_text("One column a verify round")
