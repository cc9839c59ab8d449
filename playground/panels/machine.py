"""The session's states and what moved it between them, counted: the drawing beside the pending carry's strip.

The rules are those of `engine/session.py`. A move that they do not know is counted too and named, so that a trace which
breaks them shows it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine import events as ev
from engine.events import State

RULES: dict[str, frozenset[tuple[State, State]]] = {
    "turn": frozenset({("FRESH", "PENDING"), ("PREDICTED", "PENDING")}),
    "round": frozenset({("PENDING", "PENDING")}),
    "trim": frozenset({("PENDING", "PREDICTED")}),
    "carry": frozenset({("PENDING", "PENDING"), ("FAILED", "FAILED")}),
    "consume": frozenset({("PENDING", "PENDING")}),
    "promote": frozenset({("PREDICTED", "PENDING")}),
    "flush": frozenset({("PENDING", "PENDING"), ("PENDING", "PREDICTED")}),
    "drop": frozenset((start, to) for start in ("PENDING", "FAILED") for to in ("PREDICTED", "FRESH")),
    "rewind": frozenset((start, to) for start in ("PREDICTED", "FRESH", "FAILED") for to in ("PREDICTED", "FRESH")),
    "unpark": frozenset({("PREDICTED", "PENDING")}),
    "error": frozenset((start, "FAILED") for start in ("FRESH", "PENDING", "PREDICTED")),
    "reprime": frozenset(("FAILED", to) for to in ("FRESH", "PENDING", "PREDICTED")),
}
"""What each move may lead from and to. `turn`, `round`, `trim`, `rewind`, `unpark`, `error` and `reprime` are no
transitions of the pending carry; a new turn of a session that carries a token is its `flush`."""

PLAIN_ROUND: tuple[State, str, State] = ("PENDING", "round", "PENDING")


class StateMachine:
    """Follows one session through its events; `wire` is a group of readings."""

    def __init__(self) -> None:
        self.moves: Counter[tuple[State, str, State]] = Counter()
        self.broken = 0
        """Moves that the rules do not know."""
        self._now: State | None = "FRESH"
        """None where the trace has a hole."""
        self._entered: State | None = "FRESH"
        """The state that the latest round found."""
        self._before_failure: State = "FRESH"
        self._round = -1
        self._last: list[Any] = []
        self._bad: list[Any] = []
        self._dropped: tuple[State, State] | None = None
        """A drop, until the rewind that it belongs to says where it led."""

    @property
    def now(self) -> State | None:
        """Where the session is; None if the events cannot tell."""
        return self._now

    def lost(self) -> None:
        """Events are missing here: nothing is known until the next one that names a state."""
        self._now = self._entered = self._dropped = None

    def add(self, event: ev.Event) -> None:
        """Take one event; kinds that move nothing are ignored."""
        match event:
            case ev.RoundEvent():
                self._round, self._entered = event.round, self._now
                self._move("trim" if event.trimmed else "round", "PREDICTED" if event.trimmed else "PENDING")
            case ev.PrefillEvent(cause="turn", first=int()) if self._now != "PENDING":
                self._move("turn", "PENDING")  # of a carried token, the flush that follows says so
            case ev.PendingEvent():
                self._carry(event)
            case ev.RewindEvent():
                self._rewind(event)
            case ev.ErrorEvent(state="FAILED") if self._now != "FAILED":
                self._move("error", "FAILED")
            case ev.ContextEvent(action="reprimed") if self._now == "FAILED":
                self._move("reprime", self._before_failure)
            case ev.BurstEvent():
                self._found(event.state)

    def wire(self) -> dict[str, Any]:
        """`now`, `last` (plain rounds left out) and `bad` as [from, move, to, round], a count under `from>move>to`.

        Zeros too: a page has the number before. Plain rounds are left out, for a page counts them itself.
        """
        counts = {">".join(move): count for move, count in self.moves.items() if move != PLAIN_ROUND}
        return {"now": self._now or "", "last": self._last, "bad": self._bad, "broken": self.broken, **counts}

    def _carry(self, event: ev.PendingEvent) -> None:
        if event.transition == "consume":  # told after the round that took the token, which may have led elsewhere
            self._count(self._entered or "PENDING", "consume", "PENDING")
        elif event.transition == "drop":
            start = self._now or "PENDING"
            self._move("drop", "PREDICTED")
            self._dropped = (start, "PREDICTED")
        else:
            self._move(event.transition, event.state)

    def _rewind(self, event: ev.RewindEvent) -> None:
        to: State = "FRESH" if event.cause in ("prime", "clear") else "PREDICTED"
        dropped, self._dropped = self._dropped, None
        if event.cause == "unpark":
            self._move("unpark", "PENDING")
        elif dropped is None:
            self._move("rewind", to)
        elif to != dropped[1]:
            self.moves[dropped[0], "drop", dropped[1]] -= 1
            self._move("drop", to, start=dropped[0])

    def _found(self, state: State) -> None:
        if self._now is None or state == self._now:
            self._now = state
        else:
            self._move("error" if state == "FAILED" else "jump", state)

    def _move(self, name: str, to: State, start: State | None = None) -> None:
        start = start or self._now or min(RULES.get(name, {(to, to)}))[0]
        self._count(start, name, to)
        if to == "FAILED" and start != "FAILED":
            self._before_failure = start
        self._now = to

    def _count(self, start: State, name: str, to: State) -> None:
        self.moves[start, name, to] += 1
        move = [start, name, to, self._round]
        if name != "round":
            self._last = move
        if (start, to) not in RULES.get(name, ()):
            self.broken += 1
            self._bad = move
