"""What a session takes of the memory, read from its engine: its own caches, and of other sessions only how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.free_memory import free_on
from playground.names import short_reference
from playground.panels.status import CacheName, CacheUse, Occupancy

if TYPE_CHECKING:
    from engine.cache import CacheSlot
    from engine.session import SpecSession


def occupancy_of(session: SpecSession, turns: int) -> Occupancy | None:
    """A reading from any thread; `turns` are the user messages of its history. None for an engine without slots."""
    from engine.drafters.model import ModelDrafter

    engine = session.engine
    pool, path = getattr(engine, "slots", None), getattr(engine, "device_path", None)
    if pool is None or engine.closed:
        return None
    slot, drafter, bytes_of = session.slot, session.drafter, engine.memory()
    caches = [_use("trunk", slot, session.cache_max_ctx())]
    if isinstance(drafter, ModelDrafter):
        caches.append(_use("draft model", drafter.slot, drafter.max_ctx or session.cache_max_ctx()))
    return Occupancy(
        caches=tuple(caches),
        turns=turns,
        slots_used=len(pool),
        slots=pool.count,
        own_slot=slot is not None,
        weights=bytes_of["weights"],
        draft_weights=bytes_of["draft_weights"],
        slot_bytes=bytes_of["slots"],
        model=short_reference(str(engine.checkpoint.id)),
        device=str(engine.trunk.device),
        graphs=engine.graph_state,
        reads=None if path is None else path.reads,
        free=free_on(str(engine.trunk.device)),
    )


def _use(name: CacheName, slot: CacheSlot | None, limit: int) -> CacheUse:
    if slot is None:
        return CacheUse(name=name, used=0, reserved=0, limit=limit, nbytes=0, dtype="")
    dtype = str(slot.slot_layers[0].keys.dtype).removeprefix("torch.")
    used, reserved = slot.length, slot.capacity
    return CacheUse(name=name, used=used, reserved=reserved, limit=limit, nbytes=slot.nbytes, dtype=dtype)
