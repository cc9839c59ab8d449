"""Where a session can go back to, and that it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.events.base import Event


@dataclass(frozen=True, kw_only=True)
class CheckpointEvent(Event):
    """A rewind point was taken at `pos` (rows kept by a rewind to it)."""

    kind: ClassVar[str] = "checkpoint"
    turn: int
    pos: int
    role: Literal["header", "prompt"]
    """`header`: before the live assistant header; `prompt`: at the prompt end."""
    bytes: int
    retained: tuple[int, ...]
    """All retained positions after it, ascending."""


@dataclass(frozen=True, kw_only=True)
class RewindEvent(Event):
    """Rows above `to` were dropped. `cause` says who asked."""

    kind: ClassVar[str] = "rewind"
    turn: int
    start: int
    """Committed length before."""
    to: int
    """Committed length after."""
    cause: Literal["checkpoint", "prompt", "prime", "clear", "overshoot", "stop", "unpark"]
    """`stop`: a stop string ended the answer, and what was emitted from its first token on was taken back. `unpark`: a
    sampled burst carries a flushed token again."""
    retained: tuple[int, ...]
