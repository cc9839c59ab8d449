"""A conversation gives its rows back: room for others, the same tokens afterwards, and a sentence where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.events import ContextEvent
from playground.give_back import ANSWERING, NO_ROWS
from playground.handlers import Handlers
from playground.limits import Refused, TurnOptions
from playground.service import Service
from playground.viewer import Viewer, live_status
from tests.playground.conftest import tiny_service
from tests.playground.measuring_fakes import MeasuredEngine, eventually, ready_service

SAMPLED = {"temperature": 0.8, "seed": 7}


@pytest.fixture(scope="module")
def service(tiny_checkpoint: Callable[[str], Path]) -> Iterator[Service]:
    with tiny_service(tiny_checkpoint("llama"), 256) as service:
        yield service


@pytest.mark.parametrize("settings", [{}, SAMPLED, SAMPLED | {"verify": "coupled"}], ids=["greedy", "drawn", "coupled"])
def test_the_answers_after_it_are_the_same(service: Service, settings: dict[str, object]) -> None:
    options = TurnOptions(max_new=12, **settings)  # type: ignore[arg-type]

    def tokens(give_back: bool) -> list[list[int]]:
        talk = service.registry.new()
        answers = []
        for text in ("again again again", "and again", "and once more"):
            answers.append(list(talk.send(text, options).result(20).tokens))
            if give_back:
                talk.give_back().result(10)
            if talk.view().can_continue:
                answers.append(list(talk.continue_turn(options).result(20).tokens))
        return answers

    with_it = tokens(give_back=True)
    assert with_it == tokens(give_back=False) and sum(map(len, with_it)) > 20


def test_it_is_told_and_the_panels_show_it(service: Service) -> None:
    talk, options = service.registry.new(), TurnOptions(max_new=12)
    talk.send("again again again", options).result(20)
    assert talk.chat is not None and service.engine is not None
    session, others = talk.chat.session, len(service.engine.slots)
    rows = len(session.committed)
    assert Handlers(service).give_back(talk.sid) == ""
    eventually(lambda: not talk.view().running)
    assert len(service.engine.slots) == others - 1
    occupancy = live_status(service, talk, talk.view()).occupancy
    assert occupancy is not None and not occupancy.own_slot and occupancy.caches[0].used == 0
    line = next(Viewer(service, talk).show()).status
    assert line.startswith(f"The memory of {rows} rows was given back; the next message computes them again")
    talk.send("and again", options).result(20)
    assert [event.action for event in session.trace.of(ContextEvent)] == ["evicted", "reprimed"]


def test_it_is_refused_without_rows_and_while_something_runs() -> None:
    service = ready_service(MeasuredEngine(pace=0.02, answer=5000))
    talk = service.registry.new()
    with pytest.raises(Refused, match="holds no rows"):
        talk.give_back().result(5)
    eventually(lambda: talk.view().notice == NO_ROWS)
    running = talk.send("hello", TurnOptions(max_new=5000))
    eventually(lambda: talk.view().phase == "decoding")
    assert Handlers(service).give_back(talk.sid) == ANSWERING
    talk.stop()
    assert running.result(10).reason == "cancelled"
    service.close()
