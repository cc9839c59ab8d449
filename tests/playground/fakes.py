"""An engine without a model: same names, same events, an answer made of numbered words."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine import events as ev
from engine.chat.prompt import Answer
from engine.chat.rewind_targets import RewindTarget
from engine.chat.transcript import Exchange, Transcript
from engine.errors import DrafterMismatch, SessionStateError
from engine.sampling import SamplingParams
from engine.telemetry import SpecTelemetry
from engine.trace import Trace, TraceHeader
from tests.playground.fake_draws import FakeDraws

EOS = 2
WORDS = 5000


class FakeTokenizer:
    """Ids from 10 on are the words ` w10`, ` w11`, ...; `EOS` is a special token without text."""

    def decode(self, token_ids: list[int], **options: Any) -> str:
        return "".join("" if i == EOS else f" w{i}" for i in token_ids)

    def convert_ids_to_tokens(self, ids: int) -> str:
        return "<eos>" if ids == EOS else f"\u0120w{ids}"

    def __call__(self, text: str) -> list[int]:
        return [10 + hash(w) % WORDS for w in text.split()]


@dataclass
class FakeCheckpoint:
    id: str = "fake/words"
    tokenizer: FakeTokenizer = field(default_factory=FakeTokenizer)


@dataclass
class FakeTrunk:
    device: str = "cpu"
    dtype: str = "torch.float32"


class FakeEngine:
    """`pace` is the seconds a forward takes; `answer` the number of words of every answer."""

    def __init__(self, pace: float = 0.0, answer: int = 60, max_ctx: int = 4096) -> None:
        self.pace, self.answer, self.max_ctx = pace, answer, max_ctx
        self.checkpoint = FakeCheckpoint()
        self.tokenizer = self.checkpoint.tokenizer
        self.trunk, self.width, self.max_draft_len = FakeTrunk(), 8, 7
        self.verdict = "Exact: rows of a round are bit-identical at width 8."
        self.closed = False
        self.differs_at: int | None = None
        """Where a check finds a difference."""

    def close(self) -> None:
        self.closed = True


def fake_check(session: Any, progress: Callable[[int, int], bool]) -> ev.CheckEvent:
    """As `check_exact`, at the engine's pace a token; every row counts as generated."""
    total, at = len(session.committed), session.engine.differs_at
    for done in range(total):
        if not progress(done, total):
            return session.trace.append(ev.CheckEvent(identical=False, tokens=done, cancelled=True))
        if done == at:
            return session.trace.append(
                ev.CheckEvent(identical=False, tokens=done, index=done, expected=10, actual=11, gap=0.00125)
            )
        time.sleep(session.engine.pace)
    return session.trace.append(ev.CheckEvent(identical=True, tokens=total))


@dataclass
class FakeDrafter:
    name: str


class FakeSession:
    def __init__(self, eng: FakeEngine) -> None:
        self.engine = eng
        self.committed: list[int] = []
        self.next_pred: int | None = None
        self.pending_tok: int | None = None
        self.telem = SpecTelemetry()
        self.state: ev.State = "FRESH"
        self.trace = Trace(TraceHeader(checkpoint=eng.checkpoint.id))
        self.drafter, self.draft_len = FakeDrafter("ngram"), 7
        self.points: list[int] = []
        self.seed = 77
        self.numbers = FakeDraws(self.trace, self.seed)
        self.closed = False

    def rewind_points(self) -> list[int]:
        return list(self.points)

    def rewind_pos(self) -> int | None:
        return self.points[-1] if self.points else None

    def cache_max_ctx(self) -> int:
        return self.engine.max_ctx

    def set_drafter(self, drafter: str, draft_len: int | None = None) -> None:
        if drafter not in ("none", "ngram"):
            raise DrafterMismatch(f"Drafter {drafter} does not fit this model: the vocabularies differ at id 7.")
        self.drafter = FakeDrafter(drafter)
        self.draft_len = draft_len or self.draft_len
        self.trace.append(
            ev.DrafterEvent(drafter=drafter, draft_len=self.draft_len, action="set", pos=len(self.committed))
        )

    def close(self) -> None:
        self.closed = True


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


def transcript_of_texts(texts: list[str], system: str) -> Transcript:
    """Questions and answers in turn, answers as text alone."""
    pairs = [texts[at : at + 2] for at in range(0, len(texts), 2)]
    return Transcript(
        system or None,
        tuple(Exchange(pair[0], Answer((), pair[1], pair[1]) if pair[1:] else None) for pair in pairs),
    )


class FakeChat:
    """Answers word 1, 2, 3, ... after each message; every third draft or so is rejected."""

    def __init__(self, eng: FakeEngine) -> None:
        self.engine = eng
        self.session = FakeSession(eng)
        self.messages: list[dict[str, str]] = []
        self.can_continue = False
        self.turn: FakeTurn | None = None
        self.fail: Exception | None = None
        self.system = ""
        self.stop: object = None
        self.sampling: SamplingParams | None = None
        self.verify: object = None
        self._asked: dict[int, int] = {}
        self._random = random.Random(7)
        self._turn = -1
        self._bursts = 0
        self._left = 0
        self._hidden: list[int] = []

    def clear(self) -> None:
        rows = len(self.session.committed)
        self.session.committed, self.session.pending_tok, self.session.points = [], None, []
        self.session.state, self.messages, self.can_continue, self.turn = "FRESH", [], False, None
        self.session.trace.append(ev.RewindEvent(turn=self._turn, start=rows, to=0, cause="clear", retained=()))

    @property
    def rewind_targets(self) -> list[RewindTarget]:
        return [RewindTarget(pos, self._asked[pos], "prompt") for pos in self.session.points]

    @property
    def transcript(self) -> Transcript:
        return transcript_of_texts([message["content"] for message in self.messages], self.system)

    def restore(self, transcript: Transcript) -> None:
        self.system = transcript.system or ""
        self.messages = [dict(m) for m in transcript.messages if m["role"] != "system"]
        self.turn, self.can_continue, self.session.points = None, transcript.waiting, []

    def set_system(self, text: str) -> None:
        self.system = text

    def rewind(self, pos: int) -> int:
        if pos not in self.session.points:
            raise SessionStateError(f"There is no rewind point at {pos}; there are {self.session.points}.")
        self._back(pos)
        self.messages = self.messages[: 2 * self._asked[pos] + 1]
        self.turn, self.can_continue = None, True
        return pos

    def regenerate(self, **options: Any) -> FakeTurn:
        question = len(self.messages) - 1 - (self.messages[-1]["role"] == "assistant")
        return self.edit(question // 2, self.messages[question]["content"], **options)

    def edit(self, turn: int, text: str, **options: Any) -> FakeTurn:
        self._back(next((pos for pos in self.session.points if self._asked[pos] == turn), 0))
        self.messages = self.messages[: 2 * turn]
        return self.send(text, **options)

    def _back(self, pos: int) -> None:
        s, rows = self.session, len(self.session.committed)
        s.committed, s.points = s.committed[:pos], [p for p in s.points if p <= pos]
        s.pending_tok, s.state, self._hidden = None, "PREDICTED", []
        cause: Any = "checkpoint" if pos else "prime"
        s.trace.append(ev.RewindEvent(turn=self._turn, start=rows, to=pos, cause=cause, retained=tuple(s.points)))

    def send(self, text: str, max_new: int = 256, on_tokens: OnTokens | None = None, **options: Any) -> FakeTurn:
        poll = on_tokens or (lambda delta: True)
        if self.fail is not None:
            error, self.fail = self.fail, None
            raise error
        ids, s = self.engine.tokenizer(text), self.session
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages.pop()
        self._settings(options)
        self._turn += 1
        before = len(s.committed)
        s.trace.append(
            ev.TurnEvent(
                turn=self._turn,
                decision="extend",
                prompt_tokens=before + len(ids),
                reused=before,
                common=before,
                history=before,
            )
        )
        for at in range(0, max(1, len(ids)), 64):
            if not poll(FakeDelta("", [], [])):
                s.committed = s.committed[:before]
                return FakeTurn("", [], [], [], "cancelled", before, SpecTelemetry(), 0.0)
            if at + 64 >= len(ids):
                self._left, self._hidden = self.engine.answer, []
                first = self._word()
            self._prefill(ids[at : at + 64], first if at + 64 >= len(ids) else None)
        s.points = [*s.points, len(s.committed)][-4:]
        self._asked[len(s.committed)] = len(self.messages) // 2
        s.trace.append(
            ev.CheckpointEvent(turn=self._turn, pos=len(s.committed), role="prompt", bytes=0, retained=tuple(s.points))
        )
        self.messages += [{"role": "user", "content": text}, {"role": "assistant", "content": ""}]
        s.pending_tok, s.state = first, "PENDING"
        s.numbers.first(first, len(s.committed), self._turn)
        poll(FakeDelta(self._show([first]), [first], ["first"]))
        return self._decode([first], ["first"], max_new, poll, **options)

    def continue_turn(self, max_new: int = 256, on_tokens: OnTokens | None = None, **options: Any) -> FakeTurn:
        if self.messages[-1]["role"] == "user":
            return self.regenerate(max_new=max_new, on_tokens=on_tokens, **options)
        poll = on_tokens or (lambda delta: True)
        self._settings(options)
        shown = self._hidden
        self._hidden = []
        poll(FakeDelta(self._show(shown), shown, ["draft"] * len(shown)))
        return self._decode(shown, ["draft"] * len(shown), max_new, poll, **options)

    def _settings(self, options: dict[str, Any]) -> None:
        self.stop, self.sampling, self.verify = (options.get(name) for name in ("stop", "sampling", "verify"))
        self.session.numbers.begin(self.sampling, self.verify, len(self.session.committed), self._turn)

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
