"""What there is to load onto: the device, the bytes free on it, and what the running engine would give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.checkpoints.memory import FreeMemory, free_memory
from engine.place import device_of
from playground.models.engine_status import held_bytes
from playground.models.room import Need, Verdict, judge
from playground.models.size import Size, bytes_per_number, need_of

if TYPE_CHECKING:
    from playground.service import Service


@dataclass(frozen=True)
class Machine:
    """Bytes, and the settings that a need depends on. `item` is the bytes of one number."""

    device: str
    item: int
    free: int
    held: int
    max_ctx: int
    slots: int

    def need(self, trunk: Size, draft: Size | None) -> Need:
        """What a pair takes here."""
        return need_of(trunk, draft, item=self.item, max_ctx=self.max_ctx, slots=self.slots)

    def judge(self, need: Need) -> Verdict:
        """Whether it fits beside the running engine, or without it."""
        return judge(need, self.free, self.held)


def machine_of(service: Service, free: FreeMemory = free_memory) -> Machine:
    """As it is now. Raises `EngineError` for a device that is not there."""
    settings = service.settings
    device = device_of(settings.device)
    return Machine(
        device=device.type,
        item=bytes_per_number(settings.dtype, device.type),
        free=free(device),
        held=held_bytes(service.engine),
        max_ctx=settings.max_ctx,
        slots=settings.slots,
    )
