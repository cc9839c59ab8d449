"""A player goes where it is told, plays at its speed, and says what a page lacks; a long trace is quick."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from playground.exchange import export_trace, import_trace
from playground.exchange.replay import SPEEDS, record
from playground.replay.facts import facts_of
from playground.replay.player import LONGEST_TICK_S, Player
from playground.replay.replays import Replays
from tests.playground.plays import act, play
from tests.playground.still_clock import Clock
from tests.playground.synthetic import SyntheticSession
from tests.playground.words import WordTokenizer


def player_of(*codes: int, clock: Callable[[], float] = Clock()) -> Player:  # noqa: B008
    session = SyntheticSession(1)
    for code in (40, *codes):
        act(session, code)
    return Player("r", record(import_trace(export_trace(session.trace, WordTokenizer()))), clock)


def test_a_player_goes_where_it_is_told() -> None:
    player = player_of(8, 35, 33, 34, 12, 36, 9, 35)
    last, rounds, turns = len(player.recording.events), player.recording.rounds, player.recording.turns
    assert player.look().where["at"] == last
    assert player.step(-1, "round").where["at"] == max(stop for stop in rounds if stop < last)
    assert player.step(-2, "event").where["at"] == player.look().where["at"]
    assert player.go(rounds[3]).where["at"] == rounds[3]
    assert player.step(2, "round").where["at"] == rounds[5]
    assert player.step(-1, "turn").where["at"] == max(stop for stop in turns if stop < rounds[5])
    assert player.go(-9).where["at"] == 0 and player.go(10**9).where["at"] == last


def test_it_plays_at_its_speed_and_a_page_that_slept_goes_on_from_where_it_was() -> None:
    clock = Clock()
    player = player_of(8, 35, 33, 34, 12, 36, clock=clock)
    recording = player.recording
    object.__setattr__(recording, "times", tuple(0.5 * place for place in range(len(recording.events))))
    player.go(0)
    where = player.play(True, 2.0).where
    assert (where["playing"], where["speed"], where["at"]) == (True, 2.0, 0)
    clock.now += 0.5
    assert player.tick().where["s"] == 1.0 and player.look().where["at"] == 3
    clock.now += 3600
    assert player.tick().where["s"] == 1.0 + 2 * LONGEST_TICK_S
    assert player.play(True, 3.0).where["speed"] == 2.0, "not offered"
    for _ in range(200):
        clock.now += 1
        where = player.tick().where
    assert (where["playing"], where["at"]) == (False, len(recording.events))
    assert player.play(True).where["at"] == 1, "from the beginning again"
    assert player.step(1, "round").where["playing"] is False
    assert SPEEDS == (0.5, 1.0, 2.0, 5.0, 10.0)


def test_an_answer_carries_only_the_lines_that_changed() -> None:
    player = player_of(40, 35, 40, 36, 9, 40, 35)
    shown: list[Any] = []
    for to in (0, 3, 200, 20, 21, 25, 200, 0, 200):
        where = player.go(to).where
        shown = [*shown[: where["keep"]], *where["talk"]]
        assert shown == player._feed.talk()
    assert player.go(200).where["talk"] == []
    assert player.look().where["talk"] == shown and shown


def test_facts_say_what_a_trace_holds_and_where_its_turns_begin() -> None:
    session = SyntheticSession(3)
    for _ in play(session, turns=3, bursts=2, rounds=4):
        pass
    recording = record(import_trace(export_trace(session.trace, WordTokenizer())))
    facts = facts_of(recording)
    assert (facts["turns"], facts["rounds"], facts["events"]) == (3, session.rounds, len(session.trace))
    assert facts["marks"] == [[place, number] for number, place in enumerate(recording.turns, start=1)]
    assert facts["texts"] is True and facts["missing"] == 0


def test_ten_thousand_rounds_open_and_scrub_without_a_wait() -> None:
    """In processor seconds, which others on the machine do not change: about 1.2 and 0.03 where this was written."""
    session, dice = SyntheticSession(1, max_ctx=200_000), random.Random(2)
    for _ in play(session, turns=40, bursts=10, rounds=25):
        pass
    data = export_trace(session.trace, WordTokenizer(), compressed=True)
    start = time.process_time()
    _, player = Replays().open("a", data)
    assert time.process_time() - start < 4.0
    costs = []
    for _ in range(30):
        start = time.process_time()
        player.go(dice.randrange(len(session.trace)))
        costs.append(time.process_time() - start)
    assert sorted(costs)[15] < 0.12
