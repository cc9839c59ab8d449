"""What became of every draft: one row a round, and the counts of acceptance by draft position.

A row's fates are one digit a draft, in column order, then one digit for the trunk's own token. All rules about
fates are here; the page only paints digits. Recent rows keep their token ids, older ones only their fates.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from engine.events import BurstEvent, OvershootEvent, RoundEvent

DETAILED = 400
"""Rounds a resync sends with token ids."""
PACKED = 8000
"""Older rounds a resync sends as fates alone; before that they live in the totals only."""


class Fate(IntEnum):
    """What became of one token of a round."""

    NONE = 0
    ACCEPTED = 1
    REJECTED = 2
    BONUS = 3
    CORRECTION = 4
    OVERSHOOT = 5
    """Emitted past the budget: in the caches, not shown."""
    DROPPED = 6
    """Past the budget and let go again, at once (trim) or later."""
    AFTER_STOP = 7
    """Drafted behind an accepted stop token: it fell with it."""
    PLAIN = 8
    """The trunk's own token of a round without drafts: a step of plain decoding."""


@dataclass
class Row:
    """One round. `over` and `dropped` count from the end of what it emitted."""

    event: RoundEvent
    length: int
    """Committed length after the round."""
    over: int = 0
    dropped: int = 0

    @property
    def fates(self) -> str:
        """One digit a draft, then one for the trunk's own token."""
        event = self.event
        past = Fate.REJECTED if event.bonus is not None or not event.accepted else Fate.AFTER_STOP
        own = Fate.NONE if event.bonus is None else _own(event)
        if not self.over and not self.dropped:  # nearly all rounds, and whoever opens a long session wants thousands
            return "1" * event.accepted + f"{past:d}" * (len(event.drafted) - event.accepted) + f"{own:d}"
        out = [Fate.ACCEPTED if i < event.accepted else past for i in range(len(event.drafted))]
        cells = [*range(event.accepted), *([len(out)] if event.bonus is not None else [])]
        out.append(own)
        kept = len(cells) - self.dropped
        for cell in cells[max(0, kept - self.over) : max(0, kept)]:
            out[cell] = Fate.OVERSHOOT
        for cell in cells[max(0, kept) :]:
            out[cell] = Fate.DROPPED
        return "".join(str(int(fate)) for fate in out)

    def wire(self) -> list[Any]:
        """The row as the page takes it."""
        e = self.event
        ms = [round(stage, 2) for stage in (e.draft_ms, e.verify_ms, e.accept_ms, e.host_ms)]
        drafted = list(e.drafted)
        return [e.round, e.turn, e.burst, e.pos, e.pending, drafted, e.bonus, self.fates, self.length, ms]


def _own(event: RoundEvent) -> Fate:
    if not event.drafted:
        return Fate.PLAIN
    return Fate.CORRECTION if event.correction else Fate.BONUS


@dataclass
class ByPosition:
    """`accepted[i] / rounds` is acceptance per round that drafted; `accepted[i] / tested[i]` given it was reached."""

    rounds: int = 0
    tested: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    def record(self, drafted: int, accepted: int) -> None:
        """Count one round of `drafted` proposals, the first `accepted` of them kept."""
        self.rounds += drafted > 0
        while len(self.tested) < drafted:
            self.tested.append(0)
            self.accepted.append(0)
        for i in range(min(drafted, accepted + 1)):
            self.tested[i] += 1
            self.accepted[i] += i < accepted

    def wire(self) -> list[Any]:
        """`[rounds, tested, accepted]`."""
        return [self.rounds, list(self.tested), list(self.accepted)]


class RoundsModel:
    """Rows of the session's rounds, oldest first; `take_*` hand out what changed since the last call."""

    def __init__(self) -> None:
        self.rows: deque[Row] = deque()
        self.packed: deque[str] = deque(maxlen=PACKED)
        self.by_position = ByPosition()
        self._new = 0
        self._touched: dict[int, Row] = {}

    def add(self, event: RoundEvent) -> None:
        """Take one round."""
        if self.rows and event.round != self.rows[-1].event.round + 1:
            self.rows.clear()  # the bounded trace lost rounds between: what is before the hole is not drawn
            self.packed.clear()
            self._new = 0
        trimmed = len(event.trimmed)
        length = event.pos + event.emitted + (trimmed > 0)
        self.rows.append(Row(event, length, dropped=trimmed))
        self._new += 1
        self.by_position.record(len(event.drafted), event.accepted)

    def overshoot(self, event: OvershootEvent) -> None:
        """Mark the end of the last round as kept past the budget, then as shown or dropped."""
        if not self.rows or event.action == "trimmed":
            return  # the round's own `trimmed` said so
        row, count = self.rows[-1], len(event.tokens)
        if event.action == "kept":
            row.over = count
        else:
            row.over = max(0, row.over - count)
            row.dropped += count if event.action == "dropped" else 0
        self._touched[row.event.round] = row

    def end_burst(self, event: BurstEvent) -> None:
        """Correct its last round's committed length by what the burst says it left."""
        row = self.rows[-1] if self.rows else None
        if row and row.event.burst == event.burst and row.length != event.committed:
            row.length = event.committed
            self._touched[row.event.round] = row

    def take_new(self) -> list[Row]:
        """Rows added since the last call; rows beyond `DETAILED` are packed afterwards."""
        new = list(self.rows)[len(self.rows) - self._new :] if self._new else []
        self._new = 0
        while len(self.rows) > DETAILED:
            self.packed.append(self.rows.popleft().fates)
        return new

    def take_changed(self, new: list[Row]) -> list[list[Any]]:
        """`[round, fates, length]` of older rows that changed since the last call."""
        fresh = {row.event.round for row in new}
        changed = [[r, row.fates, row.length] for r, row in self._touched.items() if r not in fresh]
        self._touched.clear()
        return changed
