"""A session in the page: its address, its trace, other tabs that look at it, and the check of its answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from engine.trace import Trace
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]


@pytest.mark.parametrize("asked", ["zzz", "0" * 32])
def test_an_address_that_nobody_knows_is_put_right(fake_app: RunningApp, tab: OpenTab, asked: str) -> None:
    one = tab(f"{fake_app.url}?s={asked}&__theme=light")
    sid = one.sid
    expect(one.page.locator("#refusal")).to_contain_text("this is a new one")
    expect(one.page).to_have_url(re.compile(rf"\?s={sid}&__theme=light$"))
    one.send("hello")
    one.expect_idle()
    one.page.reload()
    one.page.wait_for_function("() => (window.draftscope || {}).sid")
    expect(one.answers()).to_have_count(1, timeout=20_000)
    expect(one.page.locator("#refusal .says")).to_have_text("")
    assert one.sid == sid


def test_an_idle_tab_follows_what_another_one_does(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.5)  # it runs until the other tab has looked
    one = tab(fake_app.url)
    two = tab(f"{fake_app.url}?s={one.sid}")
    one.send("from the first")
    expect(two.page.locator("#stop")).to_be_enabled(timeout=8000)
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.005)
    two.expect_idle()
    one.expect_idle()
    said = fake_app.service.registry.get(one.sid).view().messages[-1][1].strip()
    for each in (one, two):
        expect(each.answers().last).to_have_text(said)
    one.page.locator("#clear").click()
    expect(two.questions()).to_have_count(0, timeout=8000)
    expect(two.page.locator("#clear")).to_be_disabled()
    for each in (one, two):
        expect(each.page.locator("#kpi [data-figure=rounds] dd")).to_have_text("0", timeout=8000)
        assert each.page.evaluate("() => window.__draftscope.state.rounds.length") == 0


def test_a_refusal_goes_when_what_ran_has_ended(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tab(fake_app.url)
    two = tab(f"{fake_app.url}?s={one.sid}")
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.5)
    one.send("from the first")
    two.write("from the second")
    two.page.locator("#message textarea").press("Enter")  # Send is off as soon as this tab has heard of the answer
    refusal = two.page.locator("#refusal")
    expect(refusal).to_contain_text("already answering")
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.005)
    two.expect_idle()
    expect(refusal).to_have_text("")
    expect(two.page.locator("#message textarea")).to_have_value("from the second")
    two.press_send(" ")
    expect(refusal).to_contain_text("empty")
    two.page.wait_for_timeout(2500)
    expect(refusal).to_contain_text("empty")  # still true, so it stays
    two.press_send("again")
    expect(refusal).to_have_text("")


def test_the_session_id_and_the_trace_can_be_taken_along(fake_app: RunningApp, tab: OpenTab, tmp_path: Path) -> None:
    one = tab(fake_app.url)
    row = one.page.locator("#trace")
    expect(row.locator("code")).to_have_text(one.sid)
    row.get_by_text("Download trace").click()
    expect(row.locator("[role=status]")).to_contain_text("send a message first")
    one.send("hello")
    one.expect_idle()
    with one.page.expect_download() as download:
        row.get_by_text("as .jsonl").click()
    assert re.fullmatch(r"draftscope-trace-words-[\d-]+\.jsonl", download.value.suggested_filename)
    download.value.save_as(tmp_path / "trace.jsonl")
    trace = Trace.load((tmp_path / "trace.jsonl").read_text().splitlines())
    assert list(trace) == list(fake_app.service.registry.get(one.sid).chat.session.trace)  # type: ignore[union-attr]
    one.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row.get_by_text("Copy id").click()
    expect(row.locator("[role=status]")).to_have_text("Copied.")
    assert one.page.evaluate("() => navigator.clipboard.readText()") == one.sid


def test_check_shows_progress_keeps_send_off_and_says_what_it_found(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tab(fake_app.url)
    check, status = one.page.locator("#check"), one.page.locator("#status .says")
    expect(check).to_be_disabled()
    one.send("hello")
    one.expect_idle()
    check.click()
    expect(status).to_have_text(
        re.compile(r"Checking against plain decoding: [1-9]\d* of 1\d\d tokens, no difference so far")
    )
    expect(one.page.locator("#send")).to_be_disabled()
    expect(check).to_be_disabled()
    one.write("now?")
    one.page.locator("#message textarea").press("Enter")
    expect(one.page.locator("#refusal")).to_contain_text("is being checked")
    one.page.locator("#stop").click()
    expect(status).to_contain_text("Check stopped: ")
    expect(one.page.locator("#refusal")).to_have_text("")
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.002)
    check.click()
    expect(status).to_have_text(re.compile(r"^Identical to plain decoding: 1\d\d tokens\.$"), timeout=20_000)
    monkeypatch.setattr(fake_app.service.engine, "differs_at", 40)
    check.click()
    expect(status).to_have_text(
        "Not identical: after 40 tokens that are, at position 41 plain decoding gives “ w10” where this conversation "
        "has “ w11”, with logits 0.00125 apart.",
        timeout=20_000,
    )
    expect(one.answers()).to_have_count(1)
