"""The panels' reading of a real session's trace against the session's own words."""

from __future__ import annotations

import json
import random

import pytest

from engine.chat import ChatSession
from engine.rewind import spec_rewind_to_checkpoint
from playground.panels import LiveStatus, PanelFeed


@pytest.mark.parametrize("overshoot", ["keep", "trim"])
@pytest.mark.parametrize("burst", [1, 3, 32])
def test_tokens_fates_and_lengths_agree_with_the_engine(tiny_engine, monkeypatch, burst: int, overshoot: str) -> None:
    engine = tiny_engine("llama", max_ctx=512)
    monkeypatch.setattr(engine, "prefill_chunk", 16)
    chat = ChatSession(engine)
    session = chat.session
    session.set_drafter("ngram", 7)
    feed, dice = PanelFeed("s", engine.tokenizer), random.Random(burst)
    shown: list[int] = []
    cases = {"hidden": 0, "cancelled in prefill": 0}

    def look() -> None:
        feed.update(session.trace.since(feed.next_seq), LiveStatus())
        assert feed.telem == session.telem
        assert feed.tokens.visible == shown
        assert feed.tokens.hidden == (chat.turn.hidden if chat.turn else [])
        fates = "".join(row.fates for row in feed.rounds.rows)
        assert fates.count("5") == len(feed.tokens.hidden), "the overshoot panel and the token view"
        assert fates.count("6") == feed.timeline.let_go, "the overshoot panel and the figure"

    def stop_in_prefill(_: object) -> bool:
        return session.trace.since(0)[-1].kind != "prefill"

    for step in range(14):
        kind = step % 5
        if kind == 0 or not chat.can_continue:
            turn = chat.send(
                "again again again " * (1 + step % 2), max_new=dice.randint(1, 12), burst=burst, overshoot=overshoot
            )
            shown = list(turn.tokens)
        elif kind == 3:
            turn = chat.send("not now, not now, not now", max_new=4, on_tokens=stop_in_prefill)
            assert not turn.tokens
            cases["cancelled in prefill"] += 1
        else:
            turn = chat.continue_turn(max_new=dice.randint(1, 9), burst=burst, overshoot=overshoot)
            shown = shown + turn.tokens
        look()
        cases["hidden"] += bool(feed.tokens.hidden)
        assert _last_length(feed) == len(session.committed)
        full = json.loads(feed.full(LiveStatus()))
        assert [row[0] for row in full["r"]] == list(range(session.telem.rounds))
    assert cases["cancelled in prefill"] > 1
    assert cases["hidden"] > 1 or overshoot == "trim"
    spec_rewind_to_checkpoint(session)
    feed.update(session.trace.since(feed.next_seq), LiveStatus())
    assert feed.tokens.visible == []
    full = json.loads(feed.full(LiveStatus()))
    assert full["m"][-1][1] == "rewind"
    assert full["a"]["accepted"] == session.telem.pos_accepted[: len(full["a"]["accepted"])]


def test_after_a_clear_everything_counts_from_the_beginning(tiny_engine) -> None:
    chat = ChatSession(tiny_engine("llama", max_ctx=512))
    session, feed = chat.session, PanelFeed("s", chat.session.engine.tokenizer)
    chat.send("again again again", max_new=12, burst=5)
    before = json.loads(feed.update(session.trace.since(feed.next_seq), LiveStatus()))
    chat.clear()
    empty = json.loads(feed.update(session.trace.since(feed.next_seq), LiveStatus()))
    assert empty["n"] == 1 and empty["e"] != before["e"], "a page begins a new stream"
    assert not {"r", "m", "p", "z", "t"} & set(empty)
    assert empty["f"]["rounds"].startswith("0 · ") and empty["f"]["tokens_per_round"] == "—"
    assert empty["f"]["overshoot"] == "0 held · 0 let go" and not any(empty["c"].values())
    turn, counted = chat.send("again again", max_new=12, burst=5), session.telem.copy()
    feed.update(session.trace.since(feed.next_seq), LiveStatus())
    assert feed.tokens.visible == turn.tokens and feed.telem == turn.telem and feed.telem != counted
    full = json.loads(feed.full(LiveStatus()))
    assert [row[:2] for row in full["r"]] == [[r, 0] for r in range(turn.telem.rounds)]
    assert full["r"][0][2] == 0 and [m[2] for m in full["m"] if m[1] == "turn"] == [0]


def _last_length(feed: PanelFeed) -> int:
    """The committed length where the third panel's line ends."""
    rows = [(row.event.round, row.length) for row in feed.rounds.rows]
    marks = [
        (m[0], m[3] if m[1] == "rewind" else m[2]) for m in feed.timeline.marks if m[1] in ("fill", "rewind", "flush")
    ]
    points = sorted(enumerate([*rows, *marks]), key=lambda item: (item[1][0], item[0]))
    return int(points[-1][1][1])
