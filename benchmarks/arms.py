"""What is measured: transformers' `generate`, plain decoding at width 1, and a drafter, over the same weights."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from engine import Engine, SpecTelemetry, generate_spec_session
from engine.trunk import implementation


@dataclass
class Result:
    """One pass of one arm over one conversation."""

    tokens: list[list[int]] = field(default_factory=list)
    """New tokens of each turn."""
    seconds: list[float] = field(default_factory=list)
    """Wall time of each turn, prefill included."""
    forwards: int = 0
    rounds: int = 0
    prefills: int = 0
    flushes: int = 0
    telem: SpecTelemetry = field(default_factory=SpecTelemetry)


class Arm(Protocol):
    """One way of decoding."""

    name: str

    def run(self, turns: Sequence[Sequence[int]], new: int) -> Result:
        """Decode a conversation: `new` tokens after each suffix of `turns`, whatever ends a turn."""


class SessionArm:
    """One session of an engine, a burst a turn, overshoot trimmed so that every arm gives as many tokens."""

    def __init__(self, name: str, engine: Engine, drafter: str, draft_len: int) -> None:
        self.name = name
        self._engine, self._drafter, self._draft_len = engine, drafter, draft_len

    def run(self, turns: Sequence[Sequence[int]], new: int) -> Result:
        result = Result()
        session = self._engine.new_session(drafter=self._drafter, draft_len=self._draft_len)
        try:
            for suffix in turns:
                start = time.perf_counter()
                burst = generate_spec_session(session, suffix, new, overshoot="trim", ignore_eos=True)
                result.seconds.append(time.perf_counter() - start)
                result.tokens.append(burst.tokens)
            kinds = [event.kind for event in session.trace]
            result.rounds, result.prefills = kinds.count("round"), kinds.count("prefill")
            result.flushes = kinds.count("flush")
            result.forwards = result.rounds + result.prefills + result.flushes
            result.telem = session.telem.copy()
        finally:
            session.close()
        return result


class GenerateArm:
    """`transformers.generate` with its own cache kept from turn to turn, on the engine's weights with `sdpa`."""

    name = "transformers.generate"

    def __init__(self, engine: Engine) -> None:
        self._model: Any = engine.trunk.model
        self._decoder = engine.trunk.decoder

    def run(self, turns: Sequence[Sequence[int]], new: int) -> Result:
        from transformers import DynamicCache

        result = Result()
        cache, history = DynamicCache(), []

        def count(*_: object) -> None:
            result.forwards += 1

        hook = self._decoder.register_forward_hook(count)
        try:
            with implementation(self._model, "sdpa"), torch.inference_mode():
                for suffix in turns:
                    history += suffix
                    ids = torch.tensor([history], device=self._model.device)
                    start = time.perf_counter()
                    out = self._model.generate(
                        ids,
                        attention_mask=torch.ones_like(ids),
                        cache=cache,
                        max_new_tokens=new,
                        do_sample=False,
                        eos_token_id=None,
                    )
                    result.seconds.append(time.perf_counter() - start)
                    fresh = out[0, ids.shape[1] :].tolist()
                    result.tokens.append(fresh)
                    history += fresh
        finally:
            hook.remove()
        result.prefills = len(turns)
        return result
