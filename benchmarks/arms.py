"""Builds the arms: one stock model for transformers, and one packed copy of the weights that all engines share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from benchmarks.arm_names import ArmName
from benchmarks.generate_arm import GenerateArm
from benchmarks.passes import Pass
from benchmarks.session_arm import SessionArm
from engine import Engine, load_engine
from engine.checkpoints import load_checkpoint


class Arm(Protocol):
    """One way of decoding."""

    name: str

    def run(self, turns: Sequence[Sequence[int]], new: int) -> Pass:
        """Decode a conversation: `new` tokens after each suffix of `turns`, whatever ends a turn."""


@dataclass(frozen=True)
class ArmSettings:
    """What the arms have in common."""

    model: str
    draft_model: str
    """Reference for the `model-K` arms."""
    device: str
    dtype: str
    max_ctx: int
    """Rows that the longest conversation needs."""
    threads: int
    """CPU threads, of every arm: engines do not choose their own here."""


@dataclass
class Arms:
    """The arms in the order asked for, and the engines by most drafts a round."""

    arms: list[Arm]
    engines: dict[int, Engine]
    device: str
    dtype: str


def build_arms(names: Sequence[ArmName], settings: ArmSettings) -> Arms:
    """Load what the arms need and no more. Raises what `load_engine` and `load_checkpoint` do."""
    engines: dict[int, Engine] = {}
    for name in names:
        if not name.stock and name.draft_len not in engines:
            engines[name.draft_len] = _engine(settings, name.draft_len, engines)
    stock = stock_model(settings) if any(name.stock for name in names) else None
    arms: list[Arm] = []
    for name in names:
        if name.stock:
            arms.append(GenerateArm(str(name), stock, name.draft_len or None))
        else:
            arms.append(SessionArm(str(name), engines[name.draft_len], _drafter(name, settings), name.draft_len))
    where = stock or next(iter(engines.values())).trunk
    return Arms(arms, engines, str(where.device), str(where.dtype).removeprefix("torch."))


def _drafter(name: ArmName, settings: ArmSettings) -> str:
    return {"plain": "none", "ngram": "ngram", "model": f"model:{settings.draft_model}"}[name.kind]


def _engine(settings: ArmSettings, draft_len: int, known: dict[int, Engine]) -> Engine:
    """An engine whose W is made for `draft_len`, on the weights that the first one loaded and packed."""
    if known:
        first = next(iter(known.values()))
        return Engine(
            first.checkpoint,
            drafter="none",
            draft_len=draft_len,
            max_draft_len=draft_len,
            max_ctx=settings.max_ctx,
            slots=1,
            threads=settings.threads,
            debug=False,
        )
    return load_engine(
        settings.model,
        drafter="none",
        draft_len=draft_len,
        max_draft_len=draft_len,
        device=settings.device,
        dtype=settings.dtype,
        max_ctx=settings.max_ctx,
        slots=1,
        threads=settings.threads,
        debug=False,
    )


def stock_model(settings: ArmSettings) -> Any:
    """The model as transformers loads it: ordinary linear layers, attention `sdpa`."""
    device = "cuda" if torch.cuda.is_available() and settings.device == "auto" else settings.device
    where = torch.device("cpu" if device == "auto" else device)
    kind: Any = "auto" if settings.dtype == "auto" else getattr(torch, settings.dtype)
    return load_checkpoint(settings.model, device=where, dtype=kind, attn_implementation="sdpa").model
