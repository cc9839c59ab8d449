"""Prefill: rows of known tokens, written in chunks on top of a session's live rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from engine.errors import EngineError
from engine.events import ContextEvent, PrefillEvent
from engine.rules.protocol import Choose

if TYPE_CHECKING:
    from engine.session import SpecSession


@dataclass
class Prefilled:
    """What a prefill leaves for the commit. Rows are keyed by absolute position."""

    logits: dict[int, Tensor] = field(default_factory=dict)
    """[V] for each wanted row."""
    last_h: dict[int, Tensor] = field(default_factory=dict)
    """[H] for each wanted row."""
    hidden: list[Tensor] = field(default_factory=list)
    """[n, H] per chunk, only if the drafter conditions on hidden rows."""
    choice: int = -1
    """Chosen from the last row."""


def greedy_choice(logits: Tensor) -> int:
    """The argmax of a row."""
    return int(logits.argmax())


def prefill(
    session: SpecSession,
    tokens: Sequence[int],
    wanted: Collection[int],
    *,
    poll: Callable[[], bool],
    choose: Choose = greedy_choice,
    carried: int | None = None,
    cause: Literal["turn", "reprime"] = "turn",
) -> Prefilled | None:
    """Write rows for `tokens` after the session's rows; commit nothing.

    Args:
        tokens: at least one. wanted: absolute positions whose logits and hidden rows are needed, besides the last.
        poll: asked between chunks; False cancels.
        choose: the token after the last row.
        carried: the pending token, if it is `tokens[0]`.

    Returns None when cancelled. Then, and when a forward raises, the rows are as before.
    """
    engine, slot = session.engine, session.slot
    assert slot is not None and tokens
    start, end = slot.length, slot.length + len(tokens)
    positions = {*wanted, end - 1}
    out = Prefilled()
    try:
        at = start
        while at < end:
            if at > start and not poll():
                return None
            clock = time.perf_counter()
            size = min(end - at, engine.prefill_chunk)
            width = engine.widths.prefill_width(size, slot.capacity - at)
            chunk = tokens[at - start : at - start + min(size, width)]
            columns = sorted(p - at for p in positions if at <= p < at + len(chunk))
            got = engine.trunk.forward(slot, at, chunk, width, keep=columns)
            for column, logits in zip(columns, got.logits, strict=True):
                out.logits[at + column] = logits.clone()
                out.last_h[at + column] = got.hidden[column].clone()
            if session.drafter.needs_hidden:
                out.hidden.append(got.hidden)
            last = at + len(chunk) == end
            if last:
                out.choice = choose(out.logits[end - 1])
            session.trace.append(
                PrefillEvent(
                    turn=session.turn,
                    burst=session.bursts,
                    pos=at,
                    tokens=len(chunk),
                    width=width,
                    ms=(time.perf_counter() - clock) * 1e3,
                    carried=carried if at == start else None,
                    first=out.choice if last and cause == "turn" else None,
                    cause=cause,
                )
            )
            at += len(chunk)
            slot.truncate(at)
        return out
    except EngineError:
        slot.truncate(start)
        slot.scrub()  # an earlier chunk may hold what a later one found not to be finite
        raise
    finally:
        slot.truncate(start)


def reprime(session: SpecSession, poll: Callable[[], bool] = lambda: True) -> bool:
    """Rebuild every row of `committed` in a zeroed slot; predictions and pending token stay as they were.

    False when `poll` cancelled. Then, and when a forward raises, the session is without rows, as after an eviction.
    """
    engine = session.engine
    tokens = session.committed
    engine.slots.release(session)
    slot = engine.slots.acquire(session)
    if tokens:
        out = None
        try:
            out = prefill(session, tokens, (), poll=poll, cause="reprime")
        finally:
            if out is None:
                engine.slots.release(session)
        if out is None:
            return False
        slot.truncate(len(tokens))
        session.last_h = out.last_h[len(tokens) - 1]
        if session.next_pred is not None:
            session.last_logits = out.logits[len(tokens) - 1]
            session.next_pred = out.choice
        if session.drafter.needs_hidden:
            session.drafter.start([], None)
            session.drafter.observe(tokens, torch.cat(out.hidden))
        else:
            session.drafter.start(tokens, session.last_h)
        session.tail = None
    session.failed = False
    session.trace.append(ContextEvent(action="reprimed", used=len(tokens), max_ctx=engine.max_ctx))
    return True


def ensure_resident(session: SpecSession, poll: Callable[[], bool] = lambda: True) -> bool:
    """Give the session its rows: a slot at its first use, and its rows again after an eviction.

    False when `poll`, asked between the chunks of that, cancelled; the session is then as before.
    """
    if session.slot is not None:
        session.engine.slots.touch(session)
    elif session.committed:
        return reprime(session, poll)
    else:
        session.engine.slots.acquire(session)
    return True
