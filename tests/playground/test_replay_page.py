"""A trace in Chromium: downloaded, opened read-only, scrubbed, played, and back to a live session that has gone on."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from engine.trace import Trace
from playground.exchange import export_trace, import_trace
from playground.replay.replays import Replays
from tests.playground.audit import findings
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp
from tests.playground.plays import play
from tests.playground.synthetic import SyntheticSession
from tests.playground.test_exchange_trace import LINES, PACKED
from tests.playground.words import WordTokenizer

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]
STATE = """() => { const s = window.__draftscope.state; return {
    rounds: s.rounds.map((row) => [row.r, row.fates]),
    tokens: s.tokens.map((t) => [t.id, t.origin]), f: s.f, c: s.c }; }"""


def save(one: Tab, folder: Path, button: str = ".save") -> Path:
    with one.page.expect_download() as download:
        one.page.locator(f"#trace {button}").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def replay(one: Tab, *file: Any) -> None:
    one.page.get_by_role("tab", name="Replay").click()
    one.page.locator("#replay_view input[type=file]").set_input_files(*file)


def shown(page: Page) -> None:
    expect(page.locator("#replay_bar .rp-banner")).to_be_visible(timeout=20_000)
    page.wait_for_function("() => window.__draftscope.guest && window.__draftscope.guest.state.e")


def events_at(page: Page) -> int:
    told = re.search(r"event ([\d,]+) of", page.locator(".rp-where").inner_text())
    assert told is not None
    return int(told[1].replace(",", ""))


def at(page: Page, index: int) -> None:
    expect(page.locator(".rp-where")).to_contain_text(f"event {index:,} of", timeout=10_000)


def test_a_session_is_replayed_and_the_live_one_is_there_when_one_comes_back(
    fake_app: RunningApp, tab: OpenTab, tmp_path: Path
) -> None:
    one = tab(fake_app.url)
    page = one.page
    for message in ("hello", "and again"):
        one.send(message)
        one.expect_idle()
    saved, plain = save(one, tmp_path), save(one, tmp_path, ".plain")
    assert re.fullmatch(r"draftscope-trace-words-\d{4}-\d\d-\d\d-\d{4}\.jsonl\.gz", saved.name)
    trace = import_trace(saved.read_bytes())
    own = fake_app.service.registry.get(one.sid).chat
    assert own is not None and list(trace) == list(own.session.trace)
    assert gzip.decompress(saved.read_bytes()) == plain.read_bytes()
    assert one.sid not in plain.read_text() and list(Trace.load(plain.read_text().splitlines())) == list(trace)

    one.send("a third")
    one.expect_idle()
    live = page.evaluate(STATE)
    replay(one, saved)
    shown(page)
    expect(page.locator("#replay_bar")).to_contain_text(f"Replaying {saved.name}, read-only")
    expect(page.locator("#composer, #chat, #trace")).to_have_count(3)
    for gone in ("#composer", "#chat", "#trace", "#history"):
        expect(page.locator(gone)).to_be_hidden()
    at(page, len(trace))
    recorded = page.evaluate(STATE)
    assert recorded["rounds"] == live["rounds"][: len(recorded["rounds"])] and len(recorded["rounds"]) > 20
    expect(page.locator("#replay_talk .rp-turn")).to_have_count(2)
    words = page.locator("#replay_talk .rp-said").last.inner_text().split()
    assert words == own.messages[3]["content"].split()

    scrubbing(page, trace, recorded)
    page.locator("#replay_bar .rp-back").click()
    expect(page.locator("#composer")).to_be_visible()
    expect(page.locator("#replay_bar")).to_be_hidden()
    assert page.evaluate(STATE) == live
    expect(page.locator("#kpi [data-figure=rounds] dd").first).to_have_text(str(len(live["rounds"])))
    one.send("a fourth")
    one.expect_idle()
    page.wait_for_function(f"() => window.__draftscope.state.rounds.length > {len(live['rounds'])}")
    assert page.evaluate("() => window.__draftscope.resyncs") == 0


def scrubbing(page: Page, trace: Trace, recorded: Any) -> None:
    stops = [place for place, event in enumerate(trace, start=1) if event.kind == "round"]
    turns = [place for place, event in enumerate(trace, start=1) if event.kind == "turn"]
    page.locator(".rp-scrub").focus()
    for key, index in (
        ("Home", 0), ("ArrowRight", stops[0]), ("ArrowRight", stops[1]), ("Shift+ArrowRight", stops[1] + 1),
        ("ArrowLeft", stops[1]), ("PageDown", turns[1]), ("End", len(trace)), ("ArrowLeft", stops[-1]),
    ):  # fmt: skip
        page.keyboard.press(key)
        at(page, index)
    page.keyboard.press("Home")
    at(page, 0)
    assert page.evaluate("() => window.__draftscope.state.rounds.length") == 0
    expect(page.locator("#replay_talk")).to_contain_text("No turn has begun yet")
    page.locator(".rp-scrub").fill(str(stops[9]))
    at(page, stops[9])
    assert page.evaluate(STATE)["rounds"] == recorded["rounds"][:10]
    expect(page.locator("#tokens .ds-tokens .ds-token").first).to_be_visible()
    assert page.locator(".rp-marks i").count() == len(turns)
    page.get_by_label("Speed", exact=True).select_option("10")
    page.locator(".rp-scrub").focus()
    page.keyboard.press("Space")
    expect(page.locator(".rp-play")).to_have_text("Pause")
    expect(page.locator(".rp-play")).to_have_text("Play", timeout=20_000)
    at(page, len(trace))
    assert page.evaluate(STATE) == recorded
    page.get_by_role("button", name="One round back").click()
    at(page, stops[-1])


def test_it_goes_on_behind_the_replay_and_two_pages_replay_for_themselves(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tab(fake_app.url)
    two = tab(fake_app.url)
    monkeypatch.setattr(fake_app.service.engine, "pace", 0.05)
    one.send("go on meanwhile")
    one.expect_running()
    for each in (one, two):
        replay(each, {"name": "a trace.jsonl.gz", "mimeType": "application/gzip", "buffer": PACKED})
        shown(each.page)
        at(each.page, len(LINES) - 1)
    one.page.keyboard.press("Home")
    at(one.page, 0)
    assert events_at(two.page) == len(LINES) - 1
    one.page.locator("#replay_bar .rp-back").click()
    one.expect_idle()
    chat = fake_app.service.registry.get(one.sid).chat
    assert chat is not None
    rounds = chat.session.telem.rounds
    one.page.wait_for_function(f"() => window.__draftscope.state.rounds.length === {rounds}")
    assert one.page.evaluate("() => window.__draftscope.guest") is None
    assert two.page.evaluate("() => window.__draftscope.guest !== null")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_audit_of_the_replay_finds_nothing_serious(fake_app: RunningApp, tab: OpenTab, theme: str) -> None:
    one = tab(f"{fake_app.url}?__theme={theme}")
    replay(one, {"name": "t.jsonl.gz", "mimeType": "application/gzip", "buffer": PACKED})
    shown(one.page)
    at(one.page, len(LINES) - 1)
    one.page.wait_for_timeout(500)
    assert findings(one.page) == []
    one.page.get_by_role("tab", name="Replay").click()
    expect(one.page.locator(".rp-facts")).to_be_visible()
    assert findings(one.page) == []


def test_a_replay_that_ended_on_the_server_opens_again_by_itself(
    fake_app: RunningApp, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tab(fake_app.url)
    replay(one, {"name": "t.jsonl.gz", "mimeType": "application/gzip", "buffer": PACKED})
    shown(one.page)
    at(one.page, len(LINES) - 1)
    real, gone = Replays.get, []

    def get(self: Replays, owner: str, name: object) -> Any:
        if not gone:
            gone.append(name)
            self.close(owner, name)
        return real(self, owner, name)

    monkeypatch.setattr(Replays, "get", get)
    one.page.keyboard.press("Home")
    at(one.page, 0)
    assert len(gone) == 1
    one.page.keyboard.press("End")
    at(one.page, len(LINES) - 1)


HUGE = (LINES[0] + "\n" + "x" * 2_000_000).encode()
FOREIGN = "\n".join([LINES[0], json.dumps({"kind": "turn", "surprise": 1})]).encode()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (PACKED[:-40], "cut short"),
        (gzip.compress(b" " * (65 * 2**20), 1), "more than the 64 MiB"),
        (b'{"a": 1}', "not a trace of Draftscope"),
        (HUGE, "Line 2 of the trace is too long"),
        (FOREIGN, "Line 2 of the trace does not have the fields"),
        ("\n".join(LINES).replace('"pending": ', '"pending": 9999999999').encode(), "The event in line"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (gzip.compress("\n".join([LINES[0], *["{}"] * 60_000]).encode()), "60,000 events"),
    ],
    ids=["cut", "large", "other_json", "long_line", "foreign_field", "number", "bytes", "many_events"],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(
    fake_app: RunningApp, tab: OpenTab, data: bytes, sentence: str
) -> None:
    one = tab(fake_app.url)
    replay(one, {"name": "<img src=x>.jsonl", "mimeType": "text/plain", "buffer": data})
    refusal = one.page.locator("#replay_refusal")
    expect(refusal).to_contain_text(sentence, timeout=20_000)
    assert refusal.inner_text().endswith(".")
    assert one.page.evaluate("() => window.__draftscope.guest") is None
    expect(one.page.locator(".rp-pick")).to_be_enabled()


def test_a_long_trace_opens_soon_scrubs_and_fits_a_narrow_page(fake_app: RunningApp, tab: OpenTab) -> None:
    session = SyntheticSession(1, max_ctx=200_000)
    for _ in play(session, turns=40, bursts=10, rounds=25):
        pass
    data = export_trace(session.trace, WordTokenizer(), compressed=True)
    one = tab(fake_app.url)
    page = one.page
    replay(one, {"name": "long.jsonl.gz", "mimeType": "application/gzip", "buffer": data})
    at(page, len(session.trace))
    page.set_viewport_size({"width": 390, "height": 844})
    answered = page.evaluate(SCRUB)
    rounds = sum(event.kind == "round" for event in session.trace.since(0)[: answered["last"]])
    page.wait_for_function(f"() => window.__draftscope.state.rounds.at(-1).r === {rounds}")
    at(page, answered["last"])
    assert page.evaluate("() => window.__draftscope.guest.resyncs") == 0
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.evaluate("() => window.scrollTo(0, 700)")
    page.wait_for_timeout(300)
    assert page.locator("#replay_bar .rp-banner").evaluate("(node) => node.getBoundingClientRect().top") >= 0


SCRUB = """async () => {
  const slider = document.querySelector('.rp-scrub'), most = Number(slider.max);
  let last = 0;
  for (let i = 0; i < 30; i += 1) {
    last = Math.round(most * (0.5 + 0.45 * Math.sin(i / 4)));
    slider.value = last;
    slider.dispatchEvent(new Event('input'));
    await new Promise((done) => setTimeout(done, 40));
  }
  slider.dispatchEvent(new Event('change'));
  return { last };
}"""
