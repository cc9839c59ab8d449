"""Pages on a made-up session in Chromium, for the tests of the panels: how they are opened, driven and read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlparse

from tests.playground.panels_demo import Demo

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
        self.page.wait_for_function(f"{PLOTS}.length === 6", timeout=60_000)

    def close(self) -> None:
        self.page.close()
        self.server.close()


def agree(page: Any, demo: Demo) -> None:
    """The page's store against everything the feed knows."""
    full = json.loads(demo.feed.full(demo.session.status(running=False)))
    store = page.evaluate(
        """() => { const s = window.__draftscope.state; return {
            rounds: s.rounds.map((row) => [row.r, row.fates, row.length]), marks: s.marks, pending: s.pending,
            tokens: s.tokens.map((t) => [t.id, t.origin, t.round, t.column, t.hidden]), f: s.f, c: s.c, a: s.a } }"""
    )
    assert store["rounds"] == [[row[0] + 1, row[7], row[8]] for row in full["r"]], "the page counts rounds from 1"
    assert len(store["rounds"]) == demo.session.rounds
    assert store["marks"] == [[x + 1, *rest] for x, *rest in full["m"]]
    assert store["pending"] == [[x + 1, *rest] for x, *rest in full["p"]]
    assert store["tokens"] == [[id_, origin, r + 1, *rest] for id_, origin, r, *rest in full["t"][2]]
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


def ingest(page: Any, n: int, **groups: Any) -> None:
    page.evaluate("(d) => window.__draftscope.ingest(JSON.stringify(d))", {"sid": "x", "e": "e", "n": n} | groups)
