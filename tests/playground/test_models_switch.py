"""Switching models: the running engine answers until the new one is ready, and stays when there is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from typing import Any, cast

import pytest

from engine.errors import EngineError
from engine.events import TurnEvent
from playground.limits import Refused, TurnOptions
from playground.models.loading import Loading
from playground.sentences import UNEXPECTED
from playground.service import Service
from playground.settings import Settings
from tests.playground.fakes import FakeChat, fake_check
from tests.playground.model_loads import GatedLoads, eventually, running_service

ANEW = (
    "Another model was loaded: what was said is read again with your next message. "
    "The panels show what first recorded before, and begin anew with your next message."
)
LONG, SHORT = TurnOptions(max_new=600), TurnOptions(max_new=5)


@contextmanager
def first_runs(*opened: str, **more: Any) -> Iterator[tuple[Service, GatedLoads]]:
    app, loads = running_service(*opened, **more)
    yield app, loads
    for gate in ("first", "next", "large"):
        loads.gates[gate].set()
    app.close()


def test_while_another_model_loads_the_running_one_answers():
    with first_runs() as (app, loads):
        app.start(Settings(model="next"))
        assert loads.began["next"].wait(5)
        for text in ("hello", "again"):
            talk = app.registry.new()
            assert len(talk.send(text, SHORT).result(5).tokens) == 5
            assert cast(Any, talk.chat).engine is loads.made[0]
        eventually(lambda: app.status.fraction)
        assert app.status.state == "loading" and app.status.sentence == "Fetching next: model.safetensors"
        assert app.status.facts is not None and app.status.facts.model == "first"
        loads.gates["next"].set()
        assert app.wait(5)
        assert app.status.facts.model == "next" and loads.made[0].closed and app.settings.model == "next"
        assert app.status.since is None and app.status.engines == 2


def test_teeth_a_load_that_stands_in_the_line_holds_everybody_up(monkeypatch: pytest.MonkeyPatch):
    def in_line(self: Service, loading: Loading) -> None:
        self.worker.submit("engine", lambda: self._load_in_line(loading), alone=True)

    monkeypatch.setattr(Service, "_load_beside", in_line)
    with first_runs() as (app, loads):
        app.start(Settings(model="next"))
        assert loads.began["next"].wait(5)
        with pytest.raises(TooLate):
            app.registry.new().send("hello", SHORT).result(0.3)


def test_a_turn_that_has_begun_ends_on_its_own_engine_and_the_next_one_is_the_new_ones():
    with first_runs("next") as (app, loads):
        talk = app.registry.new()
        turn = talk.send("hello", LONG)
        eventually(lambda: talk.view().phase == "decoding")
        app.start(Settings(model="next"))
        eventually(lambda: "takes over" in app.status.sentence)
        later = app.registry.new()
        answer = later.send("me too", SHORT)
        assert not turn.done() and app.engine is cast(Any, loads.made[0])
        old = cast(Any, talk.chat)
        assert len(turn.result(20).tokens) == 600 and old.engine is loads.made[0]
        assert len(answer.result(5).tokens) == 5 and cast(Any, later.chat).engine is loads.made[1]
        assert app.wait(5) and old.session.closed
        assert talk.view().notice == ANEW and talk.view().messages[0] == ("user", "hello")
        talk.send("and now?", SHORT).result(5)
        assert [text for role, text in talk.view().messages if role == "user"] == ["hello", "and now?"]
        assert cast(Any, talk.chat).engine is loads.made[1]
        assert talk.trace is cast(Any, talk.chat).session.trace and talk.record is None
        assert len(talk.trace.of(TurnEvent)) == 1, "the books of another model are not gone on with"


def test_a_message_that_waits_for_the_new_model_is_answered_by_it():
    with first_runs("next") as (app, loads):
        talk, block = app.registry.new(), threading.Event()
        talk.send("hello", SHORT).result(5)
        before = talk.view().messages
        app.worker.submit("somebody", lambda: block.wait(5))
        app.start(Settings(model="next"))
        eventually(lambda: "takes over" in app.status.sentence)
        answer = talk.send("me too", SHORT)
        app.worker.submit("somebody else", lambda: block.wait(5))
        seen = []
        detach = talk.detach
        talk.detach = lambda: (detach(), seen.append(talk.view()))  # type: ignore[method-assign]
        block.set()
        assert len(answer.result(5).tokens) == 5 and cast(Any, talk.chat).engine is loads.made[1]
        (replaced,) = seen
        assert replaced.running and replaced.messages == (*before, ("user", "me too"), ("assistant", ""))
        assert talk.view().messages[:3] == (*before, ("user", "me too")) and talk.take_unsent() == ""


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("bad", "The folder bad has no config.json; give another."),
        ("broken", UNEXPECTED),
        ("starved", "The memory ran out while starved was being loaded: choose a smaller one, or free some memory."),
        (
            "huge",
            "huge needs 440 GB on cpu, but 3.0 GB are free, and unloading the running model would not be enough: "
            "choose a smaller one, start with --dtype bfloat16 or fewer --slots, or free memory.",
        ),
    ],
)
def test_a_load_that_fails_leaves_everything_as_it_was(model: str, sentence: str):
    with first_runs(model) as (app, loads):
        talk = app.registry.new()
        talk.send("hello", SHORT).result(5)
        before = talk.view().messages
        app.start(Settings(model=model))
        assert app.wait(5)
        assert (app.status.state, app.status.sentence, app.status.crowded) == ("ready", sentence, False)
        assert app.settings.model == "first" and app.engine is cast(Any, loads.made[0]) and app.status.engines == 1
        assert talk.view().messages == before and talk.view().notice == ""
        talk.send("more", SHORT).result(5)


def test_a_load_is_cancelled_at_its_next_report():
    with first_runs() as (app, loads):
        app.start(Settings(model="next"))
        assert loads.began["next"].wait(5)
        assert app.cancel() and app.wait(5)
        assert loads.stopped == ["next"] and app.status.sentence == "Loading next was cancelled."
        assert app.status.state == "ready" and app.engine is cast(Any, loads.made[0])
        assert not app.cancel(), "there is none any more"
        loads.gates["next"].set()
        app.start(Settings(model="next"))
        assert app.wait(5) and app.status.engines == 2


def test_a_load_that_waits_for_a_turn_is_cancelled_too_and_gives_its_memory_back():
    with first_runs("next") as (app, loads):
        talk = app.registry.new()
        turn = talk.send("hello", LONG)
        eventually(lambda: talk.view().phase == "decoding")
        app.start(Settings(model="next"))
        eventually(lambda: "takes over" in app.status.sentence)
        assert app.cancel() and app.wait(5)
        assert loads.made[1].closed and not turn.done()
        assert len(turn.result(20).tokens) == 600 and talk.view().messages[0] == ("user", "hello")


def test_a_loader_that_does_not_report_is_cancelled_when_it_returns():
    made: list[Any] = []
    with first_runs() as (app, loads):
        go = threading.Event()

        def silent(settings: Settings, progress: object) -> Any:
            go.wait(5)
            made.append(GatedLoads.__call__(loads, Settings(model="first"), lambda *_: None))
            return made[-1]

        app._load = silent
        app.start(Settings(model="next"))
        assert app.cancel() and not app.wait(0.1)
        go.set()
        assert app.wait(5) and made[0].closed and app.engine is cast(Any, loads.made[0])


def test_only_one_load_at_a_time():
    with first_runs() as (app, loads):
        app.start(Settings(model="next"))
        with pytest.raises(Refused, match="next is still being loaded; wait for its end or cancel it first"):
            app.start(Settings(model="other"))
        loads.gates["next"].set()
        assert app.wait(5) and len(loads.made) == 2


def test_without_room_for_both_unloading_first_is_offered_and_ends_the_turns_visibly():
    with first_runs("large") as (app, loads):
        app.start(Settings(model="large"))
        assert app.wait(5) and app.status.crowded and loads.beside == [0, 1]
        assert app.status.sentence == (
            "large needs 4.4 GB on cpu, but 3.0 GB are free beside the running model: unload that first, or choose a "
            "smaller one."
        )
        talk, other = app.registry.new(), app.registry.new()
        turn = talk.send("hello", LONG)
        eventually(lambda: talk.view().phase == "decoding")
        app.start(Settings(model="large"), unload_first=True)
        assert turn.result(5).reason == "cancelled" and app.wait(5)
        assert loads.beside == [0, 1, 0], "the former was gone before the load began"
        assert loads.made[0].closed and app.status.facts is not None and app.status.facts.model == "large"
        assert talk.view().notice == ANEW and not app.status.crowded
        assert len(other.send("hello", SHORT).result(5).tokens) == 5


def test_who_writes_while_nothing_is_loaded_waits_for_the_model():
    with first_runs() as (app, loads):
        app.start(Settings(model="next"), unload_first=True)
        assert loads.began["next"].wait(5)
        assert app.engine is None and app.status.facts is None
        talk = app.registry.new()
        answer = talk.send("hello", SHORT)
        loads.gates["next"].set()
        assert len(answer.result(5).tokens) == 5 and cast(Any, talk.chat).engine is loads.made[1]


def test_when_the_load_after_unloading_fails_the_former_model_comes_back():
    with first_runs("bad") as (app, loads):
        app.start(Settings(model="bad"), unload_first=True)
        assert app.wait(5)
        assert app.status.sentence == "The folder bad has no config.json; give another. first was loaded again."
        assert app.status.state == "ready" and app.engine is cast(Any, loads.made[1]) and app.settings.model == "first"
        app.registry.new().send("hello", SHORT).result(5)


def test_a_load_after_unloading_can_be_cancelled_and_so_can_the_return():
    with first_runs() as (app, loads):
        app.start(Settings(model="next"), unload_first=True)
        assert loads.began["next"].wait(5)
        loads.began["first"].clear()
        loads.gates["first"].clear()
        assert app.cancel() and loads.began["first"].wait(5)
        eventually(lambda: app.status.sentence == "Fetching first: model.safetensors")
        assert app.cancel() and app.wait(5)
        assert loads.stopped == ["next", "first"] and app.status.state == "failed"
        assert app.status.sentence == "Loading next was cancelled. Loading first was cancelled."
        with pytest.raises(EngineError, match="was cancelled"):
            app.registry.new().send("hello", SHORT).result(5)


def test_unloading_called_off_while_it_waits_unloads_nothing():
    with first_runs("next") as (app, loads):
        block = threading.Event()
        app.worker.submit("somebody", lambda: block.wait(5))
        app.start(Settings(model="next"), unload_first=True)
        assert app.cancel() and app.wait(5)
        assert app.engine is cast(Any, loads.made[0]) and not loads.made[0].closed
        block.set()


def test_the_first_load_can_be_cancelled_and_what_waits_says_so():
    loads = GatedLoads()
    app = Service(Settings(model="first"), loads, cast(Any, FakeChat), fake_check)
    app.start()
    talk = app.registry.new()
    answer = talk.send("hello", SHORT)
    assert app.cancel() and app.wait(5)
    assert (app.status.state, app.status.sentence) == ("failed", "Loading first was cancelled.")
    with pytest.raises(EngineError, match="Loading first was cancelled"):
        answer.result(5)
    assert talk.take_unsent() == "hello"
    app.close()


def test_closing_ends_a_load_and_closes_what_it_made():
    app, loads = running_service()
    app.start(Settings(model="next"))
    assert loads.began["next"].wait(5)
    app.close()
    assert loads.stopped == ["next"] and loads.made[0].closed and len(loads.made) == 1


def test_what_runs_ahead_of_a_load_may_refuse_it():
    def no(settings: Settings, progress: object) -> None:
        raise EngineError(f"{settings.drafter} has another tokenizer.")

    with first_runs("next") as (app, loads):
        app.start(Settings(model="next", drafter="model:x"), before=no)
        assert app.wait(5) and app.status.sentence == "model:x has another tokenizer." and len(loads.made) == 1


def test_a_path_is_not_told():
    with first_runs() as (app, loads):
        app.start(Settings(model="/home/ann/secret/tiny"))
        eventually(lambda: loads.began["/home/ann/secret/tiny"].is_set())
        assert app.cancel() and app.wait(5)
        assert app.status.sentence == "Loading tiny was cancelled."
