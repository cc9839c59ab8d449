"""Made-up but lawful sessions: events as the engine appends them, and an own account of what they mean.

`SyntheticSession` keeps its own history (ids), visible and hidden tokens; tests compare what the panels rebuild from
the events with that account. Nothing here runs a model.
"""

from __future__ import annotations

import random

from engine import events as ev
from engine.trace import Trace, TraceHeader
from playground.panels import LiveStatus
from playground.panels.status import CacheUse, Occupancy


class SyntheticSession:
    """One lawful session. Call `turn`, `burst`, `rewind`, `drop_hidden`; read `trace`, `visible`, `hidden`."""

    def __init__(self, seed: int = 0, draft_len: int = 7, max_ctx: int = 4096) -> None:
        self.random = random.Random(seed)
        self.trace = Trace(TraceHeader("synthetic"))
        self.draft_len, self.max_ctx = draft_len, max_ctx
        self.history: list[int] = []
        """Everything emitted and still held: committed rows and the pending token."""
        self.pending = False
        self.next_pred: int | None = None
        self.answer: list[int] = []
        self.hidden_count = 0
        self.turn_no, self.burst_no, self.rounds = -1, -1, 0
        self.points: list[int] = []
        self._consumes = False
        self._trimmed: tuple[int, ...] = ()

    @property
    def committed(self) -> int:
        return len(self.history) - self.pending

    @property
    def visible(self) -> list[int]:
        return self.answer[: len(self.answer) - self.hidden_count]

    @property
    def hidden(self) -> list[int]:
        return self.answer[len(self.answer) - self.hidden_count :]

    @property
    def state(self) -> ev.State:
        return "PENDING" if self.pending else ("PREDICTED" if self.next_pred is not None else "FRESH")

    def status(self, running: bool = True, tok_s: float = 42.0) -> LiveStatus:
        return LiveStatus(
            running=running,
            phase="decoding" if running else "idle",
            tok_s=tok_s,
            state=self.state,
            committed=self.committed,
            max_ctx=self.max_ctx,
            pending=self.history[-1] if self.pending else None,
            rewind_points=tuple(self.points[-4:]),
            drafter="ngram",
            draft_len=self.draft_len,
            hidden_overshoot=self.hidden_count,
            occupancy=self.occupancy(),
        )

    def occupancy(self) -> Occupancy:
        """A trunk's and a draft model's cache, in one of two slots."""
        trunk = CacheUse(
            name="trunk",
            used=self.committed,
            reserved=self.max_ctx + 64,
            limit=self.max_ctx,
            nbytes=46080 * (self.max_ctx + 64),
            dtype="float32",
        )
        draft = CacheUse(
            name="draft model",
            used=min(self.committed, self.max_ctx // 2),
            reserved=self.max_ctx // 2 + 64,
            limit=self.max_ctx // 2,
            nbytes=7680 * (self.max_ctx // 2 + 64),
            dtype="bfloat16",
        )
        return Occupancy(
            caches=(trunk, draft),
            turns=self.turn_no + 1,
            slots_used=2,
            slots=4,
            own_slot=True,
            weights=538_000_000,
            draft_weights=90_000_000,
            slot_bytes=2 * trunk.nbytes,
            model="words",
            device="cpu",
            graphs="Forwards run without graphs, as they do on the CPU.",
            free=12_000_000_000,
        )

    def turn(self, prompt: int = 24) -> None:
        """A message: hidden tokens are dropped, the pending one is folded into the prefill."""
        self.turn_no += 1
        self.burst_no += 1
        dropped = self.drop_hidden()
        kept = len(self.history)
        self.trace.append(
            ev.TurnEvent(
                turn=self.turn_no,
                decision="extend",
                prompt_tokens=kept + prompt,
                reused=self.committed,
                common=kept,
                history=kept,
                dropped=dropped,
            )
        )
        carried = self.history[-1] if self.pending else None
        at, tokens = self.committed, prompt + self.pending
        self.history += [self._id() for _ in range(prompt)]
        self.points.append(len(self.history))
        for role, pos in (("header", len(self.history) - 3), ("prompt", len(self.history))):
            self.trace.append(
                ev.CheckpointEvent(turn=self.turn_no, pos=pos, role=role, bytes=0, retained=tuple(self.points))
            )
        first = self._id()
        half = tokens // 2
        for pos, size, out in ((at, half, None), (at + half, tokens - half, first)):
            if size:
                self.trace.append(
                    ev.PrefillEvent(
                        turn=self.turn_no,
                        burst=self.burst_no,
                        pos=pos,
                        tokens=size,
                        width=size,
                        ms=9.0,
                        carried=carried if pos == at else None,
                        first=out,
                    )
                )
        self.answer, self.hidden_count, self.next_pred = [], 0, None
        if carried is not None:
            self._pending("flush", carried, at, "prefill", "PENDING")
        self._emit(first)
        self.pending = True

    def cancelled_turn(self) -> None:
        """A message stopped between two prefill chunks: nothing changes but what was dropped for it."""
        self.drop_hidden()
        kept = len(self.history)
        self.trace.append(
            ev.TurnEvent(
                turn=self.turn_no + 1,
                decision="extend",
                prompt_tokens=kept + 9,
                reused=self.committed,
                common=kept,
                history=kept,
            )
        )
        self.burst_no += 1
        self.trace.append(
            ev.PrefillEvent(turn=self.turn_no + 1, burst=self.burst_no, pos=self.committed, tokens=4, width=4, ms=1.0)
        )
        self._burst_event("cancelled")

    def resume(self) -> None:
        """The first step of a continuation: hidden tokens are shown, the carry consumed or the prediction emitted."""
        self.burst_no += 1
        if self.hidden_count:
            self._overshoot("shown", self.hidden)
            self.hidden_count = 0
        self._consumes = self.pending
        if not self.pending and self.next_pred is not None:
            token, self.next_pred = self.next_pred, None
            at = self.committed
            self._pending("promote", token, at, "continue", "PENDING")
            self._emit(token)
            self.pending = True

    def round(self, trim: int = 0, stop: bool = False) -> int:
        """One round; the last `trim` emitted tokens are dropped at once. Returns how many it emitted."""
        drafts = tuple(self._id() for _ in range(self.random.randint(0, self.draft_len)))
        accepted = 0
        while accepted < len(drafts) and self.random.random() < 0.78 - 0.05 * accepted:
            accepted += 1
        bonus = None if stop and accepted else self._id()
        out = [*drafts[:accepted], *([] if bonus is None else [bonus])]
        trim = min(trim, len(out) - 1)
        kept, trimmed = out[: len(out) - trim], tuple(out[len(out) - trim :])
        before, carried = self.committed, self.history[-1]
        event = ev.RoundEvent(
            turn=self.turn_no,
            burst=self.burst_no,
            round=self.rounds,
            pos=self.committed,
            pending=self.history[-1],
            drafted=drafts,
            accepted=accepted,
            bonus=bonus,
            emitted=len(kept),
            width=8,
            drafter="ngram",
            draft_ms=0.2,
            verify_ms=24.0,
            accept_ms=0.2,
            host_ms=0.4,
            trimmed=trimmed,
        )
        self.trace.append(event)
        self.rounds += 1
        if self._consumes:
            self._consumes = False
            self._pending("consume", carried, before, "round", "PENDING")
        for token in kept:
            self._emit(token)
        if trimmed:
            self.pending, self.next_pred = False, trimmed[0]
        self._trimmed = trimmed
        return len(kept)

    def end_burst(self, over: int = 0) -> None:
        """Close the burst, the last `over` tokens of its last round past the budget."""
        if self.pending:
            self._pending("carry", self.history[-1], self.committed, "round", "PENDING")
        self._burst_event("length", over)
        if self._trimmed:
            self._overshoot("trimmed", self._trimmed)
        if over:
            self.hidden_count = over
            self._overshoot("kept", self.hidden)
        self._trimmed = ()

    def drop_hidden(self) -> int:
        """Forget what was never shown, as a new message does."""
        count, gone = self.hidden_count, self.hidden
        if count:
            start, to = self.committed, len(self.history) - count
            self._pending("drop", self.history[-1], start, "trim", "FRESH")
            self._cut(to)
            self.trace.append(
                ev.RewindEvent(turn=self.turn_no, start=start, to=to, cause="overshoot", retained=tuple(self.points))
            )
            self._overshoot("dropped", gone)
        return count

    def rewind(self, to: int) -> None:
        """Back to a position inside the history."""
        start, token, at = self.committed, self.history[-1], self.committed
        if self.pending:
            self._pending("drop", token, at, "rewind", "FRESH")
        self._cut(to)
        self.trace.append(
            ev.RewindEvent(turn=self.turn_no, start=start, to=to, cause="checkpoint", retained=tuple(self.points))
        )

    def _cut(self, to: int) -> None:
        gone = len(self.history) - to
        self.history = self.history[:to]
        self.answer = self.answer[: max(0, len(self.answer) - gone)]
        self.hidden_count = max(0, self.hidden_count - gone)
        self.points = [point for point in self.points if point <= to]
        self.pending, self.next_pred = False, self._id()

    def _emit(self, token: int) -> None:
        self.history.append(token)
        self.answer.append(token)

    def _id(self) -> int:
        return self.random.randint(0, 49_000)

    def _burst_event(self, reason: str, over: int = 0) -> None:
        self.trace.append(
            ev.BurstEvent(
                turn=self.turn_no,
                burst=self.burst_no,
                max_new=0,
                emitted=0,
                visible=0,
                overshoot=over,
                reason=reason,  # type: ignore[arg-type]
                ms=1.0,
                committed=self.committed,
                state=self.state,
            )
        )

    def _overshoot(self, action: str, tokens: list[int] | tuple[int, ...]) -> None:
        self.trace.append(
            ev.OvershootEvent(
                action=action,  # type: ignore[arg-type]
                tokens=tuple(tokens),
                turn=self.turn_no,
                pos=self.committed,
            )
        )

    def _pending(self, transition: str, token: int, pos: int, via: str, state: ev.State) -> None:
        self.trace.append(
            ev.PendingEvent(
                transition=transition,  # type: ignore[arg-type]
                token=token,
                pos=pos,
                turn=self.turn_no,
                burst=self.burst_no,
                via=via,  # type: ignore[arg-type]
                state=state,
            )
        )
