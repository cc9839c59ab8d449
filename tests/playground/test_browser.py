"""The whole path on the default checkpoint: two turns, Stop, Continue; what the page shows agrees with `/trace`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gradio_client import Client
from playwright.sync_api import expect

from playground.service import chat_of, load_from_settings
from tests.playground.browser_tab import Tab
from tests.playground.conftest import RunningApp, running

pytestmark = [pytest.mark.ui, pytest.mark.slow]
OpenTab = Callable[..., Tab]
Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    with running(load_from_settings, chat_of, load_s=300, max_ctx=1024) as app:
        assert app.service.status.state == "ready", app.service.status.sentence
        yield app


@pytest.fixture
def trace_of(app: RunningApp) -> Callable[[str], Events]:
    client = Client(app.url, verbose=False, analytics_enabled=False)
    return lambda sid: client.predict(sid, api_name="/trace")


def test_two_turns_stop_and_continue_agree_with_the_trace(
    app: RunningApp, tab: OpenTab, trace_of: Callable[[str], Events]
) -> None:
    one = tab(app.url)
    set_number(one, "max_new", 24)
    one.send("Write the numbers from 1 to 30, separated by commas.")
    one.expect_idle(120)
    assert one.says().startswith("Reached max new tokens") or one.says().startswith("Done")
    check(app, one, trace_of(one.sid))

    set_number(one, "max_new", 400)
    one.send("Tell me a long story about a lighthouse and the sea.")
    expect(one.answers()).to_have_count(2, timeout=60_000)
    one.page.wait_for_function("() => window.__draftscope.state.tokens.length >= 5", timeout=60_000)
    rounds = len(of(trace_of(one.sid), "round"))
    one.page.locator("#stop").click()
    one.expect_idle(20)
    events = trace_of(one.sid)
    assert of(events, "burst")[-1]["reason"] == "cancelled"
    # The call for the trace, the click and the poll take a few rounds; what is wrong is a turn that runs on.
    assert len(of(events, "round")) - rounds <= 40
    check(app, one, events)

    stopped = one.answer()
    set_number(one, "max_new", 12)
    one.page.locator("#continue").click()
    expect(one.page.locator("#status")).to_contain_text("Reached max new tokens", timeout=60_000)
    one.expect_idle(60)
    assert one.answer().startswith(stopped) and len(one.answer()) > len(stopped)
    assert one.answers().count() == one.questions().count() == 2
    after = trace_of(one.sid)
    assert "consume" in {e["transition"] for e in of(after[len(events) :], "pending")}, (
        "Continue took the carried token"
    )
    assert not of(after[len(events) :], "prefill"), "and ran no extra forward"
    check(app, one, after)

    one.page.reload()
    one.page.wait_for_function("() => (window.draftscope || {}).sid")
    expect(one.answers()).to_have_count(2, timeout=20_000)
    check(app, one, trace_of(one.sid))


def check(app: RunningApp, one: Tab, events: Events) -> None:
    """Everything the page shows at rest follows from the trace and the tokenizer."""
    decode = app.service.engine.tokenizer.decode  # type: ignore[union-attr]
    shown, hidden = last_turn(events)
    ids = one.page.locator("#tokens [data-id]")
    expect(ids).to_have_count(len(shown) + len(hidden))
    assert ids.evaluate_all("nodes => nodes.map((node) => Number(node.dataset.id))") == shown + hidden
    assert one.page.locator("#tokens .ds-hidden-token[data-id]").count() == len(hidden)
    view = app.service.registry.get(one.sid).view()
    assert view.messages[-1][1] == decode(shown, skip_special_tokens=True).removesuffix("\ufffd")
    assert letters(one.answer()) == letters(view.messages[-1][1])
    check_figures(one, events)
    check_panels(one, events)


def check_figures(one: Tab, events: Events) -> None:
    rounds = of(events, "round")
    drafted, accepted = sum(len(e["drafted"]) for e in rounds), sum(e["accepted"] for e in rounds)
    drafting = sum(1 for e in rounds if e["drafted"])
    emitted = sum(e["emitted"] for e in rounds)
    expect(figure(one, "rounds")).to_have_text(str(len(rounds)))
    expect(figure(one, "tokens_per_round")).to_have_text(f"{emitted / len(rounds):.2f}")
    expect(figure(one, "mean_acceptance_length")).to_have_text(f"{1 + accepted / drafting:.2f}" if drafting else "—")
    expect(figure(one, "draft_acceptance_rate")).to_have_text(f"{accepted / drafted:.1%}" if drafted else "—")
    expect(figure(one, "pending")).to_contain_text(of(events, "burst")[-1]["state"])
    expect(figure(one, "context")).to_contain_text(str(of(events, "burst")[-1]["committed"]))


def check_panels(one: Tab, events: Events) -> None:
    """The store that the charts are drawn from, and what the charts were given."""
    rounds = of(events, "round")
    kept = one.page.evaluate(
        "() => window.__draftscope.state.rounds.map((row) => [row.r, row.pos, row.ids, row.bonus])"
    )
    assert kept == [[e["round"] + 1, e["pos"], e["drafted"], e["bonus"]] for e in rounds]
    lost = one.page.evaluate("() => window.__draftscope.resyncs")
    assert lost == 0, "a delta was missed"
    counts = one.page.evaluate("() => window.__draftscope.state.c")
    for name in ("carry", "consume", "promote", "flush", "drop"):
        assert counts.get(name, 0) == sum(1 for e in of(events, "pending") if e["transition"] == name)
    for name in ("fate", "length", "acceptance", "pending"):
        panel = one.page.locator(f"[data-panel={name}]")
        panel.scroll_into_view_if_needed()
        expect(panel.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=10_000)


def last_turn(events: Events) -> tuple[list[int], list[int]]:
    """Shown and hidden tokens of the last turn, from what its events say was emitted."""
    start = max(i for i, e in enumerate(events) if e["kind"] == "turn")
    tokens: list[int] = []
    hidden = 0
    for event in events[start:]:
        if event["kind"] == "prefill" and event["first"] is not None:
            tokens.append(event["first"])
        elif event["kind"] == "round":
            new = [*event["drafted"][: event["accepted"]], *([event["bonus"]] if event["bonus"] is not None else [])]
            tokens += new[: event["emitted"]]
        elif event["kind"] == "overshoot":
            hidden += {"kept": 1, "shown": -1}.get(event["action"], 0) * len(event["tokens"])
    return (tokens[: len(tokens) - hidden], tokens[len(tokens) - hidden :])


def letters(text: str) -> str:
    """Markdown renders list numbers and marks as something else; letters it keeps."""
    return re.sub(r"[\W\d_]+", "", text)


def of(events: Events, kind: str) -> Events:
    return [event for event in events if event["kind"] == kind]


def figure(one: Tab, key: str) -> Any:
    return one.page.locator(f"#kpi [data-figure={key}] dd")


def set_number(one: Tab, name: str, value: int) -> None:
    box = one.page.locator(f"#{name} input[type=number]")
    if not box.is_visible():
        one.open_section("Decoding settings")
    box.fill(str(value))
    box.press("Tab")
    expect(box).to_have_value(str(value))
