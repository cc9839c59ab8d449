"""The three components in Chromium, at 20 rounds a second: nothing lost, zoom kept, nothing fetched from outside."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlparse

import pytest

from tests.playground.panels_demo import Demo

pytestmark = pytest.mark.ui
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DONE = "window.__draftscope.state.s.running === false"
PLOTS = "[...document.querySelectorAll('#panels .js-plotly-plot')]"

FATE = "document.querySelector('[data-panel=fate] .js-plotly-plot')._fullLayout"


class Visit:
    """A page on a demo, with what it asked for and complained about."""

    def __init__(self, browser: Any, demo: Demo, width: int = 1280) -> None:
        self.server, self.url = demo.launch()
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.hosts.add(urlparse(request.url).hostname or ""))
        self.page.on("console", lambda note: self.complaints.append(note.text) if note.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(self.url)
        self.page.wait_for_function(f"{PLOTS}.length === 4", timeout=60_000)

    def close(self) -> None:
        self.page.close()
        self.server.close()


@pytest.fixture(scope="module")
def chromium(playwright: Any) -> Iterator[Any]:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
    yield browser
    browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Any]:
    open_visits: list[Visit] = []

    def start(demo: Demo, **options: Any) -> Visit:
        open_visits.append(Visit(chromium, demo, **options))
        return open_visits[-1]

    yield start
    for each in open_visits:
        each.close()


def agree(page: Any, demo: Demo) -> None:
    """The page's store against everything the feed knows."""
    full = json.loads(demo.feed.full(demo.session.status(running=False)))
    store = page.evaluate(
        """() => { const s = window.__draftscope.state; return {
            rounds: s.rounds.map((row) => [row.r, row.fates, row.length]), marks: s.marks, pending: s.pending,
            tokens: s.tokens.map((t) => [t.id, t.origin, t.round, t.column, t.hidden]), f: s.f, c: s.c, a: s.a } }"""
    )
    assert store["rounds"] == [[row[0], row[7], row[8]] for row in full["r"]]
    assert len(store["rounds"]) == demo.session.rounds
    assert (store["marks"], store["pending"]) == (full["m"], full["p"])
    assert store["tokens"] == full["t"][2]
    assert (store["f"], store["c"], store["a"]) == (full["f"], full["c"], full["a"])


def eventually(page: Any, check: Callable[[], None], seconds: int = 20) -> None:
    """Pages draw when they get to it: hold `check` against this one until it passes, or fail with its last word."""
    for _ in range(4 * seconds):
        try:
            return check()
        except AssertionError:
            page.wait_for_timeout(250)
    return check()


def fate_range(page: Any) -> list[float]:
    return page.evaluate(f"{FATE}.xaxis.range.slice()")


def drag_zoom(page: Any) -> None:
    box = page.locator("[data-panel=fate] .nsewdrag").first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, y, steps=6)
    page.mouse.up()


def test_ten_seconds_at_twenty_rounds_a_second(visit: Any) -> None:
    demo = Demo(interval=0.05, turns=4, bursts=5, rounds=10)
    at = visit(demo)
    page = at.page
    page.click("#run")
    page.wait_for_function("window.__draftscope.state.rounds.length > 50")
    follow_from = fate_range(page)
    drag_zoom(page)
    span = follow_from[1] - follow_from[0]
    page.wait_for_function(f"{FATE}.xaxis.range[1] - {FATE}.xaxis.range[0] < {0.6 * span}")
    zoomed = fate_range(page)
    nodes = page.evaluate("document.querySelectorAll('#panels *').length")
    page.wait_for_function(DONE, timeout=60_000)
    eventually(page, lambda: agree(page, demo))
    assert fate_range(page) == pytest.approx(zoomed, abs=0.01)
    assert page.evaluate("document.querySelectorAll('#panels *').length") < 1.15 * nodes + 60
    assert page.evaluate("window.__draftscope.resyncs") == 0
    page.click("[data-panel=fate] .ds-follow")
    page.wait_for_function(f"{FATE}.xaxis.range[1] > {demo.session.rounds - 1}")
    assert at.hosts == {"127.0.0.1"}
    assert at.complaints == []


def test_lost_deltas_are_made_good_and_every_view_says_the_same(visit: Any) -> None:
    demo = Demo(interval=0.02, lose=7, turns=3, bursts=3, rounds=6)
    at = visit(demo)
    page = at.page
    page.click("#run")
    page.wait_for_function(DONE, timeout=60_000)
    eventually(page, lambda: agree(page, demo))
    assert page.evaluate("window.__draftscope.resyncs") > 0
    eventually(page, lambda: views_agree(page, demo))
    assert page.locator("#tokens .ds-tokens b").count() == 0
    assert at.complaints == []


def views_agree(page: Any, demo: Demo) -> None:
    """What stands in the token view and the line of figures."""
    ids = "nodes => nodes.map((node) => Number(node.dataset.id))"
    assert page.locator("#tokens .ds-tokens .ds-token").evaluate_all(ids) == demo.session.answer
    assert page.locator("#tokens .ds-tokens .ds-hidden-token").evaluate_all(ids) == demo.session.hidden
    figures = json.loads(demo.feed.full(demo.session.status(running=False)))["f"]
    for key, text in figures.items():
        cell = page.locator(f"#kpi [data-figure={key}]")
        assert cell.locator("dd").inner_text() == text.split(" · ")[0]
        assert len(cell.get_attribute("title")) > 10


def test_dark_narrow_and_tables(visit: Any) -> None:
    demo = Demo(interval=0.005, turns=2, bursts=2, rounds=6)
    at = visit(demo, width=390)
    page = at.page
    page.click("#run")
    page.wait_for_function(DONE, timeout=60_000)
    ink = f"{PLOTS}.map((plot) => plot._fullLayout.font.color)"
    eventually(page, lambda: agree(page, demo))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    light = page.evaluate(ink)
    page.evaluate("document.body.classList.add('dark')")
    page.wait_for_function(f"({ink}).every((colour) => colour !== {json.dumps(light[0])})")
    dark = page.evaluate(ink)
    assert len(set(light)) == len(set(dark)) == 1

    for button in page.locator("#panels .ds-panel button", has_text="Table").all():
        button.click()
    counts = page.locator("#panels .ds-table").evaluate_all(
        "nodes => nodes.map((n) => n.querySelectorAll('tbody tr').length)"
    )
    assert counts[0] == demo.session.rounds
    assert all(counts)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    labels = page.locator("#panels .ds-chart").evaluate_all("nodes => nodes.map((n) => n.getAttribute('aria-label'))")
    assert len(labels) == 4
    assert all(any(char.isdigit() for char in label) for label in labels), labels
    page.wait_for_function("document.querySelector('#panels [role=status]').textContent.startsWith('Done')")
    assert at.complaints == []
