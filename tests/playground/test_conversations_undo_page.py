"""In a browser: a deletion is undone, and a name that is being typed survives the end of a turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]


def press(one: Tab, name: str) -> None:
    one.page.locator("#conversations").get_by_role("button", name=name, exact=True).click()


def test_a_deletion_is_undone_and_a_name_outlives_the_end_of_a_turn(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tab(fake_app.url)
    page = one.page
    title, says = "Delete me and back", page.locator("#conversations_says")
    one.send(title)
    page.locator("#conversations summary").click()
    line = page.locator("#conversations .dc-list > li").filter(has_text=title)
    one.expect_idle()
    shown, sid = one.answer(), one.sid

    monkeypatch.setattr(fake_app.service.engine, "pace", 0.05)
    one.send("a longer one")
    press(one, f"Rename {title}")
    box = page.get_by_label(f"New name of {title}")
    box.fill("half a na")
    one.expect_idle()
    page.wait_for_timeout(400)
    expect(box).to_have_value("half a na")
    expect(box).to_be_focused()
    page.keyboard.type("me")
    page.keyboard.press("Enter")
    expect(says).to_have_text("Renamed: “half a name”.")
    title = "half a name"
    line = page.locator("#conversations .dc-list > li").filter(has_text=title)
    expect(line).to_contain_text("2 turns")

    press(one, f"Delete {title}")
    expect(one.questions()).to_have_count(0)
    expect(says).to_have_text(f"Deleted: “{title}”.")
    expect(line).to_have_count(0)
    expect(page.locator(".dc-undo")).to_contain_text("Gone for good in an hour, or when Draftscope ends.")
    undo = page.get_by_role("button", name=f"Undo: bring {title} back")
    expect(undo).to_be_focused()
    page.keyboard.press("Enter")
    expect(one.questions()).to_have_count(2)
    assert one.sid == sid and one.answers().first.inner_text().strip() == shown
    expect(says).to_have_text(f"Back again: “{title}”.")
    expect(undo).to_have_count(0)

    press(one, f"Delete {title}")
    press(one, f"Forget {title} for good now")
    expect(says).to_have_text("Gone for good, with all its branches.")
    expect(page.locator(".dc-undo")).to_be_hidden()
    assert sid not in fake_app.service.keeper.store
