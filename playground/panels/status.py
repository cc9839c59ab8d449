"""What the page shows that no event says: is it running, how fast, what is held right now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.events import State

Phase = Literal["idle", "loading", "prefill", "decoding"]


@dataclass(frozen=True, kw_only=True)
class LiveStatus:
    """One reading of a session, taken together with the events that led to it."""

    running: bool = False
    version: int = 0
    """Of the conversation: a page whose version is older than the server's asks for news."""
    phase: Phase = "idle"
    tok_s: float = 0.0
    """Emitted tokens per second of decoding, as the app measures it; 0.0 before the first round."""
    state: State = "FRESH"
    committed: int = 0
    """Rows in the caches."""
    max_ctx: int = 0
    pending: int | None = None
    """The id of the token that is emitted but has no row yet."""
    rewind_points: tuple[int, ...] = ()
    """Retained checkpoint positions, ascending."""
    drafter: str = "none"
    draft_len: int = 0
    can_continue: bool = False
    hidden_overshoot: int = 0
    """Tokens past the budget that are in the caches and not shown in the chat."""

    def wire(self) -> dict[str, Any]:
        """The fields the views read, JSON-ready. `tok_s` travels as a figure instead."""
        return {
            "running": self.running,
            "version": self.version,
            "phase": self.phase,
            "state": self.state,
            "committed": self.committed,
            "max_ctx": self.max_ctx,
            "pending": self.pending,
            "rewind_points": list(self.rewind_points),
            "drafter": self.drafter,
            "draft_len": self.draft_len,
            "can_continue": self.can_continue,
            "hidden": self.hidden_overshoot,
        }
