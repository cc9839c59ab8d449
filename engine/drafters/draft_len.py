"""How many drafts a round may ask for."""

from __future__ import annotations

from engine.errors import DrafterMismatch


def require_draft_len(value: int, most: int) -> int:
    """`value` if it is an int in 0..most, else `DrafterMismatch`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise DrafterMismatch(
            f"The draft length must be between 0 and {most}, got {value}; "
            "for more, load the engine with a larger max_draft_len."
        )
    return value
