"""The names of the arms, as `--arms` takes them, read without importing torch."""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT = ("generate", "lookup-7", "plain", "ngram-3", "ngram-7", "model-3")
KINDS = "generate, lookup-K, plain, ngram-K or model-K"


@dataclass(frozen=True)
class ArmName:
    """`generate` and `lookup-K` are transformers'; `plain`, `ngram-K` and `model-K` are sessions of this engine."""

    kind: str
    draft_len: int
    """K, most drafts a round; 0 for the two without drafts."""

    @property
    def stock(self) -> bool:
        """Whether it runs on a model of its own, as transformers loads it."""
        return self.kind in ("generate", "lookup")

    def __str__(self) -> str:
        return f"{self.kind}-{self.draft_len}" if self.draft_len else self.kind


def parse_arm(text: str) -> ArmName:
    """Raises ValueError with one sentence for a name that is not an arm."""
    if text in ("generate", "plain"):
        return ArmName(text, 0)
    match = re.fullmatch(r"(lookup|ngram|model)-(\d+)", text)
    if match is None or not 1 <= int(match[2]) <= 32:
        raise ValueError(f"There is no arm {text!r}; choose {KINDS} with K from 1 to 32.")
    return ArmName(match[1], int(match[2]))
