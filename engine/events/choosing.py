"""How tokens are chosen, and those chosen outside a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.events.base import Event, Mode


@dataclass(frozen=True, kw_only=True)
class SamplingEvent(Event):
    """The settings that the tokens from here on are chosen with; appended when they change."""

    kind: ClassVar[str] = "sampling"
    mode: Mode
    seed: int | None
    """The Philox key, chosen by the user or drawn once for the session; None when nothing is drawn."""
    settings: tuple[tuple[str, float], ...]
    """The other fields of `SamplingParams`, by name."""
    pos: int
    turn: int


@dataclass(frozen=True, kw_only=True)
class DrawEvent(Event):
    """A token drawn outside a round, from a logits row at hand."""

    kind: ClassVar[str] = "draw"
    mode: Mode
    cause: Literal["first", "resume"]
    """`first`: the first token of a turn; `resume`: a burst began where a prediction stood."""
    token: int
    sctr: int
    """The draw counter before; one value was used."""
    pos: int
    turn: int
