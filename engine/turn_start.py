"""Opening a turn: prefill its prompt on top of the live rows, take its rewind points, choose its first token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from engine.draws import first_choice, note_draw
from engine.events import TurnEvent
from engine.pending import note_pending
from engine.prefill import Prefilled, prefill
from engine.rewind import take_point
from engine.rules import Rule

if TYPE_CHECKING:
    from engine.session import SpecSession


def open_turn(
    session: SpecSession,
    suffix: list[int],
    checkpoint_at: int | None,
    turn: TurnEvent | None,
    poll: Callable[[], bool],
    rule: Rule,
) -> int | None:
    """Prefill a turn and make its first token the pending one; returns it.

    A carried pending token is part of the history and is folded in as the first row. None when `poll` cancelled: then,
    and when a forward raises, the session is as before.
    """
    carried, start = session.pending_tok, len(session.committed)
    rows = suffix if carried is None else [carried, *suffix]
    at_entry = (session.last_logits, session.last_h)
    session.turn += 1
    session.trace.append(turn or _plain_turn(session, suffix))
    wanted = [checkpoint_at - 1] if checkpoint_at is not None and checkpoint_at > start else []
    try:
        out = prefill(session, rows, wanted, poll=poll, carried=carried, choose=first_choice(session, rule, suffix))
    except Exception:
        session.turn -= 1
        raise
    if out is None:
        session.turn -= 1
        return None
    if checkpoint_at is not None and checkpoint_at == start and start:
        out.logits[start - 1], out.last_h[start - 1] = at_entry  # type: ignore[assignment]
    _commit_turn(session, rows, out, checkpoint_at, rule)
    if carried is not None:
        note_pending(session, "flush", carried, start, "prefill")
    note_draw(session, rule, out.choice, "first")
    return out.choice


def _plain_turn(session: SpecSession, suffix: list[int]) -> TurnEvent:
    history = len(session.history)
    return TurnEvent(
        turn=session.turn,
        decision="extend",
        prompt_tokens=history + len(suffix),
        reused=len(session.committed),
        common=history,
        history=history,
    )


def _commit_turn(session: SpecSession, rows: list[int], out: Prefilled, checkpoint_at: int | None, rule: Rule) -> None:
    """Move the session to the prompt's end: rows, drafter, the turn's checkpoints, first token pending."""
    assert session.slot is not None
    start, end = len(session.committed), len(session.committed) + len(rows)
    split = end if checkpoint_at is None else checkpoint_at
    hidden = torch.cat(out.hidden) if session.drafter.needs_hidden else None
    session.failed = True  # until every part has moved
    session.extend(rows)
    session.chosen += [None] * (end - len(session.chosen))
    session.emitted(1, rule, rule.start(session.sctr))
    session.pending_tok, session.next_pred, session.last_logits = out.choice, None, None
    session.last_h = out.last_h[end - 1]
    session.tail = session.parked = session.drawn = None
    for first, last in ((start, split), (split, end)):
        if last > first:
            part = slice(first - start, last - start)
            session.drafter.observe(rows[part], None if hidden is None else hidden[part])
        if last == split < end:
            take_point(
                session,
                split,
                out.logits[split - 1],
                out.last_h[split - 1],
                "header",
                session.drafter.snapshot(),
            )
    take_point(session, end, out.logits[end - 1], out.last_h[end - 1], "prompt", session.drafter.snapshot())
    session.failed = False
