"""Rotary positions for queries and keys, and the write of keys and values into the cache, in one pass.

For the first Dr dimensions of a head, in halves (NeoX order; the others pass through unchanged):

    rot(x)_d = x_d * cos_d - x_{d + Dr/2} * sin_d    d <  Dr/2
    rot(x)_d = x_d * cos_d + x_{d - Dr/2} * sin_d    d >= Dr/2

computed in fp32 and rounded once. Row i of the forward is written at cache position start + i of its slot, padding
columns included, in the layout of `kernels.attention.pool_reference`; a row outside the pool is not written at all.
Source: Su et al. 2021, section 3.4.2, with the pairing of GPT-NeoX.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.attention import BLOCK


def reference(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    slot: Tensor,
    start: Tensor,
) -> Tensor:
    """Rotate `query` and `key`; write the rotated keys and the values at `start` of `slot`, in place.

    Args:
        query: [H, W, D]; key: [KVH, W, D]; value: [KVH, W, Dv]; any strides.
        cos, sin: [W, Dr], Dr even and at most D, of the positions the rows stand at; any float dtype.
        keys: [S, KVH, capacity, D], contiguous. values: [S, capacity / BLOCK, KVH, BLOCK, Dv], contiguous.
        slot, start: one integer each, int32 or int64, on the pools' device.

    Returns:
        The rotated queries [H, W, D].
    """
    slots, _, capacity, _ = keys.shape
    positions = start.reshape(1).long() + torch.arange(query.shape[1], device=query.device)
    chosen = slot.reshape(1).long()
    inside = (positions >= 0) & (positions < capacity) & (chosen >= 0) & (chosen < slots)
    at = positions[inside]
    into = chosen.expand_as(positions)[inside]
    keys[into, :, at] = rotate(key, cos, sin).transpose(0, 1)[inside]
    values[into, at // BLOCK, :, at % BLOCK] = value.transpose(0, 1)[inside]
    return rotate(query, cos, sin)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """`x` [heads, W, D] turned by `cos`, `sin` [W, Dr], in the dtype of x."""
    turned = cos.shape[-1]
    wide = x[..., :turned].float()
    first, second = wide.chunk(2, dim=-1)
    out = wide * cos.float() + torch.cat([-second, first], dim=-1) * sin.float()
    return torch.cat([out.to(x.dtype), x[..., turned:]], dim=-1)
