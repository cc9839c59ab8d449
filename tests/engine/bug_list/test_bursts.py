"""Faults of bursts and the carried token that speculative sessions are known to have had."""

from __future__ import annotations

import pytest

from engine import generate_spec_session, spec_flush_pending
from engine.events import RoundEvent
from tests.engine.bug_list.right_drafter import PROMPT, right_drafter
from tests.forwards import ForwardCounter


def test_second_turn_starts_one_token_off_after_overshoot(engine, oracle):
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    history = list(PROMPT)
    burst = generate_spec_session(session, PROMPT, 10, ignore_eos=True)
    assert burst.overshoot > 0
    assert burst.visible == 10
    history += burst.tokens
    second = generate_spec_session(session, [50, 51, 52], 10, ignore_eos=True)
    history += [50, 51, 52]
    assert second.tokens == oracle.continuation(history, len(second.tokens))
    assert session.cache_len() == len(session.committed) == len(history) + len(second.tokens) - 1
    session.close()


def test_continuation_repeats_or_skips_a_token_after_a_full_accept(engine, oracle):
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=3)
    said = []
    for budget in (5, 1, 4, 8, 3, 1, 1, 2):
        said += generate_spec_session(session, [] if said else PROMPT, budget, ignore_eos=True).tokens
    assert said == oracle.continuation(PROMPT, len(said))
    session.close()


@pytest.mark.parametrize("budget", [0, 5], ids=["no_budget", "stopped_at_once"])
def test_a_burst_without_a_round_doubles_or_loses_the_carried_token(engine, oracle, session, budget):
    said = generate_spec_session(session, PROMPT, 4, ignore_eos=True).tokens
    carried, committed, events = session.pending_tok, list(session.committed), len(session.trace.of(RoundEvent))
    counter = ForwardCounter(engine)
    for _ in range(4):
        burst = generate_spec_session(session, [], budget, on_tokens=lambda _: False)
        assert burst.tokens == []
        assert burst.reason == ("length" if budget == 0 else "cancelled")
        assert session.pending_tok == carried
        assert session.committed == committed
    assert counter.count == 0
    counter.remove()
    assert len(session.trace.of(RoundEvent)) == events
    said += generate_spec_session(session, [], 9, ignore_eos=True).tokens
    assert said == oracle.continuation(PROMPT, len(said))


def test_max_new_zero_still_emits_a_token_or_eats_the_prompt(engine, session):
    counter = ForwardCounter(engine)
    burst = generate_spec_session(session, PROMPT, 0)
    assert burst.tokens == []
    assert session.state == "FRESH"
    assert session.history == []
    assert counter.count == 0
    counter.remove()


def test_double_feed_on_resume_of_a_parked_session(engine, oracle, session):
    said = generate_spec_session(session, PROMPT, 7, ignore_eos=True).tokens
    spec_flush_pending(session)
    spec_flush_pending(session)
    assert session.state == "PREDICTED"
    assert session.history == PROMPT + said
    more = generate_spec_session(session, [], 9, ignore_eos=True).tokens
    assert said + more == oracle.continuation(PROMPT, len(said) + len(more))
    spec_flush_pending(session)
    history = session.history
    again = generate_spec_session(session, [60, 61], 5, ignore_eos=True).tokens
    assert again == oracle.continuation([*history, 60, 61], len(again))


def test_parking_between_bursts_leaves_a_mark_on_the_stream(engine, oracle):
    session = engine.new_session(drafter="ngram", draft_len=5)
    said = generate_spec_session(session, PROMPT, 5, ignore_eos=True, overshoot="trim").tokens
    for budget in (1, 6, 2, 9, 1):
        spec_flush_pending(session)
        said += generate_spec_session(session, [], budget, ignore_eos=True, overshoot="trim").tokens
    assert said == oracle.continuation(PROMPT, 24)
    session.close()


def test_more_tokens_are_shown_than_were_asked_for(engine, oracle):
    session = engine.new_session(drafter=right_drafter(oracle), draft_len=7)
    first = generate_spec_session(session, PROMPT, 3, ignore_eos=True, overshoot="trim")
    assert (len(first.tokens), first.visible, first.overshoot) == (3, 3, 0)
    trimmed = [event for event in session.trace if event.kind == "overshoot" and event.action == "trimmed"]
    assert len(trimmed[-1].tokens) > 0
    second = generate_spec_session(session, [], 4, ignore_eos=True)
    assert second.visible == 4
    assert second.overshoot == len(second.tokens) - 4
    session.close()


def test_first_text_waits_for_the_whole_burst(session):
    rounds_before = []
    generate_spec_session(
        session,
        PROMPT,
        20,
        ignore_eos=True,
        on_tokens=lambda new: rounds_before.append((len(new), session.telem.rounds)) or True,
    )
    assert rounds_before[0] == (0, 0)
    first = next(item for item in rounds_before if item[0])
    assert first == (1, 0), "the first token came with or after a round"
    assert all(count <= 8 for count, _ in rounds_before)


def test_a_stopped_client_keeps_the_model_busy(engine, session):
    counter = ForwardCounter(engine)
    at_stop = []

    def stop(new):
        if len(session.history) > len(PROMPT) + 3:
            at_stop.append(counter.count)
            return False
        return True

    burst = generate_spec_session(session, PROMPT, 200, ignore_eos=True, on_tokens=stop)
    assert burst.reason == "cancelled"
    assert [counter.count] == at_stop
    counter.remove()
