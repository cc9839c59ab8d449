"""One seed, one stream: rejection whatever the cut into bursts, coupled whatever the drafter and K as well."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engine import SamplingParams, generate_spec_session, spec_flush_pending
from engine.rules import CoupledRule
from tests.engine.sampling.account import ANSWER
from tests.engine.sampling.closed_form import scores
from tests.engine.sampling.numbers import noise
from tests.engine.sampling.table_trunk import TRUNK, TableEngine, table_drafter
from tests.engine.sampling.talks import talk
from tests.factories import VOCAB
from tests.scripts import GarbageDrafter, tiny_script

WARM = SamplingParams(temperature=0.9, top_k=40, top_p=0.95, presence_penalty=0.4, penalty_last_n=16, seed=77)
SHARP = SamplingParams(temperature=0.35, repetition_penalty=1.1, seed=2**40 + 3)
SCRIPT = tiny_script(VOCAB, new=13, lengths=(17, 5), seed=4)
TURNS = [*SCRIPT.turns, ((), 13)]
CUTS = (1, 2, 5, 32, None)
TABLE_TURNS = [((1, 2, 3), 24), ((4,), 16), ((), 16)]
COOL = replace(SHARP, temperature=0.7)
"""A table repeats itself at lower temperatures."""


def rival(session):
    """Another session takes the rows of this one, which has to compute them again."""
    other = session.engine.new_session("none")
    generate_spec_session(other, [3, 4], 1, ignore_eos=True)
    assert session.slot is None
    other.close()


def flush_and_lose(session):
    spec_flush_pending(session)
    rival(session)


# -- rejection: however it is cut --------------------------------------------------------------------------------------

EDGES = {"park": spec_flush_pending, "evict": rival, "park and evict": flush_and_lose}


def require_one_stream(engine, drafter, k, sampling, turns, verify="rejection", **options):
    """`drafter()` makes one for each talk."""
    whole = talk(engine, drafter(), k, sampling, turns, verify=verify, **options)
    for cut in CUTS:
        assert talk(engine, drafter(), k, sampling, turns, verify=verify, burst=cut, **options) == whole, cut
    assert talk(engine, drafter(), k, sampling, turns, verify=verify, stop_each_round=True, **options) == whole
    for name, edge in EDGES.items():
        assert talk(engine, drafter(), k, sampling, turns, verify=verify, burst=3, at_edge=edge, **options) == whole, (
            name
        )
    return whole


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
@pytest.mark.parametrize("sampling", [WARM, COOL])
@pytest.mark.parametrize("drafter", ["table", "point", "ngram"])
def test_bursts_stops_parking_and_eviction_change_nothing_on_a_table(drafter, sampling, verify):
    engine = TableEngine(TRUNK, slots=1)
    whole = require_one_stream(engine, lambda: table_drafter(drafter), 4, sampling, TABLE_TURNS, verify)
    assert any(accepted > 0 for _, _, _, accepted, *_ in whole.rounds)
    assert len(set(whole.turns[0])) > 2 and whole.turns[1] != whole.turns[2]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("drafter", ["ngram", "model"])
def test_bursts_stops_parking_and_eviction_change_nothing(tiny_engine, tiny_checkpoint, drafter, dtype):
    """The draft model is the trunk's own checkpoint, so that most drafts are right."""
    name = drafter if drafter == "ngram" else f"model:{tiny_checkpoint('llama')}"
    whole = require_one_stream(tiny_engine("llama", dtype, slots=1), lambda: name, 3, SHARP, TURNS)
    assert drafter == "ngram" or sum(round_[3] for round_ in whole.rounds) > len(whole.rounds)


# -- coupled: plain sampling ------------------------------------------------------------------------------------------


def plain_sampling(engine, turns, params):
    """The visible tokens of each turn, one token a forward, from closed-form scores and the noise of their index."""
    slot = engine.trunk.new_slot(engine.max_ctx + engine.width)
    history: list[int] = []
    said, prompt = [], 0
    for number, (suffix, new) in enumerate(turns):
        history = [*history, *suffix] if suffix else history[:prompt]
        prompt = len(history)
        for place in range(new):
            at = min(slot.length, len(history) - 1)
            for position in range(at, len(history)):  # every row alone
                slot.truncate(position)
                out = engine.trunk.forward(slot, position, [history[position]], engine.widths.round_width(1), keep=[0])
            slot.truncate(len(history))
            row = scores(out.logits[0].float(), history, params)
            noisy = [a + b for a, b in zip(row, noise(params.seed, number * ANSWER + place, len(row)), strict=True)]
            history.append(noisy.index(max(noisy)))
        said.append(tuple(history[prompt:]))
    return tuple(said)


def make_drafter(name, said, tiny_checkpoint):
    """The garbage drafter guesses the stream itself and is spoilt at random."""
    if name != "garbage":
        return {"own": f"model:{tiny_checkpoint('llama')}", "other": f"model:{tiny_checkpoint('qwen2')}"}.get(
            name, name
        )
    ends = [list(tokens) for tokens in said]

    def truth(history, count):
        for tokens in ends:
            for place in range(len(tokens), 0, -1):
                if history[-place:] == tokens[:place]:
                    return (tokens[place:] + [0] * count)[:count]
        return [0] * count

    return GarbageDrafter(VOCAB, right=0.8, truth=truth)


@pytest.mark.parametrize("drafter", ["none", "ngram", "garbage", "own", "other"])
def test_coupled_is_plain_sampling_for_every_drafter_k_and_cut(tiny_engine, tiny_checkpoint, drafter):
    engine = tiny_engine("llama")
    said = plain_sampling(engine, TURNS, WARM)
    assert len(set(said[0])) > 7 and said[1] != said[2], "an answer again is another one"
    accepted = 0
    for k in range(8):
        told = talk(
            engine,
            make_drafter(drafter, said, tiny_checkpoint),
            k,
            WARM,
            TURNS,
            verify="coupled",
            burst=CUTS[k % 5],
            drop=True,
        )
        assert told.turns == said, k
        accepted += sum(round_[3] for round_ in told.rounds)
    assert accepted > 80 or drafter not in ("garbage", "own")


@pytest.mark.parametrize("arch", ["llama", "mistral"])
def test_so_it_is_in_bf16(tiny_engine, tiny_checkpoint, arch):
    engine = tiny_engine(arch, "bfloat16")
    said = plain_sampling(engine, TURNS, SHARP)
    for drafter, k, cut in (("none", 0, 1), ("ngram", 7, 5), ("garbage", 3, None), ("garbage", 6, 2), ("own", 7, 32)):
        told = talk(
            engine,
            make_drafter(drafter, said, tiny_checkpoint),
            k,
            SHARP,
            TURNS,
            verify="coupled",
            burst=cut,
            drop=True,
        )
        assert told.turns == said, (drafter, k, cut)


@pytest.mark.parametrize("sampling", [WARM, COOL])
def test_so_it_is_on_a_table(sampling):
    engine = TableEngine(TRUNK, slots=1)
    said = plain_sampling(engine, TABLE_TURNS, sampling)
    for drafter in ("none", "ngram", "point", "table"):
        for k in range(8):
            told = talk(
                engine,
                table_drafter(drafter),
                k,
                sampling,
                TABLE_TURNS,
                verify="coupled",
                burst=CUTS[k % 5],
                drop=True,
                at_edge=(lambda session: None, spec_flush_pending, rival)[k % 3],
            )
            assert told.turns == said, (drafter, k)


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
@pytest.mark.parametrize("drafter", ["table", "point", "ngram"])
def test_a_device_that_is_read_once_a_round_gives_the_same_stream(drafter, verify):
    """Shaped in one piece, drawn without being seen, walked together: the same numbers at the same counters."""
    for params in (WARM, COOL):
        there = TableEngine(TRUNK, slots=1, device=True)
        here = talk(TableEngine(TRUNK), table_drafter(drafter), 5, params, TABLE_TURNS, verify=verify, burst=5)
        assert talk(there, table_drafter(drafter), 5, params, TABLE_TURNS, verify=verify, burst=5) == here
        assert there.device_path.reads == len(here.rounds)


def test_a_drafter_with_the_same_noise_guesses_better_than_a_greedy_one():
    """What the coupling is for: with the trunk's own table every guess is right."""
    engine = TableEngine(TRUNK)
    perfect = table_drafter("table")
    perfect.table = TRUNK
    rounds = talk(engine, perfect, 4, SamplingParams(temperature=1.5, seed=1), TABLE_TURNS, verify="coupled").rounds
    assert all(accepted == len(drafted) for _, _, drafted, accepted, *_ in rounds)


# -- temperature -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
@pytest.mark.parametrize("temperature", [0, 1e-4])
def test_cold_sampling_is_greedy(tiny_engine, tiny_checkpoint, temperature, verify):
    cold = SamplingParams(temperature=temperature, seed=5)
    engine, own = tiny_engine("llama"), f"model:{tiny_checkpoint('llama')}"
    greedy = talk(engine, "none", 0, None, TURNS, drop=True)
    for drafter, k in (("none", 0), ("ngram", 7), (own, 4)):
        told = talk(engine, drafter, k, cold, TURNS, verify=verify, drop=True, burst=5)
        assert told.turns == greedy.turns, (drafter, k)
        same = talk(engine, drafter, k, None, TURNS, drop=True, burst=5)
        assert temperature or told == same, "temperature 0 is the greedy burst itself"
    assert (told.counters == (0, 0)) == (temperature == 0)


# -- the default checkpoint --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_streams_of_the_default_checkpoint(default_engine):
    torch.set_num_threads(2)
    ids = default_engine.tokenizer.encode("one two three four, " * 4 + "one two")
    params = SamplingParams(temperature=0.6, top_p=0.95, seed=7)
    turns = [(ids, 12), (ids[:6], 8)]
    said = talk(default_engine, "none", 0, params, turns, verify="coupled", drop=True).turns
    assert talk(default_engine, "ngram", 7, params, turns, verify="coupled", drop=True, burst=5).turns == said
    whole = talk(default_engine, "ngram", 7, params, turns)
    assert talk(default_engine, "ngram", 7, params, turns, burst=3, at_edge=spec_flush_pending) == whole
    assert any(accepted for _, _, _, accepted, *_ in whole.rounds)


# -- teeth -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["stands still", "by what was drafted"])
def test_a_coupled_index_that_moves_wrongly_changes_the_stream(monkeypatch, broken):
    engine = TableEngine(TRUNK)
    said = plain_sampling(engine, TABLE_TURNS, COOL)
    real = CoupledRule.accept

    def accept(self, logits, context, drafts, *args):
        decision = real(self, logits, context, drafts, *args)
        return replace(decision, draws=0 if broken == "stands still" else len(drafts) + 1)

    monkeypatch.setattr(CoupledRule, "accept", accept)
    assert talk(engine, table_drafter("point"), 4, COOL, TABLE_TURNS, verify="coupled", drop=True).turns != said


def test_answers_that_do_not_begin_at_a_block_depend_on_k(monkeypatch):
    """How far the turn before was computed past its end would show in the next one."""
    monkeypatch.setattr(CoupledRule, "start", lambda self, counter: counter)
    engine = TableEngine(TRUNK)
    streams = {
        talk(engine, table_drafter("table"), k, WARM, TABLE_TURNS, verify="coupled", drop=True).turns for k in range(8)
    }
    assert len(streams) > 1
