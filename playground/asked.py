"""Which message each turn of a session answers. A trace has no messages; who takes it along may want them beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine import events as ev

if TYPE_CHECKING:
    from engine.trace import Trace

KEPT = 1000
"""Turns whose message is remembered: the latest."""


class Asked:
    """Of one conversation; what is kept of it is kept with the trace. The worker notes, any thread may read."""

    def __init__(self) -> None:
        self._trace: Trace | None = None
        self._notes: deque[tuple[int, str]] = deque(maxlen=KEPT)

    def note(self, trace: Trace, message: str) -> None:
        """A turn that answers `message` is about to begin."""
        if trace is not self._trace:
            self._notes.clear()
            self._trace = trace
        self._notes.append((trace.next_seq, message))

    def adopt(self, trace: Trace, messages: Mapping[int, str]) -> None:
        """A trace that was kept, and of each turn's event its `seq` and the message that the turn answers."""
        self._trace = trace
        self._notes = deque(sorted(messages.items()), maxlen=KEPT)

    def forget(self) -> None:
        """The visitor cleared the conversation."""
        self._notes.clear()

    def of(self, trace: Trace) -> dict[int, str]:
        """`seq` of each turn's event to the message that the turn answers."""
        notes = self._notes.copy() if trace is self._trace else deque()
        out: dict[int, str] = {}
        message: str | None = None
        for event in trace.since(notes[0][0] if notes else trace.next_seq):
            while notes and notes[0][0] <= event.seq:
                message = notes.popleft()[1]
            if isinstance(event, ev.TurnEvent) and message is not None:
                out[event.seq] = message
        return out
