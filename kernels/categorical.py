"""One draw per row by inversion of the cumulative distribution.

    token = min { v : p_0 + ... + p_v > u * (p_0 + ... + p_{V-1})  and  p_v > 0 }

Sums are in fp64: fp32 sums of 10^5 terms would move mass between tokens. The second condition says what inversion
means; it matters only where a parallel sum is not monotone in its last bit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.status import Status, of_mass


def reference(probs: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one token per row.

    Args:
        probs: [B, V], nonnegative; rows need not sum to 1. u: [B] in [0, 1).

    Returns:
        token [B] int64, never one of probability 0, and status [B] int32 (`Status`). A row with NaN or infinity or
        without mass is named by its status; its token is 0.
    """
    below = probs.cumsum(-1, dtype=torch.float64)
    total = below[:, -1]
    reached = (below > (u.double() * total)[:, None]).logical_and_(probs > 0)
    status = of_mass(total)
    return torch.where(status == Status.OK, reached.byte().argmax(-1), 0), status
