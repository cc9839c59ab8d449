"""Going back: to a checkpoint, past unwanted overshoot, or to nothing. Rows rewind by length, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.errors import SessionStateError
from engine.events import CheckpointEvent, OvershootEvent, RewindEvent
from engine.pending import note_pending
from engine.session import MAX_POINTS
from engine.way_back import RewindPoint, Tail

if TYPE_CHECKING:
    from torch import Tensor

    from engine.session import SpecSession


def spec_rewind_to_checkpoint(session: SpecSession, pos: int | None = None) -> int:
    """Go back to a retained checkpoint, the latest by default, and return its position.

    Later checkpoints are dropped, the one used is kept. Its own logits row restores `next_pred`, so a continuation
    from here needs no forward of its own.

    Raises:
        SessionStateError: there is no checkpoint, or none at `pos`; nothing changed.
    """
    with session.exclusive("spec_rewind_to_checkpoint"):
        point = _find(session, pos)
        before = len(session.committed)
        return_to(session, point)
        session.trace.append(
            RewindEvent(
                turn=session.turn,
                start=before,
                to=point.pos,
                cause="checkpoint",
                retained=tuple(session.rewind_points()),
            )
        )
        return point.pos


def drop_overshoot(session: SpecSession, count: int) -> None:
    """Forget the last `count` emitted tokens, which nobody was shown, all of them from the last round.

    The last one that stays is committed, the first dropped one becomes `next_pred`: what a trim would have left.

    Raises:
        SessionStateError: the tokens are not all from the last round, or the session does not end in one.
    """
    with session.exclusive("drop_overshoot", allow_failed=False):
        tail = session.tail
        if count == 0:
            return
        if session.pending_tok is None or tail is None or not 0 < count <= len(tail.tokens):
            raise SessionStateError(
                f"Only tokens of the last round can be dropped ({len(tail.tokens) if tail else 0}, not {count}); "
                "use spec_rewind_to_checkpoint to go back further."
            )
        dropped = tail.tokens[len(tail.tokens) - count :]
        before = len(session.committed)
        drop_pending(session, via="trim")
        drop_from_tail(session, tail, count)
        position = len(session.committed)
        session.trace.append(
            RewindEvent(
                turn=session.turn,
                start=before,
                to=position,
                cause="overshoot",
                retained=tuple(session.rewind_points()),
            )
        )
        session.trace.append(OvershootEvent(action="dropped", tokens=dropped, turn=session.turn, pos=position))


def reset(session: SpecSession, cause: Literal["prime", "clear"] = "clear") -> None:
    """Back to no rows. Trace, telemetry and random counters live on."""
    with session.exclusive("reset"):
        before = len(session.committed)
        drop_pending(session, via="rewind")
        session.truncate(0)
        session.next_pred = session.last_h = session.last_logits = None
        session.failed = False
        if session.slot is not None:
            session.slot.scrub()
        session.drafter.start([], None)
        session.trace.append(RewindEvent(turn=session.turn, start=before, to=0, cause=cause, retained=()))


def take_point(
    session: SpecSession,
    pos: int,
    logits: Tensor,
    last_h: Tensor,
    role: Literal["header", "prompt"],
    snapshot: object,
) -> None:
    """Retain a rewind point at `pos`; replaces one at the same position, and the oldest go when there are too many."""
    point = RewindPoint(pos, session.turn, logits, last_h, session.drafter.name, snapshot)
    session.points = [*(p for p in session.points if p.pos < pos), point][-MAX_POINTS:]
    session.trace.append(
        CheckpointEvent(
            turn=session.turn,
            pos=pos,
            role=role,
            bytes=point.nbytes,
            retained=tuple(session.rewind_points()),
        )
    )


def _find(session: SpecSession, pos: int | None) -> RewindPoint:
    if not session.points:
        raise SessionStateError("There is no checkpoint to rewind to yet; run a turn first.")
    if pos is None:
        return session.points[-1]
    for point in session.points:
        if point.pos == pos:
            return point
    raise SessionStateError(
        f"There is no checkpoint at {pos} (committed length {len(session.committed)}); retained ones are at "
        f"{', '.join(map(str, session.rewind_points()))}."
    )


def return_to(session: SpecSession, point: RewindPoint) -> None:
    """Back to a point, its prediction and its drafter included; the caller notes it in the trace."""
    drop_pending(session, via="rewind")
    session.truncate(point.pos)
    _predict(session, point.logits, point.last_h)
    if session.drafter.name == point.drafter:
        session.drafter.restore(point.snapshot, point.last_h)
    else:
        session.start_drafter()  # another drafter made the snapshot
    session.failed = False


def drop_from_tail(session: SpecSession, tail: Tail, count: int) -> None:
    """Forget the last `count` tokens of the last round, pending or not; the caller notes it in the trace."""
    kept = len(tail.tokens) - count
    session.truncate(tail.base + 1 + kept)
    _predict(session, tail.logits[kept], tail.hidden[kept].clone())
    session.drafter.truncate(len(session.committed), session.last_h)


def drop_pending(session: SpecSession, via: Literal["rewind", "trim"]) -> None:
    """Let the carried token go, visibly."""
    if session.pending_tok is None:
        return
    token, session.pending_tok = session.pending_tok, None
    del session.chosen[len(session.committed) :]
    note_pending(session, "drop", token, len(session.committed), via)


def _predict(session: SpecSession, logits: Tensor, last_h: Tensor) -> None:
    session.last_logits, session.last_h = logits, last_h
    session.next_pred = int(logits.argmax())
