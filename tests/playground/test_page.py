"""The page in a browser, on a fake engine: tabs, reload, Stop, Continue, refusals, evil text, small screens."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]


def test_a_turn_streams_into_chat_and_panels(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    one.send("hello")
    one.expect_running()
    expect(one.page.locator("#send")).to_be_disabled()
    expect(one.page.locator("#message textarea")).to_have_value("")
    one.expect_idle()
    view = fake_app.service.registry.get(one.sid).view()
    assert one.answer() == view.messages[-1][1].strip()
    assert one.says().startswith("Done: 121 tokens")
    expect(one.page.locator("#kpi")).to_contain_text("PENDING")
    expect(one.page.locator("#tokens [data-id]")).to_have_count(121)
    expect(one.page.locator("#continue")).to_be_disabled()
    one.page.locator("#clear").click()
    expect(one.answers()).to_have_count(0)
    expect(one.page.locator("#gauge")).to_contain_text("0 / 4,096")


def test_stop_then_continue(fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.2)  # it has not ended when Stop is pressed
    one = tab(fake_app.url)
    one.send("hello")
    expect(one.answers()).to_have_count(1)
    one.page.locator("#stop").click()
    one.expect_idle(5)
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.01)
    before = one.answer()
    assert "Continue goes on" in one.says() and before.startswith("w")
    one.page.locator("#continue").click()
    expect(one.page.locator("#status")).to_contain_text("Done", timeout=20_000)
    expect(one.answers()).not_to_have_text([before])  # the chat draws a moment after the status
    assert one.answer().startswith(before)
    expect(one.questions()).to_have_count(1)


def test_a_reload_in_the_middle_finds_the_running_turn(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_app.service.engine, "answer", 700)
    one = tab(fake_app.url)
    sid = one.sid
    one.open_section("Decoding settings")
    one.page.locator("#max_new input[type=number]").fill("1000")
    one.page.locator("#max_new input[type=number]").press("Tab")
    one.send("hello")
    expect(one.answers()).to_have_count(1)
    one.page.reload()
    one.page.wait_for_function("() => (window.draftscope || {}).sid")
    assert one.sid == sid
    one.expect_running()
    one.expect_idle()
    assert one.answer() == fake_app.service.registry.get(sid).view().messages[-1][1].strip()
    expect(one.page.locator("#tokens")).to_contain_text("701 tokens shown")


def test_every_tab_has_its_own_session(fake_app: RunningApp, tab: OpenTab) -> None:
    one, two = tab(fake_app.url), tab(fake_app.url)
    assert one.sid != two.sid
    one.send("only in the first")
    expect(one.questions()).to_have_text(re.compile("only in the first"))
    two.send("only in the second")
    one.expect_idle()
    two.expect_idle()
    assert "first" not in two.page.locator("#chat").inner_text()
    assert "second" not in one.page.locator("#chat").inner_text()


def test_a_duplicated_tab_begins_its_own_session(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    one.send("mine")
    one.expect_idle()
    copy = one.page.context.new_page()
    copy.add_init_script(f"try {{ sessionStorage['draftscope.sid'] ??= '{one.sid}'; }} catch (e) {{}}")
    copy.goto(fake_app.url)
    two = Tab(copy)
    assert two.sid != one.sid
    expect(two.questions()).to_have_count(0)


def test_a_link_opens_a_given_session_and_the_loser_of_a_race_is_told(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tab(fake_app.url)
    one.send("shared")
    one.expect_idle()
    two = tab(f"{fake_app.url}?s={one.sid}")
    assert two.sid == one.sid
    expect(two.questions()).to_have_count(1)
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.5)
    one.send("from the first")
    two.write("from the second")
    two.page.locator("#message textarea").press("Enter")  # Send is off as soon as this tab has heard of the answer
    expect(two.page.locator("#refusal")).to_contain_text("already answering")
    expect(two.page.locator("#message textarea")).to_have_value("from the second")
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.005)
    two.expect_idle()
    expect(two.questions()).to_have_count(2)
    one.expect_idle()
    said = fake_app.service.registry.get(one.sid).view().messages[-1][1].strip()
    for each in (one, two):
        expect(each.answers().last).to_have_text(said)


@pytest.mark.parametrize(("message", "says"), [("   ", "empty"), ("x" * 32_001, "32,001 characters")])
def test_a_refused_message_stays_in_its_box(fake_app: RunningApp, tab: OpenTab, message: str, says: str) -> None:
    one = tab(fake_app.url)
    one.press_send(message)
    expect(one.page.locator("#refusal")).to_contain_text(says)
    expect(one.page.locator("#message textarea")).to_have_value(message)
    expect(one.questions()).to_have_count(0)


def test_evil_text_does_nothing(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    one.send(
        "<script>window.evil=1</script><img src=x onerror='window.evil=1'>"
        "<div style='position:fixed;inset:0;z-index:9999'>cover</div><style>body{display:none}</style>"
        "![x](https://evil.example/?q=1) `a<b`"
    )
    one.expect_idle()
    text = one.questions().inner_text()
    assert "<script>window.evil=1</script>" in text and "position:fixed" in text and "a<b" in text
    assert one.page.evaluate("() => window.evil") is None
    assert one.questions().locator("img, script, style, form, [style*=fixed]").count() == 0
    one.page.locator("#clear").click()
    expect(one.questions()).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_small_screen_has_no_sideways_scroll_and_chat_comes_first(
    fake_app: RunningApp, tab: OpenTab, theme: str
) -> None:
    one = tab(f"{fake_app.url}?__theme={theme}", width=390, height=844)
    one.send("hello " * 40 + "a" * 300 + "\n```\n" + "code " * 60 + "\n```")
    one.expect_idle()
    assert one.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    bubble, chat = one.questions().bounding_box(), one.page.locator("#chat").bounding_box()
    assert bubble and chat and bubble["x"] >= chat["x"] and bubble["width"] <= chat["width"]
    boxes = [one.page.locator(f"#{name}").bounding_box() for name in ("chat", "message", "send", "kpi", "panels")]
    assert all(box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    tops = [box["y"] for box in boxes if box is not None]
    assert tops == sorted(tops)


def test_a_small_screen_shows_the_examples_whole_and_no_lone_dot(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url, width=390, height=844)
    inside = """() => {
      const end = (part) => part.getBoundingClientRect().bottom, examples = document.querySelectorAll('#chat .example');
      return examples.length === 3 && end([...examples].at(-1)) <= end(document.querySelector('#chat')) - 8;
    }"""
    one.page.wait_for_function(inside, timeout=10_000)
    assert "·" not in one.page.locator("footer").inner_text()


def test_settings_survive_a_reload(fake_app: RunningApp, tab: OpenTab) -> None:
    one = tab(fake_app.url)
    one.open_section("Decoding settings")
    number = one.page.locator("#draft_len input[type=number]")
    number.fill("3")
    number.press("Tab")
    one.send("hello")
    one.expect_idle()
    one.page.reload()
    one.page.wait_for_function("() => (window.draftscope || {}).sid")
    one.open_section("Decoding settings")
    expect(one.page.locator("#draft_len input[type=number]")).to_have_value("3")
    rounds = [e for e in fake_app.service.registry.get(one.sid).chat.session.trace if e.kind == "round"]  # type: ignore[union-attr]
    assert {len(e.drafted) for e in rounds[:-1]} == {3}


def test_race_sweep_and_models_stand_under_the_chat_and_open_ready(fake_app: RunningApp, tab: OpenTab) -> None:
    page = tab(fake_app.url).page
    for name, ready in (("Race", "#race_start"), ("Sweep", "#sweep_start"), ("Models", "#models_form")):
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.locator(ready)).to_be_visible(timeout=10_000)
    page.get_by_role("tab", name="Sweep", exact=True).click()
    expect(page.locator("#sweep_plan")).to_contain_text("decodes", timeout=10_000)
