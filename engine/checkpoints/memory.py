"""Will the weights fit? Free memory of a device, asked before any weight is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import psutil
import torch

from engine.checkpoints.safetensors_file import TensorSpec
from engine.errors import CheckpointError

FreeMemory = Callable[[torch.device], int]
"""Free bytes of a device."""

_CGROUPS = (
    ("memory.max", "memory.current"),  # version 2
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),  # version 1
)
_HEADROOM = 1.10  # buffers of the load itself, and of the first forward


def free_memory(device: torch.device) -> int:
    """Bytes that can be taken on `device` now: on the CPU what system and control group both allow."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return min([int(psutil.virtual_memory().available), *_cgroup_room(Path("/sys/fs/cgroup"))])


def _cgroup_room(root: Path) -> list[int]:
    """What is left below the limit of our control group (a container's), page cache counted as free."""
    for limit_file, usage_file in _CGROUPS:
        try:
            limit = (root / limit_file).read_text().strip()
            usage = int((root / usage_file).read_text())
            stat = dict(line.split() for line in ((root / usage_file).parent / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        if limit.isdigit():
            cached = int(stat.get("inactive_file", stat.get("total_inactive_file", "0")))
            return [max(int(limit) - usage + cached, 0)]
    return []


def weight_bytes(specs: Iterable[TensorSpec], dtype: torch.dtype) -> int:
    """Bytes of the weights once they are loaded as `dtype`."""
    return sum(spec.bytes_as(dtype) for spec in specs)


def fits(bytes_needed: int, device: torch.device, free: FreeMemory) -> bool:
    """Whether weights of this size, and a tenth more, can be taken on `device`."""
    return bytes_needed * _HEADROOM <= free(device)


def too_large(name: str, bytes_needed: int, device: torch.device, free: FreeMemory) -> CheckpointError:
    """The refusal of weights that do not fit."""
    return CheckpointError(
        f"{name} needs {bytes_needed * _HEADROOM / 1e9:.2g} GB on {device.type} but {free(device) / 1e9:.2g} "
        "GB are "
        "free: choose a smaller checkpoint, --dtype bfloat16, or free some memory."
    )
