"""Conversations in a browser, on a tiny real engine: branches, names, search, files, and a restart of the server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from playground.keeper import Keeper, passing_keeper
from playground.store import open_store
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp, free_port, running

pytestmark = pytest.mark.ui
OpenTab = Callable[..., Tab]
ROUNDS = "#kpi [data-figure=rounds] dd"
FIRST, SECOND, OTHER = "The quick brown fox", "jumps over the lazy dog", "another way from here"


class Server:
    """An app on one folder and one port, which can be restarted."""

    def __init__(self, load: Callable[..., Any], folder: Path) -> None:
        self._load, self._folder, self._port = load, folder, free_port()
        self._stack = ExitStack()
        self.app: RunningApp
        self.start()

    def start(self) -> None:
        from playground.service import chat_of

        keeper = Keeper(open_store(self._folder))
        app = running(self._load, chat_of, load_s=120, keeper=keeper, port=self._port)
        self.app = self._stack.enter_context(app)

    def restart(self) -> None:
        self.close()
        self.start()

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def load(tiny_checkpoint: Callable[[str], Path]) -> Callable[..., Any]:
    import torch

    from engine import load_engine

    torch.set_num_threads(1)
    folder = str(tiny_checkpoint("llama"))
    return lambda settings, progress: load_engine(
        folder, device="cpu", dtype="float32", max_ctx=512, threads=1, progress=progress
    )


@pytest.fixture
def server(load: Callable[..., Any], tmp_path: Path) -> Iterator[Server]:
    server = Server(load, tmp_path / "data")
    yield server
    server.close()


def ready(one: Tab) -> None:
    """Short answers, and the fold of conversations open."""
    one.open_section("Decoding settings")
    one.page.locator("#max_new input[type=number]").fill("12")
    one.page.locator("#max_new input[type=number]").press("Tab")
    one.open_section("Decoding settings")
    one.page.locator("#conversations summary").click()


def say(one: Tab, *messages: str) -> None:
    for message in messages:
        one.send(message)
        one.expect_idle()


def lines(one: Tab) -> Locator:
    return one.page.locator("#conversations .dc-list > li")


def branches(one: Tab) -> Locator:
    return one.page.locator("#conversations .dc-branch")


def press(one: Tab, name: str) -> None:
    one.page.locator("#conversations").get_by_role("button", name=name, exact=True).click()


def texts(one: Tab) -> list[str]:
    return [text.strip() for text in one.page.locator("#chat .message").all_inner_texts()]


def test_branch_tree_and_a_restart(server: Server, tab: OpenTab) -> None:
    one = tab(server.app.url)
    ready(one)
    expect(one.page.locator("#conversations")).to_contain_text("kept from its first message on")
    say(one, FIRST, SECOND)
    expect(branches(one)).to_have_count(1)
    before = texts(one)

    one.open_section("Go back")
    one.page.locator("#rewind_point input").click()
    one.page.locator("[role=option]").filter(has_text="Message 1, at the end of its prompt").click()
    one.page.get_by_role("button", name="Branch here").click()
    expect(one.page.locator("#status")).to_contain_text("Back at message 1: Continue answers it again")
    expect(branches(one)).to_contain_text("shown up to message 1 of 4")
    one.press_send(OTHER)
    expect(one.questions()).to_have_text([OTHER])
    one.expect_idle()
    expect(branches(one)).to_have_count(2)
    expect(branches(one).nth(1)).to_have_attribute("aria-current", "true")
    expect(branches(one).nth(1)).to_contain_text(OTHER)

    branches(one).first.focus()
    one.page.keyboard.press("Enter")
    expect(one.questions()).to_have_text([FIRST, SECOND])
    assert texts(one) == before
    expect(one.page.locator("#status")).to_contain_text("tokens are read again with your next message")
    expect(branches(one).first).to_be_focused()
    expect(one.page.locator("#tokens")).to_contain_text("The chat shows another branch")
    say(one, "and then?")
    expect(one.page.locator("#tokens")).not_to_contain_text("The chat shows another branch")
    expect(branches(one).first).to_contain_text("6 messages, shown")

    sid, shown, rounds = one.sid, texts(one), one.page.locator(ROUNDS).inner_text()
    server.restart()
    one.page.reload()
    again = Tab(one.page)
    assert again.sid == sid
    expect(again.questions()).to_have_count(3, timeout=20_000)
    assert texts(again) == shown
    expect(again.page.locator("#status")).to_contain_text("Restored after a restart: ")
    expect(again.page.locator("#status")).to_contain_text("The panels show what was recorded before.")
    expect(again.page.locator(ROUNDS)).to_have_text(rounds)
    assert int(rounds) > 3
    again.page.locator("#tokens .ds-tokens .ds-token[data-origin=bonus]").last.click()
    expect(again.page.locator("[data-panel=inspector] h3")).to_have_text(re.compile(r"^Round \d+$"))
    again.open_section("Decoding settings")
    expect(again.page.locator("#max_new input[type=number]")).to_have_value("12")
    again.page.locator("#conversations summary").click()
    expect(branches(again)).to_have_count(2)
    say(again, "still there?")
    expect(again.questions()).to_have_count(4)
    assert texts(again)[:6] == shown
    expect(again.page.locator("#status")).to_contain_text("12 tokens")
    again.page.wait_for_function(f"Number(document.querySelector('{ROUNDS}').textContent) > {rounds}")


def test_list_search_names_delete_and_files(server: Server, tab: OpenTab, tmp_path: Path) -> None:
    one = tab(server.app.url)
    ready(one)
    say(one, FIRST)
    first, answer = one.sid, one.answer()
    press(one, "Rename " + FIRST)
    box = one.page.get_by_label("New name of " + FIRST)
    expect(box).to_be_focused()
    box.fill("Foxes <b>")
    box.press("Enter")
    expect(one.page.locator("#conversations_says")).to_have_text("Renamed: “Foxes <b>”.")
    expect(lines(one).first).to_contain_text("Foxes <b>shown now")

    press(one, "Begin a new conversation")
    expect(one.questions()).to_have_count(0)
    say(one, "Something else entirely")
    second = one.sid
    assert second != first
    expect(lines(one)).to_have_count(2)
    search = one.page.get_by_label("Search names and messages")
    search.fill("BROWN")
    expect(lines(one)).to_have_count(1)
    press(one, "Open Foxes <b>")
    expect(one.questions()).to_have_text([FIRST])
    assert one.sid == first and one.answer() == answer
    search.fill("")
    expect(lines(one)).to_have_count(2)

    for name, label in (("json", "JSON, with all branches"), ("md", "Markdown")):
        with one.page.expect_download() as download:
            press(one, f"Download what is shown as {label}")
        assert download.value.suggested_filename == f"draftscope-foxes-b.{name}"
        download.value.save_as(tmp_path / f"file.{name}")
    assert json.loads((tmp_path / "file.json").read_text())["messages"][0]["content"] == FIRST

    two = tab(f"{server.app.url}?s={first}")
    expect(two.questions()).to_have_text([FIRST])
    one.page.bring_to_front()
    press(one, "Delete Foxes <b>")
    expect(one.questions()).to_have_count(0)
    two.page.bring_to_front()
    expect(two.page.locator("#status")).to_contain_text("was deleted, or is not kept any more", timeout=15_000)
    expect(two.questions()).to_have_text([FIRST])
    expect(two.page.locator("#regenerate")).to_be_disabled()
    two.page.close()
    expect(one.page.locator("#conversations_says")).to_have_text("Deleted: “Foxes <b>”.")
    expect(lines(one)).to_have_count(1)

    for name in ("json", "md"):
        one.page.locator("#conversations input[type=file]").set_input_files(tmp_path / f"file.{name}")
        expect(one.questions()).to_have_text([FIRST])
        expect(one.page.locator("#conversations_says")).to_have_text("Opened from the file: “Foxes <b>”.")
        assert one.answer() == answer and one.sid not in (first, second)
        say(one, "go on")
        expect(one.questions()).to_have_count(2)
        press(one, "Begin a new conversation")
        expect(one.questions()).to_have_count(0)
    before = lines(one).count()
    for name in ("json", "md"):  # the second while the first is on its way
        one.page.locator("#conversations input[type=file]").set_input_files(tmp_path / f"file.{name}")
    expect(lines(one)).to_have_count(before + 2)
    expect(one.questions()).to_have_text([FIRST])
    press(one, "Begin a new conversation")
    expect(one.questions()).to_have_count(0)
    (tmp_path / "wrong.json").write_text('{"draftscope": "sweep"}')
    one.page.locator("#conversations input[type=file]").set_input_files(tmp_path / "wrong.json")
    expect(one.page.locator("#conversations_says")).to_contain_text("is not a conversation of Draftscope")
    expect(one.questions()).to_have_count(0)


def test_where_others_reach_the_server_a_browser_lists_its_own(tab: OpenTab, browser: Any) -> None:
    from tests.playground.fakes import FakeEngine

    keeper = passing_keeper()
    with running(lambda *_: FakeEngine(answer=5), keeper=keeper, host="0.0.0.0") as app:
        one = tab(app.url)
        one.page.locator("#conversations summary").click()
        say(one, "mine")
        expect(lines(one)).to_have_count(1)
        one.page.locator("#new").click()
        expect(one.questions()).to_have_count(0)
        say(one, "mine too")
        expect(lines(one)).to_have_count(2)
        expect(one.page.locator("#conversations")).to_contain_text("Nothing is written to this server’s disk")
        other = browser.new_context()
        page = other.new_page()
        page.goto(app.url)
        two = Tab(page)
        two.page.locator("#conversations summary").click()
        say(two, "theirs")
        expect(lines(two)).to_have_count(1)
        expect(lines(two)).to_contain_text("theirs")
        other.close()


def test_a_narrow_page_does_not_scroll_sideways(server: Server, tab: OpenTab) -> None:
    one = tab(server.app.url, width=390, height=844)
    one.page.locator("#conversations summary").click()
    say(one, "a" * 300)
    expect(lines(one)).to_have_count(1)
    press(one, "Rename " + "a" * 59 + "…")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 390
