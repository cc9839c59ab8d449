"""What every event has, and the words that several of them use."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

Reason = Literal["stop", "length", "cancelled", "context"]
Origin = Literal["first", "draft", "bonus", "correction"]
State = Literal["FRESH", "PENDING", "PREDICTED", "FAILED"]
Mode = Literal["greedy", "rejection", "coupled"]
"""How a round chooses: argmax, speculative sampling with accept tests, or sampling with shared Gumbel noise."""
Alternatives = tuple[tuple[int, float], ...]
"""Most probable tokens of one column, best first, each with its probability."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events."""

    kind: ClassVar[str]
    seq: int = -1
    t: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON-ready plain values, `kind` included; tuples become lists."""
        out: dict[str, Any] = {"kind": self.kind}
        for key, value in asdict(self).items():
            out[key] = list(value) if isinstance(value, tuple) else value
        return out
