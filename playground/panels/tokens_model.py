"""The turns' tokens, rebuilt from trace events alone: each with its origin, its round and its place.

The sum of it: a turn's first token comes from its last prefill chunk or from a promoted prediction; every round
adds its accepted drafts and the trunk's own token, less what a trim dropped; overshoot is a mark on the tail;
a rewind or a dropped pending token cuts the list at a history index. The result equals `Turn.tokens` followed
by `Turn.hidden`. Turns before the last one stay readable, the newest of them, as they ended.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from engine import events as ev

ORIGINS: tuple[ev.Origin, ...] = ("first", "draft", "bonus", "correction")
PAST = 20_000
"""Tokens of earlier turns that are kept, and a hundredth as many turns; the oldest turns go first."""


@dataclass(frozen=True, slots=True)
class TurnToken:
    """One emitted token. `index` is its place in the session's history; `column` counts verify columns from 0."""

    id: int
    origin: ev.Origin
    round: int
    """-1 when no round emitted it."""
    column: int
    index: int
    hidden: bool = False
    """Past the budget and not shown yet."""
    plain: bool = False
    """The bonus of a round without drafts: a step of plain decoding."""

    def wire(self) -> list[int]:
        """`[id, origin, round, column, hidden]`; the origin after the last is `plain`."""
        origin = len(ORIGINS) if self.plain else ORIGINS.index(self.origin)
        return [self.id, origin, self.round, self.column, int(self.hidden)]


@dataclass
class PastTurn:
    """An earlier turn. `number` counts from 0 and never means another one; `gone`: a rewind dropped its rows."""

    number: int
    turn: int
    tokens: list[TurnToken]
    gone: bool = False


class PastTurns:
    """Earlier turns, oldest first, bounded by their tokens."""

    def __init__(self, most: int = PAST) -> None:
        self.kept: deque[PastTurn] = deque()
        self._most, self._tokens, self._next = most, 0, 0

    def add(self, turn: int, tokens: list[TurnToken], gone: bool = False) -> None:
        """One more; one without a token is none."""
        if not tokens:
            return
        self.kept.append(PastTurn(self._next, turn, tokens, gone))
        self._next += 1
        self._tokens += len(tokens)
        while len(self.kept) > 1 and (self._tokens > self._most or len(self.kept) > self._most // 100):
            self._tokens -= len(self.kept.popleft().tokens)

    def cut(self, index: int) -> None:
        """History from `index` on is dropped."""
        for past in reversed(self.kept):
            if past.gone:
                continue
            if past.tokens[-1].index < index:
                return
            past.gone = past.tokens[0].index >= index


class TokensModel:
    """Reduces events to the tokens of the last turn, and of those before it."""

    def __init__(self, past: int = PAST) -> None:
        """`past`: tokens of earlier turns to keep."""
        self.past = PastTurns(past)
        self.turn = -1
        self.tokens: list[TurnToken] = []
        self._opening: tuple[int, list[TurnToken]] | None = None
        """What stood before a turn that has no token yet: a turn cancelled in its prefill never was."""
        self._dropped: list[TurnToken] = []
        """Carried tokens let go just now: a rewind says so a moment before it says how far it goes."""
        self._sent: list[TurnToken] = []
        self._sent_turn = -1

    def take(self, event: ev.Event) -> None:
        """Apply one event; kinds that do not concern tokens are ignored."""
        match event:
            case ev.TurnEvent():
                self._opening = (self.turn, self.tokens)
                self.turn, self.tokens = event.turn, []
            case ev.PrefillEvent(first=int(first)):
                self._opened()
                self._emit(first, "first", -1, 0, event.pos + event.tokens)
            case ev.RoundEvent():
                self._round(event)
            case ev.PendingEvent(transition="promote"):
                self._opened()
                self._emit(event.token, self._promoted(), -1, 0, event.pos)
            case ev.PendingEvent(transition="drop", via="rewind" | "continue"):
                self._dropped = [token for token in self.tokens if token.index >= event.pos]
                self._cut(event.pos)  # what a trim dropped was never emitted; its round says so
            case ev.OvershootEvent():
                self._overshoot(event)
            case ev.BurstEvent() | ev.ErrorEvent() if self._opening is not None:
                self.turn, self.tokens = self._opening
                self._opening = None
            case ev.RewindEvent():
                self._rewind(event)

    @property
    def whole(self) -> list[TurnToken]:
        """The tokens of the turn, and behind them a carried one that a rewind let go a moment before it took place."""
        return self.tokens + self._dropped

    @property
    def visible(self) -> list[int]:
        """The ids that the chat shows: `Turn.tokens`."""
        return [token.id for token in self.tokens if not token.hidden]

    @property
    def hidden(self) -> list[int]:
        """The ids past the budget: `Turn.hidden`."""
        return [token.id for token in self.tokens if token.hidden]

    def take_changes(self) -> list[Any] | None:
        """`[turn, keep, added]`: keep that many tokens of the last list sent, then append; None if nothing changed."""
        keep = 0
        if self._sent_turn == self.turn:
            pairs = zip(self._sent, self.tokens, strict=False)
            keep = next((i for i, (old, new) in enumerate(pairs) if old != new), min(len(self._sent), len(self.tokens)))
            if keep == len(self._sent) == len(self.tokens):
                return None
        self._sent, self._sent_turn = list(self.tokens), self.turn
        return [self.turn, keep, [token.wire() for token in self.tokens[keep:]]]

    def _round(self, event: ev.RoundEvent) -> None:
        out: list[tuple[int, ev.Origin]] = [(token, "draft") for token in event.drafted[: event.accepted]]
        if event.bonus is not None:
            out.append((event.bonus, "correction" if event.correction else "bonus"))
        for place, (token, origin) in enumerate(out[: event.emitted], start=1):
            self._emit(token, origin, event.round, place, event.pos + place, plain=not event.drafted)

    def _promoted(self) -> ev.Origin:
        """A promoted prediction opens an answer, or goes on with one as the trunk's own token."""
        return "bonus" if self.tokens else "first"

    def _emit(
        self, token: int, origin: ev.Origin, round_: int, column: int, index: int, *, plain: bool = False
    ) -> None:
        self._dropped = []
        self.tokens.append(TurnToken(token, origin, round_, column, index, plain=plain))

    def _opened(self) -> None:
        """The turn that was asked for has its first token: the one before it is an earlier one now."""
        if self._opening is not None:
            self.past.add(*self._opening)
            self._opening = None

    def _rewind(self, event: ev.RewindEvent) -> None:
        """A prime computes the rows of earlier answers again; any other way back drops them."""
        begin = 0 if event.cause in ("clear", "prime") else event.to
        whole, self._dropped = self.whole, []
        if event.cause != "prime":
            self.past.cut(begin)
        self._cut(begin)
        if whole and not self.tokens:
            self.past.add(self.turn, whole, gone=event.cause != "prime")

    def _cut(self, index: int) -> None:
        self.tokens = [token for token in self.tokens if token.index < index]

    def _overshoot(self, event: ev.OvershootEvent) -> None:
        if event.turn != self.turn or not event.tokens:
            return
        count = len(event.tokens)
        hidden = [i for i, token in enumerate(self.tokens) if token.hidden]
        if event.action == "kept":
            for i in range(max(0, len(self.tokens) - count), len(self.tokens)):
                self.tokens[i] = replace(self.tokens[i], hidden=True)
        elif event.action == "shown":
            for i in hidden[:count]:
                self.tokens[i] = replace(self.tokens[i], hidden=False)
        elif event.action == "dropped" and hidden:
            # A rewind event may have cut them already; then nothing hidden is left to drop.
            del self.tokens[max(hidden[0], len(self.tokens) - count) :]
