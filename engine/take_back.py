"""Taking back emitted tokens: what a stop string ends was generated already, perhaps over several rounds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.errors import SessionStateError
from engine.events import FlushEvent, RewindEvent
from engine.prefill import ensure_resident
from engine.rewind import drop_from_tail, drop_pending, return_to

if TYPE_CHECKING:
    from engine.session import SpecSession


def take_back(session: SpecSession, length: int) -> None:
    """Keep the first `length` tokens of the session's history; the first one forgotten becomes `next_pred`.

    Costs nothing where the forgotten tokens are all of the last round or `length` is a rewind point. Otherwise the last
    kept token's row is computed again, for its logits: one forward, a `flush` in the trace. All of a history that
    short leaves the session as it is.

    Raises:
        SessionStateError: the history is not that long, or nothing would be left.
        EngineError: the forward failed; the session is FAILED then.
    """
    with session.exclusive("take_back", allow_failed=False):
        held = len(session.history)
        if not 0 < length <= held:
            raise SessionStateError(
                f"The history has {held} tokens, so {length} of them cannot be kept; give a length from 1 to {held}."
            )
        count, before, tail = held - length, len(session.committed), session.tail
        if count == 0:
            return
        point = next((point for point in session.points if point.pos == length), None)
        flush = None
        if point is not None:
            return_to(session, point)
        elif tail is not None and tail.base + 1 + len(tail.tokens) == held and count <= len(tail.tokens):
            drop_pending(session, via="rewind")
            drop_from_tail(session, tail, count)
        else:
            drop_pending(session, via="rewind")
            flush = _compute_last(session, length)
        session.trace.append(
            RewindEvent(
                turn=session.turn, start=before, to=length, cause="stop", retained=tuple(session.rewind_points())
            )
        )
        if flush is not None:
            session.trace.append(flush)


def _compute_last(session: SpecSession, length: int) -> FlushEvent:
    """Truncate to `length` rows and compute the last of them again, bit for bit, for its prediction."""
    ensure_resident(session)
    assert session.slot is not None
    clock, position = time.perf_counter(), length - 1
    token, width = session.committed[position], session.engine.widths.round_width(1)
    session.failed = True  # until every part has moved; a forward that fails may leave half a row
    out = session.engine.trunk.forward(session.slot, position, [token], width, keep=[0])
    session.truncate(length)
    session.pending_tok, session.next_pred = None, int(out.logits[0].argmax())
    session.last_logits, session.last_h = out.logits[0], out.hidden[0].clone()
    if session.drafter.needs_hidden:
        session.start_drafter()  # the hidden rows before it are gone
    else:
        session.drafter.truncate(length, session.last_h)
    session.failed = False
    return FlushEvent(
        turn=session.turn,
        pos=position,
        token=token,
        next_pred=session.next_pred,
        width=width,
        ms=(time.perf_counter() - clock) * 1e3,
    )
