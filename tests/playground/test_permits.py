"""What the controls allow: asked for only when it changes, and never older than what the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
import pytest

from playground.conversation import Conversation
from playground.handlers import Handlers
from playground.limits import TurnOptions
from playground.permits import Permits
from playground.service import Service
from playground.settings import Settings
from playground.viewer import Viewer, Watch
from tests.playground.fakes import FakeChat, FakeEngine

PAGE = cast(Any, SimpleNamespace(session_hash="page"))


@pytest.fixture
def app() -> Iterator[Service]:
    engine = FakeEngine(pace=0.01, answer=4000)
    app = Service(Settings(), lambda *_: cast(Any, engine), cast(Any, FakeChat))
    app.start()
    assert app.wait(10)
    yield app
    app.close()


def opened(app: Service) -> tuple[Conversation, Viewer]:
    talk = app.registry.new()
    viewer = Viewer(app, talk)
    talk.viewers["page"] = Watch(viewer, object())
    return talk, viewer


def name(viewer: Viewer) -> str:
    return list(viewer.show())[-1].permits


def usable(permits: Permits) -> set[str]:
    return {field for field, update in permits._asdict().items() if update.get("interactive")}


def test_a_fresh_conversation_allows_a_message_and_nothing_else(app: Service) -> None:
    talk, _ = opened(app)
    assert usable(Handlers(app).permits(talk.sid, PAGE)) == {"send"}


def test_a_running_answer_can_be_stopped_and_a_stopped_one_continued(app: Service) -> None:
    talk, _ = opened(app)
    turn = talk.send("hello", TurnOptions(max_new=4000))
    assert usable(Handlers(app).permits(talk.sid, PAGE)) == {"stop"}
    while talk.view().phase != "decoding":
        pass
    talk.stop()
    turn.result(5)
    allowed = usable(Handlers(app).permits(talk.sid, PAGE))
    assert {"send", "resume", "again", "check", "clear", "edit", "rewind"} == allowed


def test_the_name_stays_while_an_answer_streams_and_changes_when_it_begins_and_ends(app: Service) -> None:
    talk, viewer = opened(app)
    fresh = name(viewer)
    turn = talk.send("hello", TurnOptions(max_new=4000))
    while talk.view().phase != "decoding":
        pass
    running, texts = name(viewer), set()
    while len(texts) < 5:
        texts.add(talk.view().messages[-1][1])
        assert name(viewer) == running
    talk.stop()
    turn.result(5)
    assert len({fresh, running, name(viewer)}) == 3


def test_two_conversations_at_rest_have_two_names(app: Service) -> None:
    assert name(opened(app)[1]) != name(opened(app)[1])


def test_a_call_that_begins_to_follow_asks_again_for_an_answer_that_may_have_been_lost(app: Service) -> None:
    _, viewer = opened(app)
    before = name(viewer)
    viewer.begin()
    assert name(viewer) != before


def test_lists_are_sent_once_so_that_a_choice_in_them_stays(app: Service) -> None:
    talk, _ = opened(app)
    talk.send("hello", TurnOptions(max_new=5)).result(5)
    first = Handlers(app).permits(talk.sid, PAGE)
    assert first.number["choices"] == [("1. hello", 0)] and first.point["choices"]
    again = Handlers(app).permits(talk.sid, PAGE)
    assert again.number == again.point == gr.skip() and usable(again) == usable(first)
    talk.send("more", TurnOptions(max_new=5)).result(5)
    assert len(Handlers(app).permits(talk.sid, PAGE).number["choices"]) == 2


def test_the_lists_of_the_conversation_that_was_left_are_emptied(app: Service) -> None:
    talk, _ = opened(app)
    fresh = Handlers(app).permits(talk.sid, PAGE)
    assert fresh.number["choices"] == fresh.point["choices"] == []


def test_a_page_that_follows_nothing_is_told_nothing(app: Service) -> None:
    talk = app.registry.new()
    assert set(map(str, Handlers(app).permits(talk.sid, PAGE))) == {str(gr.skip())}
