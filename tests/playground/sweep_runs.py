"""Made-up sweeps with known answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.sweep.run import Machine, Model, Pass, PromptKept, Run, fingerprint

MACHINE = Machine(processor="Abacus 9", cores=2, threads=2, system="Linux x86_64", gpu="")
MODEL = Model(name="fake/words", dtype="float32", device="cpu", exact=True)
STEP_S = 0.04
"""Seconds of a plain step."""


def made_run(speeds: Mapping[int, float], repeats: int = 3, **other: Any) -> Run:
    """A sweep of `ngram` over two prompts whose speed-up at K is `speeds[K]`, 2 % less and more in other repeats."""
    lengths = sorted(speeds)
    wavers = [1.0, 0.98, 1.02][:repeats]
    passes = []
    for repeat, waver in enumerate(wavers):
        for arm, speed in enumerate([1.0, *(speeds[k] * waver for k in lengths)]):
            for prompt in range(2):
                passes.append(record(arm, prompt, repeat, speed))
    fields: dict[str, Any] = {
        "id": "0123456789abcdef", "name": "", "created": 1.7e9, "complete": True, "machine": MACHINE,
        "versions": {"torch": "2.13"}, "model": MODEL, "drafters": ["ngram"], "lengths": lengths,
        "prompts": [
            PromptKept(name=name, category=name, chars=9, fingerprint=fingerprint(name)) for name in ("chat", "list")
        ],
        "max_new": 48, "repeats": repeats, "passes": passes,
    }  # fmt: skip
    return Run(**(fields | other))


def record(arm: int, prompt: int, repeat: int, speed: float, **other: Any) -> Pass:
    """40 tokens after the first, `speed` times as fast as plain steps; two tokens a round unless plain."""
    rounds = 20 if arm else 40
    fields: dict[str, Any] = {
        "arm": arm, "prompt": prompt, "repeat": repeat, "tokens": 41, "decoded": 40, "first_s": 0.1,
        "decode_s": 40 * STEP_S / speed, "rounds": rounds, "drafted": 40 if arm else 0, "accepted": 20 if arm else 0,
        "emitted": 40, "round_ms": 1e3 * 40 * STEP_S / speed / rounds, "width": 8 if arm else 4,
        "text": fingerprint(f"answer {prompt}"),
    }  # fmt: skip
    return Pass(**(fields | other))
