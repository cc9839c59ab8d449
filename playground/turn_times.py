"""How long jobs have the engine at a time, measured, so that who waits in the line can be told when it is his turn.

A turn has the engine for a burst or a slice of one. So the wait of a job that has not begun is not the rest of the
answers ahead of it but one share of each: of a job that has begun as long as its last one, of a new one as long as new
ones took so far.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Clock = Callable[[], float]
"""Seconds, from any beginning."""
KEPT = 15
"""Beginnings of jobs that the expectation for a new one is made from, the newest."""
QUICK_S = 0.02
"""What has the engine for less, such as a clear, is no turn, and tells nothing of one."""


@dataclass(eq=False)
class Share:
    """One job's time with the engine."""

    since: float | None = None
    """When it got the engine; None while it has not."""
    last: float | None = None
    """Seconds that it had it the last time; None before."""


class TurnTimes:
    """Measures; the line's lock guards it."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._first: deque[float] = deque(maxlen=KEPT)

    def begin(self, share: Share) -> None:
        """The job has the engine from now on."""
        share.since = self._clock()

    def end(self, share: Share) -> None:
        """It gave the engine back, or could have."""
        if share.since is None:
            return
        took, share.since = self._clock() - share.since, None
        if share.last is None and took >= QUICK_S:
            self._first.append(took)
        share.last = took

    def until_free(self, current: Share | None, ahead: list[Share]) -> float | None:
        """Seconds until all of these have had the engine once; None before anything was measured."""
        times = [self._expected(share) for share in ([] if current is None else [current]) + ahead]
        known = [seconds for seconds in times if seconds is not None]
        if len(known) < len(times):
            return None
        gone = 0.0 if current is None or current.since is None else self._clock() - current.since
        return sum(known) - (min(gone, known[0]) if current is not None else 0.0)

    def _expected(self, share: Share) -> float | None:
        if share.last is not None:
            return share.last
        return median(self._first) if self._first else None
