"""What a speed-up is made of: how many tokens a round gives, and how long it takes beside a plain step.

    speed-up = tokens per round x plain step / round

Times are medians, so that a few slow rounds move the speed-up over the whole time and not this one. That both agree is
arithmetic and proves nothing of a model; what foretells a setting without measuring it is playground/sweep/forecast.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from engine.events import RoundEvent

FAR = 0.1
"""Relative difference between medians and the whole time from which a reader wants a reason."""


@dataclass(frozen=True)
class CostModel:
    """Milliseconds and tokens of one drafter at one draft length, beside plain steps of the same engine."""

    tokens_per_round: float
    plain_step_ms: float
    round_ms: float
    measured: float | None = None
    """Ratio of the decode speeds in tokens a second; None where too little was measured."""

    @property
    def by_medians(self) -> float:
        """The formula above."""
        return self.tokens_per_round / self.break_even

    @property
    def break_even(self) -> float:
        """Tokens a round at which it neither gains nor loses."""
        return self.round_ms / self.plain_step_ms

    def sentence(self) -> str:
        """The formula with its numbers."""
        said = (
            f"{self.tokens_per_round:.2f} tokens a round × {self.plain_step_ms:.1f} ms a plain step ÷ "
            f"{self.round_ms:.1f} ms a round = {self.by_medians:.2f}× by median times"
        )
        if self.measured is None:
            return f"{said}."
        said += f", {self.measured:.2f}× over the whole time."
        if abs(self.measured / self.by_medians - 1) > FAR:
            said += " They differ where single rounds took much longer or shorter than the median one."
        return said

    def reason(self) -> str:
        """Why it gains or loses, in one sentence."""
        gains = self.tokens_per_round >= self.break_even
        verb = "pay" if gains else "do not pay"
        return (
            f"{self.tokens_per_round:.2f} tokens a round {verb} for a round that takes {self.break_even:.2f} times as "
            f"long as a plain step; {self.break_even:.2f} tokens a round would break even."
        )


def round_ms(event: RoundEvent) -> float:
    """Milliseconds of a whole round."""
    return event.draft_ms + event.verify_ms + event.accept_ms + event.host_ms


def median_round_ms(rounds: Sequence[RoundEvent]) -> float | None:
    """The median round; None without rounds, or on a clock too coarse for them."""
    middle = median(map(round_ms, rounds)) if rounds else 0.0
    return middle if middle > 0 else None
