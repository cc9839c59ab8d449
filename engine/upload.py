"""Small numbers to the device without waiting for it: through pinned memory on CUDA, as they are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def ids_on(device: torch.device, values: Sequence[int] | Tensor) -> Tensor:
    """`values` as int64 on `device`; a tensor that is there already is itself."""
    if isinstance(values, Tensor):
        return values
    if device.type != "cuda":
        return torch.tensor(values, dtype=torch.long, device=device)
    return torch.tensor(values, dtype=torch.long, pin_memory=True).to(device, non_blocking=True)
