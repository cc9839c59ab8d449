"""transformers' side: `generate` on a stock model, as a chat program calls it: the whole history in every turn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer

from benchmarks.passes import Pass, TurnTimes


class _Clock(BaseStreamer):
    """Notes when tokens come; the first call only repeats the prompt."""

    def __init__(self) -> None:
        self.came: list[tuple[float, int]] = []
        self._prompt_seen = False

    def put(self, value: torch.Tensor) -> None:
        if self._prompt_seen:
            self.came.append((time.perf_counter(), value.numel()))
        self._prompt_seen = True

    def end(self) -> None:
        """Nothing to do."""


class GenerateArm:
    """Greedy `transformers.generate`, plain or with prompt lookup."""

    def __init__(self, name: str, model: Any, lookup: int | None = None) -> None:
        """
        Args:
            model: a causal LM as `from_pretrained` gives it, with attention `sdpa`; never one an engine has packed.
            lookup: `prompt_lookup_num_tokens`, or None for plain decoding.
        """
        self.name = name
        self._model, self._lookup = model, lookup
        self._decoder = model.get_decoder()
        # Without stop ids: every arm decodes the same number of tokens. Nothing else is set that a user has not set.
        model.generation_config = GenerationConfig(pad_token_id=0)

    def run(self, turns: Sequence[Sequence[int]], new: int) -> Pass:
        """Decode `new` tokens after each suffix of `turns`, whatever ends a turn."""
        out = Pass(prefills=len(turns))

        def count(*_: object) -> None:
            out.forwards += 1

        history: list[int] = []
        hook = self._decoder.register_forward_hook(count)
        try:
            for suffix in turns:
                history += suffix
                out.turns.append(self._turn(history, new))
                history += out.turns[-1].tokens
        finally:
            hook.remove()
        return out

    def _turn(self, history: Sequence[int], new: int) -> TurnTimes:
        clock = _Clock()
        options: dict[str, Any] = {"prompt_lookup_num_tokens": self._lookup} if self._lookup else {}
        start = time.perf_counter()
        with torch.inference_mode():
            ids = torch.tensor([history], device=self._model.device)
            ids = self._model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=new,
                do_sample=False,
                streamer=clock,
                **options,
            )
            tokens = ids[0, len(history) : len(history) + new].tolist()
        end = time.perf_counter()
        when, count = clock.came[0]
        return TurnTimes(tokens, when - start, min(count, new), end - start)
