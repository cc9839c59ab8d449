"""The state machine of the panels against the engine's own states, and against the transitions of the trace."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import events as ev
from engine.chat import ChatSession
from engine.rewind import spec_rewind_to_checkpoint
from playground.panels.machine import RULES, StateMachine
from tests.playground.plays import act
from tests.playground.synthetic import SyntheticSession

CARRIED = ("carry", "consume", "promote", "flush", "drop")


def followed(events: list[ev.Event]) -> StateMachine:
    machine = StateMachine()
    for event in events:
        machine.add(event)
    return machine


def by_name(machine: StateMachine) -> Counter[str]:
    counts = Counter[str]()
    for (_, name, _), count in machine.moves.items():
        counts[name] += count
    return counts


def agrees(machine: StateMachine, events: list[ev.Event], state: ev.State) -> None:
    """Where it stands, that nothing broke a rule, and that it counted every transition and every round."""
    assert machine.now == state
    assert machine.broken == 0, machine.wire()["bad"]
    counts = by_name(machine)
    transitions = Counter(event.transition for event in events if isinstance(event, ev.PendingEvent))
    assert {name: counts[name] for name in CARRIED if counts[name]} == dict(transitions)
    assert counts["round"] + counts["trim"] == sum(isinstance(event, ev.RoundEvent) for event in events)
    assert all((start, to) in RULES[name] for (start, name, to), count in machine.moves.items() if count)


@given(st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=14), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_counts_of_made_up_sessions(codes: list[int], seed: int) -> None:
    session = SyntheticSession(seed)
    for code in codes:
        act(session, code)
    agrees(followed(session.trace.since(0)), session.trace.since(0), session.state)


@pytest.mark.parametrize("overshoot", ["keep", "trim"])
def test_the_engine_is_where_the_machine_says_after_every_call(tiny_engine, overshoot: str) -> None:
    chat = ChatSession(tiny_engine("llama", max_ctx=512))
    session, dice, machine, seen = chat.session, random.Random(5), StateMachine(), 0
    for step in range(24):
        kind = step % 6
        if kind == 0 or not chat.can_continue:
            chat.send("again again again", max_new=dice.randint(1, 12), burst=3, overshoot=overshoot)
        elif kind == 2:
            chat.regenerate(max_new=5, burst=2, overshoot=overshoot)
        elif kind == 4:
            spec_rewind_to_checkpoint(session)
        elif kind == 5 and step > 12:
            chat.send("not now", max_new=4, on_tokens=lambda _: session.trace.since(0)[-1].kind != "prefill")
        else:
            chat.continue_turn(max_new=dice.randint(1, 9), burst=2, overshoot=overshoot)
        for event in session.trace.since(seen):
            machine.add(event)
            seen = event.seq + 1
        agrees(machine, session.trace.since(0), session.state)
    chat.clear()
    for event in session.trace.since(seen):
        machine.add(event)
    agrees(machine, session.trace.since(0), "FRESH")


def test_a_move_that_no_rule_knows_is_named() -> None:
    session = SyntheticSession(1)
    session.turn()
    session.round()
    session.end_burst()
    events = session.trace.since(0)
    carry = next(event for event in events if isinstance(event, ev.PendingEvent))
    wrong = [replace(carry, transition="promote") if event is carry else event for event in events]
    machine = followed(wrong)
    assert machine.broken == 1
    assert machine.wire()["bad"] == ["PENDING", "promote", "PENDING", 0]
    burst = next(event for event in events if isinstance(event, ev.BurstEvent))
    machine = followed([replace(burst, state="PREDICTED") if event is burst else event for event in events])
    assert (machine.wire()["bad"], machine.now) == (["PENDING", "jump", "PREDICTED", 0], "PREDICTED")


def test_after_a_hole_nothing_is_judged_until_a_state_is_named() -> None:
    session = SyntheticSession(1)
    session.turn()
    session.round()
    session.end_burst()
    machine = StateMachine()
    machine.lost()
    assert machine.now is None
    machine.add(session.trace.of(ev.BurstEvent)[0])
    assert (machine.now, machine.broken, sum(machine.moves.values())) == ("PENDING", 0, 0)
