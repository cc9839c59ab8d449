"""Where in a trace the inspected thing is. Traces are bounded: what has left one is not found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine import events as ev

Cause = Literal["prompt", "again", "flush", "trim", "prediction"]
"""Where a token came from that no round emitted: from the prompt's last row; from a rewind point's; from a flush's;
from the round before, which had let it go; from some other row kept before."""


@dataclass(frozen=True)
class Round:
    """A round, and how many rounds of the trace are newer."""

    event: ev.RoundEvent
    newer: int


@dataclass(frozen=True)
class Outside:
    """The event that emitted a token outside the rounds, and the draw that chose it, if it was drawn."""

    event: ev.PrefillEvent | ev.PendingEvent
    cause: Cause
    draw: ev.DrawEvent | None


def find_round(events: Sequence[ev.Event], number: int) -> Round | None:
    """The round that the session counts as `number`; from the new end, for that is where people look."""
    newer = 0
    for event in reversed(events):
        if isinstance(event, ev.RoundEvent):
            if event.round <= number:
                return Round(event, newer) if event.round == number else None
            newer += 1
    return None


def find_outside(events: Sequence[ev.Event], turn: int, token: int, index: int) -> Outside | None:
    """What emitted `token` at history index `index` in the turn that the session counts as `turn`."""
    for place in range(len(events) - 1, -1, -1):
        match event := events[place]:
            case ev.PrefillEvent(first=int(first)) if (first, event.turn) == (token, turn):
                if event.pos + event.tokens == index:
                    return Outside(event, "prompt", _draw(events, turn, token, index))
            case ev.PendingEvent(transition="promote") if (event.token, event.turn, event.pos) == (token, turn, index):
                return Outside(event, _cause(events[:place]), _draw(events, turn, token, index))
    return None


def _draw(events: Sequence[ev.Event], turn: int, token: int, index: int) -> ev.DrawEvent | None:
    draws = (event for event in reversed(events) if isinstance(event, ev.DrawEvent))
    return next((event for event in draws if (event.turn, event.token, event.pos) == (turn, token, index)), None)


def _cause(before: Sequence[ev.Event]) -> Cause:
    """What left the prediction that was promoted: the last event before it that computed or kept a row."""
    for event in reversed(before):
        match event:
            case ev.FlushEvent():
                return "flush"
            case ev.RoundEvent():
                return "trim" if event.trimmed else "prediction"
            case ev.RewindEvent():
                return "again" if event.cause in ("checkpoint", "prompt") else "prediction"
    return "prediction"
