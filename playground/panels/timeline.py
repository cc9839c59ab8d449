"""What happens between and around the rounds: turns, prefills, rewinds, rewind points, and the pending carry.

Every mark has an `x` on the axis of rounds. A round sits on its own number; what happens between two rounds sits
in between, in the order rewind, turn, prefill, so that a drop and the rise after it are two lines and not one.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from engine import events as ev
from playground.exchange.trace_private import public
from playground.names import public_name

MARKS = 3000
"""Marks kept, and as many pending transitions."""
TRANSITIONS = ("carry", "consume", "promote", "flush", "drop")
STATES: tuple[ev.State, ...] = ("FRESH", "PENDING", "PREDICTED", "FAILED")
SOURCES = ("round", "first", "carried", "promoted")
"""Where a round's column 0 came from: the round before, a prefill, the burst before, a stored prediction."""
SENTENCE = 160
REWIND_AT, TURN_AT, FILL_AT = 0.4, 0.5, 0.6


class Timeline:
    """Marks, pending transitions and the state after each round; `take` hands out what is new."""

    def __init__(self) -> None:
        self.marks: deque[list[Any]] = deque(maxlen=MARKS)
        self.pending: deque[list[Any]] = deque(maxlen=MARKS)
        self.states: deque[list[Any]] = deque(maxlen=MARKS)
        self.counts: Counter[str] = Counter()
        self.let_go = 0
        """Overshoot tokens that were trimmed or dropped."""
        self._next = 0
        self._last = (-1, -1)
        """Burst and position of the last round."""
        self._length = 0
        self._x = -1.0
        """Of the last mark between rounds: time never runs backwards, whatever comes between the same two rounds."""
        self._new: dict[str, list[list[Any]]] = {"m": [], "p": [], "z": []}

    def add(self, event: ev.Event) -> None:
        """Take one event; kinds without a mark are ignored."""
        match event:
            case ev.RoundEvent():
                self._next, self._last = event.round + 1, (event.burst, event.pos)
                self._length = event.pos + event.emitted + (len(event.trimmed) > 0)
            case ev.PendingEvent():
                self._transition(event)
            case ev.BurstEvent():
                if event.committed != self._length:
                    self._fill(event.committed, 0, "undone")  # a prefill that was cancelled between chunks
                self._state(event.state)
            case ev.FlushEvent():
                self._length = event.pos + 1
                self._mark("flush", TURN_AT, self._length)
                self._state("PREDICTED")
            case ev.OvershootEvent():
                self._overshoot(event)
            case _:
                self._structure(event)

    def take(self) -> dict[str, list[list[Any]]]:
        """New marks `m`, pending transitions `p` and states `z` since the last call."""
        new, self._new = self._new, {"m": [], "p": [], "z": []}
        return new

    def all(self) -> dict[str, list[list[Any]]]:
        """Everything kept."""
        return {"m": list(self.marks), "p": list(self.pending), "z": list(self.states)}

    def _overshoot(self, event: ev.OvershootEvent) -> None:
        """A mark says what passed a burst's budget; what the answer shows next is none the less marked."""
        if event.action in ("kept", "trimmed"):
            self._mark("over", 0.0, len(event.tokens), event.pos, event.action)
        if event.action in ("trimmed", "dropped"):
            self.let_go += len(event.tokens)

    def _structure(self, event: ev.Event) -> None:
        match event:
            case ev.TurnEvent():
                reused = [event.prompt_tokens, event.reused]
                self._mark("turn", TURN_AT, event.turn, event.decision, *reused, _short(event.why))
            case ev.PrefillEvent(cause="turn"):  # a re-prime writes the same rows again
                self._fill(event.pos + event.tokens, event.tokens, event.cause)
                if event.first is not None:
                    self._source("first", event.burst, event.pos + event.tokens)
            case ev.RewindEvent():
                self._length = event.to
                self._mark("rewind", REWIND_AT, event.start, event.to, event.cause)
                self._state(_after(event))
            case ev.CheckpointEvent():
                self._mark("point", FILL_AT, event.pos, event.role)
            case ev.DrafterEvent():
                name, why = public_name(event.drafter), _short(public(event.why))
                self._mark("drafter", TURN_AT, name, event.draft_len, event.action, why)
            case ev.ContextEvent():
                at = {"evicted": REWIND_AT, "reprimed": FILL_AT}.get(event.action, TURN_AT)
                self._mark("context", at, event.action, event.used)
            case ev.CheckEvent():
                found = "identical" if event.identical else "stopped" if event.cancelled else "different"
                self._mark("check", FILL_AT, found, event.tokens, event.drawn)
            case ev.ErrorEvent():
                self._mark("error", TURN_AT, _short(public(event.message)))  # an error's own words may name a path

    def _mark(self, kind: str, at: float, *rest: Any) -> None:
        x: float = max(0, self._next - 1)  # on the round itself
        if at:
            x = self._x = round(max(self._next - 1 + at, self._x), 1)
        self._push("m", self.marks, [x, kind, *rest])

    def _transition(self, event: ev.PendingEvent) -> None:
        self.counts[event.transition] += 1
        last = max(0, self._next - 1)
        opens = event.transition in ("consume", "promote") or event.via == "prefill"
        # Written before or after the round it opens: that round is of the same burst and begins at the token's place.
        x = self._next if opens and (event.burst, event.pos) != self._last else last
        row = [x, TRANSITIONS.index(event.transition), event.token, event.via]
        self._push("p", self.pending, row)
        if event.transition in ("consume", "promote"):
            source = "carried" if event.transition == "consume" else "promoted"
            self._source(source, event.burst, event.pos)
        else:
            self._state(event.state)

    def _fill(self, length: int, tokens: int, cause: str) -> None:
        self._length = length
        self._mark("fill", FILL_AT, length, tokens, cause)

    def _source(self, source: str, burst: int, pos: int) -> None:
        x = self._next - 1 if (burst, pos) == self._last else self._next
        self._push("z", self.states, [x, -1 - SOURCES.index(source)])

    def _state(self, state: ev.State) -> None:
        if self._next:
            self._push("z", self.states, [self._next - 1, STATES.index(state)])

    def _push(self, stream: str, kept: deque[list[Any]], row: list[Any]) -> None:
        kept.append(row)
        self._new[stream].append(row)


def _after(event: ev.RewindEvent) -> ev.State:
    """The state that a rewind leaves."""
    if event.cause == "unpark":
        return "PENDING"
    return "FRESH" if event.cause in ("prime", "clear") else "PREDICTED"


def _short(text: str) -> str:
    return text if len(text) <= SENTENCE else text[: SENTENCE - 1] + "…"
