"""What the page shows that no event says: is it running, how fast, what is held right now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.events import State

Phase = Literal["idle", "loading", "prefill", "decoding"]
CacheName = Literal["trunk", "draft model"]


@dataclass(frozen=True, kw_only=True)
class CacheUse:
    """One cache of a session: rows it holds, rows there is memory for, rows that may be used."""

    name: CacheName
    used: int
    reserved: int
    """Rows of the slot, 0 without one: the limit, and room for the columns of a last round."""
    limit: int
    nbytes: int
    """Bytes of the slot. On the CPU only the pages that were written take memory."""
    dtype: str


@dataclass(frozen=True, kw_only=True)
class Occupancy:
    """Who has how much of the memory: this session by itself, the others as a count."""

    caches: tuple[CacheUse, ...]
    turns: int
    """User messages in the session's present history."""
    slots_used: int
    slots: int
    own_slot: bool
    """False before the first turn, and after another session took the slot: the next turn computes the rows again."""
    weights: int
    """Bytes, as `draft_weights` and `slot_bytes`."""
    draft_weights: int
    slot_bytes: int
    """Of all slots, whoever has them."""
    model: str
    """Its public name."""
    device: str
    graphs: str
    """One sentence: whether rounds replay captured graphs, and why not."""
    reads: int | None = None
    """Times the host waited for the device; None where forwards take torch's own way."""
    free: int | None = None
    """Bytes free on the device, whoever could take them, coarsely; None where that is not known."""

    def wire(self) -> dict[str, Any]:
        """JSON-ready. What moves every round stands by itself, so that a delta is short."""
        return {
            "caches": [[c.name, c.reserved, c.limit, c.nbytes, c.dtype] for c in self.caches],
            "used": [c.used for c in self.caches],
            "turns": self.turns,
            "slots": [self.slots_used, self.slots, int(self.own_slot)],
            "bytes": [self.weights, self.draft_weights, self.slot_bytes],
            "model": self.model,
            "device": self.device,
            "graphs": self.graphs,
            "reads": self.reads,
            "free": self.free,
        }


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
    elsewhere: bool = False
    """Whether the chat shows another branch than the one whose rows are in the caches."""
    hidden_overshoot: int = 0
    """Tokens past the budget that are in the caches and not shown in the chat."""
    occupancy: Occupancy | None = None
    """None before the first turn."""

    def wire(self) -> dict[str, Any]:
        """The fields the views read, JSON-ready. `tok_s` travels as a figure, the occupancy as a group of its own."""
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
            "elsewhere": self.elsewhere,
            "hidden": self.hidden_overshoot,
        }
