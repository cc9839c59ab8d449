"""The last turn's tokens, rebuilt from trace events alone: each with its origin, its round and its place.

The sum of it: a turn's first token comes from its last prefill chunk or from a promoted prediction; every round
adds its accepted drafts and the trunk's own token, less what a trim dropped; overshoot is a mark on the tail;
a rewind or a dropped pending token cuts the list at a history index. The result equals `Turn.tokens` followed
by `Turn.hidden`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine import events as ev

ORIGINS: tuple[ev.Origin, ...] = ("first", "draft", "bonus", "correction")


@dataclass(frozen=True)
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

    def wire(self) -> list[int]:
        """`[id, origin, round, column, hidden]`."""
        return [self.id, ORIGINS.index(self.origin), self.round, self.column, int(self.hidden)]


class TokensModel:
    """Reduces events to the tokens of the last turn."""

    def __init__(self) -> None:
        self.turn = -1
        self.tokens: list[TurnToken] = []
        self._opening: tuple[int, list[TurnToken]] | None = None
        """What stood before a turn that has no token yet: a turn cancelled in its prefill never was."""
        self._sent: list[TurnToken] = []
        self._sent_turn = -1

    def take(self, event: ev.Event) -> None:
        """Apply one event; kinds that do not concern tokens are ignored."""
        match event:
            case ev.TurnEvent():
                self._opening = (self.turn, self.tokens)
                self.turn, self.tokens = event.turn, []
            case ev.PrefillEvent(first=int(first)):
                self._opening = None
                self._emit(first, "first", -1, 0, event.pos + event.tokens)
            case ev.RoundEvent():
                self._round(event)
            case ev.PendingEvent(transition="promote"):
                self._opening = None
                self._emit(event.token, self._promoted(), -1, 0, event.pos)
            case ev.PendingEvent(transition="drop", via="rewind" | "continue"):
                self._cut(event.pos)  # what a trim dropped was never emitted; its round says so
            case ev.OvershootEvent():
                self._overshoot(event)
            case ev.BurstEvent() | ev.ErrorEvent() if self._opening is not None:
                self.turn, self.tokens = self._opening
                self._opening = None
            case ev.RewindEvent():
                self._cut(0 if event.cause in ("clear", "prime") else event.to)

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
            self._emit(token, origin, event.round, place, event.pos + place)

    def _promoted(self) -> ev.Origin:
        """A promoted prediction opens an answer, or goes on with one as the trunk's own token."""
        return "bonus" if self.tokens else "first"

    def _emit(self, token: int, origin: ev.Origin, round_: int, column: int, index: int) -> None:
        self.tokens.append(TurnToken(token, origin, round_, column, index))

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
