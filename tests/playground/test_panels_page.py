"""The three components in Chromium, at 20 rounds a second: nothing lost, zoom kept, nothing fetched from outside."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.playground.panel_visits import (
    DONE,
    FATE,
    PLOTS,
    agree,
    drag_zoom,
    eventually,
    fate_range,
    ingest,
)
from tests.playground.panels_demo import Demo

pytestmark = pytest.mark.ui


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


def test_the_end_of_a_turn_is_drawn_at_once_however_slow_drawing_is(visit: Any) -> None:
    page = visit(Demo()).page
    ingest(page, 1, s={"running": True}, f={"rounds": "1 · x"})
    page.evaluate(
        """() => new Promise((done) => window.__draftscope.clock.add({ element: document.body, draw() {
            for (const end = performance.now() + 600; performance.now() < end;); done(); } }))"""
    )
    ingest(page, 2, f={"rounds": "2 · x"}, s={"running": False})
    page.wait_for_function("document.querySelector('#kpi [data-figure=rounds] dd').textContent === '2'", timeout=1500)


def test_long_counts_are_not_cut_and_names_of_short_turns_do_not_run_into_each_other(visit: Any) -> None:
    page = visit(Demo()).page
    rounds = [[r, r // 2, r, 10 + r, 1, [2, 3], 4, "123", 12 + r, [0.1, 4.7, 0.1, 0.1]] for r in range(40)]
    turns = [[2 * t - 0.5, "turn", t, "extend", 9, 0, ""] for t in range(20)]
    ingest(page, 1, r=rounds, m=turns, c={"consume": 31415, "carry": 9}, s={"running": False})
    label = (
        "[...document.querySelectorAll('[data-panel=pending] .ytick text')].find((t) => /consume/.test(t.textContent))"
    )
    page.wait_for_function(f"({label})?.textContent === 'consume ×31415'")
    left = page.evaluate(f"({label}).getBoundingClientRect().left")
    assert left >= page.locator("[data-panel=pending] .ds-plot").bounding_box()["x"]
    boxes = page.locator("[data-panel=length] .annotation-text").evaluate_all(
        "nodes => nodes.map((n) => n.getBoundingClientRect()).map((b) => [b.left, b.right]).sort((a, b) => a[0] - b[0])"
    )
    assert len(boxes) >= 3 and all(a[1] < b[0] for a, b in itertools.pairwise(boxes))
    page.locator("[data-panel=length] button", has_text="Table").click()
    cells = page.locator("[data-panel=length] tbody tr:last-child td").all_inner_texts()
    assert cells[:2] == ["none yet", "turn"]
    assert page.locator("[data-panel=fate] .ds-where").inner_text().endswith("–40 of 40")


def test_a_new_stream_forgets_a_zoom_and_an_empty_chart_shows_its_hint_alone(visit: Any) -> None:
    page = visit(Demo(), width=390).page
    hidden = f"{PLOTS}.map((plot) => getComputedStyle(plot).visibility)"
    assert page.evaluate(hidden) == ["hidden"] * 6
    rounds = [[r, 0, 0, 10 + r, 1, [2, 3], 4, "123", 12 + r, [0.1, 4.7, 0.1, 0.1]] for r in range(90)]
    counts = {"n": 1540, "tested": [1540] * 7, "accepted": [90] * 7}
    ingest(page, 1, r=rounds, s={"running": False}, a=counts)
    page.wait_for_function(f"{FATE}.xaxis.range[1] > 88")
    ticks = page.locator("[data-panel=acceptance] .xtick text")
    ticks.first.wait_for(state="attached")
    turned = "nodes => nodes.filter((n) => n.getAttribute('transform').includes('rotate(90')).length"
    assert ticks.evaluate_all(turned) == 0
    drag_zoom(page)
    page.wait_for_function("document.querySelector('.ds-follow').getAttribute('aria-pressed') === 'false'")
    page.evaluate(
        "(d) => window.__draftscope.ingest(JSON.stringify(d))", {"sid": "x", "e": "f", "n": 1, "r": rounds[:2]}
    )
    page.wait_for_function(f"{FATE}.xaxis.range[0] === 0.5")
    assert page.locator("[data-panel=fate] .ds-where").inner_text() == "rounds 1–2 of 2"


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

    for button in page.locator("#panels .ds-grid button", has_text="Table").all():
        button.click()
    counts = page.locator("#panels .ds-grid .ds-table").evaluate_all(
        "nodes => nodes.map((n) => n.querySelectorAll('tbody tr').length)"
    )
    assert counts[0] == demo.session.rounds
    assert all(counts[:-1]), "the last is overshoot: a session may have none"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    labels = page.locator("#panels .ds-grid .ds-chart").evaluate_all(
        "nodes => nodes.map((n) => n.getAttribute('aria-label'))"
    )
    assert len(labels) == 6
    assert all(any(char.isdigit() for char in label) for label in labels), labels
    page.wait_for_function("document.querySelector('#panels [role=status]').textContent.startsWith('Done')")
    assert at.complaints == []
