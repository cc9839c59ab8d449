"""What a session keeps so that it can go back: rewind points, the last round, and a flushed token."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class RewindPoint:
    """A position to come back to without a forward."""

    pos: int
    turn: int
    logits: Tensor
    """[V], the row after which the turn's answer (or its header) begins."""
    last_h: Tensor
    """[H], hidden of row pos - 1."""
    drafter: str
    snapshot: object

    @property
    def nbytes(self) -> int:
        """Memory the point holds."""
        return self.logits.nbytes + self.last_h.nbytes


@dataclass(frozen=True)
class Parked:
    """The token a flush committed: an end of turn stays one when parked, and a sampled burst carries it again."""

    token: int
    last_h: Tensor | None
    """[H], hidden of the row before it."""


@dataclass(frozen=True)
class Tail:
    """The last round, kept until the next forward so that emitted tokens can still be taken back."""

    base: int
    """Committed length before that round."""
    tokens: tuple[int, ...]
    """What it emitted."""
    logits: Tensor
    """[c, V] and"""
    hidden: Tensor
    """[c, H]: rows of its columns 0 .. len(tokens) - 1."""
