"""Faults of rewind points and context limits that speculative sessions are known to have had."""

from __future__ import annotations

import pytest

from engine import ContextFull, SessionStateError, generate_spec_session, spec_rewind_to_checkpoint
from tests.engine.bug_list.right_drafter import PROMPT, right_drafter
from tests.forwards import ForwardCounter


def test_a_rewind_point_holds_a_generated_token(engine, oracle, session):
    generate_spec_session(session, PROMPT, 6, ignore_eos=True)
    assert session.rewind_pos() == len(PROMPT)
    before = session.history
    generate_spec_session(session, [70, 71, 72, 73], 5, ignore_eos=True, checkpoint_at=len(before) + 2)
    assert session.rewind_points() == [len(PROMPT), len(before) + 2, len(before) + 4]
    generate_spec_session(session, [], 5, ignore_eos=True)
    assert session.rewind_pos() == len(before) + 4, "a continuation moved the point"


def test_a_rewritten_answer_never_meets_a_rewind_point(engine, oracle, session):
    """The next prompt repeats the last one up to the live assistant header: the point before it must serve."""
    header = len(PROMPT) - 3
    first = generate_spec_session(session, PROMPT, 8, ignore_eos=True, checkpoint_at=header).tokens
    counter = ForwardCounter(engine)
    assert spec_rewind_to_checkpoint(session, header) == header
    assert counter.count == 0
    counter.remove()
    rewritten = [80, *first[2:5], 81, 82]
    got = generate_spec_session(session, rewritten, 8, ignore_eos=True, overshoot="trim").tokens
    assert got == oracle.continuation(PROMPT[:header] + rewritten, 8)


def test_regenerating_needs_a_forward_or_says_something_else(engine, oracle, session):
    first = generate_spec_session(session, PROMPT, 9, ignore_eos=True, overshoot="trim").tokens
    for _ in range(3):
        counter = ForwardCounter(engine)
        assert spec_rewind_to_checkpoint(session) == len(PROMPT)
        assert counter.count == 0
        counter.remove()
        assert session.next_pred == first[0]
        assert generate_spec_session(session, [], 9, ignore_eos=True, overshoot="trim").tokens == first


def test_a_refused_rewind_does_not_say_why(engine, session):
    generate_spec_session(session, PROMPT, 4, ignore_eos=True)
    with pytest.raises(SessionStateError) as refusal:
        spec_rewind_to_checkpoint(session, 5)
    assert "5" in str(refusal.value)
    assert str(len(PROMPT)) in str(refusal.value), "the message does not name the point that is there"


def test_random_counters_run_backwards_on_rewind(session):
    generate_spec_session(session, PROMPT, 4, ignore_eos=True)
    session.sctr, session.uctr = 11, 7
    spec_rewind_to_checkpoint(session)
    assert (session.sctr, session.uctr) == (11, 7)


@pytest.mark.parametrize("draft_len", [1, 4, 7])
@pytest.mark.parametrize("drafter", ["none", "right"])
def test_a_burst_writes_past_the_end_of_the_context(tiny_engine, engine, oracle, drafter, draft_len):
    small = tiny_engine("llama", max_ctx=40)
    proposer = right_drafter(oracle) if drafter == "right" else drafter
    session = small.new_session(drafter=proposer, draft_len=draft_len)
    burst = generate_spec_session(session, PROMPT, 500, ignore_eos=True)
    assert burst.reason == "context"
    assert len(session.committed) == 40
    assert len(session.history) == 41
    assert burst.tokens == oracle.continuation(PROMPT, len(burst.tokens)), "a smaller context changed the text"
    with pytest.raises(ContextFull) as full:
        generate_spec_session(session, [], 5, ignore_eos=True)
    assert full.value.max_ctx == 40
    with pytest.raises(ContextFull):
        generate_spec_session(session, [5], 5, ignore_eos=True)
    assert session.state == "PENDING"
    spec_rewind_to_checkpoint(session)
    again = generate_spec_session(session, [], 500, ignore_eos=True)
    assert again.tokens == burst.tokens
    session.close()


def test_a_prompt_that_just_fits_is_refused_or_one_too_long_accepted(tiny_engine, oracle):
    small = tiny_engine("llama", max_ctx=40)
    prompt = (PROMPT * 3)[:40]
    session = small.new_session(drafter="ngram", draft_len=7)
    with pytest.raises(ContextFull):
        generate_spec_session(session, [*prompt, 9], 3)
    assert session.state == "FRESH"
    burst = generate_spec_session(session, prompt, 3, ignore_eos=True)
    assert burst.tokens == oracle.continuation(prompt, 1)
    assert burst.reason == "context"
    session.close()
