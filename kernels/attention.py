"""Row-exact blockwise attention over a preallocated cache.

For query row i of head h, with keys j in blocks of BLOCK counted from position 0:

    s_ij = cap(scale * q_i . k_j) + bias_ij          cap(x) = c * tanh(x / c), or x
    m_i  = max_j s_ij  (and the sink of head h)      one exact maximum over every block
    o_ib = sum_{j in block b} exp(s_ij - m_i) v_j    l_ib = sum_{j in block b} exp(s_ij - m_i)
    o_i  = tree_b(o_ib) / (tree_b(l_ib) + exp(sink_h - m_i))

`tree` adds neighbours pairwise, level by level, as if the number of blocks were a power of two: an absent right
neighbour adds nothing. So a row's result does not depend on how many rows share its forward, on its column, or on
how many masked or absent keys follow it: a masked key contributes exp(-inf) = 0 exactly, an absent block the
same 0, and the order of every other addition is fixed by the key's position alone. What remains is that the two
matrix products treat rows alike at every width in use; the engine establishes that on the device at load.
(Online softmax, Milakov & Gimelshein 2018, does not have this property: its rescaling order depends on the split.)
"""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 128
"""Keys per block. A constant of the arithmetic: changing it changes results in the last bits."""


def blocks_for(rows: int) -> int:
    """Number of key blocks that hold `rows` rows."""
    return -(-rows // BLOCK)


def reference(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor,
    *,
    scaling: float,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attention of W query rows over the first L cached keys, accumulated in fp32.

    Args:
        query: [H, W, D], heads grouped so that head h reads key head h // (H / KVH).
        key: [KVH, L, D] with L = blocks * BLOCK; rows past the last written one must be finite.
        value: [blocks, KVH, BLOCK, Dv], the same rows, block first so that a prefix of blocks is contiguous.
        bias: [W, L] fp32, 0 where row i may see key j and -inf elsewhere; every row sees at least one key.
        scaling: factor on the scores.
        softcap: c of the soft-cap, or None (Gemma 2, section 2).
        sinks: [H] extra logit per head that takes part in the normaliser only, or None.

    Returns:
        [H, W, Dv] in the dtype of `query`.
    """
    heads, width, dim = query.shape
    kv_heads, length, _ = key.shape
    blocks, _, _, value_dim = value.shape
    assert length == blocks * BLOCK and bias.shape == (width, length) and heads % kv_heads == 0
    group = heads // kv_heads

    q = query.float().mul(scaling).reshape(kv_heads, group * width, dim)
    scores = torch.bmm(q, key.float().transpose(1, 2))  # [KVH, G*W, L]
    if softcap is not None:
        scores = scores.div_(softcap).tanh_().mul_(softcap)
    scores = scores.view(kv_heads, group, width, length).add_(bias)

    top = scores.amax(dim=-1, keepdim=True)  # [KVH, G, W, 1]
    if sinks is not None:
        sink = sinks.float().view(kv_heads, group, 1, 1)
        top = torch.maximum(top, sink)
    weights = scores.sub_(top).exp_()
    by_block = weights.view(kv_heads, group * width, blocks, BLOCK).permute(2, 0, 1, 3).contiguous()

    mass = by_block.sum(dim=-1)  # [blocks, KVH, G*W]
    partial = torch.bmm(
        by_block.view(blocks * kv_heads, group * width, BLOCK),
        value.float().view(blocks * kv_heads, BLOCK, value_dim),
    ).view(blocks, kv_heads, group * width, value_dim)

    norm = _tree_sum(mass).unsqueeze(-1)  # [KVH, G*W, 1]
    if sinks is not None:
        norm = norm + (sink - top).exp().view(kv_heads, group * width, 1)
    out = _tree_sum(partial) / norm
    return out.view(heads, width, value_dim).to(query.dtype)


def pool_reference(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    slot: Tensor,
    start: Tensor,
    last: Tensor,
    *,
    scaling: float,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """`reference` over one slot of a pool, addressed from device memory: the form that one captured graph can serve.

    Row i stands at position p_i = min(start + i, last), so padding columns repeat the last real position, and sees
    the keys j of its slot with j <= p_i and, in a window, j > p_i - window.

    Args:
        query: [H, W, D], heads grouped so that head h reads key head h // (H / KVH); any strides.
        keys: [S, KVH, capacity, D], contiguous. values: [S, capacity / BLOCK, KVH, BLOCK, Dv], contiguous.
        slot, start, last: one integer each, int32 or int64, on the pools' device: the slot read, the position of the
            forward's first row and that of its last real one.
        scaling, softcap, sinks: as in `reference`.
        window: keys a row sees, its own included, or None for all.

    Returns:
        [H, W, Dv] in the dtype of `query`. Rows whose slot or position lies outside the pool are NaN.
    """
    slots, _, capacity, _ = keys.shape
    width = query.shape[1]
    columns = torch.arange(width, device=query.device)
    positions = torch.minimum(start.reshape(1) + columns, last.reshape(1))
    chosen = slot.reshape(1)
    inside = (positions >= 0) & (positions < capacity) & (chosen >= 0) & (chosen < slots)

    row = positions.clamp(0, capacity - 1)[:, None]
    column = torch.arange(capacity, device=query.device)[None]
    visible = column <= row
    if window is not None:
        visible &= column > row - window
    bias = torch.zeros(width, capacity, dtype=torch.float32, device=query.device)
    bias.masked_fill_(~visible, float("-inf"))
    index = chosen.clamp(0, slots - 1)
    key, value = keys.index_select(0, index)[0], values.index_select(0, index)[0]
    out = reference(query, key, value, bias, scaling=scaling, softcap=softcap, sinks=sinks)
    return out.masked_fill(~inside[:, None], float("nan"))


def _tree_sum(parts: Tensor) -> Tensor:
    """Sum over dim 0 by adding neighbours level by level; an odd last part passes through unchanged."""
    while (count := parts.shape[0]) > 1:
        paired = parts[0 : count - 1 : 2] + parts[1:count:2]
        parts = paired if count % 2 == 0 else torch.cat([paired, parts[-1:]])
    return parts[0]
