"""Slots: the session longest unused gives way, says so, and comes back bit for bit."""

from __future__ import annotations

import pytest
import torch

from engine import (
    EngineError,
    SessionStateError,
    generate_spec_session,
    spec_flush_pending,
    spec_rewind_to_checkpoint,
)
from engine.events import ContextEvent, PrefillEvent

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]


def _actions(session) -> list[str]:
    return [e.action for e in session.trace.of(ContextEvent)]


def _rows(session) -> list[torch.Tensor]:
    n = len(session.committed)
    return [layer.keys[:, :n].clone() for layer in session.slot.slot_layers]


def test_the_session_longest_unused_is_evicted_and_reprimed_bit_for_bit(tiny_engine):
    engine = tiny_engine("llama", slots=2)
    reference = engine.new_session(drafter="ngram")
    expected = generate_spec_session(reference, PROMPT, 20, ignore_eos=True).tokens
    expected = expected + generate_spec_session(reference, [], 20, ignore_eos=True).tokens
    reference.close()

    first = engine.new_session(drafter="ngram")
    tokens = generate_spec_session(first, PROMPT, 20, ignore_eos=True).tokens
    rows = _rows(first)
    others = [engine.new_session() for _ in range(2)]
    for other in others:
        generate_spec_session(other, PROMPT[::-1], 5, ignore_eos=True)
    assert _actions(first) == ["evicted"] and first.slot is None and len(engine.slots) == 2

    tokens = tokens + generate_spec_session(first, [], 20, ignore_eos=True).tokens
    assert _actions(first) == ["evicted", "reprimed"]
    assert tokens == expected
    assert any(e.cause == "reprime" and e.first is None for e in first.trace.of(PrefillEvent))
    assert all(torch.equal(a, b[:, : a.shape[1]]) for a, b in zip(rows, _rows(first), strict=True))
    assert _actions(others[0]) == ["evicted"], "the other one, longest unused by then"
    for session in (first, *others):
        session.close()


@pytest.mark.parametrize("operation", ["rewind", "flush", "trimmed"])
def test_an_evicted_session_does_everything_a_resident_one_does(tiny_engine, operation):
    engine = tiny_engine("llama", slots=1)

    def run(evict: bool) -> tuple[list[int], int | None]:
        session = engine.new_session(drafter="ngram")
        overshoot = "trim" if operation == "trimmed" else "keep"
        generate_spec_session(session, PROMPT, 11, ignore_eos=True, overshoot=overshoot)
        if evict:
            with_slot = engine.new_session()
            generate_spec_session(with_slot, [3], 1)
            assert session.slot is None
            with_slot.close()
        if operation == "rewind":
            spec_rewind_to_checkpoint(session)
        if operation == "flush":
            spec_flush_pending(session)
        tokens = generate_spec_session(session, [], 15, ignore_eos=True).tokens
        result = (tokens, session.next_pred)
        session.close()
        return result

    assert run(evict=True) == run(evict=False)


def test_no_slot_is_taken_from_a_session_in_the_middle_of_a_call(tiny_engine):
    engine = tiny_engine("llama", slots=1)
    busy, other = engine.new_session(), engine.new_session()
    seen: list[str] = []

    def interfere(tokens: list[int]) -> bool:
        if tokens:
            with pytest.raises(EngineError, match="slots are in use"):
                generate_spec_session(other, PROMPT, 3)
            seen.append(other.state)
        return True

    generate_spec_session(busy, PROMPT, 3, ignore_eos=True, on_tokens=interfere)
    assert seen and set(seen) == {"FRESH"}
    assert generate_spec_session(other, PROMPT, 3, ignore_eos=True).tokens, "works once the other is idle"
    busy.close()
    other.close()


def test_a_re_prime_can_be_stopped_and_the_session_stays_evicted(tiny_engine):
    engine = tiny_engine("llama", slots=1)
    first, second = engine.new_session(drafter="ngram"), engine.new_session()
    chunk, engine.prefill_chunk = engine.prefill_chunk, 8
    try:
        generate_spec_session(first, PROMPT, 30, ignore_eos=True)
        generate_spec_session(second, PROMPT, 2, ignore_eos=True)
        before = (first.history, first.state, first.rewind_points())
        polls = iter([True, True, False])
        stopped = generate_spec_session(first, [], 9, ignore_eos=True, on_tokens=lambda _: next(polls))
        assert (stopped.tokens, stopped.reason) == ([], "cancelled") and next(polls, "asked thrice") == "asked thrice"
        assert (first.history, first.state, first.rewind_points()) == before and first.slot is None
        assert len(generate_spec_session(first, [], 9, ignore_eos=True).tokens) >= 9
    finally:
        engine.prefill_chunk = chunk
        first.close()
        second.close()


@pytest.mark.parametrize("max_new", [1, 20])
def test_a_session_that_gave_its_rows_back_goes_on_as_if_it_had_not(tiny_engine, max_new):
    engine = tiny_engine("llama", slots=2)

    def run(evict: bool) -> list[int]:
        session = engine.new_session(drafter="ngram")
        generate_spec_session(session, PROMPT, max_new, ignore_eos=True)
        if evict:
            engine.slots.evict(session)
            assert session.slot is None and len(engine.slots) == 0 and _actions(session) == ["evicted"]
            engine.slots.evict(session)
        tokens = generate_spec_session(session, PROMPT[:3], 15, ignore_eos=True).tokens
        assert _actions(session) == (["evicted", "reprimed"] if evict else [])
        session.close()
        return tokens

    assert run(evict=True) == run(evict=False)


def test_nobody_takes_the_rows_of_a_running_call_not_even_its_owner(tiny_engine):
    session = tiny_engine("llama", slots=1).new_session()

    def interfere(tokens: list[int]) -> bool:
        with pytest.raises(SessionStateError, match="evict was called while another call runs"):
            session.engine.slots.evict(session)
        return True

    assert len(generate_spec_session(session, PROMPT, 3, ignore_eos=True, on_tokens=interfere).tokens) >= 3
    session.close()
