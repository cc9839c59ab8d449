"""Regenerate, edit, rewind, stop strings and the system message in a browser, on a tiny real engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp, running

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]


@pytest.fixture(scope="module")
def app(tiny_checkpoint: Callable[[str], Path]) -> Iterator[RunningApp]:
    import torch

    from engine import load_engine
    from playground.service import chat_of

    torch.set_num_threads(1)
    folder = str(tiny_checkpoint("llama"))
    with running(
        lambda settings, progress: load_engine(folder, device="cpu", dtype="float32", max_ctx=512, progress=progress),
        chat_of,
        load_s=120,
    ) as app:
        yield app


@pytest.fixture
def one(app: RunningApp, tab: OpenTab) -> Tab:
    """A tab after two answers of 20 tokens."""
    one = tab(app.url)
    one.open_section("Decoding settings")
    fill(one, "#max_new input[type=number]", "20")
    for message in ("The quick brown fox", "a <b> c"):
        one.send(message)
        settled(one)
    return one


def chat_of_tab(app: RunningApp, one: Tab) -> Any:
    return app.service.registry.get(one.sid).chat


def fill(one: Tab, selector: str, text: str) -> None:
    one.page.locator(selector).fill(text)
    one.page.locator(selector).press("Tab")


def settled(one: Tab) -> None:
    expect(one.page.locator("#status")).to_contain_text("tokens", timeout=20_000)
    one.expect_idle(20)


def choose(one: Tab, box: str, line: str) -> None:
    """Pick the entry of a list that begins with `line`, opening the panel first."""
    if not one.page.locator(f"#{box} input").is_visible():
        one.open_section("Go back")
    one.page.locator(f"#{box} input").click()
    one.page.locator("[role=option]").filter(has_text=line).click()


def agrees(app: RunningApp, one: Tab) -> None:
    """Messages, token view and figures are the session's."""
    chat = chat_of_tab(app, one)
    said = [m["content"] for m in chat.messages if m["role"] == "user"]
    expect(one.questions()).to_have_count(len(said))
    assert [text.strip() for text in one.questions().all_inner_texts()] == said
    ids = [] if chat.turn is None else [*chat._talk.last_answer.ids, *chat.turn.hidden]
    expect(one.page.locator("#tokens [data-id]")).to_have_count(len(ids))
    assert one.page.locator("#tokens [data-id]").evaluate_all("x => x.map((n) => Number(n.dataset.id))") == ids
    hidden = 0 if chat.turn is None else len(chat.turn.hidden)
    assert one.page.locator("#tokens .ds-hidden-token[data-id]").count() == hidden
    expect(one.page.locator("#gauge")).to_contain_text(f"{len(chat.session.committed)} / 512")
    expect(one.page.locator("#kpi [data-figure=pending] dd")).to_contain_text(chat.session.state)
    assert one.page.evaluate("() => window.__draftscope.resyncs") == 0


def test_regenerate_shows_the_same_answer_again_from_the_checkpoint(app: RunningApp, one: Tab) -> None:
    agrees(app, one)
    chat, before = chat_of_tab(app, one), one.answer()
    prefills = len([e for e in chat.session.trace if e.kind == "prefill"])
    one.page.locator("#regenerate").click()
    one.page.wait_for_function("() => window.__draftscope.state.turn === 2", timeout=20_000)
    settled(one)
    assert one.answer() == before and one.answers().count() == 2
    assert len([e for e in chat.session.trace if e.kind == "prefill"]) == prefills
    agrees(app, one)
    gives_its_memory_back_and_answers_the_same(app, one)


def gives_its_memory_back_and_answers_the_same(app: RunningApp, one: Tab) -> None:
    chat, before = chat_of_tab(app, one), one.answer()
    one.page.locator(".ds-fold > summary").first.click()
    memory = one.page.locator("[data-panel=memory]")
    back = memory.get_by_role("button", name="Give this session’s rows back")
    back.click()
    expect(one.page.locator("#status")).to_contain_text(f"{len(chat.session.committed)} rows was given back")
    expect(memory.locator(".ds-slots")).to_contain_text("the next turn computes all")
    expect(back).to_be_hidden()
    assert chat.session.slot is None
    one.page.locator("#regenerate").click()
    one.page.wait_for_function("() => window.__draftscope.state.turn === 3", timeout=20_000)
    settled(one)
    assert one.answer() == before and chat.session.slot is not None
    expect(back).to_be_enabled()


def test_an_earlier_message_is_edited_in_its_own_words(app: RunningApp, one: Tab) -> None:
    choose(one, "edit_which", "2. a <b> c")
    box = one.page.locator("#edit_text textarea")
    expect(box).to_have_value("a <b> c")
    choose(one, "edit_which", "1. The quick")
    expect(box).to_have_value("The quick brown fox")
    box.fill("zzz")
    one.page.locator("#edit").click()
    expect(one.questions()).to_have_count(1, timeout=20_000)
    settled(one)
    assert one.questions().inner_text().strip() == "zzz" and one.answers().count() == 1
    expect(box).to_have_value("")
    agrees(app, one)


def test_a_rewind_takes_the_messages_along_and_continue_answers_again(app: RunningApp, one: Tab) -> None:
    first = one.answers().first.inner_text()
    points = chat_of_tab(app, one).session.rewind_points()
    choose(one, "rewind_point", "Message 1, at the end of its prompt")
    one.page.locator("#rewind").click()
    expect(one.questions()).to_have_count(1, timeout=20_000)
    expect(one.answers()).to_have_count(0)
    agrees(app, one)
    assert chat_of_tab(app, one).session.rewind_points() == points[:2]
    one.page.locator("#continue").click()
    expect(one.answers()).to_have_count(1, timeout=20_000)
    settled(one)
    assert one.answers().inner_text() == first
    agrees(app, one)
    choose(one, "rewind_point", "Message 1, before the assistant header")
    one.page.locator("#rewind").click()
    expect(one.answers()).to_have_count(0, timeout=20_000)
    one.press_send("x")
    expect(one.answers()).to_have_count(1, timeout=20_000)
    settled(one)
    assert one.questions().inner_text().strip() == "x"
    agrees(app, one)


def test_stop_strings_and_a_system_message_reach_the_turn_and_survive_a_reload(app: RunningApp, one: Tab) -> None:
    whole = chat_of_tab(app, one).turn.text
    character = next(c for c in whole[4:] if c.isalpha() and c.isascii() and whole.index(c) >= 4)
    fill(one, "#stop_strings textarea", f"never\\n\n{character}")
    one.page.locator("#regenerate").click()
    one.page.wait_for_function("() => window.__draftscope.state.turn === 2", timeout=20_000)
    expect(one.page.locator("#status")).to_contain_text("Done", timeout=20_000)
    chat = chat_of_tab(app, one)
    assert chat.turn.text == whole[: whole.index(character)] and chat.turn.reason == "stop"
    agrees(app, one)
    fill(one, "#system textarea", "Be brief.")
    one.send("x")
    settled(one)
    assert chat.messages[0] == {"role": "system", "content": "Be brief."}
    expect(one.questions()).to_have_count(3)
    one.page.reload()
    one.page.wait_for_function("() => (window.draftscope || {}).sid")
    one.open_section("Decoding settings")
    expect(one.page.locator("#stop_strings textarea")).to_have_value(f"never\\n\n{character}")
    expect(one.page.locator("#system textarea")).to_have_value("Be brief.")
    agrees(app, one)


def test_refusals_are_one_sentence_and_change_nothing(app: RunningApp, one: Tab) -> None:
    before = chat_of_tab(app, one).messages
    one.open_section("Go back")
    for button, says in (("edit", "Choose a message"), ("rewind", "Choose a rewind point")):
        one.page.locator(f"#{button}").click()
        expect(one.page.locator("#refusal")).to_contain_text(says)
    choose(one, "edit_which", "1. The quick")
    expect(one.page.locator("#edit_text textarea")).not_to_have_value("")
    fill(one, "#stop_strings textarea", "x" * 1001)
    fill(one, "#edit_text textarea", "zzz")
    one.page.locator("#edit").click()
    expect(one.page.locator("#refusal")).to_contain_text("1,001 characters")
    expect(one.page.locator("#edit_text textarea")).to_have_value("zzz")
    assert chat_of_tab(app, one).messages == before


def test_nothing_to_go_back_to_before_the_first_message(app: RunningApp, tab: OpenTab) -> None:
    one = tab(app.url)
    one.open_section("Go back")
    for button in ("regenerate", "continue", "edit", "rewind"):
        expect(one.page.locator(f"#{button}")).to_be_disabled()
    for one_of, other in itertools.pairwise(("chat", "message", "history", "settings")):
        above, below = (one.page.locator(f"#{name}").bounding_box() for name in (one_of, other))
        assert above and below and above["y"] < below["y"]
