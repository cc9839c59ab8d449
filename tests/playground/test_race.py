"""A race on a fake engine: who runs when, what the clocks count, and how it ends in every way it can."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import EngineError
from playground.limits import Refused
from playground.race.decoder import Choosing
from playground.race.lane import Lane
from playground.race.options import RaceOptions, check_race
from playground.race.race import WARM_NEW, Race
from playground.race.races import KEPT, Races
from playground.settings import Settings
from tests.playground.measuring_fakes import FakeDecoder, MeasuredEngine, eventually, ready_service

GOOD: dict[str, Any] = {
    "prompt": "one two three", "drafter": "ngram", "draft_len": 3, "max_new": 48, "how": "greedy",
    "temperature": 0.8, "top_k": 0, "top_p": 0.95, "seed": 7,
}  # fmt: skip


def options(**other: Any) -> RaceOptions:
    return check_race(**(GOOD | other), settings=Settings())


def race_on(engine: MeasuredEngine, decoder: FakeDecoder, **other: Any) -> Race:
    """A race that has been run."""
    race = Race(1, options(**other), lambda: engine, decoder, give_way=lambda: decoder.log.append("way"))
    race.run()
    return race


def test_bursts_alternate_the_line_moves_between_them_and_both_sessions_are_closed():
    engine, decoder = MeasuredEngine(), FakeDecoder()
    race = race_on(engine, decoder)
    assert race.phase == "done" and race.error == ""
    assert decoder.log[:2] == ["none", "ngram"], "both are warmed up"
    turns = decoder.log[2:]
    assert turns[1::2] == ["way"] * (len(turns) // 2), "the line has its turn after every burst"
    assert turns[0::2] == ["none", "ngram", "ngram", "none", "none", "ngram"], "who goes first changes"
    assert [lane.reason for lane in race.lanes] == ["length", "length"]
    assert len(engine.sessions) == 4 and all(session.closed for session in engine.sessions)


def test_same_tokens_whatever_is_past_the_budget():
    race = race_on(MeasuredEngine(), FakeDecoder(), draft_len=7, max_new=45)
    assert race.plain.tokens == race.other.tokens and len(race.plain.tokens) == 45
    assert race.outcome is not None and race.outcome.verdict.same == "identical"
    assert race.outcome.verdict.sentence == "Identical: all 45 tokens are the same, one for one."
    assert {piece.draft for piece in race.plain.pieces} == {False}
    assert 0 < sum(piece.draft for piece in race.other.pieces) < 45


def test_a_drafter_that_changes_the_text_is_found_out():
    race = race_on(MeasuredEngine(wrong_at=20), FakeDecoder())
    assert race.outcome is not None and race.outcome.verdict.same == "different"
    says = race.outcome.verdict.sentence
    assert says == (
        "Not identical: after 19 tokens that are, at position 20 plain decoding gives “ w150” where speculation gives "
        "“ w151”."
    )
    engine = MeasuredEngine(wrong_at=20)
    engine.exact = False
    unsure = race_on(engine, FakeDecoder())
    assert unsure.outcome is not None and "does not claim exactness" in unsure.outcome.verdict.sentence


def test_rejection_is_not_compared_token_for_token():
    race = race_on(MeasuredEngine(wrong_at=20), FakeDecoder(), how="rejection")
    assert race.outcome is not None and race.outcome.verdict.same == "distribution"
    assert "keeps the distribution, not the text" in race.outcome.verdict.sentence
    coupled = race_on(MeasuredEngine(wrong_at=20), FakeDecoder(), how="coupled")
    assert coupled.outcome is not None and coupled.outcome.verdict.same == "different"


def test_an_answer_that_ends_earlier_ends_both():
    race = race_on(MeasuredEngine(answer=21), FakeDecoder())
    assert [lane.reason for lane in race.lanes] == ["stop", "stop"]
    assert len(race.plain.tokens) == 21 and race.phase == "done"


def test_a_clock_runs_only_while_its_lane_decodes():
    now = SimpleNamespace(at=0.0)
    decoder = FakeDecoder(lambda session: setattr(now, "at", now.at + 0.25))
    lane = Lane("none", 0, 8, clock=lambda: now.at)
    lane.open(MeasuredEngine(), [1, 2])  # type: ignore[arg-type]
    lane.play(decoder, 4, Choosing(), lambda: True)
    assert (lane.seconds, lane.first_s, lane.last_s, lane.decoded) == (1.0, 0.25, 1.0, 3)
    now.at += 99.0
    lane.play(decoder, 4, Choosing(), lambda: True)
    assert (lane.seconds, lane.last_s, lane.reason) == (2.0, 2.0, "length")


def test_rows_that_gave_way_come_back_off_the_clock():
    engine, decoder = MeasuredEngine(), FakeDecoder()

    def evict() -> None:
        for session in engine.sessions:
            session.slot = None

    race = Race(1, options(), lambda: engine, decoder, give_way=evict)
    race.run()
    assert [session.reprimed for session in engine.sessions[2:]] == [2, 2]
    assert race.outcome is not None
    assert any("gave way to other sessions 4 times" in text for text in race.outcome.sentences)


def test_stop_keeps_what_was_measured_and_compares_it():
    engine, decoder = MeasuredEngine(), FakeDecoder()
    race = Race(1, options(max_new=1000), lambda: engine, decoder, give_way=lambda: None)
    decoder.before = lambda session: race.stop() if session.written == 100 else None
    race.run()
    assert race.phase == "stopped" and race.outcome is not None
    assert 90 < len(race.plain.tokens) < 120
    assert race.outcome.verdict.sentence.startswith("Identical so far: the first ")
    assert race.outcome.speed_up is not None
    assert all(session.closed for session in engine.sessions)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (EngineError("The context is full; shorten it."), "The context is full; shorten it."),
        (ValueError("/secret"), ""),
    ],
)
def test_an_error_keeps_what_was_measured_and_says_one_sentence(error, says, caplog):
    engine, decoder = MeasuredEngine(), FakeDecoder()

    def fail(session: Any) -> None:
        if session.written > 2 * WARM_NEW:
            raise error

    decoder.before = fail
    race = race_on(engine, decoder)
    assert race.phase == "failed" and race.outcome is not None
    assert race.outcome.plain.tokens == len(race.plain.tokens) > 0
    assert race.error == says or (not says and "Something went wrong" in race.error and "secret" not in race.error)
    assert all(session.closed for session in engine.sessions)


def test_no_engine_and_a_drafter_that_does_not_fit():
    def missing() -> Any:
        raise EngineError("Loading the default checkpoint")

    race = Race(1, options(), missing, FakeDecoder(), give_way=lambda: None)
    race.run()
    assert (race.phase, race.error, race.outcome) == ("failed", "Loading the default checkpoint", None)
    bad = Race(1, RaceOptions("a", "mtp", 3), MeasuredEngine, FakeDecoder(), give_way=lambda: None)
    bad.run()
    assert bad.phase == "failed" and "vocabularies differ" in bad.error


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("prompt", " ", "message is empty"),
        ("prompt", 3, "must be text"),
        ("drafter", "model:/etc/passwd", "Drafter must be one of none, ngram; others"),
        ("draft_len", 8, "Draft length K must be a whole number from 0 to 7."),
        ("max_new", 7, "New tokens must be"),
        ("max_new", float("nan"), "New tokens must be"),
        ("how", "argmax", "Tokens are chosen"),
        ("temperature", "hot", "Temperature must be a number."),
        ("temperature", 1e9, "Temperature must be"),
        ("top_p", 0, "Top-p must be above 0"),
        ("seed", -1, "Seed must be"),
    ],
)
def test_what_is_asked_is_checked(name, value, says):
    with pytest.raises(Refused, match=re.escape(says)):
        options(how="coupled", **{name: value}) if name != "how" else options(how=value)


def test_without_a_seed_both_lanes_get_one():
    drawn = options(how="coupled", seed=None).choosing.sampling
    assert drawn is not None and drawn.seed is not None
    assert options(how="coupled", temperature=0).choosing.mode == "greedy"


def test_one_race_at_a_time_for_a_visitor_and_stop_while_waiting():
    engine = MeasuredEngine(pace=0.002)
    service = ready_service(engine)
    try:
        races = Races(service, FakeDecoder())
        first = races.start("a", options(max_new=1000))
        with pytest.raises(Refused, match="still running"):
            races.start("a", options())
        second = races.start("b", options())
        eventually(lambda: second.phase == "done")
        assert not first.ended, "a short race does not wait for the end of a long one"
        races.stop("a")
        eventually(lambda: first.ended)
        assert first.phase == "stopped" and races.latest("a") is first
        eventually(lambda: races.start("a", options()).number == 3)
    finally:
        races.close()
        service.close()


def test_a_race_that_waits_is_stopped_at_once():
    service = ready_service(MeasuredEngine())
    try:
        races, held = Races(service, FakeDecoder()), threading.Event()
        service.worker.submit("other", held.wait)
        race = races.start("a", options())
        eventually(lambda: races.wait_of(race).ahead == 1)
        races.stop("a")
        assert (race.phase, race.outcome) == ("stopped", None)
        held.set()
    finally:
        service.close()


def test_the_oldest_ended_race_makes_room():
    service = ready_service(MeasuredEngine())
    try:
        races = Races(service, FakeDecoder())
        for visitor in range(KEPT + 1):
            race = races.start(str(visitor), options(max_new=8))
            eventually(lambda race=race: race.ended)
        assert races.latest("0") is None and races.latest("1") is not None
    finally:
        service.close()
