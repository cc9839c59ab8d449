"""The pending carry's transitions, as the trace tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.events import PendingEvent

if TYPE_CHECKING:
    from engine.session import SpecSession


def note_pending(
    session: SpecSession,
    transition: Literal["carry", "consume", "promote", "flush", "drop"],
    token: int,
    pos: int,
    via: Literal["round", "prefill", "continue", "rewind", "trim"],
) -> None:
    """Append the transition of `token`, at position `pos`, with the state it led to."""
    session.trace.append(
        PendingEvent(
            transition=transition,
            token=token,
            pos=pos,
            turn=session.turn,
            burst=session.bursts,
            via=via,
            state=session.state,
        )
    )
