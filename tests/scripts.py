"""Multi-turn scripts for the exactness tests, the drafters that disturb them, and the loop that runs them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from engine import generate_spec_session
from engine.rewind import drop_overshoot

if TYPE_CHECKING:
    from engine import SpecSession


@dataclass(frozen=True)
class Script:
    """Turns of (suffix ids, tokens to generate)."""

    turns: tuple[tuple[tuple[int, ...], int], ...]


def tiny_script(vocab: int, new: int = 16, lengths: Sequence[int] = (17, 5, 11), seed: int = 0) -> Script:
    """Random suffixes in which a phrase comes back, so that prompt lookup has something to find.

    The lengths are no multiples of any width or chunk, and the whole outgrows the tiny sliding window.
    """
    rng = random.Random(seed)
    phrase = [rng.randrange(3, vocab) for _ in range(4)]
    turns = []
    for length in lengths:
        ids = [rng.randrange(3, vocab) for _ in range(length)]
        ids[: len(phrase)] = phrase[:length]
        turns.append((tuple(ids), new))
    return Script(tuple(turns))


class GarbageDrafter:
    """Proposes the true continuation with each id spoilt at random: every acceptance length occurs.

    `truth(history, count)` gives the ids to spoil; without it every proposal is random. It also asserts that the
    session keeps it up to date, since a drafter that lags or leads would still leave the text right.
    """

    name = "garbage"
    needs_hidden = False
    max_ctx: int | None = None

    def __init__(
        self,
        vocab: int,
        *,
        seed: int = 0,
        right: float = 0.8,
        truth: Callable[[list[int], int], list[int]] | None = None,
    ) -> None:
        self.rows: list[int] = []
        self._vocab = vocab
        self._right = right
        self._truth = truth
        self._rng = random.Random(seed)

    def release(self) -> None:
        """Its rows are a list; nothing to give back."""

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        self.rows = list(committed)

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        assert last_h is not None, "a round has a row before its pending token"
        count = self._rng.choice([k, k, k, self._rng.randint(0, k)])
        ids = self._truth([*self.rows, pending], count) if self._truth else [0] * count
        return [
            token if self._truth and self._rng.random() < self._right else self._rng.randrange(self._vocab)
            for token in ids
        ]

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        self.rows.extend(tokens)

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        assert length <= len(self.rows), "truncated past what it was shown"
        del self.rows[length:]

    def snapshot(self) -> object:
        return len(self.rows)

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        assert isinstance(snapshot, int)
        self.truncate(snapshot, last_h)


def run_turn(session: SpecSession, suffix: Sequence[int], new: int, burst: int | None, overshoot: str) -> list[int]:
    """One turn of exactly `new` tokens or more (overshoot kept), in bursts of `burst` (None: one whole burst).

    With `overshoot="drop"` what was kept past `new` is forgotten at the turn's end, as a chat does.
    """
    mode = "trim" if overshoot == "trim" else "keep"
    got: list[int] = []
    size = burst or new
    first = True
    while len(got) < new:
        budget = min(size, new - len(got))
        out = generate_spec_session(session, list(suffix) if first else [], budget, overshoot=mode, ignore_eos=True)
        first = False
        assert out.reason == "length", f"a burst of {budget} ended with {out.reason}"
        assert out.visible == budget
        assert len(out.tokens) == out.visible + out.overshoot == len(out.origin)
        assert mode == "keep" or out.overshoot == 0
        got += out.tokens
    if overshoot == "drop" and len(got) > new:
        drop_overshoot(session, len(got) - new)
        got = got[:new]
    return got
