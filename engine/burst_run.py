"""A burst in progress, and the `Burst` it comes to: what was emitted, where the time went, and why it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from engine.events import BurstEvent, Origin, OvershootEvent, Reason, RoundEvent
from engine.pending import note_pending
from engine.round import Observer
from engine.rules import Rule
from engine.telemetry import SpecTelemetry

if TYPE_CHECKING:
    from engine.session import SpecSession

OnTokens = Callable[[list[int]], bool]
Overshoot = Literal["keep", "trim"]
Ending = Reason | Literal["error"]
"""Why a burst ended, for the trace; a burst that failed hands no result on."""


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
class BurstRun:
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

    def spent(self, event: RoundEvent) -> None:
        """Add a round's times to the burst's."""
        self.timings["draft"] += event.draft_ms
        self.timings["verify"] += event.verify_ms
        self.timings["accept"] += event.accept_ms
        self.timings["host"] += event.host_ms

    def close(self, reason: Ending) -> Burst:
        """Note the closing events of a burst that emitted something; its result."""
        session = self.session
        if session.pending_tok is not None:
            note_pending(session, "carry", session.pending_tok, len(session.committed), "round")
        burst = self.record(reason)
        position = len(session.committed)
        if self.trimmed:
            session.trace.append(OvershootEvent(action="trimmed", tokens=self.trimmed, turn=session.turn, pos=position))
        if burst.overshoot:
            over = tuple(burst.tokens[burst.visible :])
            session.trace.append(OvershootEvent(action="kept", tokens=over, turn=session.turn, pos=position))
        return burst

    def record(self, reason: Ending) -> Burst:
        """The result, noted in the trace."""
        session, burst = self.session, self.result("cancelled" if reason == "error" else reason)
        session.trace.append(
            BurstEvent(
                turn=session.turn,
                burst=session.bursts,
                max_new=self.max_new,
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

    def result(self, reason: Reason) -> Burst:
        """The result alone; a burst that ran nothing leaves no trace."""
        visible = min(self.max_new, len(self.tokens))
        total = (time.perf_counter() - self.begin) * 1e3
        return Burst(
            tokens=self.tokens,
            visible=visible,
            overshoot=len(self.tokens) - visible,
            reason=reason,
            origin=self.origin,
            telem=self.session.telem.delta_since(self.before),
            timings=self.timings | {"total": total},
        )
