"""What a drafter should gain, from the cost of its parts.

    speed-up = tokens per round x plain step / round

A plain step is a round of the engine at width 1; a round is draft, verify, accept and what the host does between. The
times are medians, so a few slow rounds move the measured speed-up but not the predicted one: where the two differ,
look there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CostModel:
    """Predicted and measured speed-up over the engine's own plain decoding."""

    tokens_per_round: float
    plain_step_ms: float
    round_ms: float
    measured: float
    """Ratio of the decode speeds, in tokens per second."""

    @property
    def predicted(self) -> float:
        """The formula above."""
        return self.tokens_per_round * self.plain_step_ms / self.round_ms

    @property
    def break_even(self) -> float:
        """Tokens per round at which the drafter neither gains nor loses."""
        return self.round_ms / self.plain_step_ms

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return {
            "tokens_per_round": self.tokens_per_round,
            "plain_step_ms": self.plain_step_ms,
            "round_ms": self.round_ms,
            "predicted": self.predicted,
            "measured": self.measured,
            "break_even": self.break_even,
        }
