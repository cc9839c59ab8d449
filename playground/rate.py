"""Tokens per second of a turn: over the last moments while it runs, over the whole turn once it is done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 1.5


class Rate:
    """Counts tokens on a clock that starts with the first arrival, so the wait for it is not counted."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._recent: deque[tuple[float, int]] = deque()
        self._first: tuple[float, int] | None = None
        self._last = (0.0, 0)

    def add(self, tokens: int) -> None:
        """`tokens` more have arrived now."""
        if tokens <= 0:
            return
        self._last = (self._clock(), self._last[1] + tokens)
        self._first = self._first or self._last
        self._recent.append(self._last)
        while len(self._recent) > 2 and self._last[0] - self._recent[0][0] > WINDOW_S:
            self._recent.popleft()

    def recent(self) -> float | None:
        """Tokens per second over the last window; None until there were two arrivals."""
        return _slope(self._recent[0], self._last) if self._recent else None

    def overall(self) -> float | None:
        """Tokens per second from the first arrival to the last; None until there were two."""
        return _slope(self._first, self._last) if self._first else None


def _slope(start: tuple[float, int], end: tuple[float, int]) -> float | None:
    seconds = end[0] - start[0]
    return (end[1] - start[1]) / seconds if seconds > 0 else None
