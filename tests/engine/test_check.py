"""check_exact: says identical when it is, finds a planted difference, can be cancelled, disturbs nothing."""

from __future__ import annotations

import pytest

from engine import SessionStateError, check_exact, generate_spec_session, spec_flush_pending, spec_rewind_to_checkpoint
from engine.events import CheckEvent, RoundEvent

PROMPT = [5, 9, 14, 30, 7, 5, 9, 14]


@pytest.fixture
def played(tiny_engine):
    """A session with turns, a continuation, a trim, a flush, a rewind and a changed drafter behind it."""
    session = tiny_engine("llama").new_session(drafter="ngram")
    generate_spec_session(session, PROMPT, 25, ignore_eos=True)
    generate_spec_session(session, [], 11, ignore_eos=True, overshoot="trim")
    generate_spec_session(session, [40, 41], 9, ignore_eos=True)
    spec_rewind_to_checkpoint(session)
    session.set_drafter("none")
    generate_spec_session(session, [], 6, ignore_eos=True)
    spec_flush_pending(session)
    session.set_drafter("ngram", 3)
    generate_spec_session(session, [50, 51, 52], 30, ignore_eos=True)
    yield session
    session.close()


def _state(session):
    return (session.history, session.state, session.cache_len(), session.rewind_points(), session.telem.to_dict())


def test_every_generated_token_is_compared_and_nothing_changes(played):
    before, slots = _state(played), len(played.engine.slots)
    told: list[tuple[int, int]] = []
    event = check_exact(played, lambda done, total: bool(told.append((done, total))) or True)
    assert event.identical and event.tokens == len(played.history) - len(PROMPT) - 2 - 3
    assert told[0] == (0, event.tokens) and told[-1][0] == event.tokens - 1
    assert _state(played) == before and len(played.engine.slots) == slots
    assert played.trace.of(CheckEvent)[-1] == event


@pytest.mark.parametrize("where", ["early", "late", "pending"])
def test_a_planted_difference_is_found_with_its_gap(played, where):
    generated = [i for i, how in enumerate(played.chosen[: len(played.committed)]) if how]
    index = {"early": generated[3], "late": generated[-1], "pending": len(played.committed)}[where]
    truth = played.history[index]
    if where == "pending":
        played.pending_tok = truth ^ 1
    else:
        played.committed[index] = truth ^ 1
    event = check_exact(played)
    assert (event.identical, event.index, event.expected, event.actual) == (False, index, truth, truth ^ 1)
    assert event.gap is not None and event.gap > 0


def test_a_round_that_accepts_a_wrong_draft_is_found(tiny_engine, monkeypatch):
    """Teeth: an accept rule that takes one draft too many."""
    from engine.rules import greedy as greedy_rule

    real = greedy_rule.accept_greedy

    def generous(drafts, choices, stops):
        lie = list(choices)
        wrong = next((i for i, d in enumerate(drafts) if d != lie[i]), None)
        if wrong is not None:
            lie[wrong] = drafts[wrong]
        return real(drafts, lie, stops)

    session = tiny_engine("llama").new_session(drafter="ngram")
    monkeypatch.setattr(greedy_rule, "accept_greedy", generous)
    generate_spec_session(session, PROMPT, 30, ignore_eos=True)
    assert any(e.drafted for e in session.trace.of(RoundEvent))
    assert not check_exact(session).identical
    session.close()


def test_it_can_be_cancelled_and_says_how_far_it_came(played):
    event = check_exact(played, lambda done, total: done < 5)
    assert (event.identical, event.cancelled, event.tokens, event.index) == (False, True, 5, None)
    assert check_exact(played).identical


def test_the_session_cannot_run_meanwhile(played):
    def interfere(done: int, total: int) -> bool:
        with pytest.raises(SessionStateError, match="another call runs"):
            generate_spec_session(played, [], 1)
        return done < 2

    check_exact(played, interfere)


def test_an_evicted_session_is_checked_without_taking_a_slot(tiny_engine):
    engine = tiny_engine("llama", slots=1)
    first, second = engine.new_session(drafter="ngram"), engine.new_session()
    generate_spec_session(first, PROMPT, 12, ignore_eos=True)
    generate_spec_session(second, PROMPT, 2, ignore_eos=True)
    assert first.slot is None
    assert check_exact(first).identical and first.slot is None and second.slot is not None
    first.close()
    second.close()


def test_a_fresh_session_has_nothing_to_differ(tiny_engine):
    session = tiny_engine("llama").new_session()
    event = check_exact(session)
    assert event.identical and event.tokens == 0
    session.close()
