"""Sampling as a visitor sees it: settings, the seed in the status line, the counters, accept tests, and a reload."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]
NUMBERS = "#temperature input[type=number]"
COUNTERS = "[data-panel=counters]"


def settings(page: Page) -> None:
    page.get_by_text("Decoding settings").click()
    page.locator("#sampling .label-wrap").click()
    page.wait_for_timeout(400)  # as in `Tab.open_section`


def fill(page: Page, selector: str, text: str) -> None:
    page.locator(selector).fill(text)
    page.locator(selector).press("Tab")


def accept_tests_stand_in_the_token_view(page: Page) -> None:
    for origin, says in (
        ("draft", r"accept test: p = 0\.\d+, q = 1, u = 0\.\d+; u·q < p, so accepted"),
        ("correction", r"in place of “.+”, accept test: p = 0\.\d+, q = 1, u = 0\.\d+; u·q ≥ p, so rejected"),
    ):
        found = page.locator(f"#tokens [data-id][data-origin={origin}]").evaluate_all("x => x.map((n) => n.title)")
        assert found and all(re.search(says, title) for title in found)


def test_a_sampled_turn_its_counters_and_a_reload(
    fake_app: RunningApp, tab: OpenTab, caplog: pytest.LogCaptureFixture
) -> None:
    one = tab(fake_app.url)
    page = one.page
    page.locator(".ds-fold > summary").click()
    expect(page.locator(f"{COUNTERS} .ds-empty")).to_contain_text("Greedy decoding draws nothing")
    settings(page)
    for label in ("Top-k", "Top-p", "Min-p", "Repetition penalty", "Frequency penalty", "Presence penalty"):
        expect(page.get_by_label(label, exact=True)).to_be_visible()
    fill(page, NUMBERS, "0.7")
    fill(page, "#seed input", str(2**64 - 1))
    fill(page, "#top_p input", "1.5")
    one.press_send("hello")
    expect(page.locator("#refusal")).to_have_text("Top-p must be a number from 0 to 1, got 1.5.")
    expect(one.questions()).to_have_count(0)
    fill(page, "#top_p input", "0.9")
    one.send("hello")
    expect(page.locator("#status")).to_contain_text(f"seed {2**64 - 1}", timeout=20_000)
    one.expect_idle()
    session = fake_app.service.registry.get(one.sid).chat.session  # type: ignore[union-attr]
    now = page.locator(f"{COUNTERS} .ds-now")
    expect(now).to_contain_text(f"sctr {session.numbers.sctr}, uctr {session.numbers.uctr}.")
    expect(now).to_contain_text(f"Now rejection, seed {2**64 - 1}; temperature 0.7, top p 0.9.")
    expect(page.locator(f"{COUNTERS} .ds-empty")).to_be_hidden()
    page.locator(f"{COUNTERS} .ds-button").filter(has_text="Table").click()
    rounds = [event for event in session.trace if event.kind == "round"]
    shown = page.locator(f"{COUNTERS} tbody tr").first.locator("td").all_inner_texts()
    last = rounds[-1]
    numbers = [len(rounds), "rejection", 2**64 - 1, last.sctr, last.draws, last.uctr, len(last.test_u)]
    assert shown == [str(number) for number in numbers]
    drawn = page.evaluate(f"document.querySelector('{COUNTERS} .js-plotly-plot').data.map((t) => [t.name, t.y.at(-1)])")
    assert [y for _, y in drawn[:2]] == [session.numbers.sctr, session.numbers.uctr]
    accept_tests_stand_in_the_token_view(page)
    expect(page.locator("#status")).not_to_contain_text("not being kept")
    assert [record.getMessage() for record in caplog.records if "could not be kept" in record.getMessage()] == []

    page.reload()
    page.wait_for_function("() => (window.draftscope || {}).sid")
    settings(page)
    expect(page.locator(NUMBERS)).to_have_value("0.7")
    expect(page.locator("#seed input")).to_have_value(str(2**64 - 1))
    expect(page.locator("#top_p input")).to_have_value("0.9")
    page.locator(".ds-fold > summary").click()
    expect(page.locator(f"{COUNTERS} .ds-now")).to_contain_text(f"sctr {session.numbers.sctr}")


def test_coupled_jumps_are_left_out_of_the_line_and_a_rewind_does_not_turn_it_back(
    fake_app: RunningApp, tab: OpenTab
) -> None:
    one = tab(fake_app.url)
    settings(one.page)
    fill(one.page, NUMBERS, "1")
    fill(one.page, "#max_new input[type=number]", "20")
    one.page.locator("#verify").get_by_text("Coupled: exact in stream").click()
    one.send("hello")
    expect(one.page.locator("#regenerate")).to_be_enabled(timeout=20_000)
    one.page.locator("#regenerate").click()
    one.page.wait_for_function("() => window.__draftscope.state.turn === 1", timeout=20_000)
    one.expect_idle()
    one.page.locator(".ds-fold > summary").click()
    expect(one.page.locator(f"{COUNTERS} .ds-now")).to_contain_text("each begin at a multiple of 1,048,576")
    one.page.wait_for_function(f"document.querySelector('{COUNTERS} .js-plotly-plot')?.data[2].x.length === 1")
    line, rewind = one.page.evaluate(
        f"[0, 2].map((i) => document.querySelector('{COUNTERS} .js-plotly-plot').data[i].y)"
    )
    assert line == sorted(line) and line[-1] < 2**20
    assert 0 < rewind[0] < line[-1]
