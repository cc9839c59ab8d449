"""A page that loses its server, sleeps, or is opened twice finds its conversation, and agrees with the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp
from tests.playground.cut_link import link_to

pytestmark = pytest.mark.ui
FOLLOW_AT_ONCE = 3
"""Tabs of a browser that hold a stream while they answer."""
OpenTab = Callable[..., Tab]
ROUNDS = "() => window.__draftscope.state.rounds.map((row) => [row.r, row.pos, row.bonus])"
SAME = f"(rounds) => JSON.stringify(({ROUNDS})()) === JSON.stringify(rounds)"


def rounds_of(app: RunningApp, sid: str) -> list[list[int | None]]:
    """The rounds of a session as the page counts them."""
    chat: Any = app.service.registry.get(sid).chat
    return [[e.round + 1, e.pos, e.bonus] for e in chat.session.trace if e.kind == "round"]


def agrees(app: RunningApp, one: Tab) -> None:
    """Chat, tokens and rounds of an idle page are the server's."""
    sid = one.sid
    messages = app.service.registry.get(sid).view().messages
    expect(one.answers()).to_have_count(len(messages) // 2, timeout=20_000)
    expect(one.answers().last).to_have_text(messages[-1][1].strip())
    one.page.wait_for_function(SAME, arg=rounds_of(app, sid), timeout=20_000)


def streams_of(context: BrowserContext) -> set[Request]:
    """The streams that the browser holds open, kept up to date."""
    held: set[Request] = set()
    context.on("request", lambda request: held.add(request) if "/queue/data" in request.url else None)
    context.on("requestfinished", lambda request: held.discard(request))
    context.on("requestfailed", lambda request: held.discard(request))
    return held


def until(page: Page, holds: Callable[[], bool], timeout_s: float = 15) -> None:
    """Let the browser go on until something holds."""
    for _ in range(int(timeout_s / 0.05)):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never did")


def requested(page: Page) -> list[str]:
    """Addresses that a page has asked for so far."""
    return list(page.evaluate("() => performance.getEntriesByType('resource').map((entry) => entry.name)"))


def asks_anew(page: Page) -> None:
    """Another document than the one that was there has its session."""
    page.wait_for_function("() => !window.__before && (window.draftscope || {}).sid", timeout=60_000)


def test_a_link_cut_for_five_seconds_in_an_answer(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.12)  # most of it is still to come when the link is cut
    with link_to(fake_app.url) as link:
        one = tab(link.url)
        sid = one.sid
        one.send("hello")
        one.page.wait_for_function("() => window.__draftscope.state.rounds.length >= 3", timeout=20_000)
        one.page.evaluate("() => { window.__before = true; }")
        link.cut()
        one.page.wait_for_timeout(5000)
        assert one.page.evaluate("() => document.querySelectorAll('#chat .bot.message').length") == 1, "still readable"
        link.mend()
        asks_anew(one.page)
        assert one.sid == sid
        one.expect_idle(60)
        agrees(fake_app, one)
        monkeypatch.setattr(fake_app.service.engine, "pace", 0.01)
        one.send("and on")
        one.expect_idle()
        agrees(fake_app, one)


@pytest.mark.parametrize("way", ["frozen", "hidden"])
def test_a_tab_that_sleeps_through_an_answer_catches_up(
    fake_app: RunningApp, tab: OpenTab, context: BrowserContext, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    streams, one = streams_of(context), tab(fake_app.url)
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.02 if way == "frozen" else 0.3)
    one.send("hello")
    one.page.wait_for_function("() => window.__draftscope.state.rounds.length >= 2", timeout=20_000)
    cdp = one.page.context.new_cdp_session(one.page)
    talk = fake_app.service.registry.get(one.sid)
    if way == "frozen":
        cdp.send("Page.setWebLifecycleState", {"state": "frozen"})
    else:
        one.page.evaluate(VISIBILITY, "hidden")
        until(one.page, lambda: not streams)
        assert talk.view().running, "a hidden tab lets go of its connection, not of its answer"
        monkeypatch.setattr(fake_app.service.engine, "pace", 0.001)
    for _ in range(200):
        if not talk.view().running:
            break
        one.page.wait_for_timeout(50)
    assert not talk.view().running, "a turn does not wait for who looks"
    if way == "frozen":
        cdp.send("Page.setWebLifecycleState", {"state": "active"})
    else:
        one.page.evaluate(VISIBILITY, "visible")
    one.expect_idle()
    agrees(fake_app, one)
    assert one.page.evaluate("() => window.__draftscope.resyncs") == 0, "nothing was lost, so nothing was asked for"


VISIBILITY = """
(state) => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  Object.defineProperty(document, 'hidden', { value: state === 'hidden', configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}
"""


def test_teeth_a_page_that_misses_a_round_does_not_agree(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    one.send("hello")
    one.expect_idle()
    agrees(fake_app, one)
    one.page.evaluate("() => window.__draftscope.state.rounds.splice(2, 1)")
    assert not one.page.evaluate(SAME, rounds_of(fake_app, one.sid))


def test_a_delta_that_never_arrived_is_asked_for(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    one.page.evaluate(
        """() => {
          const store = window.__draftscope, ingest = store.ingest;
          let count = 0;
          store.ingest = (text) => { count += 1; if (count !== 3) ingest(text); };
        }"""
    )
    one.send("hello")
    one.expect_idle()
    agrees(fake_app, one)
    assert one.page.evaluate("() => window.__draftscope.resyncs") == 1


def test_a_tab_opened_twice_on_one_session_shows_the_same_and_one_of_them_answers(
    fake_app: RunningApp, tab: OpenTab
) -> None:
    one = tab(fake_app.url)
    one.send("hello")
    two = tab(f"{fake_app.url}?s={one.sid}")
    one.expect_idle()
    two.expect_idle()
    for each in (one, two):
        agrees(fake_app, each)
    one.page.close()
    two.send("and on")
    two.expect_idle()
    agrees(fake_app, two)


def test_four_answering_tabs_of_one_browser_leave_room_for_stop_and_for_a_fifth(
    fake_app: RunningApp, tab: OpenTab, context: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser has six connections to one server, for all its tabs. Teeth: it fails when a page holds one for as long
    as it is open (the third is never seen to answer), and when every page in sight has a stream while it answers."""
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.4)  # none has ended before the last one has begun
    monkeypatch.setattr(fake_app.service.engine, "answer", 255)
    streams, pages = streams_of(context), [context.new_page() for _ in range(4)]
    for page in pages:
        page.goto(fake_app.url, wait_until="commit")
    tabs = [Tab(page) for page in pages]
    talks = [fake_app.service.registry.get(one.sid) for one in tabs]
    for one in tabs:
        one.send("hello")
        one.expect_running()
    until(pages[0], lambda: len(streams) == FOLLOW_AT_ONCE)
    for one, talk in ((tabs[0], talks[0]), (tabs[-1], talks[-1])):  # one that only looks now and then, one that follows
        assert talk.view().running
        one.page.locator("#stop").click()
        until(one.page, lambda talk=talk: not talk.view().running, 2)
        expect(one.page.locator("#stop")).to_be_disabled()
    fifth = tab(fake_app.url)
    for each in [*pages, fifth.page]:
        assert not any("/heartbeat/" in url for url in requested(each))
    for talk in talks:
        talk.stop()
    until(pages[0], lambda: not streams)
