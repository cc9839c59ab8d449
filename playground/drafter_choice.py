"""Drafter and draft length of one conversation: asked for at any time, put into effect between two bursts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.session import SpecSession


class DrafterChoice:
    """The last one asked for, and the last one put into effect. A page asks, the job that has the engine applies."""

    def __init__(self) -> None:
        self._asked: tuple[str, int] | None = None
        self._applied: tuple[str, int] | None = None

    def ask(self, drafter: str, draft_len: int) -> None:
        """What the next burst shall use."""
        self._asked = (drafter, draft_len)

    def apply(self, session: SpecSession) -> None:
        """Put what was asked for into effect. Raises `DrafterMismatch` once; then the former stays."""
        asked = self._asked
        if asked is None or asked == (self._applied or (session.drafter.name, session.draft_len)):
            return
        try:
            session.set_drafter(*asked)
        except Exception:
            self._asked = self._applied
            raise
        self._applied = asked

    def begin_anew(self) -> None:
        """The session is gone; the next one has the engine's defaults."""
        self._applied = None
