"""What one pass of one arm over one conversation leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine import SpecTelemetry


@dataclass
class TurnTimes:
    """One turn: its tokens, and when they came. Times are seconds from the call."""

    tokens: list[int]
    """The new tokens, as many in every arm."""
    first_seconds: float
    """Until the first token came: the prompt, and what else stands before it."""
    first_tokens: int
    """Tokens that came with the first: one, or more where a lookup drafts in its first forward."""
    seconds: float
    """Until the call returned."""

    @property
    def decode_tokens(self) -> int:
        """Tokens after those that came first."""
        return len(self.tokens) - self.first_tokens

    @property
    def decode_seconds(self) -> float:
        """The time they took."""
        return self.seconds - self.first_seconds


@dataclass
class RoundSplit:
    """Milliseconds of one round, from the trace."""

    draft: float
    verify: float
    accept: float
    host: float

    @property
    def total(self) -> float:
        """The whole round."""
        return self.draft + self.verify + self.accept + self.host


@dataclass
class Pass:
    """One pass of one arm over one conversation."""

    turns: list[TurnTimes] = field(default_factory=list)
    forwards: int = 0
    """Of the target model."""
    draft_forwards: int = 0
    """Of a draft model."""
    rounds: int = 0
    prefills: int = 0
    flushes: int = 0
    splits: list[RoundSplit] = field(default_factory=list)
    """One per round; empty for transformers."""
    telem: SpecTelemetry = field(default_factory=SpecTelemetry)

    @property
    def tokens(self) -> list[list[int]]:
        """New tokens of each turn."""
        return [turn.tokens for turn in self.turns]
