"""`SamplingParams`: how a sampled burst chooses its tokens. Checked once, so that nothing downstream has to."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from engine.errors import EngineError

COLDEST = 1e-4
"""Smallest temperature besides 0: below it logits divided by it are no longer finite."""


@dataclass(frozen=True)
class SamplingParams:
    """Settings of a sampled burst; the order in which they act is transformers': penalties, then filters.

    Raises `EngineError` with one sentence for a value out of range.
    """

    temperature: float = 1.0
    """0 is greedy, with penalties if any are set."""
    top_k: int = 0
    """Keep the k most probable tokens, ties included; 0 keeps all."""
    top_p: float = 1.0
    """Keep the most probable tokens until their mass reaches it; 1 keeps all."""
    min_p: float = 0.0
    """Keep tokens at least this share as probable as the most probable one."""
    repetition_penalty: float = 1.0
    """As in transformers: over prompt and answer, a positive logit divided by it, a negative one multiplied."""
    frequency_penalty: float = 0.0
    """Subtracted once per occurrence among the last `penalty_last_n` tokens of prompt and answer."""
    presence_penalty: float = 0.0
    """Subtracted once if there is any occurrence there."""
    penalty_last_n: int = 64
    seed: int | None = None
    """The Philox key. None draws one for the session, which its trace tells; 0 is a seed like any other."""

    def __post_init__(self) -> None:
        """Check every value."""
        for name, low, high in (
            ("top_p", 0.0, 1.0),
            ("min_p", 0.0, 1.0),
            ("repetition_penalty", 0.01, 100.0),
            ("frequency_penalty", -100.0, 100.0),
            ("presence_penalty", -100.0, 100.0),
        ):
            _require(name, getattr(self, name), low, high)
        if not _is_number(self.temperature) or self.temperature != 0:
            _require("temperature", self.temperature, COLDEST, 100.0, " or 0 for greedy decoding")
        if self.top_p == 0:
            raise EngineError("top_p must be above 0; use temperature 0 for greedy decoding.")
        for name, most in (("top_k", 2**31 - 1), ("penalty_last_n", 2**31 - 1), ("seed", 2**64 - 1)):
            value = getattr(self, name)
            if name == "seed" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise EngineError(f"{name} must be a whole number from 0 to {most}, got {value!r}.")

    @property
    def penalised(self) -> bool:
        """Whether any penalty changes the logits."""
        local = self.penalty_last_n > 0 and (self.frequency_penalty != 0 or self.presence_penalty != 0)
        return local or self.repetition_penalty != 1

    def as_settings(self) -> tuple[tuple[str, float], ...]:
        """The fields but the seed, as the trace notes them."""
        return tuple((f.name, float(getattr(self, f.name))) for f in fields(self) if f.name != "seed")


def _require(name: str, value: object, low: float, high: float, other: str = "") -> None:
    if not _is_number(value) or not math.isfinite(value) or not low <= value <= high:  # type: ignore[arg-type, operator]
        raise EngineError(f"{name} must be a number from {low:g} to {high:g}{other}, got {value!r}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
