"""Answers of the server that come when the page has gone on to another conversation: they change nothing there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]
LATE = """async (same) => {
  const store = window.__draftscope.another(), answers = [], asked = [];
  store.serve((sid) => { asked.push(sid); return new Promise((resolve) => answers.push(resolve)); });
  const full = (sid) => JSON.stringify({ sid, e: sid, n: 7, full: 1, old: [], r: [], t: [-1, 0, []] });
  store.ingest(JSON.stringify({ sid: 'left', e: 'left', n: 7 }));
  store.ingest(JSON.stringify(same ? { sid: 'left', e: 'left', n: 8 } : { sid: 'next', e: 'next', n: 1 }));
  answers[0](full('left'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  return [store.state.sid, store.state.n, asked];
}"""


def test_everything_of_the_session_that_was_left_does_not_take_the_place_of_the_next_one(
    fake_app: RunningApp, tab: OpenTab
) -> None:
    page = tab(fake_app.url).page
    assert page.evaluate(LATE, False) == ["next", 1, ["left"]]
    assert page.evaluate(LATE, True) == ["left", 8, ["left"]], "of the same session it is taken, with what came since"


def test_an_earlier_turn_of_the_conversation_that_was_left_is_not_shown_in_the_next_one(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_app.service.engine, "answer", 12)
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.0)
    one = tab(fake_app.url)
    for text in ("hello", "and again"):
        one.send(text)
        one.expect_idle()
    held: list[Route] = []

    def hold(route: Route) -> None:
        body: Any = route.request.post_data or ""
        held.append(route) if '"turn"' in body else route.continue_()

    one.page.route(re.compile("component_server"), hold)
    one.page.get_by_role("button", name="Turn before").click()
    one.page.wait_for_timeout(200)
    assert len(held) == 1
    left = one.page.evaluate("() => window.__draftscope.state.e")
    one.page.locator("#new").click()
    one.page.wait_for_function("(left) => window.__draftscope.state.e !== left", arg=left)
    held[0].continue_()
    one.page.wait_for_timeout(500)
    expect(one.page.locator("#tokens .ds-tokens .ds-token")).to_have_count(0)
