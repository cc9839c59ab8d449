"""What the page shows live and no event says outright, rebuilt from the events alone: the state, and what is held."""

from __future__ import annotations

from collections import deque
from typing import Any

from engine import events as ev
from playground.panels.status import LiveStatus, Phase

RATE_ROUNDS = 32
"""Rounds that the speed is an average of."""


class ReplayStatus:
    """Takes a trace's events in order; `reading` is the status a page would have shown then."""

    def __init__(self, settings: dict[str, Any] | None = None) -> None:
        """`settings` are those of the trace's header."""
        max_ctx = (settings or {}).get("max_ctx")
        self._max_ctx = max_ctx if type(max_ctx) is int else 0
        self._state: ev.State = "FRESH"
        self._phase: Phase = "idle"
        self._committed = 0
        self._pending: int | None = None
        self._carried: int | None = None
        """What was pending when the turn began: one that is cancelled in its prefill leaves it so."""
        self._points: tuple[int, ...] = ()
        self._drafter, self._draft_len = "none", 0
        self._hidden = 0
        self._reason = ""
        self._turn = -1
        """Of the last round: until a turn's first one, the speed is that of the turn before."""
        self._rates: deque[tuple[int, float]] = deque(maxlen=RATE_ROUNDS)

    def reading(self) -> LiveStatus:
        """The status after the events taken so far."""
        ms = sum(ms for _, ms in self._rates)
        return LiveStatus(
            running=self._phase != "idle",
            phase=self._phase,
            tok_s=sum(tokens for tokens, _ in self._rates) * 1e3 / ms if ms > 0 else 0.0,
            state=self._state,
            committed=self._committed,
            max_ctx=self._max_ctx,
            pending=self._pending,
            rewind_points=self._points,
            drafter=self._drafter,
            draft_len=self._draft_len,
            can_continue=self._phase == "idle" and self._reason in ("length", "cancelled"),
            hidden_overshoot=self._hidden,
        )

    def take(self, event: ev.Event) -> None:
        """Apply one event; kinds that change no reading are ignored."""
        match event:
            case ev.TurnEvent():
                self._phase, self._carried = "prefill", self._pending
                self._hidden = 0
            case ev.PrefillEvent():
                self._held(event.pos + event.tokens, event.first)
            case ev.RoundEvent():
                self._round(event)
            case ev.PendingEvent():
                self._transition(event)
            case ev.FlushEvent():
                self._held(event.pos + 1, None)
            case ev.BurstEvent():
                self._burst(event)
            case ev.RewindEvent():
                self._held(event.to, None)
                self._state = "FRESH" if event.cause in ("clear", "prime") else "PREDICTED"
                self._points = event.retained
                self._hidden, self._reason = 0, ""
            case _:
                self._aside(event)

    def _aside(self, event: ev.Event) -> None:
        match event:
            case ev.CheckpointEvent():
                self._points = event.retained
            case ev.OvershootEvent():
                count = len(event.tokens)
                self._hidden = count if event.action == "kept" else max(0, self._hidden - count)
            case ev.DrafterEvent(action="set"):
                self._drafter, self._draft_len = event.drafter, event.draft_len
            case ev.ContextEvent():
                self._max_ctx = event.max_ctx
            case ev.ErrorEvent():
                self._phase, self._state = "idle", event.state

    def _round(self, event: ev.RoundEvent) -> None:
        self._phase = "decoding"
        self._drafter, self._draft_len = event.drafter, max(self._draft_len, len(event.drafted))
        if event.turn != self._turn:
            self._turn = event.turn
            self._rates.clear()
        self._rates.append((event.emitted, event.draft_ms + event.verify_ms + event.accept_ms + event.host_ms))
        if event.trimmed:  # the last one kept has its row, and the first one dropped is the prediction
            self._held(event.pos + event.emitted + 1, None)
            return
        last = event.drafted[event.accepted - 1] if event.accepted else event.pending
        self._held(event.pos + event.emitted, last if event.bonus is None else event.bonus)

    def _held(self, committed: int, pending: int | None) -> None:
        self._committed, self._pending = committed, pending
        self._state = "PREDICTED" if pending is None else "PENDING"

    def _transition(self, event: ev.PendingEvent) -> None:
        if event.transition not in ("flush", "drop"):
            self._pending = event.token
        elif event.pos >= self._committed:  # else a prefill took it along, and its own first token is pending by now
            self._pending = None
        self._state = event.state

    def _burst(self, event: ev.BurstEvent) -> None:
        self._phase, self._reason = "idle", event.reason
        self._committed, self._state = event.committed, event.state
        if event.state != "PENDING":
            self._pending = None
        elif self._pending is None:
            self._pending = self._carried
