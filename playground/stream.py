"""One conversation's stream of panel deltas, shared by every page that looks at it.

A delta is made once, whoever's tick comes first, and kept for a while; each page then takes those it does not have.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from playground.panels import LiveStatus, PanelFeed
from playground.panels.token_text import Tokenizer

if TYPE_CHECKING:
    from engine.trace import Trace

KEPT = 64
"""Deltas kept for a page that is behind; one further behind gets everything."""
MIN_S = 0.08
"""Least time between two deltas of a running turn, in seconds."""


class DeltaStream:
    """Numbers the deltas of one `PanelFeed` from 1; the feed's own numbers begin again at a clear. Thread-safe."""

    def __init__(self, sid: str, tokenizer: Tokenizer, trace: Trace | None) -> None:
        self.trace = trace
        self._feed = PanelFeed(sid, tokenizer)
        self._deltas: deque[str] = deque(maxlen=KEPT)
        self._count = 0
        self._mark: Hashable = None
        self._made = 0.0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Deltas made so far; the number of the latest."""
        return self._count

    @property
    def feed(self) -> PanelFeed:
        """Where the deltas come from, for a closer look; it has a lock of its own."""
        return self._feed

    def pump(self, mark: Hashable, status: Callable[[], LiveStatus]) -> None:
        """Make a delta if `mark` has changed and the last one is not too young."""
        with self._lock:
            now = time.monotonic()
            if mark == self._mark or (now - self._made < MIN_S and status().running):
                return
            events = self.trace.since(self._feed.next_seq) if self.trace is not None else []
            delta = self._feed.update(events, status())
            self._deltas.append(delta if self._count else "")  # a page without any gets everything: that may be long
            self._mark, self._made = mark, now
            self._count += 1

    def after(self, number: int, status: Callable[[], LiveStatus]) -> Iterator[tuple[int, str]]:
        """What a page that has delta `number` lacks: the later ones, or everything at once if some are gone."""
        with self._lock:
            first = self._count - len(self._deltas) + 1
            if number == self._count:
                return iter(())
            if number < 1 or number + 1 < first:
                return iter([(self._count, self._feed.full(status()))])
            return iter(list(enumerate(self._deltas, start=first))[number + 1 - first :])

    def full(self, status: Callable[[], LiveStatus]) -> str:
        """Everything, under the number of the latest delta."""
        with self._lock:
            return self._feed.full(status())
