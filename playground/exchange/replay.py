"""A recorded trace as something to scrub through and to play: pure functions of the events and their times.

A position is a number of events taken, from 0 to all. Playing takes the session's own pace, with long waits (a user
who thinks, a computer asleep) shortened; a playhead is in seconds of that, so that slow playing moves on between ticks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from engine import events as ev
from engine.trace import Trace, TraceHeader

LONGEST_WAIT_S = 2.0
"""A longer pause between two events is shortened to this."""
SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Recording:
    """A trace at rest."""

    header: TraceHeader
    events: tuple[ev.Event, ...]
    times: tuple[float, ...]
    """When each event comes, in seconds of playing, ascending from 0."""
    messages: Mapping[int, str] = field(default_factory=dict)
    """`seq` of a turn's event -> the message that the turn answers, where the file brought it along."""

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return self.times[-1] if self.times else 0.0

    def taken(self, index: int) -> Sequence[ev.Event]:
        """The events of a position; one beyond either end is that end."""
        return self.events[: self.inside(index)]

    def inside(self, index: int) -> int:
        """The nearest position there is."""
        return min(max(0, index), len(self.events))

    def index_at(self, seconds: float) -> int:
        """The position at a time: every event that has come by then is taken."""
        return bisect_right(self.times, seconds)

    def time_of(self, index: int) -> float:
        """The earliest time of a position."""
        index = self.inside(index)
        return self.times[index - 1] if index else 0.0

    def after_seq(self, seq: int) -> int:
        """The position right after the event `seq`, or after the last one before it."""
        return bisect_right(self.events, seq, key=lambda event: event.seq)

    def after_round(self, number: int) -> int:
        """The position right after round `number` of the session, or after the last round before it; 0 before any."""
        at = bisect_right(self.rounds, number, key=lambda index: self._round(index).round)
        return self.rounds[at - 1] if at else 0

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """The positions right after each round."""
        return tuple(place for place, event in enumerate(self.events, start=1) if isinstance(event, ev.RoundEvent))

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """The positions right after each turn began."""
        return tuple(place for place, event in enumerate(self.events, start=1) if isinstance(event, ev.TurnEvent))

    def step(self, index: int, stops: Sequence[int], by: int = 1) -> int:
        """From a position `by` stops on (back if negative); past the last one, the end of the recording."""
        if not by:
            return self.inside(index)
        at = bisect_right(stops, index) + by - 1 if by > 0 else bisect_left(stops, index) + by
        if at < 0:
            return 0
        return stops[at] if at < len(stops) else len(self.events)

    def _round(self, index: int) -> ev.RoundEvent:
        event = self.events[index - 1]
        assert isinstance(event, ev.RoundEvent)
        return event


@dataclass(frozen=True)
class Playhead:
    """Where playing stands. Every change gives a new one."""

    seconds: float = 0.0
    speed: float = 1.0
    playing: bool = False

    def moved(self, recording: Recording, elapsed_s: float) -> Playhead:
        """After `elapsed_s` of the viewer's time; at the end it stops."""
        if not self.playing:
            return self
        seconds = self.seconds + max(0.0, elapsed_s) * self.speed
        if seconds >= recording.seconds:
            return replace(self, seconds=recording.seconds, playing=False)
        return replace(self, seconds=seconds)

    def at(self, recording: Recording, index: int) -> Playhead:
        """Put to a position, by a scrubber for example."""
        return replace(self, seconds=recording.time_of(index))

    def started(self, recording: Recording) -> Playhead:
        """Playing; from the beginning if it had come to the end."""
        return replace(self, playing=True, seconds=0.0 if self.seconds >= recording.seconds else self.seconds)

    def wait_s(self, recording: Recording) -> float | None:
        """The viewer's seconds until the next event; None when nothing is to come."""
        index = recording.index_at(self.seconds)
        if not self.playing or index == len(recording.events) or self.speed <= 0:
            return None
        return (recording.times[index] - self.seconds) / self.speed


def record(
    trace: Trace, messages: Mapping[int, str] | None = None, longest_wait_s: float = LONGEST_WAIT_S
) -> Recording:
    """A trace as a recording. A clock that runs back counts as standing still."""
    events = tuple(trace.since(0))
    times: list[float] = []
    for place, event in enumerate(events):
        wait = min(max(0.0, event.t - events[place - 1].t), longest_wait_s) if place else 0.0
        times.append((times[-1] if times else 0.0) + wait)
    return Recording(trace.header, events, tuple(times), MappingProxyType(dict(messages or {})))
