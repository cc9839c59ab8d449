"""A burst: one call into a session. Prefill if there is a suffix, then rounds until something says stop."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from engine.burst_run import Burst, BurstRun, OnTokens, Overshoot
from engine.draws import note_draw, note_rule, resume_choice
from engine.entry import check_arguments, check_room
from engine.events import ContextEvent, Origin, TurnEvent
from engine.flush import unpark
from engine.pending import note_pending
from engine.prefill import ensure_resident
from engine.round import Observer, Round
from engine.rules import GREEDY, Rule
from engine.turn_start import open_turn

if TYPE_CHECKING:
    from engine.session import SpecSession


def generate_spec_session(
    session: SpecSession,
    suffix: Sequence[int],
    max_new: int,
    *,
    overshoot: Overshoot = "keep",
    stop_ids: Collection[int] | None = None,
    ignore_eos: bool = False,
    checkpoint_at: int | None = None,
    on_tokens: OnTokens | None = None,
) -> Burst:
    """Decode greedily, with a suffix (a turn) or without (a continuation).

    Args:
        suffix: token ids to append; empty to continue.
        max_new: visible budget. A round may emit past it (`Burst.overshoot`); 0 runs nothing.
        overshoot: `keep` leaves tokens past the budget in the caches; `trim` drops them before the next forward.
        stop_ids: tokens that end a turn; the checkpoint's by default. `ignore_eos` uses none.
        checkpoint_at: absolute position of a second rewind point inside the suffix, before the assistant header.
        on_tokens: called with [] before any forward and between prefill chunks, and with the new tokens at every
            round edge; False ends the burst there.

    Raises:
        ContextFull: nothing can be emitted, or the suffix does not fit; nothing changed.
        SessionStateError: not valid in this state; the message names the call that is.
        EngineError: an argument is out of range, or a forward failed; the state is the one before it.
    """
    return run_burst(
        session,
        suffix,
        max_new,
        overshoot=overshoot,
        stop_ids=stop_ids,
        ignore_eos=ignore_eos,
        checkpoint_at=checkpoint_at,
        on_tokens=on_tokens,
    )


def run_burst(
    session: SpecSession,
    suffix: Sequence[int],
    max_new: int,
    *,
    overshoot: Overshoot = "keep",
    stop_ids: Collection[int] | None = None,
    ignore_eos: bool = False,
    checkpoint_at: int | None = None,
    on_tokens: OnTokens | None = None,
    rule: Rule = GREEDY,
    observer: Observer | None = None,
    turn: TurnEvent | None = None,
) -> Burst:
    """A burst by any rule, for a caller that may have decided on reuse itself and says so with its own `turn` event.

    `observer` is asked before every round who is told of its stages. With `turn` and no suffix the session stands at a
    prompt's end, and its prediction begins a new turn.
    """
    with session.exclusive("generate_spec_session", allow_failed=False):
        stops = frozenset() if ignore_eos else frozenset(session.engine.stop_ids if stop_ids is None else stop_ids)
        run = BurstRun(session, max_new, overshoot, stops, on_tokens, session.telem.copy(), rule, observer)
        suffix = [int(token) for token in suffix]
        check_arguments(session, suffix, max_new, overshoot, checkpoint_at)
        if max_new == 0:
            return run.result("length")
        if not suffix and (session.pending_tok in stops or session.parked_tok in stops):
            return run.result("stop")
        check_room(session, len(suffix))
        if not run.poll():
            return run.result("cancelled")
        if not ensure_resident(session, run.poll):
            return run.record("cancelled")
        note_rule(session, rule)
        if not suffix and rule.draws and session.parked is not None:
            unpark(session)
        try:
            consumed = False
            if suffix:
                if not _open(run, suffix, checkpoint_at, turn):
                    return run.record("cancelled")
            elif session.pending_tok is None:
                if turn is not None:
                    session.turn += 1
                    session.trace.append(turn)
                _promote(run)
            else:
                consumed = True
            _rounds(run, consumed)
        except Exception:
            if run.tokens:  # what was emitted stays, and the trace says how the burst ended
                run.close("error")
            raise
        assert run.reason is not None
        return run.close(run.reason)


def _open(run: BurstRun, suffix: list[int], checkpoint_at: int | None, turn: TurnEvent | None) -> bool:
    """Prefill a turn and emit its first token. False when cancelled."""
    clock = time.perf_counter()
    first = open_turn(run.session, suffix, checkpoint_at, turn, run.poll, run.rule)
    run.timings["prefill"] = (time.perf_counter() - clock) * 1e3
    if first is not None:
        run.emit([first], ["first"])
    return first is not None


def _promote(run: BurstRun) -> None:
    """Emit what follows the last row of a PREDICTED session and carry it: no forward."""
    session, rule = run.session, run.rule
    begins = session.rewind_pos() == len(session.committed)
    token, drawn = resume_choice(session, rule, begins=begins)
    session.emitted(1, rule, rule.start(session.sctr) if begins else session.sctr)
    session.pending_tok, session.next_pred, session.last_logits = token, None, None
    session.tail = session.parked = session.drawn = None
    note_pending(session, "promote", token, len(session.committed), "continue")
    if drawn:
        note_draw(session, rule, token, "first" if begins else "resume")
    origin: Origin = "first" if begins else "bonus"
    run.emit([token], [origin])


def _rounds(run: BurstRun, consumed: bool) -> None:
    """Rounds until a reason stands. The first one of a continuation takes the carried token as its column 0."""
    session = run.session
    while run.reason is None:
        if session.room() < 1:
            run.reason = "context"
            session.trace.append(
                ContextEvent(action="full", used=len(session.committed), max_ctx=session.engine.max_ctx)
            )
            return
        assert session.pending_tok is not None
        carried, position = session.pending_tok, len(session.committed)
        limit = run.max_new - len(run.tokens) if run.overshoot == "trim" else None
        step = Round(session, run.stop_ids, limit, run.rule)
        event = step.run(None if run.observer is None else run.observer())
        assert step.decision is not None
        outcome = step.decision.outcome
        if consumed:
            note_pending(session, "consume", carried, position, "round")
            consumed = False
        run.spent(event)
        run.trimmed = outcome.trimmed
        run.emit(outcome.tokens, outcome.origin)
