"""Triton form of `kernels.rotary`: one program a row and head; slot and start are read on the device."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from kernels.attention import BLOCK


def fused(
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
    """As `kernels.rotary.reference`; the result is laid out [W, H, D] in memory, as the attention reads it."""
    heads, width, dim = query.shape
    kv_heads, value_dim = key.shape[0], value.shape[-1]
    slots, _, capacity, _ = keys.shape
    turned = cos.shape[-1]
    assert (
        keys.is_contiguous()
        and values.is_contiguous()
        and values.shape
        == (
            slots,
            capacity // BLOCK,
            kv_heads,
            BLOCK,
            value_dim,
        )
    )
    assert query.stride(2) == key.stride(2) == value.stride(2) == 1 and turned % 2 == 0 and turned <= dim
    cos, sin = cos.contiguous(), sin.contiguous()
    out = query.new_empty(width, heads, dim).transpose(0, 1)
    _rotary[(width, heads + kv_heads)](
        query,
        key,
        value,
        cos,
        sin,
        out,
        keys,
        values,
        slot,
        start,
        *query.stride()[:2],
        *key.stride()[:2],
        *value.stride()[:2],
        slots,
        capacity,
        heads=heads,
        kv_heads=kv_heads,
        dim=dim,
        value_dim=value_dim,
        turned=turned,
        keys_a_block=BLOCK,
        padded=triton.next_power_of_2(max(dim, value_dim)),
        num_warps=1,
    )
    return out


@triton.jit
def _rotary(
    query: tl.tensor,
    key: tl.tensor,
    value: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    out: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    slot: tl.tensor,
    start: tl.tensor,
    query_head: tl.tensor,
    query_row: tl.tensor,
    key_head: tl.tensor,
    key_row: tl.tensor,
    value_head: tl.tensor,
    value_row: tl.tensor,
    slots: tl.tensor,
    capacity: tl.tensor,
    heads: tl.constexpr,
    kv_heads: tl.constexpr,
    dim: tl.constexpr,
    value_dim: tl.constexpr,
    turned: tl.constexpr,
    keys_a_block: tl.constexpr,
    padded: tl.constexpr,
) -> None:
    row = tl.program_id(0)
    head = tl.program_id(1)
    at = tl.arange(0, padded)
    if head < heads:
        source = query + head.to(tl.int64) * query_head + row.to(tl.int64) * query_row
        turn = _turn(source, cos + row * turned, sin + row * turned, at, dim, turned)
        to = out + (row.to(tl.int64) * heads + head) * dim
        tl.store(to + at, turn.to(out.dtype.element_ty), mask=at < dim)
    else:
        kv = head - heads
        chosen = tl.load(slot).to(tl.int64)
        position = tl.load(start).to(tl.int64) + row
        if (chosen >= 0) & (chosen < slots) & (position >= 0) & (position < capacity):
            source = key + kv.to(tl.int64) * key_head + row.to(tl.int64) * key_row
            turn = _turn(source, cos + row * turned, sin + row * turned, at, dim, turned)
            to = keys + ((chosen * kv_heads + kv) * capacity + position) * dim
            tl.store(to + at, turn.to(keys.dtype.element_ty), mask=at < dim)
            source = value + kv.to(tl.int64) * value_head + row.to(tl.int64) * value_row
            block = chosen * (capacity // keys_a_block) + position // keys_a_block
            to = values + ((block * kv_heads + kv) * keys_a_block + position % keys_a_block) * value_dim
            tl.store(to + at, tl.load(source + at, mask=at < value_dim), mask=at < value_dim)


@triton.jit
def _turn(
    source: tl.tensor, cos: tl.tensor, sin: tl.tensor, at: tl.tensor, dim: tl.constexpr, turned: tl.constexpr
) -> tl.tensor:
    """One head's row in fp32, its first `turned` dimensions rotated."""
    half: tl.constexpr = turned // 2
    rotated = at < turned
    x = tl.load(source + at, mask=at < dim, other=0.0).to(tl.float32)
    other = tl.load(source + tl.where(at < half, at + half, at - half), mask=rotated, other=0.0).to(tl.float32)
    c = tl.load(cos + at, mask=rotated, other=1.0).to(tl.float32)
    s = tl.load(sin + at, mask=rotated, other=0.0).to(tl.float32)
    return tl.where(rotated, x * c + tl.where(at < half, -other, other) * s, x)
