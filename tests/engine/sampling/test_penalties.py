"""Penalties: transformers' for repetition, by definition for the others, in every column and across every edge."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import RepetitionPenaltyLogitsProcessor

import engine.burst
import engine.rules.greedy as greedy
from engine import SamplingParams, check_exact, generate_spec_session_sampled
from engine.events import RoundEvent, SamplingEvent
from engine.round import Round
from engine.rules.shape import penalised
from tests.engine.sampling.closed_form import penalised as by_definition
from tests.engine.sampling.play import Play
from tests.engine.sampling.replay import require_reproducible
from tests.engine.sampling.table_trunk import DRAFT, TRUNK, TableDrafter, TableEngine, table_drafter
from tests.engine.sampling.talks import talk
from tests.factories import VOCAB
from tests.scripts import GarbageDrafter, tiny_script

TURNS = [*tiny_script(VOCAB, new=20, lengths=(17, 5), seed=8).turns, ((), 20)]
COLD = SamplingParams(temperature=0)
SETTINGS = {
    "repetition": replace(COLD, repetition_penalty=1.3),
    "repetition below 1": replace(COLD, repetition_penalty=0.8),
    "frequency": replace(COLD, frequency_penalty=0.7, penalty_last_n=12),
    "presence": replace(COLD, presence_penalty=1.5, penalty_last_n=9),
    "rewarded": replace(COLD, frequency_penalty=-0.2, presence_penalty=-0.3),
    "all": replace(COLD, repetition_penalty=1.15, frequency_penalty=0.3, presence_penalty=0.4, penalty_last_n=20),
}


def plain_walk(engine, turns, params):
    """The visible tokens of each turn: one token a forward, transformers' processor, argmax."""
    processor = RepetitionPenaltyLogitsProcessor(params.repetition_penalty)
    slot = engine.trunk.new_slot(engine.max_ctx + engine.width)
    history: list[int] = []
    said, prompt = [], 0
    for suffix, new in turns:
        history = [*history, *suffix] if suffix else history[:prompt]
        prompt = len(history)
        for _ in range(new):
            for position in range(min(slot.length, len(history) - 1), len(history)):
                slot.truncate(position)
                out = engine.trunk.forward(slot, position, [history[position]], engine.widths.round_width(1), keep=[0])
            slot.truncate(len(history))
            row = processor(torch.tensor([history]), out.logits[:1].float())[0]
            history.append(
                int(torch.tensor(by_definition(row, history, replace(params, repetition_penalty=1))).argmax())
            )
        said.append(tuple(history[prompt:]))
    return tuple(said)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", list(SETTINGS))
def test_greedy_with_penalties_is_a_plain_walk_on_penalised_logits(tiny_engine, tiny_checkpoint, name, dtype):
    engine, params = tiny_engine("llama", dtype), SETTINGS[name]
    said = plain_walk(engine, TURNS, params)
    assert said != talk(engine, "none", 0, None, TURNS, drop=True).turns, "penalties that change nothing prove nothing"
    accepted = 0
    for drafter, k, cut in (
        ("none", 0, None),
        ("ngram", 7, 5),
        (GarbageDrafter(VOCAB, right=0.9, truth=truth_of(said)), 5, 2),
        (f"model:{tiny_checkpoint('llama')}", 7, 1),
        (f"model:{tiny_checkpoint('qwen2')}", 3, 32),
    ):
        told = talk(engine, drafter, k, params, TURNS, drop=True, burst=cut)
        assert told.turns == said, (drafter, k)
        assert told.counters == (0, 0), "nothing is drawn"
        accepted += sum(round_[3] for round_ in told.rounds)
    assert accepted > 60


def truth_of(said):
    """What follows a history that ends within an answer."""

    def truth(history, count):
        for tokens in said:
            for place in range(len(tokens), 0, -1):
                if tuple(history[-place:]) == tokens[:place]:
                    return [*tokens[place : place + count], *[0] * count][:count]
        return [0] * count

    return truth


def test_check_exact_knows_the_penalties(tiny_engine):
    session = tiny_engine("llama").new_session("ngram")
    for params, suffix in ((SETTINGS["all"], TURNS[0][0]), (SETTINGS["frequency"], TURNS[1][0]), (COLD, [7, 8])):
        generate_spec_session_sampled(session, suffix, 12, params, ignore_eos=True)
    event = check_exact(session)
    assert event.identical and event.tokens >= 36 and not event.drawn
    session.chosen = [None if how is None else (greedy.GREEDY, how[1]) for how in session.chosen]
    assert not check_exact(session).identical
    session.close()


def test_settings_that_penalise_nothing_are_the_plain_rule():
    """A window of no tokens, and filters, which an argmax passes."""
    play = Play(TableEngine(TRUNK).new_session(table_drafter("table"), 3))
    for params in (
        replace(COLD, frequency_penalty=1.0, presence_penalty=1.0, penalty_last_n=0),
        replace(COLD, top_k=2, top_p=0.5, min_p=0.3, seed=4),
    ):
        play.burst(params, [1, 2], 6)
    assert play.session.rule is greedy.GREEDY or play.session.rule == greedy.GREEDY
    assert not play.session.trace.of(SamplingEvent)
    require_reproducible(play.choices)


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
@pytest.mark.parametrize("known", [2, 4])
def test_a_drafter_that_knows_fewer_ids_than_the_trunk(verify, known):
    """The context has tokens its rows have no column for."""
    drafter = TableDrafter(DRAFT)
    narrow = drafter.propose_by
    drafter.propose_by = lambda choose, *args: narrow(lambda row: choose(row[:known]), *args)
    play = Play(TableEngine(TRUNK).new_session(drafter, 3), verify)
    params = SamplingParams(temperature=1.5, presence_penalty=0.6, repetition_penalty=1.2, penalty_last_n=4, seed=3)
    for suffix in ([4, 3, 1], [], [2]):
        play.burst(params, suffix, 30)
    drafted = {token for event in play.session.trace.of(RoundEvent) for token in event.drafted}
    assert drafted == set(range(known)) and max(play.session.history) == len(TRUNK) - 1
    assert play.session.telem.accepted > 10
    play.require_sound()
    if verify == "coupled":
        require_reproducible(play.choices)


# -- teeth -------------------------------------------------------------------------------------------------------------


NEAR = replace(COLD, frequency_penalty=2.5, presence_penalty=2.5, penalty_last_n=4)


def as_a_plain_walk(tiny_engine, tiny_checkpoint, params) -> bool:
    engine = tiny_engine("llama")
    told = talk(engine, f"model:{tiny_checkpoint('llama')}", 5, params, TURNS, drop=True, burst=5)
    return told.turns == plain_walk(engine, TURNS, params)


def test_penalties_blind_to_the_accepted_prefix_of_the_round_are_noticed(monkeypatch, tiny_engine, tiny_checkpoint):
    assert as_a_plain_walk(tiny_engine, tiny_checkpoint, NEAR)

    def blind(logits, params, context, drafts):
        return torch.cat([penalised(row[None], params, context, []) for row in logits])

    monkeypatch.setattr(greedy, "penalised", blind)
    assert not as_a_plain_walk(tiny_engine, tiny_checkpoint, NEAR)


def test_penalties_reset_at_a_burst_edge_are_noticed(monkeypatch, tiny_engine, tiny_checkpoint):
    class Forgetful(Round):
        def __init__(self, session, *args):
            super().__init__(session, *args)
            bursts = [event for event in session.trace if event.kind == "burst"]
            done = bursts[-1].committed if bursts and bursts[-1].turn == session.turn else 0
            self.context = self.context[done + 1 :]

    monkeypatch.setattr(engine.burst, "Round", Forgetful)
    assert not as_a_plain_walk(tiny_engine, tiny_checkpoint, SETTINGS["all"])
