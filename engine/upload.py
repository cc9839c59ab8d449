"""Small numbers to the device without waiting for it: through pinned memory on CUDA, as they are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def ids_on(device: torch.device, values: Sequence[int] | Tensor, into: Tensor | None = None) -> Tensor:
    """`values` as int64 on `device`; a tensor that is there already is itself. `into`: what to overwrite with them."""
    if isinstance(values, Tensor):
        return values
    if device.type != "cuda":
        host = torch.tensor(values, dtype=torch.long)
        return host.to(device) if into is None else into.copy_(host)
    # torch keeps the pinned memory until the copy has read it
    pinned = torch.tensor(values, dtype=torch.long, pin_memory=True)
    return pinned.to(device, non_blocking=True) if into is None else into.copy_(pinned, non_blocking=True)
