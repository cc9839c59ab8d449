"""Top alternatives of a row: the softmax's largest, in order, nothing impossible."""

from __future__ import annotations

import pytest
import torch

from engine.alternatives import alternatives
from engine.burst import run_burst
from engine.events import RoundEvent
from engine.round import Round
from engine.rules import GREEDY
from engine.sampled_burst import rule_for
from engine.sampling import SamplingParams


def test_they_are_the_largest_probabilities_in_order():
    scores = torch.randn(3, 50, generator=torch.Generator().manual_seed(3)) * 3
    for row, found in zip(torch.softmax(scores, -1), alternatives(scores, 5), strict=True):
        assert [token for token, _ in found] == row.argsort(descending=True)[:5].tolist()
        assert all(abs(chance - float(row[token])) < 1e-5 for token, chance in found)


def test_removed_tokens_are_left_out_and_few_are_no_error():
    scores = torch.tensor([[0.0, -torch.inf, 0.0, -torch.inf]])
    assert alternatives(scores, 3) == (((0, 0.5), (2, 0.5)),)
    assert alternatives(scores, 0) == () and alternatives(scores[:0], 3) == ()


@pytest.mark.parametrize("params", [None, SamplingParams(temperature=0.7, top_k=4, seed=3)])
def test_a_round_notes_them_when_asked_and_chooses_as_before(tiny_engine, tiny_checkpoint, params):
    engine = tiny_engine("llama")

    def play(count: int) -> tuple[list[int], list[RoundEvent]]:
        session = engine.new_session(drafter=f"model:{tiny_checkpoint('llama')}", draft_len=3)
        session.alternatives = count
        rule = GREEDY if params is None else rule_for(session, params, "rejection")
        burst = run_burst(session, [5, 9, 3], 24, ignore_eos=True, rule=rule)
        events = session.trace.of(RoundEvent)
        session.close()
        return burst.tokens, events

    (plain, silent), (tokens, rounds) = play(0), play(4)
    assert tokens == plain and all(event.trunk_top == event.draft_top == () for event in silent)
    for event in rounds:
        assert len(event.trunk_top) == event.accepted + 1 and len(event.draft_top) == len(event.drafted)
        assert all(1 <= len(row) <= 4 for row in (*event.trunk_top, *event.draft_top))
        if params is None:
            chosen = [*event.drafted[: event.accepted], event.bonus]
            assert [row[0][0] for row in event.trunk_top[: len(chosen)]] == chosen
            assert [row[0][0] for row in event.draft_top] == list(event.drafted)
        for p, draft, row in zip(event.test_p, event.drafted, event.trunk_top, strict=False):
            assert p == 0 or abs(dict(row)[draft] - p) < 1e-5
        for q, draft, row in zip(event.test_q, event.drafted, event.draft_top, strict=False):
            assert abs(dict(row)[draft] - q) < 1e-5


def test_the_stages_of_a_round_are_told_before_they_run(tiny_engine):
    session, told = tiny_engine("llama").new_session(drafter="ngram"), []

    def note(stage: str, step: Round) -> None:
        told.append((stage, step.decision is not None, len(session.committed)))

    burst = run_burst(session, [5, 9, 3, 5, 9], 6, ignore_eos=True, observer=lambda: note)
    rounds = session.trace.of(RoundEvent)
    assert [stage for stage, _, _ in told] == ["draft", "verify", "accept", "commit"] * len(rounds)
    assert [decided for _, decided, _ in told] == [False, False, False, True] * len(rounds)
    assert [length for stage, _, length in told if stage == "commit"] == [event.pos for event in rounds]
    assert len(burst.tokens) >= 6
    session.close()
