"""The look: all parts within reach on a phone, headings in order, nothing that jumps, figures below answers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]
PARTS = ["Chat", "Race", "Sweep", "Replay", "Models"]
STILL = 0.02
"""Cumulative layout shift of a streamed answer; 0.1 is where readers are said to notice."""
WATCH = """
() => {
  window.shifts = [];
  const note = (list) => list.getEntries().forEach((one) => window.shifts.push(one.value));
  new PerformanceObserver(note).observe({ type: 'layout-shift' });
}
"""
LEVELS = """
() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]
  .filter((node) => node.checkVisibility() && !node.closest('#chat'))
  .map((node) => Number(node.tagName[1]))
"""


PUSH = """
() => {
  const block = document.createElement('p');
  block.style.height = '300px';
  document.querySelector('#left').prepend(block);
}
"""
ON_TOP = """() => {
  const { x, y, width, height } = document.querySelector('#send').getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2).id;
}"""


def jumps(levels: list[int]) -> list[tuple[int, int]]:
    """Where a heading is more than one level below the one before it."""
    return [(a, b) for a, b in zip([0, *levels], levels, strict=False) if b > a + 1]


def shifted(page: Page) -> float:
    return float(page.evaluate("() => window.shifts.reduce((sum, one) => sum + one, 0)"))


def test_on_a_phone_all_parts_are_in_sight_and_headings_follow_each_other(fake_app: RunningApp, tab: OpenTab) -> None:
    page = tab(fake_app.url, width=360, height=740).page
    for name in PARTS:
        part = page.get_by_role("tab", name=name, exact=True).filter(visible=True)
        box = part.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360
        part.click()
        expect(part).to_have_attribute("aria-selected", "true")
        levels = page.evaluate(LEVELS)
        assert levels[0] == 1 and not jumps(levels), f"{name}: {levels}"
    assert page.evaluate(LEVELS).count(2) > 0
    assert jumps([1, 3, 3]) == [(1, 3)]


def test_an_answer_streams_without_a_jump_and_leaves_its_figures_below(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    page = one.page
    page.evaluate(WATCH)
    one.send("hello")
    one.expect_idle()
    foot = page.locator("#chat .message-buttons-left").last
    expect(foot).to_have_attribute("data-foot", re.compile(r"^[\d.]+ tokens/s · 121 tokens · \d+% of \d+ drafts kept$"))
    expect(foot).to_have_attribute("data-foot-plain", re.compile(r"^121 tokens: \d+ guessed ahead and kept"))
    assert shifted(page) < STILL
    drawn = "(foot) => getComputedStyle(foot, '::after').content"
    assert "drafts kept" in foot.evaluate(drawn)
    page.get_by_role("radio", name="Student").click()
    page.wait_for_function("() => document.body.dataset.level === 'student'")
    assert "guessed ahead and kept" in foot.evaluate(drawn)
    page.get_by_role("radio", name="Engineer").click()
    page.evaluate(PUSH)
    page.wait_for_timeout(200)
    assert shifted(page) > STILL, "the measure sees a jump"
    page.reload()
    page.wait_for_function("() => (window.draftscope || {}).sid")
    expect(foot).to_have_attribute("data-foot", re.compile("121 tokens"), timeout=30_000)


def test_what_stands_left_of_the_charts_stays_in_sight_beside_them(fake_app: RunningApp, tab: OpenTab) -> None:
    page = tab(fake_app.url, width=1280, height=800).page
    edges = """() => ['#left', '#right'].map((part) => {
      const { top, bottom } = document.querySelector(part).getBoundingClientRect();
      return { top, bottom };
    })"""
    left, right = page.evaluate(edges)
    assert left["top"] == right["top"] > 0 and right["bottom"] > left["bottom"] + 200, "the page begins with both"
    page.evaluate("() => window.scrollTo(0, document.body.scrollHeight)")
    left, right = page.evaluate(edges)
    assert left["top"] < 0 and 400 < left["bottom"] <= 800


def test_send_and_stop_stand_in_one_place_and_the_one_that_works_is_on_top(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_app.service.engine, "answer", 255)
    one = tab(fake_app.url)
    assert one.page.evaluate(ON_TOP) == "send"
    one.send("hello")
    one.expect_running()
    one.page.wait_for_function(f"() => ({ON_TOP})() === 'stop'")
    one.page.locator("#stop").click()
    one.expect_idle()
    one.page.wait_for_function(f"() => ({ON_TOP})() === 'send'")
