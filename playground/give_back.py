"""A visitor gives the rows of a conversation back: room for others, and the next turn computes them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.limits import Refused
from playground.view import View

if TYPE_CHECKING:
    from engine.chat import ChatSession

NO_ROWS = "This conversation holds no rows, so there is nothing to give back."
ANSWERING = "This conversation is at work on its rows; wait for the end or press Stop, then give them back."


def require_idle(view: View) -> None:
    """Raises `Refused` while something runs."""
    if view.running:
        raise Refused(ANSWERING)


def give_back(chat: ChatSession | None) -> int:
    """Returns how many rows there were. Raises `Refused` without any. Only the worker calls it."""
    session = None if chat is None else chat.session
    slots = None if session is None else getattr(session.engine, "slots", None)
    if session is None or slots is None or session.slot is None or not session.committed:
        raise Refused(NO_ROWS)
    slots.evict(session)
    return len(session.committed)


def told(rows: int) -> str:
    """What came of it."""
    return f"The memory of {rows:,} rows was given back; the next message computes them again, and answers the same."
