"""Trace events in, small JSON deltas out: everything the page draws, and nothing it has already.

A delta is a JSON string (Gradio diffs strings cheaply, nested values badly). It carries the session `sid`, a
stream name `e` that changes when the feed is made anew, and `n`, which goes up by one. A page that misses one asks
for `full`, which says everything, bounded, under the present `n`. `playground/panels/assets/store.js` is the reader.

A clear turns the page: what came before it is shown no more, and a new stream begins with `n` = 1.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from engine import events as ev
from engine.telemetry import SpecTelemetry
from playground.panels.draws_model import DrawsModel
from playground.panels.figures import figure_texts
from playground.panels.machine import StateMachine
from playground.panels.rounds_model import RoundsModel, Row
from playground.panels.since_clear import SinceClear
from playground.panels.status import LiveStatus
from playground.panels.timeline import TRANSITIONS, Timeline
from playground.panels.token_text import Tokenizer, TokenTexts
from playground.panels.tokens_model import TokensModel

T = TypeVar("T")


class Looked(NamedTuple):
    """What a closer look at a stream finds: its numbers, its tokens, and the texts of their ids."""

    numbered: SinceClear
    tokens: TokensModel
    texts: TokenTexts


class PanelFeed:
    """The view model of one session. Methods may be called from any thread."""

    def __init__(self, sid: str, tokenizer: Tokenizer) -> None:
        self.sid = sid
        self._text = TokenTexts(tokenizer)
        self._numbered = SinceClear()
        self._next_seq = 0
        self._lock = threading.Lock()
        self._begin()

    def _begin(self, draws: DrawsModel | None = None) -> None:
        self.tokens = TokensModel()
        self.draws = DrawsModel(draws)
        self.rounds = RoundsModel()
        self.timeline = Timeline()
        self.machine = StateMachine()
        self.telem = SpecTelemetry()
        self._stream = secrets.token_hex(3)
        self._n = 0
        self._sent: dict[str, Any] = {}
        self._sent_ids: set[int] = set()

    def rename(self) -> None:
        """Go on as another stream, of which a page has nothing: it gets `full` first. For a copy of a feed."""
        self._stream = secrets.token_hex(3)

    @property
    def next_seq(self) -> int:
        """The first event this feed has not seen: `feed.update(trace.since(feed.next_seq), status)`."""
        return self._next_seq

    def update(self, events: Sequence[ev.Event], status: LiveStatus) -> str:
        """Take new events and return the next delta. Events seen before are skipped."""
        with self._lock:
            for event in events:
                if event.seq >= self._next_seq:
                    if event.seq > self._next_seq:
                        self.machine.lost()
                    self._next_seq = event.seq + 1
                    self._take(event)
            self._n += 1
            return _dumps(self._head() | self._delta(status))

    def full(self, status: LiveStatus) -> str:
        """Everything, for a page that has nothing or missed something; the next delta repeats all readings."""
        with self._lock:
            self._sent = {}  # this page now shows readings that no delta carried: changes are counted afresh
            return _dumps(self._head() | self._everything(status))

    def look(self, stream: object, see: Callable[[Looked], T]) -> T | None:
        """What `see` makes of it while nothing changes; None unless `stream` is the name of the present stream."""
        with self._lock:
            return see(Looked(self._numbered, self.tokens, self._text)) if stream == self._stream else None

    def _head(self) -> dict[str, Any]:
        return {"sid": self.sid, "e": self._stream, "n": self._n}

    def _take(self, event: ev.Event) -> None:
        if isinstance(event, ev.RewindEvent) and event.cause == "clear":
            self._numbered.clear()
            self._begin(self.draws)
            return
        event = self._numbered(event)
        self.tokens.take(event)
        self.timeline.add(event)
        self.machine.add(event)
        self.draws.add(event)
        if isinstance(event, ev.RoundEvent):
            self.rounds.add(event)
            self.telem.record(len(event.drafted), event.accepted, event.emitted)
        elif isinstance(event, ev.OvershootEvent):
            self.rounds.overshoot(event)
        elif isinstance(event, ev.BurstEvent):
            self.rounds.end_burst(event)

    def _delta(self, status: LiveStatus) -> dict[str, Any]:
        new = self.rounds.take_new()
        turn = self.tokens.take_changes()
        out: dict[str, Any] = {
            "r": [row.wire() for row in new],
            "o": self.rounds.take_changed(new),
            "t": turn,
            "k": self.draws.take(),
            **self.timeline.take(),
        }
        for name, group in self._readings(status).items():
            before = self._sent.get(name, {})
            out[name] = {key: value for key, value in group.items() if key not in before or before[key] != value}
            self._sent[name] = group
        ids = _row_ids(new) | {row[2] for row in out["p"]} | {row[0] for row in (turn[2] if turn else ())}
        out["v"] = self._texts((ids | _known(status.pending)) - self._sent_ids)
        self._sent_ids |= ids | _known(status.pending)
        return {key: value for key, value in out.items() if value}

    def _everything(self, status: LiveStatus) -> dict[str, Any]:
        rows = list(self.rounds.rows)
        timeline = self.timeline.all()
        tokens = [token.wire() for token in self.tokens.tokens]
        ids = _row_ids(rows) | {row[2] for row in timeline["p"]} | {row[0] for row in tokens}
        self._sent_ids = ids | _known(status.pending)
        return {
            "full": 1,
            "old": list(self.rounds.packed),
            "r": [row.wire() for row in rows],
            "t": [self.tokens.turn, 0, tokens],
            "k": self.draws.all(),
            **timeline,
            **self._readings(status),
            "v": self._texts(self._sent_ids),
        }

    def _readings(self, status: LiveStatus) -> dict[str, dict[str, Any]]:
        """Groups of small values, of which a delta carries those that changed."""
        rounds, tested, accepted = self.rounds.by_position.wire()
        return {
            "f": figure_texts(self.telem, status, self.timeline.let_go),
            "s": status.wire(),
            "a": {"n": rounds, "tested": tested, "accepted": accepted},
            "c": {name: self.timeline.counts[name] for name in TRANSITIONS},
            "g": self.machine.wire(),
            "y": status.occupancy.wire() if status.occupancy else {},
        }

    def _texts(self, ids: Iterable[int]) -> dict[str, str]:
        return {str(token): self._text(token) for token in sorted(ids)}


def _row_ids(rows: Iterable[Row]) -> set[int]:
    ids: set[int] = set()
    for row in rows:
        ids.update(row.event.drafted, (row.event.pending,), _known(row.event.bonus))
    return ids


def _known(token: int | None) -> set[int]:
    return set() if token is None else {token}


def _dumps(value: dict[str, Any]) -> str:
    """Compact JSON without a literal `<`, so that no string in it can be taken for markup on its way."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate is an escape in JSON too
