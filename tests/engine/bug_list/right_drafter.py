"""A drafter that is always right, and the prompt that all start from."""

from __future__ import annotations

from tests.factories import VOCAB
from tests.scripts import GarbageDrafter, tiny_script

PROMPT = list(tiny_script(VOCAB, seed=12).turns[0][0])


def right_drafter(oracle):
    """Every draft is right, so every round is a full accept and overshoots all it can."""

    def truth(history, count):
        return oracle.continuation(history, count) if count else []

    return GarbageDrafter(VOCAB, right=1.0, truth=truth)
