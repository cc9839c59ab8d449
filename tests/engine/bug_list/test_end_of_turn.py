"""Faults at the end of a turn that speculative sessions are known to have had."""

from __future__ import annotations

import pytest

from engine import generate_spec_session, spec_flush_pending, spec_rewind_to_checkpoint
from engine.events import RoundEvent
from tests.engine.bug_list.right_drafter import PROMPT, right_drafter
from tests.factories import VOCAB
from tests.scripts import tiny_script


@pytest.mark.parametrize("place", range(12))
@pytest.mark.parametrize("overshoot", ["keep", "trim"])
def test_text_after_the_end_of_turn_gets_into_the_session(engine, oracle, place, overshoot):
    future = oracle.continuation(PROMPT, 20)
    stop = future[place]
    until = future[: future.index(stop) + 1]
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=6)
    burst = generate_spec_session(session, PROMPT, 16, stop_ids={stop}, overshoot=overshoot)
    assert burst.tokens == until
    assert burst.reason == "stop"
    assert burst.overshoot == 0
    assert session.state == "PENDING"
    assert session.pending_tok == stop
    assert session.committed == PROMPT + until[:-1]
    accepted = sum(event.accepted for event in session.trace.of(RoundEvent))
    assert accepted <= len(until) - 1, "drafts after the end of turn were counted as accepted"
    empty = generate_spec_session(session, [], 5, stop_ids={stop})
    assert (empty.tokens, empty.reason) == ([], "stop")
    assert session.pending_tok == stop
    going_on = generate_spec_session(session, [], 5, stop_ids={stop}, ignore_eos=True).tokens
    assert until + going_on == oracle.continuation(PROMPT, len(until) + len(going_on))
    session.close()


def test_an_end_of_turn_in_the_overshoot_is_shown_too_early_or_lost(engine, oracle):
    future = oracle.continuation(PROMPT, 12)
    place = next(i for i in range(5, 9) if future[i] not in future[:i])
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    budget = place - 1
    burst = generate_spec_session(session, PROMPT, budget, stop_ids={future[place]})
    assert burst.reason == "length"
    assert burst.tokens == future[: place + 1]
    assert generate_spec_session(session, [], 4, stop_ids={future[place]}).reason == "stop"
    session.close()
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    burst = generate_spec_session(session, PROMPT, budget, stop_ids={future[place]}, overshoot="trim")
    assert (burst.tokens, burst.reason) == (future[:budget], "length")
    rest = generate_spec_session(session, [], 9, stop_ids={future[place]}, overshoot="trim")
    assert (rest.tokens, rest.reason) == (future[budget : place + 1], "stop")
    session.close()


def test_an_end_of_turn_is_forgotten_by_parking(engine, oracle, session):
    stop = oracle.continuation(PROMPT, 3)[-1]
    generate_spec_session(session, PROMPT, 9, stop_ids={stop})
    spec_flush_pending(session)
    burst = generate_spec_session(session, [], 9, stop_ids={stop})
    assert (burst.tokens, burst.reason) == ([], "stop")


def test_a_prompt_that_ends_with_a_stop_id_is_taken_for_an_ended_turn(engine, oracle, session):
    prompt = [*PROMPT, 2]
    want = oracle.continuation(prompt, 6)
    assert 2 not in want
    assert generate_spec_session(session, prompt, 6, stop_ids={2}, overshoot="trim").tokens == want
    spec_rewind_to_checkpoint(session)
    assert generate_spec_session(session, [], 6, stop_ids={2}, overshoot="trim").tokens == want


def test_the_checkpoints_own_end_of_turn_ids_are_the_default(engine, oracle):
    assert engine.tokenizer.convert_tokens_to_ids("<|im_end|>") in engine.stop_ids
    session = engine.new_session(drafter="none")
    for seed in range(200):
        prompt = list(tiny_script(VOCAB, seed=seed).turns[0][0])
        future = oracle.continuation(prompt, 12)
        if engine.stop_ids & set(future):
            break
    else:
        pytest.fail("no tiny prompt reaches an end of turn; choose other seeds")
    burst = generate_spec_session(session, prompt, 12)
    assert burst.reason == "stop"
    assert burst.tokens[-1] in engine.stop_ids
    assert burst.tokens == future[: len(burst.tokens)]
    session.close()
