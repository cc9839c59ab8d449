"""A flush parks a session; resuming takes the flushed token up again, so that parking leaves no mark on the stream."""

from __future__ import annotations

from dataclasses import replace

import pytest

import engine.burst
from engine import SamplingParams, spec_flush_pending, spec_rewind_to_checkpoint
from engine.events import DrawEvent, FlushEvent, RewindEvent, RoundEvent
from engine.rewind import drop_overshoot
from engine.take_back import take_back
from tests.engine.sampling.play import Play
from tests.engine.sampling.replay import require_reproducible
from tests.engine.sampling.table_trunk import TRUNK, TableEngine, table_drafter
from tests.engine.sampling.talks import talk

WARM = SamplingParams(temperature=1.2, presence_penalty=0.3, penalty_last_n=6, seed=31)
OTHER = SamplingParams(temperature=0.9, top_k=4, seed=32)
PARKED = [(drafter, verify) for drafter in ("table", "point", "ngram") for verify in ("rejection", "coupled")]


def started(drafter="table", verify="rejection", new=9) -> Play:
    """A session with a turn behind it, PENDING."""
    play = Play(TableEngine(TRUNK, slots=1).new_session(table_drafter(drafter), 3), verify)
    play.burst(WARM, [1, 2, 3], new)
    return play


def finish(play: Play) -> tuple[list[int], int, int]:
    """Its next tokens, and its counters; everything in the trace accounted for."""
    play.burst(WARM, [], 12)
    play.burst(WARM, [4], 8)
    play.require_sound()
    require_reproducible(play.choices)
    return play.session.history, play.session.sctr, play.session.uctr


@pytest.mark.parametrize(("drafter", "verify"), PARKED)
def test_resuming_carries_the_flushed_token_again(drafter, verify):
    plain, parked = started(drafter, verify), started(drafter, verify)
    session = parked.session
    token, rows, history = session.pending_tok, len(session.committed), session.history
    spec_flush_pending(session)
    spec_flush_pending(session)  # nothing is left to flush
    assert (session.state, session.parked_tok, session.history) == ("PREDICTED", token, history)
    assert len(session.committed) == rows + 1 and len(session.trace.of(FlushEvent)) == 1

    parked.burst(WARM, [], 1)
    event = session.trace.of(RewindEvent)[-1]
    assert (event.cause, event.start, event.to) == ("unpark", rows + 1, rows)
    assert session.trace.of(RoundEvent)[-1].pending == token, "the token begins the round it would have begun"
    plain.burst(WARM, [], 1)
    assert finish(parked) == finish(plain)


@pytest.mark.parametrize(("drafter", "verify"), PARKED)
def test_a_parked_session_takes_a_new_message_as_any_other(drafter, verify):
    plain, parked = started(drafter, verify), started(drafter, verify)
    spec_flush_pending(parked.session)
    for play in (plain, parked):
        play.burst(WARM, [4, 0], 6)
    assert not parked.session.trace.of(RewindEvent), "the flushed row stays where it is"
    assert finish(parked) == finish(plain)


def test_a_greedy_burst_goes_on_from_the_prediction_and_gives_the_same_tokens():
    plain, parked = started(), started()
    spec_flush_pending(parked.session)
    for play in (plain, parked):
        play.burst(None, [], 7)
    assert not parked.session.trace.of(RewindEvent)
    plain, parked = plain.session.history, parked.session.history
    shared = min(len(plain), len(parked))
    assert plain[:shared] == parked[:shared] and shared >= 9 + 7 + 3


@pytest.mark.parametrize("settings", [WARM, OTHER])
def test_a_change_of_drafter_or_settings_while_parked_is_no_fault(settings):
    play = started("table")
    spec_flush_pending(play.session)
    play.session.set_drafter(table_drafter("point"), 5)
    play.burst(settings, [], 6)
    assert play.choices[-1].event.drafter == "point"
    finish(play)


def test_a_resumption_that_is_cancelled_at_entry_stays_parked():
    play = started()
    spec_flush_pending(play.session)
    before = (play.session.state, play.session.parked_tok, play.session.committed[:])
    assert play.burst(WARM, [], 4, on_tokens=lambda tokens: False).reason == "cancelled"
    assert play.burst(WARM, [], 0).tokens == []
    assert (play.session.state, play.session.parked_tok, play.session.committed) == before
    plain = started()
    assert finish(play) == finish(plain)


def test_a_parked_end_of_turn_stays_one():
    play = started()
    stop = frozenset([play.session.pending_tok])
    spec_flush_pending(play.session)
    burst = play.burst(WARM, [], 5, stop_ids=stop)
    assert (burst.reason, burst.tokens, play.session.state) == ("stop", [], "PREDICTED")
    assert play.burst(WARM, [], 5, ignore_eos=True).tokens
    finish(play)


@pytest.mark.parametrize("leave", ["rewind", "take back"])
def test_after_going_back_nothing_is_parked_any_more(leave):
    play = started()
    spec_flush_pending(play.session)
    if leave == "rewind":
        spec_rewind_to_checkpoint(play.session)
    else:
        take_back(play.session, len(play.session.history) - 2)
    assert play.session.parked_tok is None
    play.burst(WARM, [], 5)
    assert play.session.trace.of(DrawEvent)[-1].cause == ("first" if leave == "rewind" else "resume")
    assert "unpark" not in {event.cause for event in play.session.trace.of(RewindEvent)}
    finish(play)


# -- trimmed tokens ----------------------------------------------------------------------------------------------------


def trimmed(verify="rejection") -> tuple[Play, tuple[int, ...]]:
    """A play whose last round was trimmed, and what was dropped."""
    play = Play(TableEngine(TRUNK, slots=1).new_session(table_drafter("table"), 5), verify)
    play.burst(WARM, [1, 2, 3], 2, overshoot="trim")
    while not play.session.trace.of(RoundEvent)[-1].trimmed:
        play.burst(WARM, [], 2, overshoot="trim")
    return play, play.session.trace.of(RoundEvent)[-1].trimmed


@pytest.mark.parametrize("meanwhile", ["nothing", "flush", "eviction", "another drafter"])
def test_a_trimmed_token_comes_back_as_it_was_drawn(meanwhile):
    play, dropped = trimmed()
    sctr, session = play.session.sctr, play.session
    if meanwhile == "flush":
        spec_flush_pending(session)
    elif meanwhile == "eviction":
        Play(session.engine.new_session()).burst(None, [1], 1)
        assert session.slot is None
    elif meanwhile == "another drafter":
        session.set_drafter("ngram")
    burst = play.burst(WARM, [], 1)
    assert burst.tokens[0] == dropped[0] and burst.origin[0] == "bonus"
    assert play.choices[-1].place == "kept" and session.sctr == sctr
    finish(play)


@pytest.mark.parametrize("settings", [OTHER, replace(WARM, seed=33)])
def test_under_other_settings_or_another_seed_it_is_drawn_anew(settings):
    play, _ = trimmed()
    play.burst(settings, [], 1)
    assert play.choices[-1].place == "resume" and play.session.trace.of(DrawEvent)[-1].cause == "resume"
    finish(play)


def test_a_greedy_burst_does_not_use_it():
    play, _ = trimmed()
    assert play.session.next_pred == play.session.last_logits.argmax()
    expected = play.session.next_pred
    assert play.burst(None, [], 1).tokens[0] == expected
    finish(play)


def test_what_nobody_was_shown_is_dropped_and_drawn_anew():
    play = started(new=2)
    while len(play.session.tail.tokens) < 3:
        play.burst(WARM, [], 1)
    drop_overshoot(play.session, 2)
    play.burst(WARM, [], 1)
    assert play.session.trace.of(DrawEvent)[-1].cause == "resume"
    finish(play)


def test_trimming_leaves_no_mark_on_a_coupled_stream():
    plain = talk(TableEngine(TRUNK), table_drafter("table"), 5, WARM, [([1, 2, 3], 40)], verify="coupled")
    play, _ = trimmed("coupled")
    while len(play.choices) < 40:
        play.burst(WARM, [], 3, overshoot="trim")
    assert [choice.token for choice in play.choices][:40] == list(plain.turns[0])
    require_reproducible(play.choices)
    play.require_sound()


# -- teeth -------------------------------------------------------------------------------------------------------------


def test_a_resumption_that_draws_from_the_prediction_leaves_a_mark(monkeypatch):
    """Unpark left out: the tokens would have the right distribution, and parking would show."""
    plain, parked = started(), started()
    spec_flush_pending(parked.session)
    monkeypatch.setattr(engine.burst, "unpark", lambda session: None)
    parked.burst(WARM, [], 12)
    plain.burst(WARM, [], 12)
    assert parked.session.history != plain.session.history
    assert parked.session.sctr != plain.session.sctr or parked.session.uctr != plain.session.uctr


def test_a_trimmed_token_that_is_drawn_anew_is_noticed(monkeypatch):
    real = engine.burst.resume_choice

    def anew(session, rule, *, begins):
        session.drawn = None
        return real(session, rule, begins=begins)

    monkeypatch.setattr(engine.burst, "resume_choice", anew)
    play, _ = trimmed()
    play.burst(WARM, [], 1)
    assert play.choices[-1].place == "resume"
