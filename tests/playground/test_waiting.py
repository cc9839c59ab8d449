"""How long a visitor waits for the engine: measured on a clock of the tests' own, in words, and on the page's line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import EngineError, load_engine
from playground.limits import TurnOptions
from playground.service import Service, chat_of
from playground.settings import Settings
from playground.status import status_line
from playground.viewer import Viewer
from playground.wait_words import STEADY_S, WaitWords, about, for_the_engine
from playground.worker import Wait, Worker
from tests.playground.measuring_fakes import MeasuredEngine, eventually, ready_service
from tests.playground.still_clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def worker(clock: Clock) -> Iterator[Worker]:
    worker = Worker(idle_s=0.01, clock=clock)
    yield worker
    worker.close()


Step = Callable[[], object]


def run(worker: Worker, seen: list[object], *bursts: Step) -> Callable[[], None]:
    """A job of these bursts; what each returns is noted."""

    def job() -> None:
        for number, burst in enumerate(bursts):
            seen.append(burst())
            if number + 1 < len(bursts):
                worker.give_way()

    return job


def test_the_wait_is_one_burst_of_each_that_is_ahead(worker: Worker, clock: Clock) -> None:
    seen: list[object] = []
    done = threading.Event()

    def taking(seconds: float, *waits: str) -> Step:
        """A burst: the waits of these at its begin, and after so many seconds."""

        def burst() -> object:
            before = [worker.wait_of(owner) for owner in waits]
            clock.now += seconds
            return [*before, *(worker.wait_of(owner) for owner in waits)]

        return burst

    def opening() -> object:
        for owner, job in (("b", (taking(3, "c"), taking(6))), ("c", (taking(9, "c"),))):
            worker.submit(owner, run(worker, seen, *job))
        return taking(4, "b", "c")()

    def later() -> object:
        worker.submit("d", run(worker, seen, done.set))
        return taking(1, "d")()

    worker.submit("a", run(worker, seen, opening, later))
    assert done.wait(5)
    assert seen[0] == [Wait(1), Wait(2), Wait(1), Wait(2)], "nothing was measured yet, so nothing is said"
    assert seen[1] == [Wait(1, 4.0), Wait(1, 1.0)], "a new one is expected to take what the first one took"
    assert seen[2] == [Wait(), Wait()], "who has begun waits no more"
    assert seen[3] == [Wait(2, 7.0), Wait(2, 6.0)], "who has begun, as long as the last time: 4 s of a and 3 s of b"


def test_who_takes_longer_than_expected_is_over_at_any_moment(worker: Worker, clock: Clock) -> None:
    seen: list[object] = []
    done = threading.Event()

    def opening() -> object:
        worker.submit("b", run(worker, seen, overdue))
        worker.submit("c", run(worker, seen, done.set))
        clock.now += 2
        return None

    def overdue() -> object:
        clock.now += 5
        return worker.wait_of("c")

    worker.submit("a", run(worker, seen, opening))
    assert done.wait(5)
    assert seen[1] == Wait(1, 0.0)


def test_a_clear_tells_nothing_of_a_turn_and_a_load_takes_as_long_as_it_takes(worker: Worker, clock: Clock) -> None:
    seen: list[object] = []
    done = threading.Event()
    worker.submit("clear", run(worker, seen, lambda: None))

    def turn() -> object:
        worker.submit("b", lambda: None)
        first = worker.wait_of("b")
        worker.submit("load", lambda: None, alone=True)
        worker.submit("c", done.set)
        clock.now += 1
        return [first, worker.wait_of("c")]

    worker.submit("a", run(worker, seen, turn))
    assert done.wait(5)
    assert seen[1] == [Wait(1), Wait(3)]


def test_a_wait_is_told_coarsely_and_seldom_otherwise(clock: Clock) -> None:
    told = {None: "", 0.0: "about 5 s", 5.1: "about 10 s", 33.0: "about 40 s", 61.0: "about 90 s", 95.0: "about 2 min"}
    assert {seconds: about(seconds) for seconds in told} == told
    assert about(4000.0) == "more than 10 min"
    assert for_the_engine(Wait(2, 33.0)) == "Waiting for the engine: 2 before you, it begins in about 40 s."
    assert for_the_engine(Wait(1)) == "Waiting for the engine: 1 before you."
    assert for_the_engine(Wait()) == "Waiting for the engine."
    words = WaitWords(clock)
    assert words(Wait(2)) == "" and words(Wait(2, 38.0)) == "", "not at once: the line has not moved"
    clock.now += STEADY_S
    assert words(Wait(2, 38.0)) == "about 40 s"
    clock.now += STEADY_S / 2
    assert words(Wait(2, 29.0)) == "about 40 s"
    assert words(Wait(1, 18.0)) == "about 20 s", "it has moved"


def test_the_page_of_a_waiting_visitor_says_who_is_ahead_and_for_how_long() -> None:
    service = ready_service(MeasuredEngine(pace=0.02, answer=5000))
    first, second = service.registry.new(), service.registry.new()
    began, held = threading.Event(), threading.Event()
    asked = TurnOptions(max_new=20)
    first.send("measured", asked).result(10)

    def hold() -> None:
        began.set()
        held.wait(10)

    service.worker.submit("someone", hold)
    assert began.wait(5)
    second.send("hello", asked)
    line = next(Viewer(service, second).show()).status
    assert line.startswith("Waiting for 1 other conversation; your answer begins in about "), line
    held.set()
    eventually(lambda: not second.view().running)
    assert status_line(second.view(), service.status, 0).startswith("Reached max new tokens")
    service.close()


def test_who_finds_no_slot_is_told_why_and_keeps_the_message(tiny_checkpoint: Callable[[str], Path]) -> None:
    def load(settings: Settings, progress: object) -> Any:
        return load_engine(str(tiny_checkpoint("llama")), drafter="none", max_ctx=64, slots=1, threads=1)

    service = Service(Settings(), load, chat_of)
    service.start()
    assert service.wait(60)
    held, other = service.registry.new(), service.registry.new()
    held.stepping.set_pace("round")
    asked = TurnOptions(max_new=4, drafter="none")
    turn = held.send("hello", asked)
    eventually(lambda: held.view().waiting)
    with pytest.raises(EngineError, match="slots are in use at this moment; wait for one"):
        other.send("me too", asked).result(10)
    assert "slots are in use" in other.view().notice and other.take_unsent() == "me too"
    held.stop()
    turn.result(10)
    assert other.send("me too", asked).result(10).tokens, "then there is room"
    service.close()
