"""One way of decoding one prompt: a session of its own, and a clock that runs only while it decodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.events import PrefillEvent, Reason, RoundEvent
from playground.race.decoder import Choosing, Decoder, TextOf

if TYPE_CHECKING:
    from engine import Engine, SpecSession

STAGES = ("prefill", "draft", "verify", "accept", "host")
Clock = Callable[[], float]


@dataclass(frozen=True)
class Piece:
    """One token as it came."""

    at: float
    """Seconds on the lane's clock."""
    text: str
    """The characters it completed."""
    draft: bool
    """Whether it was guessed."""


class Lane:
    """Written by the thread that decodes; `pieces` and `tokens` only grow, so that others may read them meanwhile."""

    def __init__(self, drafter: str, draft_len: int, max_new: int, clock: Clock = time.perf_counter) -> None:
        self.drafter, self.draft_len, self.max_new = drafter, draft_len, max_new
        self.tokens: list[int] = []
        self.pieces: list[Piece] = []
        self.seconds = 0.0
        """Spent in bursts so far."""
        self.reason: Reason | None = None
        """Why it ended; None while it has not."""
        self.rebuilt = 0
        """How often its rows had given way to another session's; computing them again is not on the clock."""
        self._clock = clock
        self._session: SpecSession | None = None
        self._suffix: list[int] = []
        self._text: TextOf | None = None

    def open(self, engine: Engine, prompt: Sequence[int], text: TextOf | None = None) -> None:
        """Begin on a session of its own. Raises `DrafterMismatch`. `text` makes the pieces' text, None leaves it ''."""
        self._session = engine.new_session(drafter=self.drafter, draft_len=self.draft_len)
        self._suffix, self._text = list(prompt), text

    def play(self, decoder: Decoder, most: int, choosing: Choosing, go_on: Callable[[], bool]) -> None:
        """One burst of about `most` tokens, the prompt before the first. `go_on` is asked at every round's edge.

        Raises `EngineError`; what came before stays.
        """
        session = self._session
        assert session is not None and self.reason is None
        if session.slot is None and session.committed:
            session.reprime()
            self.rebuilt += 1
        before, start = self.seconds, self._clock()

        def note(tokens: list[int]) -> bool:
            if tokens:
                self._take(tokens, before + self._clock() - start)
            return go_on()

        try:
            size = min(most, self.max_new - len(self.tokens))
            reason = decoder.burst(session, self._suffix, size, choosing, note)
        finally:
            self.seconds = before + self._clock() - start
        self._suffix = []
        if reason != "length" or len(self.tokens) >= self.max_new:
            self.reason = reason

    def close(self) -> None:
        """Give the rows back; what was measured stays."""
        if self._session is not None:
            self._session.close()

    @property
    def first_s(self) -> float:
        """When its first token came; 0 before."""
        return self.pieces[0].at if self.pieces else 0.0

    @property
    def last_s(self) -> float:
        """When its latest token came; 0 before the first."""
        return self.pieces[-1].at if self.pieces else 0.0

    @property
    def decoded(self) -> int:
        """Tokens after those that came first."""
        return sum(piece.at > self.first_s for piece in self.pieces)

    def rounds(self) -> list[RoundEvent]:
        """Its rounds, from the trace."""
        return [] if self._session is None else self._session.trace.of(RoundEvent)

    def stage_ms(self) -> dict[str, float]:
        """Milliseconds by stage, from the trace, and as `rest` what lies between the rounds."""
        rounds = self.rounds()
        prefills = [] if self._session is None else self._session.trace.of(PrefillEvent)
        out = {"prefill": sum(event.ms for event in prefills if event.cause == "turn")}
        for stage in STAGES[1:]:
            out[stage] = sum(float(getattr(event, f"{stage}_ms")) for event in rounds)
        out["rest"] = max(0.0, 1e3 * self.seconds - sum(out.values()))
        return out

    def _take(self, tokens: Sequence[int], at: float) -> None:
        drafts = self._drafts_of(len(tokens))
        for place, token in enumerate(tokens[: self.max_new - len(self.tokens)]):
            text = "" if self._text is None else self._text(token)
            self.tokens.append(token)
            self.pieces.append(Piece(at, text, place < drafts))

    def _drafts_of(self, count: int) -> int:
        """How many of the `count` tokens just emitted were drafts: the round's event came right before them."""
        assert self._session is not None
        trace = self._session.trace
        for event in reversed(trace.since(trace.next_seq - 2)):
            if isinstance(event, RoundEvent):
                return min(event.accepted, count)
        return 0
