"""How a chat without a model answers: numbered words, every third draft or so rejected, told as the engine tells it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine import events as ev
from engine.telemetry import SpecTelemetry
from tests.playground.fake_engine import EOS, WORDS, FakeEngine, FakeSession


@dataclass
class FakeTurn:
    text: str
    tokens: list[int]
    origin: list[str]
    hidden: list[int]
    reason: str
    start: int
    telem: SpecTelemetry
    seconds: float


@dataclass
class FakeDelta:
    text: str
    tokens: list[int]
    origin: list[str]


OnTokens = Callable[[FakeDelta], bool]


class FakeAnswers:
    """Answers word 1, 2, 3, ...; the part of a chat that a prompt is given to."""

    def __init__(self, eng: FakeEngine) -> None:
        self.engine = eng
        self.session = FakeSession(eng)
        self.messages: list[dict[str, str]] = []
        self.can_continue = False
        self.turn: FakeTurn | None = None
        self._random = random.Random(7)
        self._turn = -1
        self._bursts = 0
        self._left = 0
        self._hidden: list[int] = []

    def _word(self) -> int:
        self._left -= 1
        return EOS if self._left < 0 else 10 + self._random.randrange(WORDS)

    def _show(self, tokens: list[int]) -> str:
        text = self.engine.tokenizer.decode(tokens)
        self.messages[-1]["content"] += text
        return text

    def _prefill(self, ids: list[int], first: int | None) -> None:
        s = self.session
        time.sleep(self.engine.pace)
        s.trace.append(
            ev.PrefillEvent(
                turn=self._turn,
                burst=self._bursts,
                pos=len(s.committed),
                tokens=len(ids),
                width=64,
                ms=1.0,
                first=first,
            )
        )
        s.committed = [*s.committed, *ids]

    def _decode(
        self,
        tokens: list[int],
        origin: list[str],
        max_new: int,
        poll: OnTokens,
        overshoot: str = "keep",
        burst: int = 32,
        on_burst: Callable[[], None] | None = None,
        **_: Any,
    ) -> FakeTurn:
        start, reason = time.perf_counter(), "length"
        tokens, origin = list(tokens), list(origin)
        edge = burst
        while len(tokens) < max_new:
            if len(tokens) >= edge:
                edge = len(tokens) + burst
                if on_burst is not None:
                    on_burst()
            new, kinds = self._round()
            tokens, origin = tokens + new, origin + kinds
            over = max(0, len(tokens) - max_new)
            self._hidden, new = new[len(new) - over :], new[: len(new) - over]
            go_on = poll(FakeDelta(self._show([t for t in new if t != EOS]), new, kinds[: len(new)]))
            if EOS in new:
                reason = "stop"
                break
            if not go_on:
                reason = "cancelled"
                break
        visible = min(max_new, len(tokens))
        return self._end(tokens[:visible], origin[:visible], max_new, reason, start)

    def _round(self) -> tuple[list[int], list[str]]:
        s = self.session
        time.sleep(self.engine.pace)
        width = 0 if s.drafter.name == "none" else s.draft_len
        left, drafts = self._left, [self._word() for _ in range(width)]
        accepted = min(self._random.choice([0, 1, 2, 3, 5, 7]), width)
        drafts = drafts[: drafts.index(EOS)] if EOS in drafts else drafts
        accepted = min(accepted, len(drafts))
        self._left = left - accepted
        bonus = self._word()
        pending = s.pending_tok
        assert pending is not None
        s.trace.append(
            ev.RoundEvent(
                turn=self._turn,
                burst=self._bursts,
                round=s.telem.rounds,
                pos=len(s.committed),
                pending=pending,
                drafted=tuple(drafts),
                accepted=accepted,
                bonus=bonus,
                emitted=accepted + 1,
                width=8,
                drafter=s.drafter.name,
                draft_ms=0.1,
                verify_ms=20.0,
                accept_ms=0.1,
                host_ms=0.2,
                room=s.cache_max_ctx() - len(s.committed),
                **s.numbers.of_round(len(drafts), accepted),
            )
        )
        s.telem.record(len(drafts), accepted, accepted + 1)
        s.committed = [*s.committed, pending, *drafts[:accepted]]
        s.pending_tok = bonus
        kinds = ["draft"] * accepted + ["correction" if accepted < len(drafts) else "bonus"]
        return [*drafts[:accepted], bonus], kinds

    def _end(self, tokens: list[int], origin: list[str], max_new: int, reason: str, start: float) -> FakeTurn:
        s = self.session
        if self._hidden:
            s.trace.append(
                ev.OvershootEvent(action="kept", tokens=tuple(self._hidden), turn=self._turn, pos=len(s.committed))
            )
        s.trace.append(
            ev.BurstEvent(
                turn=self._turn,
                burst=self._bursts,
                max_new=max_new,
                emitted=len(tokens) + len(self._hidden),
                visible=len(tokens),
                overshoot=len(self._hidden),
                reason=reason,  # type: ignore[arg-type]
                ms=1.0,
                committed=len(s.committed),
                state="PENDING",
            )
        )
        assert s.pending_tok is not None
        s.trace.append(
            ev.PendingEvent(
                transition="carry",
                token=s.pending_tok,
                pos=len(s.committed),
                turn=self._turn,
                burst=self._bursts,
                via="round",
                state="PENDING",
            )
        )
        self._bursts += 1
        self.can_continue = reason in ("length", "cancelled")
        text = self.messages[-1]["content"]
        seconds = time.perf_counter() - start
        self.turn = FakeTurn(text, tokens, origin, list(self._hidden), reason, 0, s.telem.copy(), seconds)
        return self.turn
