"""Acceptance counters of a session: host-side integer adds at each round, nothing else.

Names follow the field: `tokens_per_round = emitted / rounds` over all rounds,
`mean_acceptance_length = 1 + accepted / rounds that had drafts` (vLLM, llama.cpp: the bonus is counted),
`draft_acceptance_rate = accepted / drafted`. By position: per round (`accepted_i / rounds with drafts`) and
given that position i was reached (`accepted_i / tested_i`, where tested_i is the number of rounds in which
every earlier draft was accepted and a draft stood at i).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

POSITIONS = 8
"""Draft positions counted one by one; later ones only in the totals."""


def _zeros() -> list[int]:
    return [0] * POSITIONS


@dataclass
class SpecTelemetry:
    """Lifetime counters of one session. `emitted` counts the tokens that rounds emitted, not a turn's first token."""

    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    emitted: int = 0
    draft_rounds: int = 0
    pos_drafted: list[int] = field(default_factory=_zeros)
    pos_accepted: list[int] = field(default_factory=_zeros)

    def record(self, drafted: int, accepted: int, emitted: int) -> None:
        """Count one round: `drafted` proposals, the first `accepted` of them kept, `emitted` tokens out."""
        assert 0 <= accepted <= drafted and 0 <= emitted <= accepted + 1
        self.rounds += 1
        self.drafted += drafted
        self.accepted += accepted
        self.emitted += emitted
        self.draft_rounds += drafted > 0
        for i in range(min(drafted, POSITIONS)):
            self.pos_drafted[i] += 1
            self.pos_accepted[i] += i < accepted

    def copy(self) -> SpecTelemetry:
        """A snapshot to diff against later with `delta_since`."""
        return SpecTelemetry(
            self.rounds,
            self.drafted,
            self.accepted,
            self.emitted,
            self.draft_rounds,
            list(self.pos_drafted),
            list(self.pos_accepted),
        )

    def delta_since(self, earlier: SpecTelemetry) -> SpecTelemetry:
        """What was counted after `earlier`; saturates at zero, never a wrapped counter."""
        return self._zip(earlier, lambda a, b: max(0, a - b))

    def merge(self, other: SpecTelemetry) -> SpecTelemetry:
        """The field-wise sum of the two, as a new object."""
        return self._zip(other, lambda a, b: a + b)

    def _zip(self, other: SpecTelemetry, op: Callable[[int, int], int]) -> SpecTelemetry:
        return SpecTelemetry(
            op(self.rounds, other.rounds),
            op(self.drafted, other.drafted),
            op(self.accepted, other.accepted),
            op(self.emitted, other.emitted),
            op(self.draft_rounds, other.draft_rounds),
            [op(a, b) for a, b in zip(self.pos_drafted, other.pos_drafted, strict=True)],
            [op(a, b) for a, b in zip(self.pos_accepted, other.pos_accepted, strict=True)],
        )

    @property
    def tokens_per_round(self) -> float:
        """`emitted / rounds`, 0.0 before the first round."""
        return self.emitted / self.rounds if self.rounds else 0.0

    @property
    def mean_acceptance_length(self) -> float:
        """`1 + accepted / rounds that had drafts`, 1.0 while no round had drafts."""
        return 1.0 + (self.accepted / self.draft_rounds if self.draft_rounds else 0.0)

    @property
    def draft_acceptance_rate(self) -> float:
        """`accepted / drafted`, 0.0 before the first draft."""
        return self.accepted / self.drafted if self.drafted else 0.0

    def to_dict(self) -> dict[str, object]:
        """Plain counters and the derived figures, for JSON."""
        return {
            "rounds": self.rounds,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "emitted": self.emitted,
            "draft_rounds": self.draft_rounds,
            "pos_drafted": list(self.pos_drafted),
            "pos_accepted": list(self.pos_accepted),
            "tokens_per_round": self.tokens_per_round,
            "mean_acceptance_length": self.mean_acceptance_length,
            "draft_acceptance_rate": self.draft_acceptance_rate,
        }
