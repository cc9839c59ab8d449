"""Races on a tiny real engine: the same tokens, both sessions closed, rows that give way, and a full context."""

from __future__ import annotations

from typing import Any

import pytest

from playground.race.decoder import EngineDecoder
from playground.race.options import RaceOptions, check_race
from playground.race.race import Race
from playground.settings import Settings

PROMPT = "The quick brown fox jumps over the lazy dog. The quick brown"


def options(how: str = "greedy", max_new: int = 48, prompt: str = PROMPT, draft_len: int = 5) -> RaceOptions:
    return check_race(prompt, "ngram", draft_len, max_new, how, 0.9, 0, 0.95, 11, settings=Settings())


def raced(engine: Any, asked: RaceOptions, give_way: Any = lambda: None) -> Race:
    race = Race(1, asked, lambda: engine, EngineDecoder(), give_way)
    race.run()
    return race


@pytest.mark.parametrize("how", ["greedy", "coupled"])
def test_both_lanes_give_the_same_tokens_and_leave_nothing_behind(tiny_engine, how):
    engine = tiny_engine("llama")
    before = len(engine.slots)
    race = raced(engine, options(how))
    assert race.error == "" and race.phase == "done"
    assert race.plain.tokens == race.other.tokens
    assert race.outcome is not None and race.outcome.verdict.same == "identical"
    assert len(engine.slots) == before
    plain, other = race.outcome.plain, race.outcome.other
    assert plain.tokens_per_round == 1 and plain.acceptance is None
    assert race.outcome.speed_up is not None and race.outcome.whole_speed_up is not None
    assert set(plain.stages) == {"prefill", "draft", "verify", "accept", "host", "rest"}
    assert sum(plain.stages.values()) == pytest.approx(1e3 * race.plain.seconds)
    assert other.rounds <= plain.rounds
    texts = ["".join(piece.text for piece in lane.pieces) for lane in race.lanes]
    assert texts[0] == texts[1] != ""


def test_coupled_races_are_the_chat_of_that_seed_whatever_k_is(tiny_engine):
    engine = tiny_engine("llama")
    assert raced(engine, options("coupled", draft_len=2)).other.tokens == raced(engine, options("coupled")).plain.tokens


def test_rejection_keeps_the_distribution_only(tiny_engine):
    race = raced(tiny_engine("llama"), options("rejection"))
    assert race.outcome is not None and race.outcome.verdict.same == "distribution"


def test_with_one_slot_the_rows_give_way_and_come_back_bit_for_bit(tiny_engine):
    engine = tiny_engine("llama", slots=1)
    race = raced(engine, options())
    assert race.plain.tokens == race.other.tokens
    assert race.plain.rebuilt > 0 and race.other.rebuilt > 0
    assert race.outcome is not None and "gave way" in race.outcome.sentences[-1]


def test_a_full_context_ends_a_lane_and_a_prompt_too_long_is_said(tiny_engine):
    engine = tiny_engine("llama", max_ctx=96)
    race = raced(engine, options(max_new=200))
    assert race.phase == "done"
    assert [lane.reason for lane in race.lanes] == ["context", "context"]
    assert race.plain.tokens == race.other.tokens
    long = raced(engine, options(prompt=PROMPT * 20))
    assert long.phase == "failed" and "context is full" in long.error


def test_stop_ends_it_between_the_rounds(tiny_engine):
    race: Race

    def stop_soon() -> None:
        if len(race.plain.tokens) >= 20:
            race.stop()

    race = Race(1, options(max_new=200), lambda: tiny_engine("llama"), EngineDecoder(), stop_soon)
    race.run()
    assert race.phase == "stopped" and race.outcome is not None
    assert race.outcome.verdict.sentence.startswith("Identical so far")
    assert 20 <= len(race.plain.tokens) < 60
