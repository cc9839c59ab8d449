"""The engine's cache slots: a bounded number of sessions keep their rows; the idle one longest unused gives way."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.cache import CacheSlot
from engine.errors import EngineError
from engine.events import ContextEvent

if TYPE_CHECKING:
    from engine.session import SpecSession
    from engine.trunk import Trunk


class SlotPool:
    """Hands out at most `count` slots of `capacity` rows, allocated when first needed and used again."""

    def __init__(
        self, trunk: Trunk, count: int, capacity: int, lease: Callable[[], CacheSlot | None] | None = None
    ) -> None:
        """`lease` gives a slot of memory taken before, or None; else a slot is memory of its own."""
        self._lease = lease or (lambda: None)
        self._trunk, self._count, self._capacity = trunk, count, capacity
        self._owners: OrderedDict[SpecSession, CacheSlot] = OrderedDict()  # least recently used first
        self._free: list[CacheSlot] = []
        self._lock = threading.Lock()

    def acquire(self, session: SpecSession) -> CacheSlot:
        """Give `session` an empty slot, evicting the idle session longest unused if none is free.

        Raises EngineError when every slot belongs to a session in the middle of a call.
        """
        with self._lock:
            assert session.slot is None
            if not self._free and len(self._owners) >= self._count:
                self._evict()
            slot = self._free.pop() if self._free else self._lease()
            if slot is None:
                slot = self._trunk.new_slot(self._capacity)
            session.slot = self._owners[session] = slot
            return slot

    def release(self, session: SpecSession) -> None:
        """Take the slot back, zeroed; the session's other state stays."""
        with self._lock:
            self._release(session)

    def touch(self, session: SpecSession) -> None:
        """Note that the session was used now."""
        with self._lock:
            self._owners.move_to_end(session)

    def evict(self, session: SpecSession) -> None:
        """Take an idle session's rows, as when another session needs the slot; its next call computes them again.

        Nothing to do without rows. Raises `SessionStateError` while a call runs on the session.
        """
        with session.exclusive("evict"), self._lock:
            if session in self._owners:
                self._take(session)

    def close(self) -> None:
        """Take every slot back and free them."""
        with self._lock:
            for owner in list(self._owners):
                self._release(owner)
            self._free.clear()

    def __len__(self) -> int:
        """Slots with an owner."""
        return len(self._owners)

    @property
    def count(self) -> int:
        """The most slots there may be."""
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of every slot allocated so far."""
        return sum(slot.nbytes for slot in (*self._owners.values(), *self._free))

    def _evict(self) -> None:
        idle = next((owner for owner in self._owners if not owner.busy), None)
        if idle is None:
            raise EngineError(
                f"All {self._count} session slots are in use at this moment; wait for one, or start with more --slots."
            )
        self._take(idle)

    def _take(self, idle: SpecSession) -> None:
        self._release(idle)
        idle.drafter.release()
        idle.trace.append(ContextEvent(action="evicted", used=len(idle.committed), max_ctx=idle.engine.max_ctx))

    def _release(self, session: SpecSession) -> None:
        slot = self._owners.pop(session, None)
        session.slot = None
        if slot is not None:
            slot.truncate(0)
            slot.scrub()
            self._free.append(slot)
