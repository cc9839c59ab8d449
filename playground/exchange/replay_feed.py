"""Feeds the panels from a recording: no engine, no tokenizer, only the events and the texts the file brought along."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from playground.exchange.replay import Recording
from playground.exchange.replay_status import ReplayStatus
from playground.panels import PanelFeed
from playground.panels.status import LiveStatus

LEAP = 400
"""A seek over more events says everything anew instead of what has changed."""


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
        self._lock = threading.Lock()
        self._index = 0
        self._feed, self._status = self._beginning()

    @property
    def index(self) -> int:
        """The position shown: how many events are taken."""
        return self._index

    @property
    def status(self) -> LiveStatus:
        """The status at the position shown."""
        with self._lock:
            return self._status.reading()

    def seek(self, index: int) -> str:
        """Go to a position and return the delta that takes a page there from the one before."""
        with self._lock:
            index = self.recording.inside(index)
            leap = index < self._index or index - self._index > LEAP
            if index < self._index:
                self._index = 0
                self._feed, self._status = self._beginning()
            events = self.recording.events[self._index : index]
            for event in events:
                self._status.take(event)
            self._index = index
            delta = self._feed.update(events, self._status.reading())
            return self._feed.full(self._status.reading()) if leap else delta

    def full(self) -> str:
        """Everything at the position shown, for a page that has nothing or missed something."""
        with self._lock:
            return self._feed.full(self._status.reading())

    def _beginning(self) -> tuple[PanelFeed, ReplayStatus]:
        return PanelFeed(self.sid, self._tokenizer), ReplayStatus(self.recording.header.settings)
