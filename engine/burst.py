"""A burst: one call into a session. Prefill if there is a suffix, then rounds until something says stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from engine.draws import note_draw, note_rule, resume_choice
from engine.entry import check_arguments, check_room
from engine.events import BurstEvent, ContextEvent, Origin, OvershootEvent, Reason, RoundEvent, TurnEvent
from engine.flush import unpark
from engine.pending import note_pending
from engine.prefill import ensure_resident
from engine.round import Observer, Round
from engine.rules import GREEDY, Rule
from engine.telemetry import SpecTelemetry
from engine.turn_start import open_turn

if TYPE_CHECKING:
    from engine.session import SpecSession

OnTokens = Callable[[list[int]], bool]
Overshoot = Literal["keep", "trim"]


@dataclass(frozen=True)
class Burst:
    """What one burst gave."""

    tokens: list[int]
    """Emitted, overshoot included."""
    visible: int
    """`min(max_new, len(tokens))`."""
    overshoot: int
    """`len(tokens) - visible`; these are in the caches and in `committed`, except a carried last one."""
    reason: Reason
    origin: list[Origin]
    """One per token."""
    telem: SpecTelemetry
    """This burst's share of the session's counters."""
    timings: dict[str, float]
    """Milliseconds: `prefill`, `draft`, `verify`, `accept`, `host`, `total`."""


@dataclass
class _Run:
    """A burst in progress: what was emitted, and whether to go on."""

    session: SpecSession
    max_new: int
    overshoot: Overshoot
    stop_ids: frozenset[int]
    on_tokens: OnTokens | None
    before: SpecTelemetry
    rule: Rule
    observer: Observer | None
    tokens: list[int] = field(default_factory=list)
    origin: list[Origin] = field(default_factory=list)
    reason: Reason | None = None
    trimmed: tuple[int, ...] = ()
    timings: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("prefill", "draft", "verify", "accept", "host"), 0.0)
    )
    begin: float = field(default_factory=time.perf_counter)

    def poll(self) -> bool:
        """Ask the caller, with nothing new, whether to go on."""
        return self.on_tokens is None or bool(self.on_tokens([]))

    def emit(self, tokens: Sequence[int], origin: Sequence[Origin]) -> None:
        """Hand tokens to the caller and settle whether the burst ends here, and why."""
        self.tokens += tokens
        self.origin += origin
        go_on = self.on_tokens is None or bool(self.on_tokens(list(tokens)))
        if tokens[-1] in self.stop_ids and len(self.tokens) <= self.max_new:
            self.reason = "stop"
        elif len(self.tokens) >= self.max_new or tokens[-1] in self.stop_ids:
            self.reason = "length"
        elif not go_on:
            self.reason = "cancelled"


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
        run = _Run(session, max_new, overshoot, stops, on_tokens, session.telem.copy(), rule, observer)
        suffix = [int(token) for token in suffix]
        check_arguments(session, suffix, max_new, overshoot, checkpoint_at)
        if max_new == 0:
            return _result(run, "length")
        if not suffix and (session.pending_tok in stops or session.parked_tok in stops):
            return _result(run, "stop")
        check_room(session, len(suffix))
        if not run.poll():
            return _result(run, "cancelled")
        if not ensure_resident(session, run.poll):
            return _record(run, "cancelled")
        note_rule(session, rule)
        if not suffix and rule.draws and session.parked is not None:
            unpark(session)
        try:
            consumed = False
            if suffix:
                if not _open(run, suffix, checkpoint_at, turn):
                    return _record(run, "cancelled")
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
                _close(run, "error")
            raise
        assert run.reason is not None
        return _close(run, run.reason)


def _open(run: _Run, suffix: list[int], checkpoint_at: int | None, turn: TurnEvent | None) -> bool:
    """Prefill a turn and emit its first token. False when cancelled."""
    clock = time.perf_counter()
    first = open_turn(run.session, suffix, checkpoint_at, turn, run.poll, run.rule)
    run.timings["prefill"] = (time.perf_counter() - clock) * 1e3
    if first is not None:
        run.emit([first], ["first"])
    return first is not None


def _promote(run: _Run) -> None:
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


def _rounds(run: _Run, consumed: bool) -> None:
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
        _add_times(run.timings, event)
        run.trimmed = outcome.trimmed
        run.emit(outcome.tokens, outcome.origin)


def _add_times(timings: dict[str, float], event: RoundEvent) -> None:
    timings["draft"] += event.draft_ms
    timings["verify"] += event.verify_ms
    timings["accept"] += event.accept_ms
    timings["host"] += event.host_ms


def _close(run: _Run, reason: Reason | Literal["error"]) -> Burst:
    """The burst's closing events and its result."""
    session = run.session
    if session.pending_tok is not None:
        note_pending(session, "carry", session.pending_tok, len(session.committed), "round")
    burst = _record(run, reason)
    position = len(session.committed)
    if run.trimmed:
        session.trace.append(OvershootEvent(action="trimmed", tokens=run.trimmed, turn=session.turn, pos=position))
    if burst.overshoot:
        over = tuple(burst.tokens[burst.visible :])
        session.trace.append(OvershootEvent(action="kept", tokens=over, turn=session.turn, pos=position))
    return burst


def _record(run: _Run, reason: Reason | Literal["error"]) -> Burst:
    """The result, noted in the trace."""
    session, burst = run.session, _result(run, "cancelled" if reason == "error" else reason)
    session.trace.append(
        BurstEvent(
            turn=session.turn,
            burst=session.bursts,
            max_new=run.max_new,
            emitted=len(burst.tokens),
            visible=burst.visible,
            overshoot=burst.overshoot,
            reason=reason,
            ms=burst.timings["total"],
            committed=len(session.committed),
            state=session.state,
        )
    )
    session.bursts += 1
    return burst


def _result(run: _Run, reason: Reason) -> Burst:
    visible = min(run.max_new, len(run.tokens))
    total = (time.perf_counter() - run.begin) * 1e3
    return Burst(
        tokens=run.tokens,
        visible=visible,
        overshoot=len(run.tokens) - visible,
        reason=reason,
        origin=run.origin,
        telem=run.session.telem.delta_since(run.before),
        timings=run.timings | {"total": total},
    )
