"""Numbers as the page counts them: rounds, bursts and turns begin anew where a conversation was cleared.

A session counts over its whole life, and so does its trace; a chart that began at round 318 would puzzle its reader.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from engine import events as ev

E = TypeVar("E", bound=ev.Event)
COUNTED = ("round", "burst", "turn")


class SinceClear:
    """Takes a session's events in order, and gives them back with numbers that count from 0 since the last clear."""

    def __init__(self) -> None:
        self._base: dict[str, int | None] = dict.fromkeys(COUNTED, 0)

    def clear(self) -> None:
        """The first round, burst and turn after this are number 0."""
        self._base = dict.fromkeys(COUNTED)

    def original(self, name: str, number: int) -> int:
        """The session's own number of round, burst or turn `number` as the page counts it; -1 while there is none."""
        base = self._base[name]
        return -1 if base is None or number < 0 else number + base

    def shown(self, name: str, number: int) -> int:
        """The page's number of what the session counts as `number`; changes nothing."""
        return max(-1, number - (self._base[name] or 0))

    def __call__(self, event: E) -> E:
        """The event, renumbered."""
        changes = {name: self._number(name, event) for name in COUNTED if getattr(event, name, -1) >= 0}
        return replace(event, **changes) if any(self._base[name] != 0 for name in changes) else event

    def _number(self, name: str, event: ev.Event) -> int:
        value: int = getattr(event, name)
        base = self._base[name]
        if base is None:
            if name == "turn" and not isinstance(event, ev.TurnEvent):
                return -1  # of a turn before the clear
            base = self._base[name] = value
        return max(-1, value - base)
