"""Looking into tokens: click or Enter, what it says, the pin in every view, and earlier turns; on a tiny checkpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.playground.audit import findings
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp, running

pytestmark = pytest.mark.ui
EVIL = "<img src=x onerror='window.hurt = 1'><b>x</b>"
STATE = "window.__draftscope.state"
AT = "JSON.stringify(window.__draftscope.pin.at)"
MARKED = """(panel) => (document.querySelector(`[data-panel=${panel}] .js-plotly-plot`)?._fullLayout.shapes ?? [])
  .filter((shape) => shape.name === 'pinned round').map((shape) => (shape.x0 + shape.x1) / 2)"""
IN_CHAT = "[...(window.CSS.highlights.get('ds-pin') ?? [])].map((range) => range.toString()).join('')"


@pytest.fixture(scope="module")
def app(tiny_checkpoint: Callable[[str], Path]) -> Iterator[RunningApp]:
    """A tiny checkpoint with n-gram drafts behind the page."""
    from engine import load_engine
    from playground.service import chat_of

    def load(settings: Any, progress: Any) -> Any:
        return load_engine(str(tiny_checkpoint("llama")), drafter="ngram", draft_len=5, max_ctx=512, threads=1)

    with running(load, chat_of, load_s=60) as app:
        yield app


@pytest.fixture
def at_rest(app: RunningApp, tab: Callable[..., Tab]) -> Tab:
    """A page with one finished answer."""
    opened = tab(app.url)
    answer(opened, "again again again again")
    return opened


def answer(opened: Tab, text: str) -> None:
    opened.send(text)
    opened.expect_idle()
    opened.page.wait_for_function(
        "() => !window.__draftscope.state.s.running && window.__draftscope.state.tokens.length"
    )
    expect(opened.page.locator("#tokens .ds-tokens .ds-token").first).to_be_visible()


def tokens(page: Page, origin: str = "") -> Locator:
    return page.locator(f"#tokens .ds-tokens .ds-token{f'[data-origin={origin}]' if origin else ''}")


def inspector(page: Page) -> Locator:
    return page.locator("[data-panel=inspector]")


def round_of(app: RunningApp, opened: Tab, number: int) -> Any:
    chat = app.service.registry.get(opened.sid).chat
    assert chat is not None
    return next(event for event in chat.session.trace if event.kind == "round" and event.round == number - 1)


def test_a_click_shows_round_fates_rivals_and_the_test_and_marks_every_view(app: RunningApp, at_rest: Tab) -> None:
    page = at_rest.page
    tokens(page, "correction").last.click()
    expect(inspector(page).locator("h3")).to_have_text(re.compile(r"^Round \d+$"))
    number = int(inspector(page).locator("h3").inner_text().split()[1])
    event = round_of(app, at_rest, number)
    steps = inspector(page).locator("button.ds-step")
    expect(steps).to_have_count(len(event.drafted) + 1)
    expect(inspector(page).locator(".ds-struck")).to_have_count(len(event.drafted) - event.accepted)
    expect(inspector(page).locator(".ds-meta")).to_contain_text(f"position {event.pos} · width {event.width}")
    expect(steps.last).to_have_attribute("aria-pressed", "true")
    expect(inspector(page).locator(".ds-says")).to_contain_text("Rejected: the argmax is")
    rows = inspector(page).locator(".ds-choices").first.locator("li:not(.ds-rest)")
    expect(rows.first.locator(".ds-role")).to_have_text("emitted")
    expect(rows).to_have_count(4)
    steps.nth(event.accepted).click()
    expect(inspector(page).locator(".ds-test")).to_contain_text(f"(id {event.drafted[event.accepted]}) ≠ argmax")
    for panel in ("fate", "length", "pending", "speed", "overshoot"):
        page.wait_for_function(f"({MARKED})('{panel}').includes({number})")
    pinned = page.locator("#tokens .ds-pinned")
    expect(pinned).to_have_count(event.emitted)
    assert pinned.evaluate_all("nodes => nodes.map((node) => Number(node.dataset.id))") == [
        *event.drafted[: event.accepted],
        event.bonus,
    ]
    page.wait_for_function("window.CSS.highlights.has('ds-pin') || document.querySelector('.ds-pinned-message')")
    tokens(page).nth(2).click()
    before = page.evaluate(AT)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{AT} !== 'null' && {AT} !== {json.dumps(before)}")
    expect(tokens(page).nth(3)).to_have_attribute("aria-selected", "true")
    tokens(page, "correction").last.click()
    page.locator("[data-panel=speed] .ds-button").filter(has_text="Table").click()
    expect(page.locator("[data-panel=speed] .ds-pinned-row td").first).to_have_text(str(number))


def test_student_words_and_the_toggle_of_recording(app: RunningApp, at_rest: Tab) -> None:
    page = at_rest.page
    page.locator("#level").get_by_label("Student").check()
    tokens(page, "correction").first.click()
    said = r"The model wanted “.+” \(.+ %\) where the drafter had guessed “.+” \(.+ %\)\."
    expect(inspector(page).locator(".ds-says .for-student")).to_have_text(re.compile(said))
    expect(inspector(page).locator(".ds-says .for-engineer")).to_be_hidden()
    expect(inspector(page).locator(".ds-meta")).to_be_hidden()
    record = inspector(page).get_by_text("Record alternatives", exact=True)
    expect(record).to_have_attribute("aria-pressed", "true")
    record.click()
    expect(record).to_have_attribute("aria-pressed", "false")
    answer(at_rest, "again again again")
    page.keyboard.press("Escape")
    tokens(page, "draft").last.click()
    expect(inspector(page)).to_contain_text("decoded without recording alternatives")


def test_a_round_is_pinned_from_panels_and_tables_and_released_by_a_second_click_or_escape(at_rest: Tab) -> None:
    page = at_rest.page
    box = page.locator("[data-panel=fate] .nsewdrag").first.bounding_box()
    assert box is not None
    page.locator("#message textarea").focus()
    spot = (box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.6)
    page.mouse.click(*spot)
    page.wait_for_function(f"{AT} !== 'null'")
    first = page.evaluate("window.__draftscope.pin.at.round")
    page.mouse.click(*spot)
    page.wait_for_function(f"{AT} === 'null'")
    expect(inspector(page)).to_be_hidden()
    page.mouse.click(*spot)
    chip = page.locator("#ds-pin")
    expect(chip).to_contain_text(f"Round {first}")
    page.keyboard.press("ArrowRight")
    expect(chip).to_contain_text(f"Round {first + 1}")
    chip.get_by_label("Round before").click()
    expect(chip).to_contain_text(f"Round {first}")
    page.keyboard.press("Escape")
    expect(chip).to_be_hidden()
    page.locator("[data-panel=speed] .ds-button").filter(has_text="Table").click()
    row = page.locator("[data-panel=speed] tbody tr").nth(1).locator("td").first
    number = row.inner_text()
    row.click()
    expect(chip).to_contain_text(f"Round {number}")
    row.click()
    expect(chip).to_be_hidden()


def test_the_keyboard_reaches_a_token_and_the_first_one_says_it_came_from_the_prompt(at_rest: Tab) -> None:
    page = at_rest.page
    page.locator("#tokens .ds-tokens").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(inspector(page)).to_contain_text("First token of the turn: chosen from the prompt’s last row")
    expect(page.locator("#ds-pin")).to_contain_text("Token “")
    page.keyboard.press("ArrowRight")  # moves in the list, and what is pinned moves along
    expect(inspector(page).locator("h3")).to_have_text("Round 1")
    page.keyboard.press("Enter")
    expect(inspector(page)).to_be_hidden()


def test_a_pin_survives_a_new_turn_and_earlier_turns_can_be_turned_to(at_rest: Tab) -> None:
    page = at_rest.page
    before = tokens(page).evaluate_all("nodes => nodes.map((node) => node.dataset.id)")
    tokens(page, "draft").nth(1).click()
    pinned = page.evaluate(AT)
    answer(at_rest, "and another again again")
    assert page.evaluate(AT) == pinned
    heading = page.locator("#tokens h2")
    expect(heading).to_have_text("Turn 1, token by token")
    assert tokens(page).evaluate_all("nodes => nodes.map((node) => node.dataset.id)") == before
    expect(page.locator("#tokens .ds-chosen")).to_have_count(1)
    page.locator("#ds-pin").get_by_text("Release").click()
    expect(heading).to_have_text("Last turn, token by token")
    page.get_by_label("Turn before").click()
    expect(heading).to_have_text("Turn 1, token by token")
    tokens(page).first.click()
    expect(inspector(page)).to_contain_text("First token of the turn")
    page.get_by_label("Turn after").click()
    expect(heading).to_have_text("Last turn, token by token")
    page.locator("#regenerate").click()
    page.wait_for_function("window.__draftscope.state.turn === 2 && !window.__draftscope.state.s.running")
    page.keyboard.press("Escape")
    page.get_by_label("Turn before").click()
    expect(page.locator("#tokens [data-panel=tokens]")).to_contain_text("A rewind has dropped the rows of this answer")


def test_a_clear_releases_and_a_reload_brings_the_turns_back(at_rest: Tab) -> None:
    page = at_rest.page
    answer(at_rest, "more of it again")
    page.reload()
    page.wait_for_function("() => (window.draftscope || {}).sid && window.__draftscope.state.tokens.length")
    page.get_by_label("Turn before").click()
    expect(page.locator("#tokens h2")).to_have_text("Turn 1, token by token")
    tokens(page, "draft").first.click()
    expect(page.locator("#ds-pin")).to_be_visible()
    page.locator("#clear").click()
    expect(page.locator("#ds-pin")).to_be_hidden(timeout=15_000)
    expect(tokens(page)).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_audit_of_the_open_inspector_finds_nothing_serious(
    app: RunningApp, tab: Callable[..., Tab], theme: str
) -> None:
    opened = tab(f"{app.url}?__theme={theme}", width=390, height=844)
    answer(opened, "again again again again")
    page = opened.page
    tokens(page, "correction").first.click()
    expect(inspector(page).locator("button.ds-step").first).to_be_visible()
    assert [found for found in findings(page) if "ds-" in found or "tokens" in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def evil_answers(route: Route) -> None:
    """The server's answers with markup in the place of every text of a token."""
    reply = route.fetch()
    answer = reply.json()
    if isinstance(answer, str) and '"text"' in answer:
        shown = json.loads(answer)
        for part in (shown, *shown.get("columns", [])):
            part["text"] = EVIL
            for row in part.get("trunk", []):
                row[1] = EVIL
        answer = json.dumps(shown)
    route.fulfill(response=reply, json=answer)


def test_texts_of_tokens_are_shown_and_never_read_as_markup(at_rest: Tab) -> None:
    page = at_rest.page
    page.route(re.compile("component_server"), evil_answers)
    page.evaluate(
        "(evil) => { for (const { id } of STATE.tokens) STATE.texts[id] = evil; }".replace("STATE", STATE), EVIL
    )
    tokens(page, "correction").first.click()
    expect(inspector(page).locator("button.ds-step").first).to_contain_text("onerror")
    expect(inspector(page).locator(".ds-choices li").first).to_contain_text("onerror")
    page.keyboard.press("Escape")
    tokens(page).first.click()
    expect(page.locator("#ds-pin")).to_contain_text("onerror")
    assert page.locator("#tokens img, #ds-pin img").count() == 0
    assert page.evaluate("window.hurt") is None
