"""Events to deltas, without a browser: deltas add up to `full`, fates add up to what was drafted, ticks stay small."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import events as ev
from engine.telemetry import SpecTelemetry
from playground.panels import LiveStatus, PanelFeed
from playground.panels.rounds_model import DETAILED, Fate, Row
from tests.playground.plays import act, play
from tests.playground.synthetic import SyntheticSession
from tests.playground.words import WordTokenizer

actions = st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=14)
STREAMS = ("m", "p", "z")
GROUPS = ("f", "s", "a", "c", "g", "y")


class Page:
    """What a page holds after the deltas it was given: the reader of assets/store.js, in Python."""

    def __init__(self) -> None:
        self.sid, self.n = "", 0
        self.rounds: dict[int, list[Any]] = {}
        self.streams: dict[str, list[Any]] = {name: [] for name in STREAMS}
        self.groups: dict[str, dict[str, Any]] = {name: {} for name in GROUPS}
        self.turn = -1
        self.tokens: list[list[int]] = []
        self.texts: dict[str, str] = {}

    def take(self, text: str) -> None:
        d = json.loads(text)
        if d.get("full"):
            first = (d["r"][0][0] if d["r"] else 0) - len(d["old"])
            self.__init__()  # type: ignore[misc]
            self.rounds = {first + i: [fates] for i, fates in enumerate(d["old"])}
        else:
            assert d["n"] == self.n + 1
        self.sid, self.n = d["sid"], d["n"]
        for row in d.get("r", ()):
            self.rounds[row[0]] = row
        for number, fates, length in d.get("o", ()):
            self.rounds[number][7:9] = [fates, length]
        for name in STREAMS:
            self.streams[name] += d.get(name, [])
        for name in GROUPS:
            self.groups[name].update(d.get(name, {}))
        if d.get("t"):
            self.turn, keep, added = d["t"]
            self.tokens = self.tokens[:keep] + added
        self.texts.update(d.get("v", {}))

    def seen(self) -> dict[str, Any]:
        """Everything but texts, with rounds older than a resync details as fates alone."""
        numbers = sorted(self.rounds)
        rows = {}
        for number in numbers:
            row = self.rounds[number]
            fates = row[7] if len(row) > 1 else row[0]
            rows[number] = row if number > numbers[-1] - DETAILED else [fates]
        return {
            "rounds": rows,
            "streams": self.streams,
            "groups": self.groups,
            "turn": self.turn,
            "tokens": self.tokens,
        }


def replay(codes: list[int], seed: int = 1) -> tuple[SyntheticSession, PanelFeed, Page]:
    session, page = SyntheticSession(seed), Page()
    feed = PanelFeed("s", WordTokenizer())
    for code in codes:
        act(session, code)
        page.take(feed.update(session.trace.since(feed.next_seq), session.status()))
    return session, feed, page


@given(actions, st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_deltas_one_by_one_are_the_same_as_everything_at_once(codes: list[int], seed: int) -> None:
    session, feed, page = replay(codes, seed)
    fresh = Page()
    fresh.take(feed.full(session.status()))
    assert page.seen() == fresh.seen()
    assert fresh.texts.items() <= page.texts.items()


@given(actions, st.integers(0, 5), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_how_events_are_cut_into_ticks_does_not_matter(codes: list[int], seed: int, step: int) -> None:
    session, _, page = replay(codes, seed)
    feed, other = PanelFeed("s", WordTokenizer()), Page()
    every = session.trace.since(0)
    for start in range(0, len(every), step):
        other.take(feed.update(every[start : start + step], session.status()))
    assert other.seen() == page.seen()


@given(actions, st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_every_draft_has_one_fate_and_counts_agree_with_the_telemetry(codes: list[int], seed: int) -> None:
    session, feed, page = replay(codes, seed)
    telem, fates = SpecTelemetry(), Counter[str]()
    for event in session.trace.of(ev.RoundEvent):
        telem.record(len(event.drafted), event.accepted, event.emitted)
        digits = page.rounds[event.round][7]
        assert len(digits) == len(event.drafted) + 1
        kept = [digit for digit in digits[:-1] if digit in "156"]
        assert len(kept) == event.accepted
        fates.update(digits)
    assert sum(fates.values()) == telem.drafted + telem.rounds
    dropped = sum(len(e.tokens) for e in session.trace.of(ev.OvershootEvent) if e.action == "dropped")
    trimmed = sum(len(e.tokens) for e in session.trace.of(ev.OvershootEvent) if e.action == "trimmed")
    assert fates[str(int(Fate.DROPPED))] == dropped + trimmed
    assert feed.telem == telem
    counts = page.groups["a"]
    assert counts["n"] == telem.draft_rounds
    assert counts["accepted"] == telem.pos_accepted[: len(counts["accepted"])]
    assert sum(counts["accepted"]) == telem.accepted
    assert all(a <= t for a, t in zip(counts["accepted"], counts["tested"], strict=True))
    transitions = Counter(e.transition for e in session.trace.of(ev.PendingEvent))
    assert {name: count for name, count in page.groups["c"].items() if count} == dict(transitions)


@given(actions, st.integers(0, 5))
@example([0, 0, 1], 0)  # a rewind with no round between it and a prefill
@settings(max_examples=60, deadline=None)
def test_the_last_length_drawn_is_the_committed_length(codes: list[int], seed: int) -> None:
    session, _, page = replay(codes, seed)
    lengths = [(number, row[8]) for number, row in page.rounds.items()]
    lengths += [
        (mark[0], mark[3] if mark[1] == "rewind" else mark[2])
        for mark in page.streams["m"]
        if mark[1] in ("fill", "rewind")
    ]
    # Marks at one x are in order; a later x is later.
    assert sorted(enumerate(lengths), key=lambda item: (item[1][0], item[0]))[-1][1][1] == session.committed


def make_round(**fields: Any) -> ev.RoundEvent:
    times = {"draft_ms": 0.1, "verify_ms": 1.0, "accept_ms": 0.1, "host_ms": 0.1}
    place = {"turn": 0, "burst": 0, "round": 0, "pos": 10, "width": 8, "drafter": "ngram"}
    base = {"pending": 1, "drafted": (5, 6, 7), "accepted": 2, "bonus": 9, "emitted": 3}
    return ev.RoundEvent(**(place | times | base | fields))


@pytest.mark.parametrize(
    ("fields", "over", "dropped", "fates"),
    [
        ({}, 0, 0, "1124"),
        ({"accepted": 3, "emitted": 4}, 0, 0, "1113"),
        ({"accepted": 0, "emitted": 1}, 0, 0, "2224"),
        ({"drafted": (), "accepted": 0, "emitted": 1}, 0, 0, "8"),
        ({"accepted": 2, "bonus": None, "emitted": 2}, 0, 0, "1170"),
        ({}, 1, 0, "1125"),
        ({}, 2, 0, "1525"),
        ({}, 1, 1, "1526"),
        ({"emitted": 1, "trimmed": (6, 9)}, 0, 2, "1626"),
        ({"accepted": 3, "bonus": None, "emitted": 3}, 1, 0, "1150"),
    ],
)
def test_fates_of_one_round(fields: dict[str, Any], over: int, dropped: int, fates: str) -> None:
    assert Row(make_round(**fields), 0, over, dropped).fates == fates


def test_overshoot_is_marked_then_shown_or_dropped_on_rows_sent_before() -> None:
    session, page, feed = SyntheticSession(2), Page(), PanelFeed("s", WordTokenizer())

    def tick() -> None:
        page.take(feed.update(session.trace.since(feed.next_seq), session.status()))

    session.turn()
    while session.round() < 3:
        pass
    tick()
    number = session.rounds - 1
    before = page.rounds[number][7]
    session.end_burst(over=2)
    tick()
    assert page.rounds[number][7].count("5") == 2
    session.resume()
    tick()
    assert page.rounds[number][7] == before
    session.end_burst(over=2)
    session.turn()
    tick()
    assert page.rounds[number][7].count("6") == 2


def test_a_tick_with_two_rounds_is_about_a_kilobyte_at_most() -> None:
    session, feed, sizes = SyntheticSession(5), PanelFeed("5f" * 16, WordTokenizer()), []
    for number, _ in enumerate(play(session, turns=2, bursts=4, rounds=16)):
        if number % 2:
            rounds = sum(event.kind == "round" for event in session.trace.since(feed.next_seq))
            delta = feed.update(session.trace.since(feed.next_seq), session.status(tok_s=40 + number / 7))
            sizes.append((len(delta.encode()), rounds))
    usual = sorted(size for size, rounds in sizes if rounds == 2)
    assert len(usual) > 30
    assert usual[len(usual) // 2] <= 900
    assert usual[-1] <= 1200


def test_full_stays_bounded_in_a_long_session() -> None:
    session, feed = SyntheticSession(4), PanelFeed("s", WordTokenizer())
    session.turn()
    for _ in range(60):
        for _ in range(50):
            session.round()
        feed.update(session.trace.since(feed.next_seq), session.status())
    full = json.loads(feed.full(session.status()))
    assert len(full["r"]) == DETAILED
    assert len(full["old"]) == 3000 - DETAILED
    page = Page()
    page.take(json.dumps(full | {"t": None, "v": {}}))
    assert len(json.dumps(full["old"])) < 12 * len(full["old"])
    assert sorted(page.rounds) == list(range(3000))


def test_events_seen_twice_count_once_and_a_hole_starts_the_picture_anew() -> None:
    session, feed = SyntheticSession(1), PanelFeed("s", WordTokenizer())
    session.turn()
    for _ in range(6):
        session.round()
    every = session.trace.since(0)
    feed.update(every, session.status())
    feed.update(every, session.status())
    assert feed.telem.rounds == 6
    for _ in range(6):
        session.round()
    feed.update(session.trace.since(feed.next_seq + 2), session.status())
    full = json.loads(feed.full(session.status()))
    assert [row[0] for row in full["r"]] == [8, 9, 10, 11]


def test_rows_given_up_and_computed_again_and_a_check_are_marked_in_order() -> None:
    session = SyntheticSession(3)
    session.turn()
    session.round()
    for event in (
        ev.ContextEvent(action="evicted", used=40, max_ctx=512),
        ev.ContextEvent(action="reprimed", used=40, max_ctx=512),
        ev.CheckEvent(identical=True, tokens=12, drawn=3),
        ev.CheckEvent(identical=False, tokens=5, cancelled=True),
        ev.CheckEvent(identical=False, tokens=5, index=9, expected=1, actual=2),
    ):
        session.trace.append(event)
    full = json.loads(feed_of(session).full(LiveStatus()))
    assert [mark for mark in full["m"] if mark[1] in ("context", "check")] == [
        [0.4, "context", "evicted", 40],
        [0.6, "context", "reprimed", 40],
        [0.6, "check", "identical", 12, 3],
        [0.6, "check", "stopped", 5, 0],
        [0.6, "check", "different", 5, 0],
    ]


def feed_of(session: SyntheticSession) -> PanelFeed:
    feed = PanelFeed("s", WordTokenizer())
    feed.update(session.trace.since(0), LiveStatus())
    return feed


def test_the_delta_after_a_full_repeats_every_reading() -> None:
    feed = PanelFeed("s", WordTokenizer())
    page = Page()
    page.take(feed.update([], LiveStatus(running=False)))
    page.take(feed.full(LiveStatus(running=True)))
    page.take(feed.update([], LiveStatus(running=False)))
    assert page.groups["s"]["running"] is False


def test_update_and_full_may_be_called_from_two_threads() -> None:
    session, feed, page = SyntheticSession(6), PanelFeed("s", WordTokenizer()), Page()
    fulls: list[str] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            fulls.append(feed.full(LiveStatus()))

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in play(session, turns=3):
        page.take(feed.update(session.trace.since(feed.next_seq), session.status()))
    stop.set()
    thread.join()
    for text in fulls[:: max(1, len(fulls) // 20)]:
        Page().take(text)
    last = Page()
    last.take(feed.full(session.status()))
    assert last.seen() == page.seen()


def test_figures_say_what_the_field_says() -> None:
    session, _, page = replay([0, 28, 37, 0, 44, 30])
    rounds = session.trace.of(ev.RoundEvent)
    drafted = [event for event in rounds if event.drafted]
    emitted = sum(event.emitted for event in rounds)
    accepted = sum(event.accepted for event in rounds)
    figures = page.groups["f"]
    assert figures["tokens_per_round"] == f"{emitted / len(rounds):.2f}"
    assert figures["mean_acceptance_length"] == f"{1 + accepted / len(drafted):.2f}"
    assert figures["draft_acceptance_rate"] == f"{accepted / sum(len(e.drafted) for e in drafted):.1%}"
    assert figures["rounds"].split(" · ")[0] == str(len(rounds))
    assert figures["pending"] == session.state
    assert figures["context"].split(" · ")[0] == f"{session.committed} / {session.max_ctx}"
    empty = json.loads(PanelFeed("s", WordTokenizer()).full(LiveStatus()))["f"]
    assert empty["tokens_per_round"] == empty["draft_acceptance_rate"] == empty["context"] == "—"
