"""The ways in which a page comes to show a conversation, as one event to follow."""

from __future__ import annotations

from typing import Any


class Openings:
    """Loading the page, choosing another conversation, beginning a new one: what follows one follows all of them."""

    def __init__(self, *events: Any) -> None:
        self._events = events

    def then(self, *args: Any, **options: Any) -> Openings:
        """As `then` of Gradio's events."""
        return Openings(*(event.then(*args, **options) for event in self._events))
