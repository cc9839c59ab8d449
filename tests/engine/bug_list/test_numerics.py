"""Faults of arithmetic that speculative sessions are known to have had."""

from __future__ import annotations

import pytest
import torch

from engine import generate_spec_session, spec_flush_pending
from tests.engine.bug_list.right_drafter import PROMPT
from tests.factories import VOCAB
from tests.scripts import GarbageDrafter, run_turn, tiny_script


@pytest.mark.parametrize("arch", ["llama", "mistral", "gemma"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_prefill_chunk_changes_what_a_row_holds(tiny_engine, arch, dtype):
    engine = tiny_engine(arch, dtype)
    prompt = (PROMPT * 6)[:83]
    hidden, tokens = [], []
    before = engine.prefill_chunk
    try:
        for chunk in (1, 3, 8, 17, 64, 256):
            engine.prefill_chunk = chunk
            session = engine.new_session(drafter="none")
            tokens.append(generate_spec_session(session, prompt, 12, ignore_eos=True).tokens)
            hidden.append(session.last_h.clone())
            session.close()
    finally:
        engine.prefill_chunk = before
    assert all(torch.equal(hidden[0], other) for other in hidden[1:])
    assert all(tokens[0] == other for other in tokens[1:])


def test_a_session_that_lived_differs_from_one_primed_with_its_tokens(engine):
    """Rows written by rounds, by prefill after a carry, by a flush: all must be the rows a fresh prefill writes."""
    session = engine.new_session(drafter=GarbageDrafter(VOCAB, seed=3), draft_len=7)
    for suffix, new in tiny_script(VOCAB, seed=8).turns:
        run_turn(session, suffix, new, 5, "keep")
        spec_flush_pending(session)
        run_turn(session, (), 4, 3, "trim")
    spec_flush_pending(session)
    fresh = engine.new_session(drafter="none")
    first = generate_spec_session(fresh, session.committed, 1, ignore_eos=True).tokens[0]
    assert first == session.next_pred
    assert torch.equal(fresh.last_h, session.last_h)
    session.close()
    fresh.close()


def test_last_hidden_is_not_the_predecessor_of_the_carried_token(engine):
    session = engine.new_session(drafter=GarbageDrafter(VOCAB), draft_len=7)
    generate_spec_session(session, PROMPT, 9, ignore_eos=True)
    for budget in (1, 2, 7):
        generate_spec_session(session, [], budget, ignore_eos=True)
        assert session.state == "PENDING"
        fresh = engine.new_session(drafter="none")
        generate_spec_session(fresh, session.committed, 1, ignore_eos=True)
        assert torch.equal(fresh.last_h, session.last_h)
        fresh.close()
    session.close()
