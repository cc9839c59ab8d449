"""What the two sampled rules share: settings, seed, and the scores that both draw from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from engine.rules.shape import scores
from engine.sampling import SamplingParams


@dataclass(frozen=True)
class SampledRule:
    """Settings and the Philox key. Equal only to a rule of the same kind."""

    params: SamplingParams
    seed: int
    draws: bool = True

    @property
    def needs_context(self) -> bool:
        """Only penalties read it."""
        return self.params.penalised

    def scores(self, logits: Tensor, context: Sequence[int], drafts: Sequence[int]) -> Tensor:
        """Penalised, over the temperature, filtered."""
        return scores(logits, self.params, context, drafts)

    def describe(self) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """Seed and settings."""
        return self.seed, self.params.as_settings()
