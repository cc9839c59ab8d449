"""The sweep's tab in Chromium: it fills while it runs, ends in an answer, is saved, opened, compared and deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from playground.sweep import SweepTab
from playground.sweep.run import file_text
from tests.playground.measuring_fakes import FakeDecoder, MeasuredEngine, ready_service
from tests.playground.measuring_page import HAS_SESSION, launch, measuring_blocks
from tests.playground.sweep_runs import made_run

pytestmark = pytest.mark.ui


class App:
    """A page with the sweep alone, on a fake engine and a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.engine = MeasuredEngine(pace=0.002)
        self.service = ready_service(self.engine)
        self.folder = folder
        self.tab: Any = None

        def build(service: Any) -> SweepTab:
            self.tab = SweepTab(service, FakeDecoder(), folder)
            return self.tab

        self.blocks = measuring_blocks(self.service, build)
        self.url = launch(self.blocks)

    def close(self) -> None:
        self.tab.close()
        self.service.close()
        self.blocks.close(verbose=False)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    app = App(tmp_path_factory.mktemp("data"))
    yield app
    app.close()


@pytest.fixture
def one(app: App, page: Page) -> Iterator[Page]:
    app.engine.pace = 0.002
    for file in app.folder.glob("sweeps/*"):
        file.unlink()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda note: wrong.append(note.text) if note.type == "error" else None)
    page.goto(app.url)
    expect(page.locator("#sweep_start")).to_be_enabled(timeout=30_000)
    expect(page.locator("#sweep_library")).to_contain_text("No sweep is saved yet", timeout=10_000)
    page.wait_for_function(HAS_SESSION)
    yield page
    assert wrong == []


def small(page: Page) -> None:
    """Two kinds, 16 tokens."""
    for kind in ("code", "edit", "question"):
        page.get_by_label(kind, exact=True).uncheck()
    box = page.locator("#sweep_max_new input[type=number]")
    box.fill("16")
    box.press("Tab")


def start(page: Page) -> None:
    page.locator("#sweep_start").click()
    expect(page.locator("#sweep_status")).to_contain_text("The sweep is complete. Saved on this", timeout=30_000)


def test_a_sweep_fills_ends_in_an_answer_and_is_saved(app: App, one: Page) -> None:
    small(one)
    one.locator("#sweep_name").get_by_role("textbox").fill("first <i>one</i>")
    expect(one.locator("#sweep_plan")).to_contain_text(
        "Plain decoding and 4 settings, 2 prompts, 3 repeats: 30 decodes of at most 16 tokens."
    )
    app.engine.pace = 0.01
    one.locator("#sweep_start").click()
    expect(one.locator("#sweep_stop")).to_be_enabled()
    expect(one.locator("#sweep_title")).to_contain_text("So far: first <i>one</i>", timeout=10_000)
    expect(one.locator("#sweep_count")).to_contain_text("of 30 decodes, about")
    expect(one.locator("#sweep_status")).to_contain_text("complete", timeout=30_000)
    expect(one.locator("#sweep_verdict .dm-answer")).to_contain_text("Best: n-gram lookup at K = ")
    expect(one.locator("#sweep_start")).to_be_enabled()
    cells = one.locator("#sweep_report .dm-heats").first.locator("tbody b").all_inner_texts()
    assert len(cells) == 4 and all(text.startswith("▲ ") for text in cells)
    assert one.locator(".dm-heat-best").count() == 1
    rows = one.locator("#sweep_report details .dm-table").first.locator("tbody tr")
    assert rows.count() == 4 and rows.first.locator("td").last.inner_text() == "2 of 2"
    expect(one.locator("#sweep_library tbody tr")).to_have_count(1)
    assert one.locator("#sweep_library i").count() == 0
    (file,) = app.folder.glob("sweeps/*.json")
    assert json.loads(file.read_text())["name"] == "first <i>one</i>"


def test_stop_keeps_what_was_measured_and_a_refusal_is_one_sentence(app: App, one: Page) -> None:
    one.get_by_label("n-gram lookup").uncheck()
    expect(one.locator("#sweep_plan")).to_contain_text("Choose at least one drafter")
    one.locator("#sweep_start").click()
    expect(one.locator("#sweep_refusal .says")).to_contain_text("Choose at least one drafter")
    one.get_by_label("n-gram lookup").check()
    small(one)
    app.engine.pace = 0.02
    one.locator("#sweep_start").click()
    expect(one.locator("#sweep_refusal .says")).to_have_text("")
    expect(one.locator("#sweep_title")).to_contain_text("So far", timeout=10_000)
    one.locator("#sweep_stop").click()
    expect(one.locator("#sweep_status")).to_contain_text("Stopped; this is what was measured so far. Saved")
    expect(one.locator("#sweep_library tbody tr")).to_contain_text("not complete")
    expect(one.locator("#sweep_report")).to_contain_text("not complete")


def test_open_compare_download_delete_and_a_file_from_elsewhere(app: App, one: Page, tmp_path: Path) -> None:
    small(one)
    start(one)
    other = made_run({1: 1.1, 2: 0.8, 4: 1.5}, name="from elsewhere")
    file = tmp_path / "run.json"
    file.write_text(file_text(other))
    one.locator("#sweep_library input[type=file]").set_input_files(str(file))
    expect(one.locator("#sweep_title")).to_contain_text("Opened: from elsewhere")
    rows = one.locator("#sweep_library tbody tr")
    expect(rows).to_have_count(2)
    theirs, ours = rows.filter(has_text="from elsewhere"), rows.filter(has_not_text="from elsewhere")
    expect(theirs).to_contain_text("for this visit only")
    assert one.locator("#sweep_report .dm-heats").first.locator("tbody b").all_inner_texts() == [
        "▲ 1.10×", "▼ 0.80×", "▲ 1.50×",
    ]  # fmt: skip

    ours.get_by_role("button", name="Compare").click()
    expect(one.locator("#sweep_comparison h2")).to_contain_text("from elsewhere, ")
    expect(one.locator("#sweep_notes")).to_contain_text("The machines differ")
    assert one.locator("#sweep_comparison tbody b").count() == 3

    with one.expect_download() as download:
        theirs.get_by_role("button", name="Download").click()
    assert Path(download.value.path()).read_text(encoding="utf-8") == file.read_text()

    ours.get_by_role("button", name="Delete").click()
    assert len(list(app.folder.glob("sweeps/*.json"))) == 1, "the first press only asks"
    ours.get_by_role("button", name="for good").click()
    expect(rows).to_have_count(1)
    expect(one.locator("#sweep_library_says")).to_contain_text("Deleted: ")
    assert list(app.folder.glob("sweeps/*.json")) == []

    file.write_text('{"draftscope": "race"}')
    one.locator("#sweep_library input[type=file]").set_input_files(str(file))
    expect(one.locator("#sweep_library_says")).to_contain_text("The file is not a sweep of Draftscope")


def test_a_page_that_comes_back_finds_its_sweep_and_a_narrow_one_does_not_scroll_sideways(app: App, one: Page) -> None:
    one.set_viewport_size({"width": 390, "height": 844})
    small(one)
    start(one)
    assert one.evaluate("document.documentElement.scrollWidth") <= 390
    sid = one.locator("#sid textarea, #sid input").input_value()
    one.goto(f"{app.url}?s={sid}")
    expect(one.locator("#sweep_title")).to_contain_text("Measured: ", timeout=10_000)
    expect(one.locator("#sweep_start")).to_be_enabled()
    assert one.evaluate("document.documentElement.scrollWidth") <= 390
