"""Counts real calls of the trunk's model, to hold against what a session's trace says it ran."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.events import FlushEvent, PrefillEvent, RoundEvent

if TYPE_CHECKING:
    from engine import Engine, SpecSession


class ForwardCounter:
    """A hook on the trunk's decoder, which every forward runs; `count` is the number of forwards since then."""

    def __init__(self, engine: Engine) -> None:
        self.count = 0
        self._active = True
        self._hook = engine.trunk.decoder.register_forward_hook(self._called)

    def _called(self, *_: object) -> None:
        self.count += self._active

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Forwards inside the block belong to somebody else, such as the oracle."""
        self._active = False
        try:
            yield
        finally:
            self._active = True

    def remove(self) -> None:
        """Take the hook off the model."""
        self._hook.remove()

    @staticmethod
    def in_trace(session: SpecSession) -> int:
        """Forwards that the session's trace accounts for: rounds + prefill chunks + flushes."""
        return sum(isinstance(event, (RoundEvent, PrefillEvent, FlushEvent)) for event in session.trace)
