"""Draftscope's side: one session per conversation, one burst per turn, each turn extending the rows of the last."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.passes import Pass, RoundSplit, TurnTimes
from engine import Engine, SpecSession, generate_spec_session
from engine.events import FlushEvent, PrefillEvent, RoundEvent


class SessionArm:
    """Sessions of one engine with one drafter. Overshoot is trimmed, so that every arm gives as many tokens."""

    def __init__(self, name: str, engine: Engine, drafter: str, draft_len: int) -> None:
        self.name = name
        self.engine = engine
        self._drafter, self._draft_len = drafter, draft_len

    def run(self, turns: Sequence[Sequence[int]], new: int) -> Pass:
        """Decode `new` tokens after each suffix of `turns`, whatever ends a turn."""
        out = Pass()
        session = self.engine.new_session(drafter=self._drafter, draft_len=self._draft_len)
        try:
            out.turns = [_turn(session, suffix, new) for suffix in turns]
            rounds = session.trace.of(RoundEvent)
            out.rounds, out.prefills = len(rounds), len(session.trace.of(PrefillEvent))
            out.flushes = len(session.trace.of(FlushEvent))
            out.forwards = out.rounds + out.prefills + out.flushes
            out.draft_forwards = int(getattr(session.drafter, "forwards", 0))
            out.splits = [RoundSplit(e.draft_ms, e.verify_ms, e.accept_ms, e.host_ms) for e in rounds]
            out.telem = session.telem.copy()
        finally:
            session.close()
        return out


def _turn(session: SpecSession, suffix: Sequence[int], new: int) -> TurnTimes:
    came: list[tuple[float, int]] = []

    def note(tokens: list[int]) -> bool:
        if tokens:
            came.append((time.perf_counter(), len(tokens)))
        return True

    start = time.perf_counter()
    burst = generate_spec_session(session, suffix, new, overshoot="trim", ignore_eos=True, on_tokens=note)
    end = time.perf_counter()
    return TurnTimes(burst.tokens, came[0][0] - start, came[0][1], end - start)
