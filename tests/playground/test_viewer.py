"""What pages are shown: the panels' deltas reach each page whole and in order, and agree with the conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, cast

import gradio as gr
import pytest

from playground.limits import TurnOptions
from playground.service import Service
from playground.status import engine_line, gauge, status_line
from playground.view import Outcome, View
from playground.viewer import Viewer, full, live_status, shown_message
from tests.playground.conftest import fake_service


@pytest.fixture
def service() -> Iterator[Service]:
    with fake_service(pace=0.01, answer=200) as app:
        yield app


def text_of(message: dict[str, Any]) -> str:
    (part,) = message["content"]
    assert part["type"] == "text"
    return str(part["text"])


def read(viewer: Viewer) -> list[dict[str, Any]]:
    return [json.loads(shown.panels) for shown in viewer.show()]


def test_every_page_gets_every_delta_once_and_in_order(service: Service) -> None:
    talk = service.registry.new()
    pages = [Viewer(service, talk), Viewer(service, talk)]
    seen: list[list[dict[str, Any]]] = [read(page) for page in pages]
    talk.send("hello", TurnOptions(max_new=200))
    while talk.view().running:
        for page, deltas in zip(pages, seen, strict=True):
            deltas += read(page)
        time.sleep(0.01)
    for page, deltas in zip(pages, seen, strict=True):
        deltas += read(page)
    rounds = len([e for e in cast(Any, talk.chat).session.trace if e.kind == "round"])
    for deltas in seen:
        numbers = [d["n"] for d in {d["n"]: d for d in deltas}.values()]
        assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 3
        rows = [row[0] for n in numbers for row in next(d for d in deltas if d["n"] == n).get("r", [])]
        assert rows == list(range(rounds))


def test_a_page_that_comes_later_gets_everything_at_once(service: Service) -> None:
    talk = service.registry.new()
    talk.send("hello", TurnOptions(max_new=60)).result(5)
    early = read(Viewer(service, talk))
    talk.send("more", TurnOptions(max_new=60)).result(5)
    late = read(Viewer(service, talk))
    assert len(early) == len(late) == 1 and late[0]["full"]
    assert json.loads(full(service, talk))["r"] == late[0]["r"]


def test_readings_agree_with_the_session(service: Service) -> None:
    talk = service.registry.new()
    talk.send("hello", TurnOptions(max_new=20)).result(5)
    session = cast(Any, talk.chat).session
    status = live_status(service, talk, talk.view())
    assert status.committed == len(session.committed) and status.pending == session.pending_tok
    assert status.rewind_points == tuple(session.rewind_points()) and status.can_continue
    assert status.hidden_overshoot == len(cast(Any, talk.chat).turn.hidden)


def test_an_output_is_of_one_kind_at_every_update(service: Service) -> None:
    talk = service.registry.new()
    viewer = Viewer(service, talk)
    idle = next(viewer.show())
    talk.send("hello", TurnOptions(max_new=40)).result(5)
    after = next(viewer.show())
    assert [type(value) for value in idle] == [type(value) for value in after]
    assert text_of(after.chat[0]) == "hello"


def test_what_the_chat_is_given_is_what_gradio_would_make_of_it() -> None:
    said = [("user", "hello"), ("assistant", "```py\nif a:\n    b\n```\nThere."), ("assistant", "")]
    made = gr.Chatbot().postprocess([{"role": role, "content": text} for role, text in said])
    assert made.model_dump() == [shown_message(role, text) for role, text in said]


def test_no_page_sees_another_conversation(service: Service) -> None:
    talks = [service.registry.new() for _ in range(3)]
    futures = [talk.send(f"secret {n}", TurnOptions(max_new=10)) for n, talk in enumerate(talks)]
    for future in futures:
        future.result(5)
    for n, talk in enumerate(talks):
        shown = next(Viewer(service, talk).show())
        assert [text_of(m) for m in shown.chat if m["role"] == "user"] == [f"secret {n}"]
        assert json.loads(shown.panels)["sid"] == talk.sid


def test_the_status_says_what_happens(service: Service) -> None:
    engine = service.status
    waiting = View(running=True, phase="waiting")
    assert status_line(waiting, engine, 2) == "Waiting for 2 other conversations."
    assert status_line(View(running=True, phase="prefill"), engine, 0) == "Reading the prompt."
    assert status_line(View(running=True, phase="decoding", tok_s=4.25), engine, 0) == "Answering at 4.2 tokens/s."
    assert status_line(View(notice="No room."), engine, 0) == "No room."
    ended = View(outcome=Outcome("length", 40, 3, 51.0))
    assert status_line(ended, engine, 0) == (
        "Reached max new tokens; Continue goes on from here: 40 tokens, 51 tokens/s, 3 past the limit and not shown."
    )
    sampled = View(outcome=Outcome("stop", 1, 0, None, 2**64 - 1))
    assert status_line(sampled, engine, 0) == "Done: 1 token, seed 18446744073709551615."


def test_the_engine_line_and_the_gauge_are_safe_html(service: Service) -> None:
    assert "<b>Model</b> fake/words" in engine_line(service.status)
    assert "width:25.0%" in gauge(1024, 4096) and "1,024 of 4,096" in gauge(1024, 4096)
    assert 'class="gauge full"' in gauge(5000, 4096) and "width:100.0%" in gauge(5000, 4096)
    assert gauge(0, 0) == '<div class="gauge"></div>'
