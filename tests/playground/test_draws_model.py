"""The rows of the random counters: what is sent, how small it is, and that it agrees with a real session."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import events as ev
from engine.chat import ChatSession
from engine.rules.coupled import BLOCK
from engine.sampling import SamplingParams
from playground.panels import LiveStatus, PanelFeed
from playground.panels.draws_model import DETAILED, KEPT, DrawsModel
from tests.playground.words import WordTokenizer

BIG = 2**64 - 1
COLD = SamplingParams(temperature=0.7, top_p=0.9, seed=BIG)


def round_event(number: int, **draws: Any) -> ev.RoundEvent:
    return ev.RoundEvent(
        turn=0,
        burst=0,
        round=number,
        pos=number,
        pending=1,
        drafted=(2,) * len(draws.get("test_u", ())),
        accepted=0,
        bonus=3,
        emitted=1,
        width=8,
        drafter="ngram",
        draft_ms=0.0,
        verify_ms=1.0,
        accept_ms=0.0,
        host_ms=0.0,
        **draws,
    )


def rule_event(mode: ev.Mode = "rejection", params: SamplingParams = COLD) -> ev.SamplingEvent:
    return ev.SamplingEvent(mode=mode, seed=params.seed, settings=params.as_settings(), pos=0, turn=0)


def sampled(number: int, tests: int = 2) -> ev.RoundEvent:
    numbers = {"test_p": (0.5,) * tests, "test_q": (1.0,) * tests, "test_u": (0.25,) * tests}
    return round_event(number, mode="rejection", sctr=number, draws=1, uctr=tests * number, **numbers)


def test_a_row_a_round_a_row_a_draw_and_a_row_a_rule() -> None:
    model = DrawsModel()
    model.add(rule_event())
    model.add(ev.DrawEvent(mode="rejection", cause="first", token=5, sctr=0, pos=4, turn=0))
    model.add(sampled(0))
    rule = [-0.5, "rule", "rejection", str(BIG), {"temperature": 0.7, "top_p": 0.9}]
    rows = [rule, [-0.4, 0, "first"], [0, 0, 1, 0, [0.5, 1.0, 0.25] * 2]]
    assert model.take() == rows and model.take() == []
    assert model.all() == rows


def test_a_greedy_session_costs_nothing() -> None:
    feed = PanelFeed("s", WordTokenizer())
    assert "k" not in json.loads(feed.update([round_event(0), round_event(1)], LiveStatus()))
    assert json.loads(feed.full(LiveStatus()))["k"] == []


def test_the_rule_outlives_a_clear_and_the_numbers_go_on() -> None:
    feed = PanelFeed("s", WordTokenizer())
    clear = ev.RewindEvent(turn=0, start=9, to=0, cause="clear", retained=())
    events = [rule_event(), sampled(0), sampled(1), clear, sampled(2)]
    delta = json.loads(feed.update([_numbered(event, i) for i, event in enumerate(events)], LiveStatus()))
    assert delta["n"] == 1 and [row[:2] for row in delta["k"]] == [[-1, "rule"], [0, 2]]
    assert json.loads(feed.full(LiveStatus()))["k"] == delta["k"]


def _numbered(event: ev.Event, seq: int) -> ev.Event:
    return replace(event, seq=seq)


def test_a_resync_is_bounded_and_still_knows_the_rule() -> None:
    model = DrawsModel()
    model.add(rule_event())
    for number in range(KEPT + 50):
        model.add(sampled(number, tests=7))
    rule, *rows = model.all()
    assert rule[1:3] == ["rule", "rejection"] and len(rows) == KEPT and rows[-1][0] == KEPT + 49
    assert rows[0][4] == 7 and isinstance(rows[-DETAILED][4], list) and rows[-DETAILED - 1][4] == 7
    assert len(json.dumps(model.all(), separators=(",", ":"))) < 120_000
    assert len(json.dumps(rows[-1], separators=(",", ":"))) < 160, "a wide round of seven tests"


@given(st.floats(0, 1, width=32), st.floats(0, 1, width=32), st.sampled_from([1.0, 0.5, 1e-7, 0.123456789]))
@settings(max_examples=200, deadline=None)
def test_short_numbers_keep_the_verdict(p: float, u: float, q: float) -> None:
    for near in (p, u * q, u * q * (1 + 1e-9)):
        model = DrawsModel()
        model.add(round_event(0, mode="rejection", draws=1, test_p=(near,), test_q=(q,), test_u=(u,)))
        short_p, short_q, short_u = model.take()[0][4]
        assert (short_u * short_q < short_p) == (u * q < near)


@pytest.mark.parametrize("verify", ["rejection", "coupled"])
def test_the_rows_are_the_sessions_counters_through_rewinds(tiny_engine: Callable[..., Any], verify: Any) -> None:
    chat = ChatSession(tiny_engine("llama", max_ctx=512))
    session = chat.session
    session.set_drafter("ngram", 5)
    sampling = SamplingParams(temperature=0.6, seed=3)
    chat.send("again again again again", max_new=24, burst=7, sampling=sampling, verify=verify)
    chat.regenerate(max_new=12, sampling=sampling, verify=verify)
    chat.rewind(session.rewind_points()[0])
    chat.send("again again again", max_new=9)
    chat.continue_turn(max_new=24, sampling=sampling, verify=verify)
    feed = PanelFeed("s", WordTokenizer())
    rows = json.loads(feed.update(list(session.trace), LiveStatus()))["k"]
    modes = [row[2] for row in rows if row[1] == "rule"]
    assert modes == [verify, "greedy", verify] and {row[3] for row in rows if row[1] == "rule"} == {"3", None}
    numbers = [row for row in rows if row[1] != "rule"]
    after = 0
    for row in numbers:
        assert row[1] >= after, "a counter never turns back"
        assert row[1] == after or (verify == "coupled" and row[1] % BLOCK == 0)
        after = row[1] + (1 if isinstance(row[2], str) else row[2])
    assert after == session.sctr
    rounds = [row for row in numbers if not isinstance(row[2], str)]
    assert sum(len(row[4]) // 3 for row in rounds) == session.uctr == rounds[-1][3] + len(rounds[-1][4]) // 3
    assert (session.uctr > 0) == (verify == "rejection")
