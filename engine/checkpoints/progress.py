"""Progress of a load, told in sentences. A callback that raises stops the load and is not caught."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""`(sentence, fraction)`; the fraction is in 0..1, or None while nothing can be counted."""


def silent(sentence: str, fraction: float | None) -> None:
    """The progress of nobody watching."""
