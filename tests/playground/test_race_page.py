"""The race's tab in Chromium: it fills while it runs, ends in a verdict, replays, stops, and comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from playground.race import RaceTab
from tests.playground.measuring_fakes import FakeDecoder, MeasuredEngine, eventually, ready_service
from tests.playground.measuring_page import HAS_SESSION, launch, measuring_blocks

pytestmark = pytest.mark.ui
PACE = 0.02


class App:
    """A page with the race alone, on a fake engine."""

    def __init__(self) -> None:
        self.engine = MeasuredEngine(pace=PACE)
        self.service = ready_service(self.engine)
        self.tab: Any = None

        def build(service: Any) -> RaceTab:
            self.tab = RaceTab(service, FakeDecoder())
            return self.tab

        self.blocks = measuring_blocks(self.service, build)
        self.url = launch(self.blocks)

    def close(self) -> None:
        self.tab.close()
        self.service.close()
        self.blocks.close(verbose=False)


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    app = App()
    yield app
    app.close()


@pytest.fixture
def one(app: App, page: Page) -> Iterator[Page]:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda note: wrong.append(note.text) if note.type == "error" else None)
    page.goto(app.url)
    expect(page.locator("#race_start")).to_be_enabled(timeout=30_000)
    page.wait_for_function("() => document.querySelector('#race_view .dm-empty')")
    page.wait_for_function(HAS_SESSION)
    yield page
    assert wrong == []


def set_number(page: Page, name: str, value: int) -> None:
    box = page.locator(f"#{name} input[type=number]")
    box.fill(str(value))
    box.press("Tab")


def text_of(page: Page, lane: str) -> str:
    return page.locator(f"[data-lane={lane}] .dm-pane").inner_text()


def test_a_race_fills_both_lanes_and_ends_in_a_verdict(app: App, one: Page) -> None:
    set_number(one, "race_max_new", 96)
    one.locator("#race_prompt textarea").fill("one <b>two</b> three")
    one.locator("#race_start").click()
    expect(one.locator("#race_stop")).to_be_enabled()
    expect(one.locator("#race_start")).to_be_disabled()
    expect(one.locator("#race_status")).to_contain_text("Racing")
    one.wait_for_function("() => document.querySelectorAll('[data-lane=spec] .dm-pane span').length > 20")
    plain, spec = (one.locator(f"[data-lane={lane}] .dm-pane span").count() for lane in ("plain", "spec"))
    assert plain < spec, "on one clock the lane with drafts is ahead"
    expect(one.locator("#race_verdict")).to_contain_text("Identical: all 96 tokens", timeout=20_000)
    expect(one.locator("#race_start")).to_be_enabled()
    expect(one.locator("#race_stop")).to_be_disabled()
    expect(one.locator("#race_status")).to_have_text("The race is over.")
    one.wait_for_function("() => document.querySelectorAll('[data-lane=plain] .dm-pane span').length === 96")
    assert text_of(one, "plain") == text_of(one, "spec")
    guessed = [one.locator(f"[data-lane={lane}] .dm-guessed").count() for lane in ("plain", "spec")]
    assert guessed[0] == 0 < guessed[1]
    speed = one.locator("#race_outcome .dm-big dd").first.inner_text()
    assert 1.5 < float(speed.removesuffix("×")) < 3, "2.25 tokens a round at 1.1 times the cost"
    expect(one.locator("#race_why")).to_contain_text("tokens a round × ")
    label = one.locator("#race_outcome .dm-bars").get_attribute("aria-label")
    assert label is not None and re.search(r"plain decoding: prefill \d+%.*verify \d+%", label)
    one.get_by_text("All numbers as a table").click()
    cells = one.locator("#race_outcome tr", has_text="drafts accepted").locator("td").all_inner_texts()
    assert cells[0] == "—" and cells[1].endswith("%")


def test_it_can_be_replayed_scrubbed_and_saved(app: App, one: Page, tmp_path: Path) -> None:
    set_number(one, "race_max_new", 32)
    one.locator("#race_start").click()
    expect(one.locator("#race_verdict")).to_contain_text("Identical", timeout=20_000)
    button = one.get_by_role("button", name="Replay")
    scrub = one.locator(".dm-scrub")
    scrub.focus()
    one.keyboard.press("Home")
    expect(one.locator(".dm-clock")).to_have_text("0.00 s")
    assert text_of(one, "plain") == text_of(one, "spec") == ""
    button.click()
    expect(one.get_by_role("button", name="Pause")).to_be_visible()
    one.wait_for_function("() => document.querySelectorAll('[data-lane=plain] .dm-pane span').length === 32")
    expect(button).to_be_visible()
    with one.expect_download() as download:
        one.get_by_role("button", name="Download JSON").click()
    file = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert file["draftscope"] == "race" and file["outcome"]["verdict"]["same"] == "identical"
    assert len(file["lanes"][0]["tokens"]) == len(file["lanes"][1]["seconds"]) == 32


def test_stop_keeps_what_is_there_and_a_refusal_is_one_sentence(app: App, one: Page) -> None:
    one.locator("#race_prompt textarea").fill("  ")
    one.locator("#race_start").click()
    expect(one.locator("#race_refusal .says")).to_have_text("The message is empty; write something first.")
    set_number(one, "race_max_new", 800)
    one.locator("#race_prompt textarea").fill("go")
    one.locator("#race_start").click()
    expect(one.locator("#race_refusal .says")).to_have_text("")
    one.wait_for_function("() => document.querySelectorAll('[data-lane=plain] .dm-pane span').length > 5")
    one.locator("#race_stop").click()
    expect(one.locator("#race_verdict")).to_contain_text("Identical so far: the first ", timeout=10_000)
    expect(one.locator("#race_status")).to_have_text("Stopped; this is what was measured so far.")
    expect(one.locator("#race_start")).to_be_enabled()
    eventually(lambda: all(session.closed for session in app.engine.sessions))


def test_a_page_that_comes_back_finds_its_race(app: App, one: Page) -> None:
    set_number(one, "race_max_new", 160)
    one.locator("#race_start").click()
    expect(one.locator("#race_status")).to_contain_text("Racing")
    sid = one.locator("#sid textarea, #sid input").input_value()
    one.goto(f"{app.url}?s={sid}")
    expect(one.locator("#race_stop")).to_be_enabled(timeout=10_000)
    expect(one.locator("#race_verdict")).to_contain_text("Identical: all 160", timeout=20_000)
    one.goto(f"{app.url}?s={sid}")
    expect(one.locator("#race_verdict")).to_contain_text("Identical: all 160", timeout=20_000)
    assert one.locator("[data-lane=plain] .dm-pane span").count() == 160, "an ended race is shown at its end"
    expect(one.locator("#race_start")).to_be_enabled()


def test_what_a_model_says_is_text_and_a_narrow_page_does_not_scroll_sideways(app: App, one: Page) -> None:
    one.set_viewport_size({"width": 390, "height": 844})
    decode = app.engine.tokenizer.decode
    app.engine.tokenizer.decode = lambda ids, **more: "<img src=x onerror=alert(1)><style>*{display:none}</style>"
    try:
        set_number(one, "race_max_new", 16)
        one.locator("#race_start").click()
        expect(one.locator("#race_verdict")).to_contain_text("Identical", timeout=20_000)
    finally:
        app.engine.tokenizer.decode = decode
    assert one.locator("#race_view img, #race_view style").count() == 0
    assert "<img src=x" in text_of(one, "plain")
    assert one.evaluate("document.documentElement.scrollWidth") <= 390
