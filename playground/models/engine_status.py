"""The running engine and the load of another one, as pages read them: plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine import Engine


@dataclass(frozen=True)
class EngineStatus:
    """What the page says about the engine. `version` changes with every change."""

    state: Literal["loading", "ready", "failed"]
    sentence: str
    fraction: float | None = None
    version: int = 0
    facts: EngineFacts | None = None
    since: float | None = None
    """When the load began, on the monotonic clock; None while nothing loads."""
    crowded: bool = False
    """The last load lacked memory that it would have had with the running engine unloaded."""
    engines: int = 0
    """How many engines have been put in place."""


@dataclass(frozen=True)
class EngineFacts:
    """The running engine in words."""

    model: str
    device: str
    dtype: str
    max_ctx: int
    width: int
    verdict: str


def facts_of(engine: Engine) -> EngineFacts:
    """The engine in words."""
    return EngineFacts(
        model=str(engine.checkpoint.id),
        device=str(engine.trunk.device),
        dtype=str(engine.trunk.dtype).removeprefix("torch."),
        max_ctx=engine.max_ctx,
        width=engine.width,
        verdict=str(engine.verdict),
    )


def memory_of(engine: Engine | None) -> dict[str, int]:
    """Bytes by what they are for, as `Engine.memory`; empty without an engine, and for a stand-in that counts none."""
    counts = getattr(engine, "memory", None)
    return dict(counts()) if counts else {}


def held_bytes(engine: Engine | None) -> int:
    """What unloading would give back. On the CPU a slot's pages are taken when they are touched, so none is counted."""
    counts = memory_of(engine)
    if engine is not None and str(engine.trunk.device).startswith("cpu"):
        counts.pop("slots", None)
    return sum(counts.values())
