"""What a page says about a trace before anything of it is shown, and where its turns begin."""

from __future__ import annotations

from typing import Any

from engine import events as ev
from playground.exchange.replay import LONGEST_WAIT_S, SPEEDS, Recording
from playground.panels.since_clear import SinceClear

MOST_MARKS = 300
"""Turns marked on the scrubber; of more, every second or third is."""


def facts_of(recording: Recording) -> dict[str, Any]:
    """JSON-ready. `marks` are `[position, turn]`, turns counting from 1 as the panels count them."""
    header, first = recording.header, recording.events[0].seq if recording.events else 0
    rounds = sum(1 for event in recording.events if isinstance(event, ev.RoundEvent))
    return {
        "events": len(recording.events),
        "rounds": rounds,
        "turns": len(recording.turns),
        "seconds": round(recording.seconds, 3),
        "model": header.checkpoint,
        "about": _about(header.settings, header.versions),
        "missing": first,
        "texts": bool(header.pieces),
        "messages": len(recording.messages),
        "speeds": list(SPEEDS),
        "longest_wait": LONGEST_WAIT_S,
        "marks": _marks(recording),
    }


def _about(settings: dict[str, Any], versions: dict[str, str]) -> list[str]:
    said = [f"{name.replace('_', ' ')} {value}" for name, value in settings.items() if not isinstance(value, list)]
    return [*said, *(f"{name} {version}" for name, version in versions.items())]


def _marks(recording: Recording) -> list[list[int]]:
    numbered, marks = SinceClear(), []
    for place, event in enumerate(recording.events, start=1):
        if isinstance(event, ev.RewindEvent) and event.cause == "clear":
            numbered.clear()
        elif isinstance(event, ev.TurnEvent):
            marks.append([place, numbered(event).turn + 1])
    return marks[:: -(-len(marks) // MOST_MARKS) or 1]
