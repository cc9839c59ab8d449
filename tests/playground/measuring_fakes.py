"""An engine without a model for races and sweeps: every session writes the same words, some in larger steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from engine import events as ev
from engine.errors import DrafterMismatch
from playground.race.decoder import Choosing, OnTokens, TextOf
from playground.service import Service
from playground.settings import Settings
from tests.playground.fakes import EOS, WORDS, FakeChat, FakeEngine, FakeSession

ACCEPTED = (1, 3, 0, 2)
"""Drafts kept by the rounds of a session with a drafter, over and over, up to K."""


class MeasuredSession(FakeSession):
    """Writes word 7, 14, 21, ... in rounds; `wrong` gives another word at one place."""

    def __init__(self, eng: MeasuredEngine, drafter: str, draft_len: int) -> None:
        super().__init__(eng)
        if drafter not in ("none", "ngram"):
            raise DrafterMismatch(f"Drafter {drafter} does not fit this model: the vocabularies differ at id 7.")
        self.set_drafter(drafter, draft_len)
        self.draft_len = draft_len
        self.slot: object | None = object()
        self.written = self.rounds = self.reprimed = 0

    def reprime(self) -> None:
        self.slot = object()
        self.reprimed += 1


class MeasuredEngine(FakeEngine):
    """`pace`: seconds of a forward. `sessions` keeps every session that was ever made."""

    def __init__(self, pace: float = 0.0, answer: int = 500, wrong_at: int | None = None) -> None:
        super().__init__(pace=pace, answer=answer)
        self.exact, self.wrong_at = True, wrong_at
        self.sessions: list[MeasuredSession] = []
        self.threads, self.widths = 1, None

    def new_session(self, drafter: str = "ngram", draft_len: int = 7) -> MeasuredSession:
        session = MeasuredSession(self, drafter, draft_len)
        self.sessions.append(session)
        return session


class FakeDecoder:
    """The three calls of `playground.race.decoder.Decoder`. `before` is called ahead of every forward."""

    def __init__(self, before: Callable[[MeasuredSession], None] = lambda session: None) -> None:
        self.before = before
        self.log: list[str] = []
        """Whose burst it was, in order."""

    def prompt(self, engine: Any, text: str) -> list[int]:
        return [1, *range(10, 10 + len(text.split()))]

    def text(self, engine: Any) -> TextOf:
        return lambda token: engine.tokenizer.decode([token])

    def burst(
        self, session: Any, suffix: Sequence[int], max_new: int, choosing: Choosing, on_tokens: OnTokens
    ) -> ev.Reason:
        self.log.append(session.drafter.name)
        emitted = 0
        if suffix:
            if not on_tokens([]):
                return "cancelled"
            self._forward(session)
            session.committed = list(suffix)
            session.trace.append(
                ev.PrefillEvent(turn=0, burst=0, pos=0, tokens=len(suffix), width=8, ms=1e3 * session.engine.pace)
            )
            if not self._emit(session, 1, on_tokens):
                return "cancelled"
            emitted = 1
        while emitted < max_new:
            self._forward(session)
            kept = self._round(session)
            emitted += kept
            go_on = self._emit(session, kept, on_tokens)
            if session.written >= session.engine.answer:
                return "stop"
            if not go_on:
                return "cancelled"
        return "length"

    def _forward(self, session: MeasuredSession) -> None:
        self.before(session)
        time.sleep(session.engine.pace)

    def _round(self, session: MeasuredSession) -> int:
        drafts = 0 if session.drafter.name == "none" else session.draft_len
        accepted = min(ACCEPTED[session.rounds % len(ACCEPTED)], drafts)
        session.rounds += 1
        pace = 1e3 * session.engine.pace
        session.trace.append(
            ev.RoundEvent(
                turn=0, burst=0, round=session.rounds, pos=0, pending=7, drafted=(9,) * drafts, accepted=accepted,
                bonus=7, emitted=accepted + 1, width=8 if drafts else 4, drafter=session.drafter.name,
                draft_ms=0.05 * pace, verify_ms=pace or 1.0, accept_ms=0.02 * pace, host_ms=0.03 * pace,
            )
        )  # fmt: skip
        return accepted + 1

    def _emit(self, session: MeasuredSession, count: int, on_tokens: OnTokens) -> bool:
        tokens = []
        for _ in range(count):
            session.written += 1
            odd = session.drafter.name != "none" and session.written == session.engine.wrong_at
            last = session.written == session.engine.answer
            tokens.append(EOS if last else 10 + (7 * session.written + odd) % WORDS)
        session.committed = [*session.committed, *tokens]
        return on_tokens(tokens)


def ready_service(engine: Any, **settings_of: Any) -> Service:
    """A service on `engine`, loaded; the caller closes it."""
    service = Service(Settings(**settings_of), lambda settings, progress: engine, cast(Any, FakeChat))
    service.start()
    assert service.wait(10)
    return service


def eventually(check: Callable[[], object], seconds: float = 10) -> None:
    """Wait until `check` holds."""
    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.01)
