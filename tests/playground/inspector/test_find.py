"""Finding a round or a token in a trace: present, never there, dropped, and of two at one place the right one."""

from __future__ import annotations

from engine import events as ev
from engine.trace import Trace, TraceHeader
from playground.inspector.find import find_outside, find_round
from tests.playground.inspector.rounds import made


def traced(*events: ev.Event, capacity: int = 100) -> list[ev.Event]:
    trace = Trace(TraceHeader("x"), capacity=capacity)
    for event in events:
        trace.append(event)
    return list(trace)


def prefill(turn: int, first: int, pos: int = 0) -> ev.PrefillEvent:
    return ev.PrefillEvent(turn=turn, burst=0, pos=pos, tokens=5, width=8, ms=1.0, first=first)


def promote(turn: int, token: int, pos: int) -> ev.PendingEvent:
    return ev.PendingEvent(
        transition="promote", token=token, pos=pos, turn=turn, burst=1, via="continue", state="PENDING"
    )


def rewind(to: int) -> ev.RewindEvent:
    return ev.RewindEvent(turn=0, start=9, to=to, cause="checkpoint", retained=())


def flush(token: int, pos: int) -> ev.FlushEvent:
    return ev.FlushEvent(turn=0, pos=pos, token=1, next_pred=token, width=4, ms=1.0)


def test_a_round_is_found_by_its_number_with_the_count_of_newer_ones() -> None:
    events = traced(*(made(round=number, pos=number) for number in range(5)))
    found = find_round(events, 2)
    assert found is not None and (found.event.round, found.newer) == (2, 2)
    assert find_round(events, 5) is None and find_round(events, -1) is None and find_round([], 0) is None


def test_a_round_that_has_left_the_trace_is_not_found() -> None:
    events = traced(*(made(round=number) for number in range(30)), capacity=10)
    assert find_round(events, 19) is None
    assert find_round(events, 20) is not None


def test_a_first_token_is_that_of_its_prefill_and_drawn_if_it_was() -> None:
    draw = ev.DrawEvent(mode="rejection", cause="first", token=7, sctr=3, pos=5, turn=1)
    events = traced(prefill(0, 7), made(), prefill(1, 7), draw)
    found = find_outside(events, 1, 7, 5)
    assert found is not None and found.cause == "prompt" and found.event is events[2] and found.draw is events[3]
    first = find_outside(events, 0, 7, 5)
    assert first is not None and first.event is events[0] and first.draw is None
    assert find_outside(events, 1, 7, 6) is None and find_outside(events, 1, 8, 5) is None


def test_a_promoted_prediction_says_what_left_it() -> None:
    trimmed = made(trimmed=(8,), emitted=1)
    for before, cause in (
        (flush(9, 4), "flush"),
        (trimmed, "trim"),
        (rewind(5), "again"),
        (made(), "prediction"),
    ):
        found = find_outside(traced(made(), before, promote(0, 9, 5)), 0, 9, 5)
        assert found is not None and found.cause == cause
    assert find_outside(traced(promote(0, 9, 5), rewind(5), promote(1, 9, 5)), 0, 9, 5) is not None
