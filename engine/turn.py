"""One turn as it happens: its bursts, and what of their tokens is shown.

A turn of `max_new` tokens runs in bursts, each with what is left of the budget. A burst inside the turn may emit
past its own size, and those tokens are shown at once, because the turn still has room for them; only what
passes the turn's own budget stays hidden.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.burst import Burst, Overshoot, run_burst
from engine.detokenize import Detokenizer
from engine.errors import ContextFull
from engine.events import Origin, OvershootEvent, PendingEvent, Reason, RoundEvent, TurnEvent
from engine.telemetry import SpecTelemetry

if TYPE_CHECKING:
    from engine.session import SpecSession


@dataclass(frozen=True)
class TurnDelta:
    """What a turn shows next; empty when the caller is only asked whether to go on."""

    text: str
    """Whole characters; a half-received one waits for its last byte."""
    tokens: list[int]
    origin: list[Origin]
    """One per token."""


OnDelta = Callable[[TurnDelta], bool]


@dataclass(frozen=True)
class Turn:
    """What one `send` or `continue_turn` showed.

    `text` is the decoded visible ids, special tokens left out; where the turn can be continued, a last character
    whose bytes have not all arrived is left out too, and comes first in the continuation.
    """

    text: str
    tokens: list[int]
    """Visible ids, the stop id included."""
    origin: list[Origin]
    """One per visible id."""
    hidden: list[int]
    """Overshoot: emitted and in the caches, not shown."""
    reason: Reason
    start: int
    """Index in the session's history of the first of `tokens`."""
    telem: SpecTelemetry
    """This turn's share of the session's counters."""
    seconds: float


class TurnRun:
    """A turn in progress. After an error it still knows everything that was emitted."""

    def __init__(
        self,
        session: SpecSession,
        decoder: Detokenizer,
        max_new: int,
        burst: int,
        overshoot: Overshoot,
        on_delta: OnDelta | None,
    ) -> None:
        self.tokens: list[int] = []
        self.origin: list[Origin] = []
        self.hidden: list[int] = []
        self.hidden_origin: list[Origin] = []
        self._session = session
        self._decoder = decoder
        self._max_new = max_new
        self._burst = burst
        self._overshoot = overshoot
        self._on_delta = on_delta
        self._pieces: list[str] = []
        self._stopped = False
        self._clock = time.perf_counter()
        self._before = session.telem.copy()

    @property
    def text(self) -> str:
        """Everything shown so far."""
        return "".join(self._pieces)

    def as_turn(self, reason: Reason, start: int) -> Turn:
        """The turn as it stands; `start` is the history index of its first token."""
        return Turn(
            text=self.text,
            tokens=list(self.tokens),
            origin=list(self.origin),
            hidden=list(self.hidden),
            reason=reason,
            start=start,
            telem=self._session.telem.delta_since(self._before),
            seconds=time.perf_counter() - self._clock,
        )

    def poll(self) -> bool:
        """Ask the caller, with nothing new, whether to go on."""
        return self._tell("", [], [])

    def show_hidden(self, tokens: Sequence[int], origin: Sequence[Origin]) -> None:
        """Begin with the overshoot of the turn before, as far as the budget goes: no forward."""
        if tokens:
            self._note_shown(tokens)
            self._deliver(tokens, origin)

    def run(self, suffix: Sequence[int], checkpoint_at: int | None, event: TurnEvent | None) -> Reason:
        """Run bursts until the turn ends, the first with `suffix`, and return why it ended.

        Raises what a burst raises; a context that fills up after something was shown is a reason, not an error.
        """
        reason = self._ended(None)
        while reason is None:
            size, overshoot = self._next_burst()
            shown = len(self.tokens)
            try:
                burst = run_burst(
                    self._session,
                    suffix,
                    size,
                    overshoot=overshoot,
                    checkpoint_at=checkpoint_at,
                    on_tokens=self._take,
                    turn=event,
                )
            except ContextFull:
                if not self.tokens:
                    raise
                reason = "context"
                break
            suffix, checkpoint_at, event = (), None, None
            self._settle_burst(burst, shown)
            reason = self._ended(burst)
        self._finish(reason)
        return reason

    def _next_burst(self) -> tuple[int, Overshoot]:
        """Size and overshoot mode of the next burst.

        Trimming at an inner edge would throw away tokens that the turn has room for. So only a burst that could
        pass the turn's budget is trimmed, and it then gets all that is left.
        """
        left = self._max_new - len(self.tokens)
        if self._overshoot == "trim" and self._burst + self._session.draft_len > left:
            return left, "trim"
        return min(self._burst, left), "keep"

    def _ended(self, burst: Burst | None) -> Reason | None:
        """Why the turn ends here, the same for any way of cutting it into bursts; None if it goes on."""
        if self.tokens and self.tokens[-1] in self._session.engine.stop_ids:
            return "stop"
        if burst is not None and burst.reason in ("stop", "context"):
            return burst.reason
        if len(self.tokens) >= self._max_new:
            return "length"
        if self._stopped or (burst is not None and burst.reason == "cancelled"):
            return "cancelled"
        return None

    def _take(self, new: list[int]) -> bool:
        """The burst's `on_tokens`: show what fits the turn's budget, keep the rest hidden."""
        if not new:
            return self.poll()
        origin = self._origin_of(len(new))
        fits = self._max_new - len(self.tokens)
        self.hidden += new[fits:]
        self.hidden_origin += origin[fits:]
        return self._deliver(new[:fits], origin[:fits])

    def _origin_of(self, count: int) -> list[Origin]:
        """Where the `count` tokens just emitted come from, by the events the engine appended with them."""
        trace = self._session.trace
        newest = trace.since(trace.next_seq - 2)
        for event in reversed(newest):
            if isinstance(event, RoundEvent):
                drafts: list[Origin] = ["draft"] * min(event.accepted, count)
                last: Origin = "correction" if event.correction else "bonus"
                return drafts + [last] * (count - len(drafts))
        promoted = isinstance(newest[-1], PendingEvent) and newest[-1].transition == "promote"
        return ["bonus" if promoted else "first"]

    def _deliver(self, tokens: Sequence[int], origin: Sequence[Origin]) -> bool:
        self.tokens += tokens
        self.origin += origin
        text = self._decoder.push(tokens)
        self._pieces.append(text)
        return self._tell(text, list(tokens), list(origin))

    def _tell(self, text: str, tokens: list[int], origin: list[Origin]) -> bool:
        if self._on_delta is not None and not self._on_delta(TurnDelta(text, tokens, origin)):
            self._stopped = True
        return not self._stopped

    def _settle_burst(self, burst: Burst, shown: int) -> None:
        """Take the burst's own word on origins, and note that what passed its size but not the turn was shown."""
        mine = len(self.tokens) - shown
        self.origin[shown:] = burst.origin[:mine]
        self.hidden_origin[:] = burst.origin[mine:]
        if mine > burst.visible:
            self._note_shown(burst.tokens[burst.visible : mine])

    def _note_shown(self, tokens: Sequence[int]) -> None:
        session = self._session
        session.trace.append(
            OvershootEvent(action="shown", tokens=tuple(tokens), turn=session.turn, pos=len(session.committed))
        )

    def _finish(self, reason: Reason) -> None:
        """Show what the decoder still holds if nothing can follow."""
        rest = self._decoder.flush() if reason in ("stop", "context") else ""
        if rest:
            self._pieces.append(rest)
            self._tell(rest, [], [])
