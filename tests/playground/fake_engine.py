"""An engine without a model: same names, same events. Its check is here too; `fakes.py` has its chat."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine import events as ev
from engine.books import Books
from engine.errors import DrafterMismatch
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

    @property
    def books(self) -> Books:
        turns = [event.turn for event in self.trace.of(ev.TurnEvent)]
        counters = {"sctr": self.numbers.sctr, "uctr": self.numbers.uctr, "seed": self.seed, "telem": self.telem.copy()}
        turn = max(turns, default=-1)
        return Books(self.trace, self.trace.next_seq, turn, bursts=len(self.trace.of(ev.BurstEvent)), **counters)

    def take_up(self, books: Books) -> None:
        assert not self.committed
        rows = max((event.committed for event in books.trace.of(ev.BurstEvent)), default=0)
        books.trace.go_on(self.trace.header, books.next_seq)
        self.trace, self.telem, self.seed = books.trace, books.telem.copy(), books.seed or self.seed
        self.trace.append(ev.RewindEvent(turn=books.turn, start=rows, to=0, cause="prime", retained=()))
        self.numbers = FakeDraws(self.trace, self.seed)
        self.numbers.sctr, self.numbers.uctr = books.sctr, books.uctr

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
