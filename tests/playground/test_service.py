"""The engine behind the page: the page does not wait for it, and a failed load leaves the running one in place."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from engine.errors import CheckpointError, EngineError
from playground.limits import TurnOptions
from playground.sentences import UNEXPECTED
from playground.service import Service
from playground.settings import Settings
from tests.playground.fakes import FakeChat, FakeEngine


class Loads:
    """A loader that does as the model's name says."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.made: list[FakeEngine] = []

    def __call__(self, settings: Settings, progress: Callable[[str, float | None], None]) -> Any:
        progress("Reading weights", 0.5)
        if settings.model == "slow":
            self.go.wait(5)
        if settings.model == "bad":
            raise CheckpointError("The folder bad has no config.json; give another.")
        if settings.model == "broken":
            raise KeyError("secret")
        self.made.append(FakeEngine())
        return self.made[-1]


def service(model: str) -> tuple[Service, Loads]:
    loads = Loads()
    return Service(Settings(model=model), loads, cast(Any, FakeChat)), loads


def test_a_message_sent_while_loading_is_answered_after_it() -> None:
    app, loads = service("slow")
    app.start()
    talk = app.registry.new()
    future = talk.send("hello", TurnOptions(max_new=5))
    assert app.status.state == "loading" and app.worker.wait_of(talk.sid).ahead in (0, 1)
    loads.go.set()
    assert len(future.result(5).tokens) == 5
    facts = app.status.facts
    assert app.status.state == "ready" and facts is not None
    assert (facts.model, facts.device, facts.dtype, facts.max_ctx) == ("fake/words", "cpu", "float32", 4096)
    app.close()
    assert loads.made[0].closed


@pytest.mark.parametrize(
    ("model", "sentence"), [("bad", "The folder bad has no config.json; give another."), ("broken", UNEXPECTED)]
)
def test_a_failed_first_load_is_a_sentence_and_every_turn_says_it(model: str, sentence: str) -> None:
    app, _ = service(model)
    app.start()
    assert app.wait(5)
    assert (app.status.state, app.status.sentence) == ("failed", sentence)
    talk = app.registry.new()
    with pytest.raises(EngineError):
        talk.send("hello", TurnOptions()).result(5)
    assert talk.view().notice == sentence and talk.take_unsent() == "hello"
    app.close()


def test_a_failed_second_load_keeps_the_running_engine() -> None:
    app, loads = service("good")
    app.start()
    assert app.wait(5)
    talk = app.registry.new()
    talk.send("hello", TurnOptions(max_new=5)).result(5)
    said = talk.view().messages
    app.start(Settings(model="bad"))
    assert app.wait(5)
    assert app.status.state == "ready" and "no config.json" in app.status.sentence
    assert app.engine is cast(Any, loads.made[0]) and talk.view().messages == said
    talk.send("more", TurnOptions(max_new=5)).result(5)
    app.close()


def test_a_second_load_that_works_replaces_the_engine_and_conversations_go_on() -> None:
    app, loads = service("good")
    app.start()
    assert app.wait(5)
    talk = app.registry.new()
    talk.send("hello", TurnOptions(max_new=5)).result(5)
    old = cast(Any, talk.chat).session
    app.start(Settings(model="other"))
    assert app.wait(5)
    talk.send("again", TurnOptions(max_new=5)).result(5)
    assert old.closed and loads.made[0].closed
    assert [text for role, text in talk.view().messages if role == "user"] == ["hello", "again"]
    assert cast(Any, talk.chat).engine is loads.made[1]
    app.close()


def test_a_dropped_conversation_gives_its_session_back() -> None:
    app, _ = service("good")
    app.start()
    talk = app.registry.new()
    talk.send("hello", TurnOptions(max_new=5)).result(5)
    session = cast(Any, talk.chat).session
    app.registry._ttl_s = -1.0
    assert app.registry.sweep() == 1
    done = threading.Event()
    app.worker.submit("test", done.set)
    assert done.wait(5) and session.closed
    app.close()
