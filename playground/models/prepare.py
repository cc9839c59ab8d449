"""Ahead of a load: fetch what is missing, then refuse what cannot work, before any weight is read.

The running engine stays loaded meanwhile, so the memory asked for is what is free beside it.
"""

from __future__ import annotations

from pathlib import Path

import torch

from engine.checkpoints.hub import hub_folder
from engine.checkpoints.load import resolve
from engine.checkpoints.memory import FreeMemory, free_memory
from engine.checkpoints.reference import HubId, parse_reference
from engine.place import device_of
from playground.models.loading import Progress
from playground.models.pairing import require_pair
from playground.models.room import Need, NoRoom, judge
from playground.models.size import bytes_per_number, need_of, size_of_folder
from playground.names import short_reference
from playground.settings import DRAFTER_PREFIX, Settings

CPU = torch.device("cpu")


def prepare(settings: Settings, progress: Progress, free: FreeMemory = free_memory) -> None:
    """Raises `CheckpointError`, `DrafterMismatch` or `NoRoom`, one sentence each, and what `progress` raises."""
    device = device_of(settings.device)
    trunk = _fetched(settings, settings.model, progress, device, free)
    draft = None
    if settings.drafter.startswith(DRAFTER_PREFIX):
        reference = settings.drafter.removeprefix(DRAFTER_PREFIX)
        draft = _fetched(settings, reference, progress, device, free)
        progress("Comparing the tokenizers", None)
        require_pair(trunk, draft, short_reference(settings.model), short_reference(reference))
    progress("Checking that it fits", None)
    _require_room(settings, trunk, draft, device, free)


def _fetched(settings: Settings, reference: str, progress: Progress, device: torch.device, free: FreeMemory) -> Path:
    parsed = parse_reference(reference)
    if not isinstance(parsed, HubId):
        return resolve(parsed, progress, device, free).folder

    def check_size(size: int) -> None:
        # Files may be of a wider type than the model will be, never by more than half.
        if device.type == "cpu" and judge(Need(size // 2, 0), free(device), 0) != "fits":
            raise NoRoom(short_reference(reference), Need(size // 2, 0), free(device), device.type)

    return hub_folder(parsed, progress, check_size, trust_remote_code=settings.trust_remote_code)


def _require_room(settings: Settings, trunk: Path, draft: Path | None, device: torch.device, free: FreeMemory) -> None:
    size = size_of_folder(trunk, trust_remote_code=settings.trust_remote_code)
    small = None if draft is None else size_of_folder(draft, trust_remote_code=settings.trust_remote_code)
    item = bytes_per_number(settings.dtype, device.type)
    need = need_of(size, small, item=item, max_ctx=settings.max_ctx, slots=settings.slots)
    verdict = judge(need, free(device), _held_on(device))
    spills = device.type == "cuda" and judge(need, free(CPU), 0) == "fits"
    if verdict == "unload" or (verdict == "no" and not spills):
        raise NoRoom(short_reference(settings.model), need, free(device), device.type)


def _held_on(device: torch.device) -> int:
    """Bytes of a GPU that are this process's own: what unloading would give back. The service knows the CPU's."""
    return int(torch.cuda.memory_reserved(device)) if device.type == "cuda" else 0
