"""One page's replay: where it stands, and what takes the page there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from engine import events as ev
from playground.exchange.replay import SPEEDS, Playhead, Recording
from playground.exchange.replay_feed import ReplayFeed
from playground.panels import PanelFeed

LONGEST_TICK_S = 1.0
"""A page that was away for longer goes on from where it was."""


class Answer(NamedTuple):
    """What a page is told: where the replay is, and the panels' delta that takes the page there."""

    where: dict[str, Any]
    """`at` events are taken, `s` seconds of playing, `playing`, `speed`; of the lines of the talk `keep` stay, and
    those of `talk` follow them."""
    delta: str


class Player:
    """Opens at the end, where everything is to be seen. Thread-safe."""

    def __init__(self, sid: str, recording: Recording, clock: Callable[[], float] = time.monotonic) -> None:
        """`sid` names the stream to the page; `clock` is in seconds."""
        self.recording = recording
        self._feed = ReplayFeed(sid, recording)
        self._head = Playhead(seconds=recording.seconds)
        self._clock = clock
        self._ticked = clock()
        self._lock = threading.Lock()
        self._index = len(recording.events)
        self._feed.seek(self._index)
        self._told: list[list[Any]] = []

    @property
    def shown(self) -> tuple[PanelFeed, Sequence[ev.Event]]:
        """The panels' feed and the events taken at the present position, for who asks about one of them."""
        return self._feed.shown

    def look(self) -> Answer:
        """Everything at the present position, for a page that has nothing or missed something."""
        with self._lock:
            self._told = []
            return self._answer(self._feed.full())

    def go(self, to: int) -> Answer:
        """To a position; playing goes on from there."""
        with self._lock:
            return self._at(to)

    def step(self, by: int, over: str) -> Answer:
        """On by so many rounds, or `over` "turn" or "event"; back if negative. Stops playing."""
        with self._lock:
            self._head = replace(self._head, playing=False)
            if over == "event":
                return self._at(self._index + by)
            stops = self.recording.turns if over == "turn" else self.recording.rounds
            return self._at(self.recording.step(self._index, stops, by))

    def play(self, on: bool, speed: object = None) -> Answer:
        """Start or stop, and set the speed; one that is not offered is ignored."""
        with self._lock:
            self._ticked, was = self._clock(), self._head
            if speed in SPEEDS:
                self._head = replace(self._head, speed=SPEEDS[SPEEDS.index(speed)])
            self._head = self._head.started(self.recording) if on else replace(self._head, playing=False)
            if self._head.seconds < was.seconds:
                self._index = self.recording.index_at(self._head.seconds)
            return self._answer(self._feed.seek(self._index))

    def tick(self) -> Answer:
        """As far as it has played by now."""
        with self._lock:
            now = self._clock()
            if self._head.playing:
                self._head = self._head.moved(self.recording, min(now - self._ticked, LONGEST_TICK_S))
                self._index = self.recording.index_at(self._head.seconds)
            self._ticked = now
            return self._answer(self._feed.seek(self._index))

    def _at(self, index: int) -> Answer:
        self._index = self.recording.inside(index)
        self._head = self._head.at(self.recording, self._index)
        return self._answer(self._feed.seek(self._index))

    def _answer(self, delta: str) -> Answer:
        lines, head = self._feed.talk(), self._head
        keep = next((i for i, (a, b) in enumerate(zip(self._told, lines, strict=False)) if a != b), None)
        keep = min(len(self._told), len(lines)) if keep is None else keep
        self._told = lines
        where = {"at": self._index, "s": round(head.seconds, 3), "playing": head.playing, "speed": head.speed}
        return Answer(where | {"keep": keep, "talk": lines[keep:]}, delta)
