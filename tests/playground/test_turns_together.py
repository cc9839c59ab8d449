"""Visitors who answer at once: nobody's burst size decides how long the others wait, and Stop acts at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from playground import turn_callbacks
from playground.conversation import Conversation
from playground.limits import TurnOptions
from playground.service import Service
from tests.playground.conftest import fake_service

LONG = TurnOptions(max_new=600, burst=256, drafter="none", draft_len=0)
PACE_S = 0.03
"""Of a round; a burst of 256 takes more than seven seconds."""


def serving(places: int) -> AbstractContextManager[Service]:
    return fake_service(places, pace=PACE_S, answer=10_000)


def begun(talk: Conversation) -> bool:
    return talk.view().phase == "decoding"


def seconds_until(true: Callable[[], bool], most: float = 5.0) -> float:
    start = time.monotonic()
    while not true():
        if time.monotonic() - start > most:
            return most
        time.sleep(0.005)
    return time.monotonic() - start


def first_text_of_the_second(service: Service) -> float:
    first, second = service.registry.new(), service.registry.new()
    first.send("one", LONG)
    assert seconds_until(lambda: begun(first)) < 5
    second.send("two", LONG)
    return seconds_until(lambda: begun(second), 3.0)


def test_a_large_burst_of_one_lets_the_other_begin_after_a_slice() -> None:
    with serving(places=4) as service:
        assert first_text_of_the_second(service) < 1.0


def test_where_turns_give_way_at_the_edges_of_bursts_alone_the_other_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth of the test above."""
    monkeypatch.setattr(turn_callbacks.TurnCallbacks, "_places", lambda self: 0)
    with serving(places=4) as service:
        assert first_text_of_the_second(service) >= 3.0


@pytest.mark.parametrize("stopped", ["the one that waits", "the one that has the engine"])
def test_stop_acts_at_once_while_others_answer(stopped: str) -> None:
    with serving(places=4) as service:
        talks = [service.registry.new() for _ in range(3)]
        turns = [talk.send("go on", LONG) for talk in talks]
        assert all(seconds_until(lambda talk=talk: begun(talk)) < 5 for talk in talks)
        running = next(talk for talk in talks if service.worker._current and service.worker._current.owner == talk.sid)
        talk = running if stopped == "the one that has the engine" else next(t for t in talks if t is not running)
        start = time.monotonic()
        talk.stop()
        assert turns[talks.index(talk)].result(3).reason == "cancelled"
        assert time.monotonic() - start < 0.6, "a slice and a round at most, on a machine that may be busy"
        assert sum(other.view().running for other in talks) == 2, "the others go on"
