"""Uniforms from a counter: Philox4x32-10.

(Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.) Ten times:

    (hi0, lo0) = M0 * c0       (hi1, lo1) = M1 * c2       32 x 32 -> 64 bit products
    (c0, c1, c2, c3) = (hi1 ^ c1 ^ k0,  lo1,  hi0 ^ c3 ^ k1,  lo0)       k0 += W0, k1 += W1

    key       (seed's low 32 bits, seed's high 32 bits)
    counter   (lane // 4, event's low 32 bits, event's high 32 bits, role)      lane % 4 picks one of the four words
    uniform   ((word >> 9) + 1/2) * 2^-23

so a value depends on (seed, role, event counter, lane) alone: not on how many are drawn together, nor in what order.
The uniform has 24 significant bits: exact in fp32, and never 0 or 1.
"""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor

M0, M1 = 0xD2511F53, 0xCD9E8D57
W0, W1 = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
MASK = 0xFFFFFFFF

Seed = int | Tensor
"""64 bits: a Python int, or one int64 on the device, so that a captured graph can be replayed with another seed."""


class Role(IntEnum):
    """What a value is for. The role is a word of the counter, so no two roles ever share a stream."""

    ACCEPT = 1
    """Accept tests of the rejection walk, counted by `uctr`."""
    TARGET_DRAW = 2
    """Draws of emitted tokens from the trunk's distribution or its residual, counted by `sctr`."""
    DRAFT_DRAW = 3
    """Draws of drafts from the drafter's distribution, counted by `sctr`."""
    GUMBEL = 4
    """Noise shared by trunk and drafter in coupled mode, counted by the index of the emitted token."""


def words(seed: Seed, c0: Tensor, c1: Tensor, c2: Tensor, c3: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The four output words for counters (c0, c1, c2, c3): int64 tensors of one shape, in [0, 2^32), as the result."""
    k0, k1 = int(seed) & MASK, (int(seed) >> 32) & MASK
    for _ in range(ROUNDS):
        # 64 bits hold the product of two words; the shift drags the sign along, which the mask clears. Low halves
        # keep their upper bits until then: they only ever take part in an exclusive or.
        first, second = c0 * M0, c2 * M1
        c0 = (second >> 32).bitwise_xor_(c1).bitwise_xor_(k0).bitwise_and_(MASK)
        c2 = (first >> 32).bitwise_xor_(c3).bitwise_xor_(k1).bitwise_and_(MASK)
        c1, c3 = second, first
        k0, k1 = (k0 + W0) & MASK, (k1 + W1) & MASK
    return c0, c1 & MASK, c2, c3 & MASK


def reference(seed: Seed, role: int, counters: Tensor, lanes: int) -> Tensor:
    """Uniforms strictly between 0 and 1.

    Args:
        seed: 64 bits. role: a `Role`. counters: [n] int64, one event each. lanes: values wanted per event.

    Returns:
        [n, lanes] fp32 on the device of `counters`.
    """
    count, blocks = counters.shape[0], -(-lanes // 4)
    lane = torch.arange(blocks, device=counters.device).expand(count, blocks)
    low = (counters & MASK)[:, None].expand_as(lane)
    high = (counters >> 32 & MASK)[:, None].expand_as(lane)
    drawn = torch.stack(words(seed, lane, low, high, torch.full_like(lane, role)), dim=-1)  # [n, blocks, 4]
    return (drawn >> 9).float().add_(0.5).mul_(2.0**-23).view(count, 4 * blocks)[:, :lanes]
