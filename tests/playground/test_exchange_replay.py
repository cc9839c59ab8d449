"""Scrubbing and playing a recorded trace: at every position the panels show what they showed live."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import events as ev
from engine.chat import ChatSession
from engine.trace import Trace, TraceHeader
from playground.exchange import export_trace, import_trace, replay_feed
from playground.exchange.replay import LONGEST_WAIT_S, Playhead, Recording, record
from playground.exchange.replay_feed import ReplayFeed
from playground.exchange.replay_status import ReplayStatus
from playground.panels import LiveStatus, PanelFeed
from tests.playground.plays import act
from tests.playground.synthetic import SyntheticSession
from tests.playground.test_panels_feed import Page
from tests.playground.words import WordTokenizer

actions = st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=12)
READINGS = ("state", "committed", "pending", "hidden_overshoot")


def recording_of(codes: list[int]) -> Recording:
    session = SyntheticSession(1)
    for code in (40, *codes):
        act(session, code)
    return record(import_trace(export_trace(session.trace, WordTokenizer())))


def with_times(*times: float) -> Recording:
    trace = Trace(TraceHeader("x"))
    for number, time in enumerate(times):
        trace._events.append(ev.ContextEvent(seq=number, t=time, action="clamped", used=1, max_ctx=9))
    return record(trace)


@settings(max_examples=60, deadline=None)
@given(
    actions,
    st.lists(st.integers(0, 200), min_size=1, max_size=8),
    st.sampled_from([1, 20, 400]),
    st.sampled_from([1, 5, 1000]),
)
def test_however_one_gets_there_a_position_shows_the_same(
    codes: list[int], stops: list[int], leap: int, every: int
) -> None:
    recording = recording_of(codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay_feed, "LEAP", leap)
        patch.setattr(replay_feed, "EVERY", every)
        feed, page = ReplayFeed("r", recording), Page()
        for stop in stops:
            page.take(feed.seek(stop))
    direct, live = Page(), PanelFeed("r", WordTokenizer())
    live.update(recording.taken(stops[-1]), feed.status)
    direct.take(live.full(feed.status))
    again = Page()
    again.take(feed.full())
    assert page.seen() == direct.seen() == again.seen()
    assert direct.texts.items() <= page.texts.items()
    assert feed.index == recording.inside(stops[-1])
    straight = ReplayFeed("r", recording)
    straight.seek(stops[-1])
    assert feed.talk() == straight.talk()


def test_keyframes_that_share_what_changes_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth of the above: the same object at every keyframe is one that has gone on since."""
    recording = recording_of([12, 9, 20, 36, 9, 33] * 8)
    monkeypatch.setattr(replay_feed, "EVERY", 5)
    monkeypatch.setattr(replay_feed, "LEAP", 1)
    shown = []
    for copy in (replay_feed.copied, lambda known: known):
        monkeypatch.setattr(replay_feed, "copied", copy)
        feed, page = ReplayFeed("r", recording), Page()
        for stop in (len(recording.events), 40):
            page.take(feed.seek(stop))
        shown.append(page.seen())
    assert shown[0] != shown[1]


def test_a_page_goes_back_without_asking_for_anything() -> None:
    """As the page's store decides it: a delta of another stream that says everything is taken as it is."""
    feed = ReplayFeed("r", recording_of([8, 35, 33, 34]))
    first, back = json.loads(feed.seek(30)), json.loads(feed.seek(10))
    assert back["full"] == 1 and back["e"] != first["e"]
    forward = json.loads(feed.seek(11))
    assert "full" not in forward and (forward["e"], forward["n"]) == (back["e"], back["n"] + 1)


@settings(max_examples=80, deadline=None)
@given(actions, st.integers(0, 4))
def test_the_status_is_the_sessions_own(codes: list[int], seed: int) -> None:
    session, status, seen = SyntheticSession(seed), ReplayStatus(), 0
    for code in codes:
        act(session, code)
        for event in session.trace.since(seen):
            status.take(event)
        seen = session.trace.next_seq
        assert differences(status.reading(), session.status()) == {}


def differences(told: LiveStatus, real: LiveStatus) -> dict[str, Any]:
    pairs = {name: (getattr(told, name), getattr(real, name)) for name in READINGS}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@pytest.mark.parametrize("overshoot", ["keep", "trim"])
def test_the_status_is_a_real_sessions(tiny_engine: Any, monkeypatch: pytest.MonkeyPatch, overshoot: str) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    monkeypatch.setattr(engine, "prefill_chunk", 16)
    chat = ChatSession(engine)
    session, dice = chat.session, random.Random(3)
    session.set_drafter("ngram", 7)
    status, seen = ReplayStatus(session.trace.header.settings), 0

    def stop_in_prefill(_: object) -> bool:
        return session.trace.since(0)[-1].kind != "prefill"

    for step in range(20):
        options: dict[str, Any] = {"max_new": dice.randint(1, 12), "burst": dice.choice([1, 3, 32])}
        if step % 5 == 4:
            assert not chat.send("not now, not now, not now", on_tokens=stop_in_prefill).tokens
        elif step % 4 == 0 or not chat.can_continue:
            chat.send("again again again " * 3, overshoot=overshoot, **options)
        elif step % 4 == 1:
            chat.continue_turn(overshoot=overshoot, **options)
        elif step % 4 == 2:
            chat.regenerate(overshoot=overshoot, stop=["a"] if step % 8 == 2 else [], **options)
        else:
            chat.rewind(session.rewind_points()[-1])
        for event in session.trace.since(seen):
            status.take(event)
        seen = session.trace.next_seq
        told = status.reading()
        assert (told.state, told.committed, told.pending) == (
            session.state,
            len(session.committed),
            session.pending_tok,
        )
        assert list(told.rewind_points) == session.rewind_points()
        assert (told.drafter, told.max_ctx, told.running) == (session.drafter.name, 512, False)
        assert told.hidden_overshoot == (len(chat.turn.hidden) if chat.turn else 0)
    assert told.tok_s > 0
    session.close()


def test_a_status_that_forgets_rewinds_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth of the comparisons above."""
    session, status = SyntheticSession(1), ReplayStatus()
    for code in (8, 35, 9):
        act(session, code)
    for event in session.trace.since(0):
        if not isinstance(event, ev.RewindEvent):
            status.take(event)
    assert any(isinstance(event, ev.RewindEvent) for event in session.trace)
    assert "committed" in differences(status.reading(), session.status())


def test_long_waits_are_shortened_and_a_clock_that_runs_back_stands_still() -> None:
    recording = with_times(5.0, 5.5, 4000.0, 3999.0, 4000.5)
    assert recording.times == (0.0, 0.5, 0.5 + LONGEST_WAIT_S, 0.5 + LONGEST_WAIT_S, 2.0 + LONGEST_WAIT_S)
    assert recording.seconds == 4.0
    empty = with_times()
    assert (empty.seconds, empty.index_at(9.0), empty.step(0, empty.rounds)) == (0.0, 0, 0)
    assert Playhead().started(empty).moved(empty, 1.0) == Playhead()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(0, 3), max_size=9),
    st.lists(st.floats(0, 2), min_size=1, max_size=9),
    st.sampled_from([0.1, 0.5, 1.0, 10.0]),
)
def test_playing_goes_on_whatever_the_ticks(waits: list[float], ticks: list[float], speed: float) -> None:
    recording = with_times(*(sum(waits[:place]) for place in range(len(waits) + 1)))
    head = Playhead(speed=speed).started(recording)
    before = 0
    for tick in ticks:
        head = head.moved(recording, tick)
        index = recording.index_at(head.seconds)
        assert before <= index <= len(recording.events)
        before = index
    once = Playhead(speed=speed).started(recording).moved(recording, sum(ticks))
    assert once.seconds == pytest.approx(head.seconds)
    assert head.playing == (head.seconds < recording.seconds) or recording.seconds == pytest.approx(head.seconds)


def test_a_playhead_waits_until_the_next_event_comes() -> None:
    recording = with_times(0.0, 1.0, 1.5)
    head = Playhead(speed=2.0)
    assert head.wait_s(recording) is None, "it does not play"
    head = head.started(recording)
    assert head.wait_s(recording) == 0.5
    head = head.moved(recording, 0.5)
    assert (recording.index_at(head.seconds), head.wait_s(recording)) == (2, 0.25)
    head = head.moved(recording, 60.0)
    assert (head.playing, head.seconds, head.wait_s(recording)) == (False, 1.5, None)
    assert head.started(recording).seconds == 0.0, "at the end it begins again"
    assert recording.index_at(head.at(recording, 2).seconds) == 2


@settings(max_examples=60, deadline=None)
@given(actions, st.integers(0, 200))
def test_steps_go_from_stop_to_stop(codes: list[int], start: int) -> None:
    recording = recording_of(codes)
    index = recording.inside(start)
    for stops in (recording.rounds, recording.turns):
        after = [stop for stop in stops if stop > index]
        before = [stop for stop in stops if stop < index]
        assert recording.step(index, stops) == (after[0] if after else len(recording.events))
        assert recording.step(index, stops, -1) == (before[-1] if before else 0)
        assert recording.step(index, stops, 2) == (after[1] if len(after) > 1 else len(recording.events))
        assert recording.step(index, stops, -len(stops) - 1) == 0
    for place in recording.rounds:
        event = recording.events[place - 1]
        assert isinstance(event, ev.RoundEvent)
        assert recording.after_round(event.round) == place == recording.after_seq(event.seq)
    assert recording.after_round(-1) == 0 and recording.after_seq(-1) == 0
    assert recording.index_at(recording.time_of(index)) >= index
    assert list(recording.taken(index)) == list(recording.events[:index])
    assert recording.taken(-5) == () and recording.taken(10**9) == recording.events
