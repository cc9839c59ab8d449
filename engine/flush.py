"""Flush: commit the pending token by a round without drafts, so that the session ends in a prediction; and back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.entry import context_full
from engine.events import FlushEvent, RewindEvent
from engine.pending import note_pending
from engine.prefill import ensure_resident
from engine.way_back import Parked

if TYPE_CHECKING:
    from engine.session import SpecSession


def spec_flush_pending(session: SpecSession) -> None:
    """Commit the pending token by a round without drafts and set `next_pred`. No-op without one.

    Raises:
        ContextFull: no row is left for it; nothing changed.
    """
    with session.exclusive("spec_flush_pending", allow_failed=False):
        token = session.pending_tok
        if token is None:
            return
        if session.room() < 1:
            raise context_full(session, 1)
        ensure_resident(session)
        assert session.slot is not None
        clock = time.perf_counter()
        position, width = len(session.committed), session.engine.widths.round_width(1)
        out = session.engine.trunk.forward(session.slot, position, [token], width, keep=[0])
        session.failed = True  # until every part has moved
        session.extend([token])
        session.pending_tok, session.next_pred = None, int(out.logits[0].argmax())
        session.last_logits = out.logits[0]
        session.parked, session.tail = Parked(token, session.last_h), None
        session.last_h = out.hidden[0].clone()
        session.drafter.observe([token], out.hidden if session.drafter.needs_hidden else None)
        session.failed = False
        session.trace.append(
            FlushEvent(
                turn=session.turn,
                pos=position,
                token=token,
                next_pred=session.next_pred,
                width=width,
                ms=(time.perf_counter() - clock) * 1e3,
            )
        )
        note_pending(session, "flush", token, position, "round")


def unpark(session: SpecSession) -> None:
    """Undo a flush: drop its row and carry the token again, so that parking leaves no mark on what is drawn next."""
    parked, length = session.parked, len(session.committed)
    assert parked is not None and length
    how = session.chosen[-1]
    session.truncate(length - 1)
    session.pending_tok, session.next_pred, session.last_logits = parked.token, None, None
    session.last_h = parked.last_h
    session.chosen.append(how)
    session.drafter.truncate(length - 1, session.last_h)
    session.trace.append(
        RewindEvent(
            turn=session.turn, start=length, to=length - 1, cause="unpark", retained=tuple(session.rewind_points())
        )
    )
