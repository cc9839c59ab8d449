"""What the engine must say, from two witnesses that never look at the session under test.

`PlainOracle` decodes its own history plainly on the same engine: a fresh session with drafter `none`, primed
from scratch in one piece. It is bit-exact, so tokens are compared for equality. `StockOracle` is transformers'
own `generate`; its matrix products round differently, so a difference is excused only by a tie: the gap of the
two logits at the first differing token.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tests.forwards import ForwardCounter

if TYPE_CHECKING:
    from engine import Engine

GREEDY_GAP = 1e-3
"""Largest logit gap, in fp32, between two tokens that two right implementations may choose differently."""


class PlainOracle:
    """Greedy continuations of any history, remembered: asking again for a shorter one costs nothing.

    `tail` more tokens than asked for are decoded at once, since a caller that overshoots will ask for them.
    """

    def __init__(self, engine: Engine, tail: int = 8) -> None:
        self._engine = engine
        self._tail = tail
        self._next: dict[tuple[int, ...], int] = {}
        self.forwards = 0
        """Trunk forwards that the oracle's own sessions took, to be left out of a count of the tested one's."""

    def continuation(self, history: Sequence[int], count: int) -> list[int]:
        """The `count` tokens after `history` (never empty). Raises if the engine's context cannot hold them."""
        key = tuple(history)
        if not self._known(key, count):
            self._decode(key, count)
        out: list[int] = []
        while len(out) < count:
            out.append(self._next[key + tuple(out)])
        return out

    def peek(self, history: Sequence[int]) -> int | None:
        """The token after `history` if it has been decoded before, else None."""
        return self._next.get(tuple(history))

    def _known(self, key: tuple[int, ...], count: int) -> bool:
        for _ in range(count):
            token = self._next.get(key)
            if token is None:
                return False
            key = (*key, token)
        return True

    def _decode(self, key: tuple[int, ...], count: int) -> None:
        from engine import generate_spec_session

        # The last token needs no row, so a full context still yields one.
        room = self._engine.max_ctx - len(key) + 1
        assert count <= room, f"the oracle was asked for {count} tokens where {room} fit"
        session = self._engine.new_session(drafter="none")
        chunk, self._engine.prefill_chunk = self._engine.prefill_chunk, self._engine.max_ctx
        try:
            burst = generate_spec_session(session, list(key), min(count + self._tail, room), ignore_eos=True)
        finally:
            self._engine.prefill_chunk = chunk
            self.forwards += ForwardCounter.in_trace(session)
            session.close()
        for token in burst.tokens:
            self._next[key] = token
            key = (*key, token)


class StockOracle:
    """`transformers.generate` on the same folder, fp32, greedy, with the logits it chose from."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM

        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def first_gap(self, history: Sequence[int], tokens: Sequence[int]) -> tuple[int, float] | None:
        """None if `generate` continues `history` with `tokens`; else (index, logit gap) at the first difference."""
        out = self._model.generate(
            torch.tensor([list(history)]),
            attention_mask=torch.ones(1, len(history), dtype=torch.long),
            max_new_tokens=len(tokens),
            do_sample=False,
            eos_token_id=None,
            output_logits=True,
            return_dict_in_generate=True,
        )
        stock = out.sequences[0, len(history) :].tolist()
        for index, (theirs, ours) in enumerate(zip(stock, tokens, strict=True)):
            if theirs != ours:
                row = out.logits[index][0]
                return index, float(row[theirs] - row[ours])
        return None
