"""Feeds the panels from a recording: no engine, no tokenizer, only the events and the texts the file brought along."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from engine import events as ev
from playground.exchange.keyframe import copied
from playground.exchange.replay import Recording
from playground.exchange.replay_status import ReplayStatus
from playground.exchange.replay_talk import ReplayTalk
from playground.panels import PanelFeed
from playground.panels.status import LiveStatus
from playground.panels.token_text import TokenTexts

Known = tuple[PanelFeed, ReplayStatus, ReplayTalk]
LEAP = 400
"""A seek over more events says everything anew instead of what has changed."""
EVERY = 1000
"""Events between two keyframes, at least: going back begins at one of them instead of at the beginning."""
MOST_KEYFRAMES = 32


class PieceTokenizer:
    """What the panels ask of a tokenizer, answered from a trace's `pieces`."""

    def __init__(self, pieces: Mapping[str, str]) -> None:
        self._pieces = pieces

    def decode(self, token_ids: list[int], **options: Any) -> str:
        """The text of the ids. Raises KeyError for one that the file has no text for: the panels show its number."""
        return "".join(self._pieces[str(token)] for token in token_ids)

    def convert_ids_to_tokens(self, ids: int) -> str:
        """The text of one id. Raises KeyError as `decode` does."""
        # The texts were made for showing already: a leading ▁ is a character of theirs, not a space to put back.
        text = self._pieces[str(ids)]
        return text if "\ufffd" in text else ""


class ReplayFeed:
    """The panels' view of a recording at a position. Methods may be called from any thread."""

    def __init__(self, sid: str, recording: Recording) -> None:
        """`sid` names the stream to the page; it opens nothing."""
        self.sid = sid
        self.recording = recording
        self._tokenizer = PieceTokenizer(recording.header.pieces)
        self._texts = TokenTexts(self._tokenizer)
        self._lock = threading.Lock()
        self._keyframes: dict[int, Known] = {}
        """Position -> what was known there."""
        self._every = max(EVERY, len(recording.events) // MOST_KEYFRAMES)
        self._index = 0
        self._begin(0)

    @property
    def index(self) -> int:
        """The position shown: how many events are taken."""
        return self._index

    @property
    def shown(self) -> tuple[PanelFeed, Sequence[ev.Event]]:
        """The panels' feed at the position shown, and the events taken."""
        with self._lock:
            return self._feed, self.recording.events[: self._index]

    @property
    def status(self) -> LiveStatus:
        """The status at the position shown."""
        with self._lock:
            return self._status.reading()

    def seek(self, index: int) -> str:
        """Go to a position and return the delta that takes a page there from the one before."""
        with self._lock:
            index = self.recording.inside(index)
            if index < self._index or index - self._index > LEAP:
                self._leap(index)
                return self._feed.full(self._status.reading())
            return self._go_on(index)

    def full(self) -> str:
        """Everything at the position shown, for a page that has nothing or missed something."""
        with self._lock:
            return self._feed.full(self._status.reading())

    def talk(self) -> list[list[Any]]:
        """The answers up to the position shown, as `ReplayTalk.wire` gives them."""
        with self._lock:
            return self._talk.wire(self._texts)

    def _leap(self, index: int) -> None:
        nearest = max((place for place in self._keyframes if place <= index), default=0)
        if nearest > self._index or index < self._index:
            self._begin(nearest)
        while self._index < index:
            self._go_on(min(index, self._index - self._index % self._every + self._every))
            if self._index % self._every == 0 and self._index not in self._keyframes:
                self._keyframes[self._index] = copied((self._feed, self._status, self._talk))

    def _go_on(self, index: int) -> str:
        events = self.recording.events[self._index : index]
        for event in events:
            self._status.take(event)
            self._talk.take(event)
        self._index = index
        return self._feed.update(events, self._status.reading())

    def _begin(self, keyframe: int) -> None:
        self._index = keyframe
        self._feed, self._status, self._talk = self._known(keyframe)

    def _known(self, keyframe: int) -> Known:
        if not keyframe:
            settings = self.recording.header.settings
            return PanelFeed(self.sid, self._tokenizer), ReplayStatus(settings), ReplayTalk(self.recording.messages)
        feed, status, talk = copied(self._keyframes[keyframe])
        feed.rename()
        return feed, status, talk
