"""The page by keyboard alone: its few keys, what they leave alone, and a visible focus wherever it goes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from playground.shortcuts import KEYS
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]
FOCUS = """
() => {
  const node = document.activeElement;
  if (node === document.body) return null;
  const about = (at) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(at);
    return [outlineStyle === 'none' ? '' : outlineWidth, boxShadow, borderColor].join('|');
  };
  // Some controls are drawn by an element around a field, or by the label behind it.
  const around = [node, node.parentElement, node.closest('label, .wrap, .block')].filter(Boolean);
  const lit = around.map(about);
  const { outlineStyle, outlineWidth } = getComputedStyle(node);
  const outlined = outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
  node.blur();
  const dark = around.map(about);
  node.focus();
  const box = node.getBoundingClientRect();
  return {
    name: `${node.tagName} ${node.id || node.getAttribute('aria-label') || node.textContent.trim().slice(0, 40)}`,
    lit: outlined || lit.some((look, i) => look !== dark[i]), seen: box.width > 0 && box.height > 0,
  };
}
"""


def focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.closest('[id]')?.id ?? ''"))


def tab_to(page: Page, reached: Callable[[], bool], most: int = 120, key: str = "Tab") -> None:
    """Press Tab until it is reached."""
    for _ in range(most):
        if reached():
            return
        page.keyboard.press(key)
    raise AssertionError("Tab does not get there")


def is_at(page: Page, selector: str) -> Callable[[], bool]:
    return lambda: bool(page.evaluate("(at) => document.activeElement.matches(at)", selector))


def test_slash_goes_to_the_message_and_is_a_letter_in_a_field(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    box = one.page.locator("#message textarea")
    one.page.get_by_role("tab", name="Race", exact=True).click()
    expect(one.page.locator("#race_start")).to_be_visible()
    one.page.keyboard.press("/")
    expect(box).to_be_focused()
    expect(box).to_have_value("")
    one.page.keyboard.type("a/b?c")
    expect(box).to_have_value("a/b?c")
    expect(one.page.locator(".keys-dialog")).to_be_hidden()


def test_control_and_enter_send_once_and_escape_stops(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_app.service.engine, "answer", 700)
    one = tab(fake_app.url)
    one.write("from the box")
    one.page.locator("#message textarea").press("Control+Enter")
    expect(one.questions()).to_have_count(1, timeout=10_000)
    expect(one.page.locator("#refusal .says")).to_have_text("")
    one.expect_running()
    one.page.keyboard.press("Escape")
    one.expect_idle(10)
    assert one.says().startswith("Stopped")
    one.page.keyboard.press("Escape")  # nothing to stop
    one.write("from elsewhere")
    one.page.locator("#message textarea").blur()
    one.page.keyboard.press("Control+Enter")
    expect(one.questions()).to_have_count(2, timeout=10_000)
    one.expect_running()
    one.page.keyboard.press("Escape")
    one.expect_idle(10)


def test_escape_is_first_for_what_is_open_and_keys_of_other_fields_are_theirs(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.3)  # an answer that lasts
    one = tab(fake_app.url)
    one.open_section("Decoding settings")
    one.send("hello")
    one.expect_running()
    one.page.keyboard.press("Tab")
    dialog = one.page.locator(".keys-dialog")
    one.page.locator("#shortcuts button.keys-open").click()
    expect(dialog).to_be_visible()
    one.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    one.page.locator("#drafter input").click()
    expect(one.page.locator("ul[role=listbox]")).to_be_visible()
    one.page.keyboard.press("Escape")
    expect(one.page.locator("ul[role=listbox]")).to_be_hidden()
    expect(one.page.locator("#stop")).to_be_enabled()
    system = one.page.locator("#system textarea")
    system.fill("Be brief.")
    system.press("Control+Enter")
    system.press("?")
    one.page.wait_for_timeout(300)
    expect(one.questions()).to_have_count(1)
    expect(dialog).to_be_hidden()
    for focus in (one.page.locator("#message textarea"), one.page.locator("#stop")):
        one.page.evaluate("() => window.__draftscope.pin.toggle({ round: 1 })")
        focus.focus()
        one.page.keyboard.press("Escape")
        one.page.wait_for_function("() => !window.__draftscope.pin.at")
        one.page.wait_for_timeout(200)
        expect(one.page.locator("#stop")).to_be_enabled()
    one.page.keyboard.press("Escape")
    one.expect_idle(10)


def test_the_list_of_keys_opens_with_a_question_mark_and_single_keys_can_be_switched_off(
    fake_app: RunningApp, tab: OpenTab
) -> None:
    one = tab(fake_app.url)
    page, dialog = one.page, one.page.locator(".keys-dialog")
    page.locator("#message textarea").blur()
    page.keyboard.press("?")
    expect(dialog).to_be_visible()
    for keys, does in KEYS:
        expect(dialog).to_contain_text(does)
        assert all(dialog.locator("kbd", has_text=key).count() for key in keys.split())
    page.keyboard.press("/")  # a dialog keeps the keys to itself
    expect(dialog).to_be_visible()
    box = page.get_by_label("Use the single keys")
    assert box.evaluate("(node) => getComputedStyle(node).appearance") == "auto", "drawn, not only there"
    box.uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.reload()
    Tab(page)
    page.locator("#message textarea").blur()
    page.keyboard.press("?")
    page.wait_for_timeout(200)
    expect(page.locator(".keys-dialog")).to_be_hidden()
    page.get_by_role("button", name="Keyboard", exact=True).click()
    page.get_by_label("Use the single keys").check()
    page.get_by_role("button", name="Close", exact=True).click()
    page.keyboard.press("?")
    expect(page.locator(".keys-dialog")).to_be_visible()


def test_a_visit_by_keyboard_alone(fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_app.service.engine, "answer", 400)
    one = tab(fake_app.url)
    page, press = one.page, one.page.keyboard.press
    expect(page.locator("#message textarea")).to_be_focused()
    page.keyboard.type("hello")
    press("Enter")
    expect(one.questions()).to_have_count(1, timeout=10_000)
    one.expect_running()
    tab_to(page, is_at(page, "#stop"))
    press("Enter")
    one.expect_idle(10)
    tab_to(page, is_at(page, "#continue"))
    press("Space")
    expect(page.locator("#stop")).to_be_enabled(timeout=10_000)
    press("Escape")
    one.expect_idle(10)
    tab_to(page, is_at(page, "#settings > button"))
    press("Enter")
    expect(page.locator("#max_new input[type=number]")).to_be_visible()
    page.wait_for_timeout(400)
    tab_to(page, is_at(page, "#max_new input[type=number]"))
    page.keyboard.type("9")
    tab_to(page, is_at(page, "#panels .ds-fold summary"))
    press("Enter")
    assert page.evaluate("() => document.querySelector('#panels .ds-fold').open")
    page.locator("[role=tab][aria-selected=true]").first.focus()
    tab_to(page, lambda: page.evaluate("() => document.activeElement.textContent.trim() === 'Race'"), 8)
    press("Enter")
    expect(page.locator("#race_start")).to_be_visible(timeout=10_000)
    tab_to(page, is_at(page, "#race_prompt textarea"))
    page.keyboard.type("x")
    tab_to(page, is_at(page, "#race_start"))


def test_focus_is_seen_wherever_tab_goes(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    one.send("hello")
    one.expect_idle()
    page = one.page
    page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0); }")
    places, dark = [], []
    for _ in range(60):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUS)
        if at is None or (len(places) > 10 and at["name"] == places[0]):
            break
        places.append(at["name"])
        if not at["lit"]:
            dark.append(at["name"])
    assert len(places) > 20, places
    assert dark == [] and not any(re.match("DIV $", name) for name in places)
