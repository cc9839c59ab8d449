"""A verify forward and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from engine.events.base import Alternatives, Event, Mode


@dataclass(frozen=True, kw_only=True)
class RoundEvent(Event):
    """One verify forward and what came of it."""

    kind: ClassVar[str] = "round"
    turn: int
    burst: int
    round: int
    """Counts from 0 over the session's life."""
    pos: int
    """Committed length before the round; `pending` is the token at this position."""
    pending: int
    """Column 0."""
    drafted: tuple[int, ...]
    """Columns 1..len(drafted)."""
    accepted: int
    """Leading drafts that were kept; the verdict of draft i is `i < accepted`."""
    bonus: int | None
    """The trunk's own token after the last accepted column; None when an accepted draft was a stop id."""
    emitted: int
    """Tokens given to the caller: accepted + bonus, less what a trim dropped."""
    width: int
    drafter: str
    draft_ms: float
    verify_ms: float
    accept_ms: float
    host_ms: float
    trimmed: tuple[int, ...] = ()
    """Tokens that `overshoot="trim"` dropped, in order; they are not in `emitted`."""
    room: int = 0
    """Rows of context left before the round."""
    mode: Mode = "greedy"
    sctr: int = 0
    """The session's draw counter before the round; the round used `draws` values from there."""
    draws: int = 0
    """Rejection: draft draws, then the final draw. Coupled: one per emitted token."""
    uctr: int = 0
    """The session's accept-test counter before the round; the round used `len(test_u)` values from there."""
    test_p: tuple[float, ...] = ()
    """Rejection: for each draft tested, the trunk's filtered probability of it,"""
    test_q: tuple[float, ...] = ()
    """the drafter's (1 for a deterministic drafter),"""
    test_u: tuple[float, ...] = ()
    """and the uniform: accepted if u * q < p."""
    trunk_top: tuple[Alternatives, ...] = ()
    """Per column 0..accepted: the trunk's alternatives for the token after it. Empty unless asked for."""
    draft_top: tuple[Alternatives, ...] = ()
    """Per draft: the drafter's alternatives. Empty unless asked for, and for drafters without probabilities."""
    graphed: bool = False
    """Whether the verify forward replayed a captured graph."""

    @property
    def correction(self) -> bool:
        """Whether `bonus` replaced a rejected draft."""
        return self.bonus is not None and self.accepted < len(self.drafted)

    def to_dict(self) -> dict[str, Any]:
        """As the base, with `correction` added."""
        return super().to_dict() | {"correction": self.correction}
