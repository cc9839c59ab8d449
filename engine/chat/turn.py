"""One turn as it happens: its bursts, and what of their tokens is shown.

A turn of `max_new` tokens runs in bursts, each with what is left of the budget. A burst inside the turn may emit
past its own size, and those tokens are shown at once, because the turn still has room for them; only what
passes the turn's own budget stays hidden. A stop string ends the turn at the round edge, and what was emitted from
its first token on is taken back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.burst import run_burst
from engine.burst_run import Burst, Overshoot
from engine.chat.answer_text import AnswerText
from engine.chat.turn_settings import TurnDelta, TurnSettings
from engine.errors import ContextFull
from engine.events import Origin, OvershootEvent, PendingEvent, Reason, RoundEvent, TurnEvent
from engine.take_back import take_back
from engine.telemetry import SpecTelemetry

if TYPE_CHECKING:
    from engine.session import SpecSession


@dataclass(frozen=True)
class Turn:
    """What one call of a `ChatSession` showed.

    `text` is the decoded visible ids, special tokens left out; where the turn can be continued, a last character
    whose bytes have not all arrived and what could still become a stop string are left out too, and come first in the
    continuation. After a stop string it ends right before the match, and may end with a part of a token.
    """

    text: str
    tokens: list[int]
    """Visible ids, the stop id included. After a stop string, those that lie wholly before it."""
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

    def __init__(self, session: SpecSession, text: AnswerText, settings: TurnSettings, start: int) -> None:
        """`text` is the answer's so far; `start` is the history index of this turn's first token."""
        self.tokens: list[int] = []
        self.origin: list[Origin] = []
        self.hidden: list[int] = []
        self.hidden_origin: list[Origin] = []
        self._session = session
        self._text = text
        self._settings = settings
        self._rule = settings.rule(session)
        self._start = start
        self._base = text.tokens
        self._told = 0
        self._over: list[int] = []
        """Overshoot that the trace has as kept and not as shown."""
        self._pieces: list[str] = []
        self._stopped = False
        self._clock = time.perf_counter()
        self._before = session.telem.copy()

    @property
    def text(self) -> str:
        """Everything shown so far."""
        return "".join(self._pieces)

    @property
    def found(self) -> bool:
        """Whether a stop string ended the answer."""
        return self._text.found is not None

    def as_turn(self, reason: Reason) -> Turn:
        """The turn as it stands."""
        return Turn(
            text=self.text,
            tokens=list(self.tokens),
            origin=list(self.origin),
            hidden=list(self.hidden),
            reason="stop" if self.found else reason,
            start=self._start + min(0, self._kept()),
            telem=self._session.telem.delta_since(self._before),
            seconds=time.perf_counter() - self._clock,
        )

    def poll(self) -> bool:
        """Ask the caller, with nothing new, whether to go on."""
        return self._tell("", [], [])

    def resume(self, tokens: Sequence[int], origin: Sequence[Origin]) -> None:
        """Begin with what the turn before held back, then its overshoot as far as the budget goes: no forward."""
        text = self._text.restart(self._settings.stops)
        self._pieces.append(text)
        fits = self._settings.max_new
        self.tokens, self.origin = list(tokens[:fits]), list(origin[:fits])
        self.hidden, self.hidden_origin = list(tokens[fits:]), list(origin[fits:])
        text += self._push(self.tokens)
        shown = max(0, min(len(self.tokens), self._kept()))
        self._note("shown", tokens[:shown])
        self._over = list(tokens[shown:])
        if tokens or text:
            self._tell_ready(text)

    def run(self, suffix: Sequence[int], checkpoint_at: int | None, event: TurnEvent | None) -> Reason:
        """Run bursts until the turn ends, the first with `suffix`, and return why it ended.

        Raises what a burst raises; a context that fills up after something was shown is a reason, not an error.
        """
        try:
            reason = self._bursts(suffix, checkpoint_at, event)
            self._finish(reason)
        finally:
            if self.found and not self._session.failed:
                self._take_back()
        return "stop" if self.found else reason

    def _bursts(self, suffix: Sequence[int], checkpoint_at: int | None, event: TurnEvent | None) -> Reason:
        reason = self._ended(None)
        while reason is None:
            size, overshoot = self._next_burst()
            shown, self._over = len(self.tokens), []
            try:
                burst = run_burst(
                    self._session,
                    suffix,
                    size,
                    overshoot=overshoot,
                    checkpoint_at=checkpoint_at,
                    on_tokens=self._take,
                    rule=self._rule,
                    observer=self._settings.observer,
                    turn=event,
                )
            except ContextFull:
                if not self.tokens:
                    raise
                return "context"
            except Exception:
                self._settle_overshoot(shown, size)  # what was emitted before it failed stays
                raise
            self._settle_overshoot(shown, size)
            self._take_origins(burst, shown)
            suffix, checkpoint_at, event = (), None, None
            reason = self._ended(burst)
            if reason is None and self._settings.on_burst is not None:
                self._settings.on_burst()
        return reason

    def _next_burst(self) -> tuple[int, Overshoot]:
        """Size and overshoot mode of the next burst.

        Trimming at an inner edge would throw away tokens that the turn has room for. So only a burst that could
        pass the turn's budget is trimmed, and it then gets all that is left.
        """
        left, burst = self._settings.max_new - len(self.tokens), self._settings.burst
        if self._settings.overshoot == "trim" and burst + self._session.draft_len > left:
            return left, "trim"
        return min(burst, left), "keep"

    def _ended(self, burst: Burst | None) -> Reason | None:
        """Why the turn ends here, the same for any way of cutting it into bursts; None if it goes on."""
        if self.found or (self.tokens and self.tokens[-1] in self._session.engine.stop_ids):
            return "stop"
        if burst is not None and burst.reason in ("stop", "context"):
            return burst.reason
        if len(self.tokens) >= self._settings.max_new:
            return "length"
        if self._stopped or (burst is not None and burst.reason == "cancelled"):
            return "cancelled"
        return None

    def _take(self, new: list[int]) -> bool:
        """The burst's `on_tokens`: show what fits the turn's budget, keep the rest hidden."""
        if not new:
            return self.poll()
        origin = self._origin_of(len(new))
        fits = self._settings.max_new - len(self.tokens)
        self.hidden += new[fits:]
        self.hidden_origin += origin[fits:]
        self.tokens += new[:fits]
        self.origin += origin[:fits]
        return self._tell_ready(self._push(new[:fits]))

    def _origin_of(self, count: int) -> list[Origin]:
        """Where the `count` tokens just emitted come from, by the events the engine appended with them."""
        trace = self._session.trace
        newest = trace.since(trace.next_seq - 2)
        for event in reversed(newest):
            if isinstance(event, RoundEvent):
                drafts: list[Origin] = ["draft"] * min(event.accepted, count)
                last: Origin = "correction" if event.correction else "bonus"
                return drafts + [last] * (count - len(drafts))
        promoted = any(isinstance(event, PendingEvent) and event.transition == "promote" for event in newest)
        return ["bonus" if promoted and (self._base or len(self.tokens)) else "first"]

    def _push(self, tokens: Sequence[int]) -> str:
        text = "".join([self._text.push(token) for token in tokens])
        self._pieces.append(text)
        return text

    def _tell_ready(self, text: str) -> bool:
        """Hand on `text` and the tokens that it completes."""
        ready = max(self._told, min(len(self.tokens), self._text.ready - self._base))
        part, self._told = slice(self._told, ready), ready
        return self._tell(text, self.tokens[part], self.origin[part]) and not self.found

    def _tell(self, text: str, tokens: list[int], origin: list[Origin]) -> bool:
        on_tokens = self._settings.on_tokens
        if on_tokens is not None and not on_tokens(TurnDelta(text, tokens, origin)):
            self._stopped = True
        return not self._stopped

    def _take_origins(self, burst: Burst, before: int) -> None:
        """Take the burst's own word on origins."""
        mine = len(self.tokens) - before
        self.origin[before:] = burst.origin[:mine]
        self.hidden_origin[:] = burst.origin[mine:]

    def _settle_overshoot(self, before: int, size: int) -> None:
        """Note that what passed the burst's size but not the turn was shown."""
        emitted = [*self.tokens[before:], *self.hidden]
        mine, visible = len(self.tokens) - before, min(size, len(emitted))
        shown = max(visible, min(mine, self._kept() - before))
        self._note("shown", emitted[visible:shown])
        self._over = emitted[shown:]

    def _kept(self) -> int:
        """How many of this turn's tokens a match leaves; negative when it began in an earlier turn of the answer."""
        return self._text.kept - self._base if self.found else len(self.tokens)

    def _take_back(self) -> None:
        """Forget the match and what came after it, in the session too."""
        kept = self._kept()
        take_back(self._session, self._start + kept)
        self._note("dropped", self._over)
        self.tokens, self.origin = self.tokens[: max(0, kept)], self.origin[: max(0, kept)]
        self.hidden, self.hidden_origin, self._over = [], [], []

    def _note(self, action: Literal["shown", "dropped"], tokens: Sequence[int]) -> None:
        session = self._session
        if tokens:
            session.trace.append(
                OvershootEvent(action=action, tokens=tuple(tokens), turn=session.turn, pos=len(session.committed))
            )

    def _finish(self, reason: Reason) -> None:
        """Hand on what is still held: its text only if nothing can follow, its tokens in any case."""
        text = self._text.flush() if reason in ("stop", "context") else ""
        if text:
            self._pieces.append(text)
        end = max(self._told, min(len(self.tokens), self._kept()))
        part, self._told = slice(self._told, end), end
        if text or self.tokens[part]:
            self._tell(text, self.tokens[part], self.origin[part])
