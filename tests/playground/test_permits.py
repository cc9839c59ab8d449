"""What the controls allow: texts that change only when it does, and lists that are sent once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
import pytest

from playground.conversation import Conversation
from playground.handlers import Handlers
from playground.history_controls import HistoryControls
from playground.limits import TurnOptions
from playground.page import Page
from playground.permits import BUTTONS, Lists
from playground.service import Service
from playground.viewer import Shown, Viewer, Watch
from tests.playground.conftest import fake_service

PAGE = cast(Any, SimpleNamespace(session_hash="page"))


@pytest.fixture
def app() -> Iterator[Service]:
    with fake_service(pace=0.01, answer=4000) as app:
        yield app


def opened(app: Service) -> tuple[Conversation, Viewer]:
    talk = app.registry.new()
    viewer = Viewer(app, talk)
    talk.viewers["page"] = Watch(viewer, object())
    return talk, viewer


def shown(viewer: Viewer) -> Shown:
    return list(viewer.show())[-1]


def usable(viewer: Viewer) -> set[str]:
    return {name for name, can in zip(BUTTONS, shown(viewer).buttons, strict=True) if can == "1"}


def decoding(talk: Conversation) -> None:
    while talk.view().phase != "decoding":
        time.sleep(0.001)


def test_a_fresh_conversation_allows_a_message_and_nothing_else(app: Service) -> None:
    assert usable(opened(app)[1]) == {"send"}


def test_a_running_answer_can_be_stopped_and_a_stopped_one_continued(app: Service) -> None:
    talk, viewer = opened(app)
    turn = talk.send("hello", TurnOptions(max_new=4000))
    assert usable(viewer) == {"stop"}
    decoding(talk)
    talk.stop()
    turn.result(5)
    assert usable(viewer) == set(BUTTONS) - {"stop"}


def test_the_texts_stay_while_an_answer_streams(app: Service) -> None:
    talk, viewer = opened(app)
    turn = talk.send("hello", TurnOptions(max_new=4000))
    decoding(talk)
    before, texts = shown(viewer), set()
    while len(texts) < 5:
        texts.add(talk.view().messages[-1][1])
        now = shown(viewer)
        assert (now.buttons, now.lists) == (before.buttons, before.lists)
    talk.stop()
    turn.result(5)
    after = shown(viewer)
    assert after.buttons != before.buttons


def test_two_conversations_at_rest_name_their_lists_apart(app: Service) -> None:
    assert shown(opened(app)[1]).lists != shown(opened(app)[1]).lists


def test_a_call_that_begins_to_follow_asks_again_for_an_answer_that_may_have_been_lost(app: Service) -> None:
    _, viewer = opened(app)
    before = shown(viewer).lists
    viewer.begin()
    assert shown(viewer).lists != before


def test_lists_are_sent_once_so_that_a_choice_in_them_stays(app: Service) -> None:
    talk, viewer = opened(app)
    talk.send("hello", TurnOptions(max_new=5)).result(5)
    first, name = Handlers(app).lists(talk.sid, PAGE), shown(viewer).lists
    assert first.number["choices"] == [("1. hello", 0)] and first.point["choices"]
    again = Handlers(app).lists(talk.sid, PAGE)
    assert again.number == again.point == gr.skip() and shown(viewer).lists == name
    talk.send("more", TurnOptions(max_new=5)).result(5)
    assert len(Handlers(app).lists(talk.sid, PAGE).number["choices"]) == 2 and shown(viewer).lists != name


def test_the_lists_of_the_conversation_that_was_left_are_emptied(app: Service) -> None:
    talk, _ = opened(app)
    fresh = Handlers(app).lists(talk.sid, PAGE)
    assert fresh.number["choices"] == fresh.point["choices"] == []


def test_a_page_that_follows_nothing_is_told_nothing(app: Service) -> None:
    talk = app.registry.new()
    assert set(map(str, Handlers(app).lists(talk.sid, PAGE))) == {str(gr.skip())}


def test_the_page_lists_its_outputs_and_buttons_in_the_order_of_their_names() -> None:
    page = Page.__new__(Page)
    names = {name: object() for name in (*Shown._fields, *BUTTONS, *Lists._fields)}
    names |= {"pressable": names["buttons"], "choices": names["lists"]}
    del names["buttons"], names["lists"]
    page.history = cast(Any, HistoryControls.__new__(HistoryControls))
    for name, component in names.items():
        setattr(page.history if name in ("edit", "rewind", *Lists._fields) else page, name, component)
    renamed = {"buttons": "pressable", "lists": "choices"}
    assert page._outputs() == [names[renamed.get(field, field)] for field in Shown._fields]
    assert page._buttons() == [names[name] for name in BUTTONS]
    assert page.history.lists == [names[field] for field in Lists._fields]
