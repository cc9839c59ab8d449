"""What each panel has besides its chart, in Chromium: a table that sorts, a picture, its data, a zoom that stays."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine import events as ev
from tests.playground.panel_visits import DONE, FATE, drag_zoom, eventually, fate_range, ingest
from tests.playground.panels_demo import Demo

pytestmark = pytest.mark.ui
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def played(visit: Any) -> Any:
    demo = Demo(interval=0.002, turns=4, bursts=3, rounds=6)
    at = visit(demo)
    at.page.click("#run")
    at.page.wait_for_function(DONE, timeout=60_000)
    return at.page, demo


def column(page: Any, panel: str, name: str) -> list[str]:
    heads = page.locator(f"[data-panel={panel}] th").all_inner_texts()
    return page.locator(f"[data-panel={panel}] tbody tr td:nth-child({heads.index(name) + 1})").all_inner_texts()


def saved(page: Any, panel: str, kind: str) -> tuple[str, bytes]:
    page.locator(f"[data-panel={panel}] .ds-save summary").click()
    with page.expect_download() as download:
        page.locator(f"[data-panel={panel}] [data-save={kind}]").click()
    page.locator(f"[data-panel={panel}] .ds-said").get_by_text("Saved as").wait_for()
    page.keyboard.press("Escape")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_a_table_sorts_by_a_column_by_keyboard_too_and_stays_sorted(played: Any) -> None:
    page, demo = played
    page.locator("[data-panel=fate] button", has_text="Table").click()
    button = page.get_by_role("button", name="accepted", exact=True)
    button.focus()
    head = page.locator("[data-panel=fate] th", has_text="accepted")
    newest = column(page, "fate", "round")
    assert head.get_attribute("aria-sort") == "none" and newest[0] == str(demo.session.rounds)
    for order, pressed in (("ascending", "Enter"), ("descending", " ")):
        page.keyboard.press(pressed)
        assert head.get_attribute("aria-sort") == order
        accepted = [int(text) for text in column(page, "fate", "accepted")]
        assert accepted == sorted(accepted, reverse=order == "descending") and len(set(accepted)) > 2
    before = column(page, "fate", "round")
    state = page.evaluate("(({ sid, e, n }) => ({ sid, e, n }))(window.__draftscope.state)")
    best = [demo.session.rounds, 3, 3, 99, 1, [2] * 7, 4, "11111113", 107, [0.1] * 4]
    delta = {**state, "n": state["n"] + 1, "r": [best]}
    page.evaluate("(d) => window.__draftscope.ingest(JSON.stringify(d))", delta)
    eventually(page, lambda: expect_first(page, str(demo.session.rounds + 1), before))
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "none"


def expect_first(page: Any, first: str, before: list[str]) -> None:
    now = column(page, "fate", "round")
    assert now[0] == first and now[1:] == before, "a round with the most accepted drafts comes first, the others keep"


def test_rows_are_reached_and_pinned_by_keyboard_and_keep_the_focus_in_a_live_table(played: Any) -> None:
    page, demo = played
    last, pinned = demo.session.rounds, "window.__draftscope.pin.round()"
    page.locator("[data-panel=fate] .ds-tools .ds-button", has_text="Table").click()
    page.locator("[data-panel=fate] tbody tr").first.wait_for()
    page.locator("[data-panel=fate] th button").last.focus()
    focused = "document.activeElement.cells?.[0].textContent"
    for key, place in (("Tab", 0), ("ArrowDown", 1), ("PageDown", 9), ("ArrowUp", 8)):
        page.keyboard.press(key)
        assert page.evaluate(focused) == str(last - place), key
    page.keyboard.press("Enter")
    page.wait_for_function(f"{pinned} === {last - 8}")
    page.wait_for_function("document.activeElement.getAttribute('aria-current') === 'true'")
    for n in range(3):  # rows come in above it
        state = page.evaluate("(({ sid, e, n }) => ({ sid, e, n }))(window.__draftscope.state)")
        row = [last + n, 3, 3, 99, 1, [2] * 7, 4, "11111113", 107, [0.1] * 4]
        page.evaluate(
            "(d) => window.__draftscope.ingest(JSON.stringify(d))", {**state, "n": state["n"] + 1, "r": [row]}
        )
    eventually(page, lambda: expect_newest(page, str(last + 3)))
    assert page.evaluate(focused) == str(last - 8) and page.evaluate("document.activeElement.tabIndex") == 0
    assert page.locator("[data-panel=fate] tbody tr[tabindex='0']").count() == 1, "one stop for the keyboard"
    seen = """(() => { const row = document.activeElement, box = (at) => at.getBoundingClientRect(),
        around = box(row.closest('.ds-table'));
        return box(row).top >= around.top && box(row).bottom <= around.bottom; })()"""
    assert page.evaluate(seen), "it stays in sight"
    page.keyboard.press(" ")
    page.wait_for_function(f"{pinned} === null")


def expect_newest(page: Any, newest: str) -> None:
    assert column(page, "fate", "round")[0] == newest


def test_the_data_of_a_panel_are_all_of_it(played: Any) -> None:
    page, demo = played
    rounds = demo.session.trace.of(ev.RoundEvent)
    name, text = saved(page, "fate", "json")
    data = json.loads(text)
    assert name == f"draftscope-fate-round-{len(rounds)}.json"
    assert [row["round"] for row in data["rows"]] == list(range(len(rounds), 0, -1))
    for row, event in zip(reversed(data["rows"]), rounds, strict=True):
        assert [draft["id"] for draft in row["drafts"]] == list(event.drafted)
        assert (row["drafted"], row["accepted"]) == (len(event.drafted), event.accepted)
    acceptance = json.loads(saved(page, "acceptance", "json")[1])["rows"]
    assert [row["accepted"] for row in acceptance] == demo.feed.telem.pos_accepted[: len(acceptance)]
    assert acceptance[0]["per round"] == pytest.approx(demo.feed.telem.pos_accepted[0] / demo.feed.telem.draft_rounds)


def test_a_picture_has_the_page_s_background_in_light_and_dark(played: Any) -> None:
    page, _ = played
    for dark in (False, True):
        page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
        for panel in ("fate", "pending", "acceptance"):
            name, image = saved(page, panel, "png")
            assert name.endswith(".png") and image[:8] == PNG
            width, height = (int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
            assert width > 600 and height > 400
            corner = page.evaluate(
                """async (bytes) => { const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
                    const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext('2d');
                    pen.drawImage(image, 0, 0); return [...pen.getImageData(2, 2, 1, 1).data]; }""",
                list(image),
            )
            assert corner == ([19, 25, 38, 255] if dark else [255, 255, 255, 255])


def test_the_counts_of_the_drawn_states_are_the_trace_s(played: Any) -> None:
    page, demo = played
    events = demo.session.trace.since(0)
    carried = Counter(event.transition for event in events if isinstance(event, ev.PendingEvent))
    moves = json.loads(saved(page, "pending", "json")[1])["moves"]
    found = Counter[str]()
    for move in moves:
        found[move["move"]] += move["count"]
    assert {name: found[name] for name in carried} == dict(carried)
    rounds = sum(isinstance(event, ev.RoundEvent) for event in events)
    assert found["round"] + found["trim"] == rounds
    drawing = page.locator("[data-panel=pending] .ds-machine")
    words = " ".join(drawing.locator("tspan").all_text_contents())
    for name, count in carried.items():
        assert f"{name} ×" in words and count
    assert f"carry ×{carried['carry']}" in words
    assert drawing.locator("[data-here]").get_attribute("data-state") == demo.session.state
    assert drawing.locator(".ds-wrong").count() == 0 and drawing.locator(".ds-alarm").is_hidden()


def test_a_move_that_is_not_allowed_has_a_red_ring_and_a_sentence(played: Any) -> None:
    page, _ = played
    state = page.evaluate("(({ sid, e, n }) => ({ sid, e, n }))(window.__draftscope.state)")
    wrong = {"bad": ["PENDING", "promote", "PENDING", 4], "broken": 1}
    delta = {**state, "n": state["n"] + 1, "g": wrong}
    page.evaluate("(d) => window.__draftscope.ingest(JSON.stringify(d))", delta)
    drawing = page.locator("[data-panel=pending] .ds-machine")
    drawing.locator("[data-state=PENDING] .ds-wrong").wait_for(state="attached")
    assert "promote led from PENDING to PENDING at round 5" in drawing.locator(".ds-alarm").inner_text()


def test_a_zoom_and_the_place_in_the_strip_survive_fifty_updates(visit: Any) -> None:
    page = visit(Demo()).page
    row = lambda r: [r, 0, 0, 10 + r, 1, [2, 3], 4, "123", 12 + r, [0.1, 4.7, 0.1, 0.1]]  # noqa: E731
    ingest(page, 1, r=[row(r) for r in range(200)], s={"running": True})
    page.wait_for_function(f"{FATE}.xaxis.range[1] > 198")
    wide = fate_range(page)
    drag_zoom(page)
    page.wait_for_function(f"{FATE}.xaxis.range[1] - {FATE}.xaxis.range[0] < {0.6 * (wide[1] - wide[0])}")
    zoomed = fate_range(page)
    drawn = page.evaluate(f"{FATE}._size && document.querySelector('[data-panel=fate]').dataset.panel")
    assert drawn == "fate"
    for n in range(50):
        ingest(page, 2 + n, r=[row(200 + n)])
        page.wait_for_timeout(30)
    page.wait_for_function("document.querySelector('[data-panel=fate] .ds-where').textContent.endsWith('of 250')")
    assert fate_range(page) == pytest.approx(zoomed, abs=0.01)
    strip = page.locator(".ds-session").bounding_box()
    page.mouse.move(strip["x"] + strip["width"] / 2, strip["y"] + 10)
    page.mouse.down()
    page.mouse.move(strip["x"] + strip["width"] / 5, strip["y"] + 10, steps=4)
    page.mouse.up()
    page.wait_for_function(f"Math.abs(({FATE}.xaxis.range[0] + {FATE}.xaxis.range[1]) / 2 - 50) < 8")
    pill = page.locator("[data-panel=speed] .ds-newest")
    pill.click()
    page.wait_for_function(f"{FATE}.xaxis.range[1] > 249")
    assert pill.is_hidden()


def test_memory_has_its_limits_a_forecast_and_the_slots_as_a_count(played: Any) -> None:
    page, demo = played
    page.locator(".ds-fold summary").first.click()
    panel = page.locator("[data-panel=memory]")
    panel.locator(".js-plotly-plot").wait_for(timeout=10_000)
    left = demo.session.max_ctx - demo.session.committed
    forecast = panel.locator(".ds-forecast.for-engineer").inner_text()
    assert f"Room for about {left:,} more tokens" in forecast and "at 42 tokens/s" in forecast
    assert "2 of 4 slots are in use" in panel.locator(".ds-slots").inner_text()
    assert "Forwards run without graphs" in panel.locator(".ds-facts").inner_text()
    page.evaluate("document.body.dataset.level = 'student'")
    assert panel.locator(".ds-facts").is_hidden() and panel.locator(".ds-forecast.for-student").is_visible()
    data = json.loads(saved(page, "memory", "json")[1])
    trunk, draft = data["rows"]
    assert (trunk["rows used"], trunk["limit"], draft["kept as"]) == (demo.session.committed, 4096, "bfloat16")
    badge = page.locator("[data-panel=counters] .ds-exact")
    assert badge.inner_text().startswith("Replay exact: not checked yet")
    state = page.evaluate("(({ sid, e, n }) => ({ sid, e, n }))(window.__draftscope.state)")
    check = [demo.session.rounds - 2.4, "check", "identical", 40, 3]
    page.evaluate("(d) => window.__draftscope.ingest(JSON.stringify(d))", {**state, "n": state["n"] + 1, "m": [check]})
    badge.get_by_text("✓ Replay exact: yes, 40 tokens compared; 3 drawn in rejection mode").wait_for()
    assert badge.inner_text().endswith("2 rounds since then are not checked.")
    for used, colour in ((3000, "accepted"), (3600, "overshoot"), (4096, "rejected")):
        state = page.evaluate("(({ sid, e, n }) => ({ sid, e, n }))(window.__draftscope.state)")
        delta = {**state, "n": state["n"] + 1, "y": {"used": [used, 10]}}
        page.evaluate("(d) => window.__draftscope.ingest(JSON.stringify(d))", delta)
        bars = "document.querySelector('[data-panel=memory] .js-plotly-plot').data.find((t) => t.name === 'used')"
        page.wait_for_function(f"{bars}.x[0] === {used}")
        shape = {"accepted": "", "overshoot": "/", "rejected": "x"}[colour]
        assert page.evaluate(f"{bars}.marker.pattern.shape[0]") == shape, "not by colour alone"


def test_plain_speed_is_drawn_only_where_it_was_measured_for_this_model(played: Any) -> None:
    page, demo = played
    names = "document.querySelector('[data-panel=speed] .js-plotly-plot').data.map((t) => t.name)"
    assert "plain decoding" not in page.evaluate(names)
    tell = "(plain) => { window.__draftscope.plain = plain; window.__draftscope.clock.redraw(); }"
    page.locator("[data-panel=speed]").scroll_into_view_if_needed()
    page.evaluate(tell, {"race": 3, "model": "another", "rate": 20.5})
    page.wait_for_timeout(600)
    assert "plain decoding" not in page.evaluate(names)
    page.evaluate(tell, {"race": 4, "model": "words", "rate": 20.5})
    page.wait_for_function(f"{names}.includes('plain decoding')")
    label = page.locator("[data-panel=speed] .ds-chart").get_attribute("aria-label")
    assert "20.5 tokens a second, measured by race 4" in label
    the_gain_is_the_rounds_own(page, demo)


def the_gain_is_the_rounds_own(page: Any, demo: Demo) -> None:
    """What drafting should give by its cost, what it gives against the race, and a mark where the host took long."""
    rounds = [event for event in demo.session.trace.of(ev.RoundEvent) if event.drafted]
    mean = lambda of: sum(map(of, rounds)) / len(rounds)  # noqa: E731
    tokens, drafts = mean(lambda e: e.accepted + (e.bonus is not None)), mean(lambda e: len(e.drafted))
    cost = mean(lambda e: e.draft_ms) / drafts / mean(lambda e: e.verify_ms)
    took = mean(lambda e: e.draft_ms + e.verify_ms + e.accept_ms + e.host_ms)
    said = page.locator(".ds-gain.for-engineer").inner_text()
    assert f"Expected {tokens / (1 + drafts * cost):.2f}×: {tokens:.2f} tokens a round" in said
    assert f"Real {1000 * tokens / took / 20.5:.2f}×, against race 4" in said
    heavy = "document.querySelector('[data-panel=speed] .js-plotly-plot').data.find((t) => t.name.includes('fifth')).x"
    assert page.evaluate(f"{heavy}.length") == 0
    state = page.evaluate("(({ sid, e, n }) => ({ sid, e, n }))(window.__draftscope.state)")
    slow = [demo.session.rounds, 3, 3, 99, 1, [2] * 7, 4, "11111113", 107, [0.1, 4.0, 0.1, 1.4]]
    page.evaluate("(d) => window.__draftscope.ingest(JSON.stringify(d))", {**state, "n": state["n"] + 1, "r": [slow]})
    page.wait_for_function(f"{heavy}[0] === {demo.session.rounds + 1}")
