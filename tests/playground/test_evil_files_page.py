"""Files from elsewhere whose every text tries to be more than text: conversations as JSON and Markdown, and a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from playground.conversations.desk import Desk
from playground.exchange import export_json, import_json, import_markdown
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp
from tests.playground.evil_app import evil_app
from tests.playground.evil_corpus import CORPUS, SCRIPTS
from tests.playground.evil_files import SYSTEM, carried, conversation_files, evil_talk, trace_file
from tests.playground.inertness import Witness
from tests.playground.kept import packed

pytestmark = pytest.mark.ui
CHOOSE = "#conversations input[type=file]"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    with evil_app(tmp_path_factory.mktemp("data")) as app:
        yield app


@pytest.fixture
def one(app: RunningApp, context: BrowserContext) -> Callable[[], tuple[Tab, Witness]]:
    def visit() -> tuple[Tab, Witness]:
        witness = Witness(context, app.url)
        page = context.new_page()
        page.goto(app.url)
        return Tab(page), witness

    return visit


def opened(page: Page, form: str, data: bytes) -> None:
    page.locator(CHOOSE).set_input_files({"name": f"<b>.{form}", "mimeType": "text/plain", "buffer": data})
    expect(page.locator("#conversations_says")).to_contain_text("Opened from the file", timeout=20_000)
    expect(page.locator("#chat .message")).to_have_count(len(CORPUS), timeout=30_000)


def test_conversations_from_files_are_text_in_chat_list_tree_search_and_files(
    app: RunningApp, one: Callable[[], tuple[Tab, Witness]], tmp_path: Path
) -> None:
    tab, witness = one()
    page = tab.page
    for text in CORPUS:  # as names, which a list shows one under another
        named = export_json(replace(evil_talk(text), nodes=evil_talk(text).nodes[:1], current=0))
        answer = Desk(app.service).answer({"do": "import", "sid": tab.sid, "file": packed(named)})
        assert "open" in answer, answer
    page.locator("#conversations summary").click()
    for form, data in conversation_files().items():
        opened(page, form, data)
        assert SCRIPTS[0] in tab.questions().first.inner_text()
        expect(page.locator("#conversations .dc-branch")).to_have_count(len(CORPUS) + 1 if form == "json" else 1)
        expect(page.locator("#conversations .dc-list > li")).to_have_count(len(CORPUS) + (1 if form == "json" else 2))
        assert witness.faults(page) == []
        for name, suffix, read in (("JSON", "json", import_json), ("Markdown", "markdown", import_markdown)):
            with page.expect_download() as download:
                page.locator(f"#conversations [data-key={suffix}]").click()
            download.value.save_as(tmp_path / name)
            talk = read((tmp_path / name).read_bytes())
            assert [node.said.content for node in talk.path] == [carried(text) for text in CORPUS], name
            assert talk.system == carried(SYSTEM)
    search = page.get_by_label("Search names and messages")
    for text in (SCRIPTS[3], "${window.evil=1}", "<img src=x onerror=window.evil=1> in no text"):
        search.fill(text)
        page.wait_for_timeout(500)
        assert witness.faults(page) == []
    expect(page.locator("#conversations .dc-list")).to_contain_text("contains this")
    search.fill("")
    page.locator("#conversations [data-key^=rename-]").first.click()
    page.locator("#conversations [data-key^=delete-]").first.click()
    expect(page.locator(".dc-undo")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_timeout(300)
    assert witness.faults(page) == []


def test_messages_and_all_else_that_a_trace_brings_along_are_text(one: Callable[[], tuple[Tab, Witness]]) -> None:
    tab, witness = one()
    page = replayed(tab)
    asked = page.locator("#replay_talk .rp-asked")
    expect(asked).to_have_count(len(CORPUS))
    assert asked.first.text_content() == SCRIPTS[0]
    assert witness.faults(page) == []
    page.get_by_role("tab", name="Replay", exact=True).click()
    expect(page.locator(".rp-facts")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_timeout(300)
    assert witness.faults(page) == []


def replayed(tab: Tab) -> Page:
    page = tab.page
    page.get_by_role("tab", name="Replay", exact=True).click()
    file = {"name": "<img src=x onerror=window.evil=1>.gz", "mimeType": "application/gzip", "buffer": trace_file()}
    page.locator("#replay_view input[type=file]").set_input_files(file)
    expect(page.locator("#replay_bar .rp-banner")).to_be_visible(timeout=20_000)
    page.wait_for_function("() => document.querySelectorAll('#replay_talk .rp-turn').length > 10")
    return page


def test_teeth_what_is_not_taken_as_text_is_noticed(
    one: Callable[[], tuple[Tab, Witness]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.viewer.inert", lambda text: text)
    tab, witness = one()
    page = tab.page
    page.locator("#conversations summary").click()
    opened(page, "json", conversation_files()["json"])
    found = " ".join(witness.faults(page))
    assert "is styled" in found and "evil.example" in found, found
    replayed(tab)
    for place in ("#conversations .dc-label", "#replay_talk .rp-asked"):
        page.evaluate(UNESCAPED, place)
        page.wait_for_function("() => window.evil === 1", timeout=15_000)
        assert "a script ran" in witness.faults(page), place
        page.evaluate("() => { delete window.evil; }")


UNESCAPED = """(place) => document.querySelectorAll(place).forEach((node) => {
  if (/<img src=x onerror=window/.test(node.textContent)) node.innerHTML = node.textContent;
})"""
