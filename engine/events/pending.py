"""The pending carry and the flush."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.events.base import Event, State


@dataclass(frozen=True, kw_only=True)
class PendingEvent(Event):
    """A transition of the pending carry.

    `carry`: a burst ended with an emitted, uncommitted token. `consume`: the next burst's first round took it as
    column 0. `promote`: a burst emitted `next_pred` and made it pending. `flush`: the token was committed by a
    prefill or by a round without drafts. `drop`: a rewind or a truncation discarded it.
    """

    kind: ClassVar[str] = "pending"
    transition: Literal["carry", "consume", "promote", "flush", "drop"]
    token: int
    pos: int
    turn: int
    burst: int
    via: Literal["round", "prefill", "rewind", "trim", "continue"]
    state: State
    """The session's state after the transition."""


@dataclass(frozen=True, kw_only=True)
class FlushEvent(Event):
    """One trunk forward that committed the pending token without drafts. `len` of these == flush forwards."""

    kind: ClassVar[str] = "flush"
    turn: int
    pos: int
    token: int
    next_pred: int
    width: int
    ms: float
