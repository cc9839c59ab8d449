"""A clock for what asks for one: it stands still until a test moves it."""

from __future__ import annotations


class Clock:
    """`now` is in seconds, and what a call returns."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
