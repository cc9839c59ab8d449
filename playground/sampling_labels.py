"""What the sampling settings are called where people read: by their controls' labels. Scripts read their own names."""

from __future__ import annotations

import re

LABELS = {
    "temperature": "Temperature",
    "seed": "Seed",
    "verify": "Verify mode",
    "top_k": "Top-k",
    "top_p": "Top-p",
    "min_p": "Min-p",
    "repetition_penalty": "Repetition penalty",
    "penalty_last_n": "Penalty window",
    "frequency_penalty": "Frequency penalty",
    "presence_penalty": "Presence penalty",
}
"""Label of each control by its parameter, in the order in which the page has them."""
_NAME = re.compile(rf"\A({'|'.join(LABELS)})(?= must )")
_EMPTY = re.compile(r", got None\.\Z")


def in_labels(refusal: str) -> str:
    """A refusal for a person: the control's label in place of its parameter; a box without a number is empty."""
    named = _NAME.sub(lambda match: LABELS[match[1]], refusal)
    return _EMPTY.sub("; its box is empty.", named)
