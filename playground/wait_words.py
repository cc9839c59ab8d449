"""How long a wait is, in words: coarse, and steady enough to be read, aloud too."""

from __future__ import annotations

import time

from playground.turn_times import Clock
from playground.worker import Wait

STEPS = (5, 10, 15, 20, 30, 40, 60, 90, 120, 180, 300, 600)
"""Seconds that are told; a wait is rounded up to one."""
STEADY_S = 3.0
"""Least time between two changes of what is told, unless the line itself has moved."""


def about(seconds: float | None) -> str:
    """`about 40 s`, `about 2 min`; '' for what is not known."""
    if seconds is None:
        return ""
    step = next((step for step in STEPS if seconds <= step), None)
    if step is None:
        return f"more than {STEPS[-1] // 60} min"
    return f"about {step} s" if step < 120 else f"about {step // 60} min"


def for_the_engine(wait: Wait) -> str:
    """What a measurement says that waits in the line."""
    known = about(wait.seconds)
    begins = f", it begins in {known}" if known else ""
    return f"Waiting for the engine: {wait.ahead} before you{begins}." if wait.ahead else "Waiting for the engine."


class WaitWords:
    """What one page is told of its wait, tick by tick."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._told = ""
        self._ahead = -1
        self._since = -STEADY_S

    def __call__(self, wait: Wait) -> str:
        """As `about`; between two moves of the line it changes seldom."""
        words, now = about(wait.seconds), self._clock()
        if wait.ahead != self._ahead or (words != self._told and now - self._since >= STEADY_S):
            self._told, self._ahead, self._since = words, wait.ahead, now
        return self._told
