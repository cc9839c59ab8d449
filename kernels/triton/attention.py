"""Triton form of `kernels.attention.pool_reference`: one pass over parts of the keys, one that puts the parts together.

A part is a fixed number of keys counted from position 0, set by the head sizes and the dtype alone. For query row i
and part p, over the keys j of the part that the row sees:

    m_ip = max_j s_ij    l_ip = sum_j exp(s_ij - m_ip)    o_ip = sum_j exp(s_ij - m_ip) v_j      first pass
    m_i = max_p m_ip     (and the sink)                                                          second pass
    o_i = sum_p exp(m_ip - m_i) o_ip / (sum_p exp(m_ip - m_i) l_ip + exp(sink - m_i))

A row's bits depend on its own position only. Every product is a tile of the same shape, whatever the width; a key
that the row does not see weighs exp(-inf) = 0 in a sum of fixed shape; and the second pass adds the parts in groups
of _GROUP counted from position 0, group after group, reading those the row sees. How the parts are shared out among
programs, which depends on the pool's size, decides who computes a part and nothing else. (Splitting as in
Flash-Decoding, Dao et al. 2023, but never by length or by free processors, which would move the sums' bounds.)

Scores and sums are fp32. Weights meet the values in the values' dtype; products of fp32 are taken on the tensor cores
in three parts, to about the precision of fp32.

Nothing is read on the host: slot, start and last come from device memory, the grid and the scratch from shapes, and
programs with no visible part leave at once. So a captured graph serves every session.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from kernels.attention import BLOCK
from kernels.triton import attention_passes as passes

_TILE = 16
"""Rows of one program, one for each column of the forward and head that shares the key head. A constant of the
arithmetic: one shape of product whatever the width; programs of one key head share its keys through the L2 cache."""
_PART_BYTES = 2**14
"""Bytes of keys in one part, so that several programs share a processor's memory and short contexts fill the GPU."""
_GROUP = 32
"""Parts added at once in the second pass. A constant of the arithmetic, as BLOCK is."""
_TOPS = 256
"""Parts whose maxima are compared at once; in which order makes no difference."""
_PROGRAMS = 512
"""Programs of the first pass, about: enough to fill a large GPU; beyond that each takes several parts in turn."""
_SCRATCH = 2**26
"""Bytes of partial results held at once, about: wider forwards go in strips of columns."""


def fused(
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
    """As `kernels.attention.pool_reference`, to rounding; the result is laid out [W, H, Dv] in memory."""
    heads, width, dim = query.shape
    slots, kv_heads, capacity, _ = keys.shape
    value_dim = values.shape[-1]
    assert keys.is_contiguous() and values.is_contiguous() and heads % kv_heads == 0 and query.stride(2) == 1
    assert keys.shape[3] == dim and values.shape == (slots, capacity // BLOCK, kv_heads, BLOCK, value_dim)
    out = query.new_empty(width, heads, value_dim).transpose(0, 1)
    parts = capacity // part_keys(dim, value_dim, keys.element_size())
    columns = max(_TILE, _SCRATCH // (4 * parts * heads * value_dim))
    for first in range(0, width, columns):
        strip = slice(first, first + columns)
        place = (slot, start, last, first)
        _strip(query[:, strip], keys, values, out[:, strip], place, scaling, window, softcap, sinks)
    return out


def part_keys(dim: int, value_dim: int, itemsize: int) -> int:
    """Keys of one part, for heads of these sizes and elements of `itemsize` bytes."""
    fitting = _PART_BYTES // (_padded(max(dim, value_dim)) * itemsize)
    return min(BLOCK, max(16, fitting))


def _strip(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    out: Tensor,
    place: tuple[Tensor, Tensor, Tensor, int],
    scaling: float,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> None:
    """Both passes over columns `place[3]` and following of the forward, which `query` and `out` hold."""
    heads, width, dim = query.shape
    slots, kv_heads, capacity, _ = keys.shape
    value_dim = values.shape[-1]
    part = part_keys(dim, value_dim, keys.element_size())
    parts = capacity // part
    tiles = triton.cdiv(width * (heads // kv_heads), _TILE)
    splits = min(parts, max(1, _PROGRAMS // (kv_heads * tiles)))
    partial = query.new_empty((parts, heads, width, value_dim), dtype=torch.float32)
    tops, masses = query.new_empty((2, parts, heads, width), dtype=torch.float32).unbind()
    scratch = (partial, tops, masses)
    sizes = {"value_dim": value_dim, "value_padded": _padded(value_dim), "part": part, "window": window or 0}
    passes.attend[(tiles, kv_heads, splits)](
        query,
        keys,
        values,
        *scratch,
        *place,
        width,
        slots,
        capacity,
        *query.stride()[:2],
        scaling,
        0.0 if softcap is None else softcap,
        kv_heads=kv_heads,
        group=heads // kv_heads,
        dim=dim,
        dim_padded=_padded(dim),
        block=BLOCK,
        tile=_TILE,
        precision="ieee" if query.element_size() < 4 or torch.version.hip else "tf32x3",
        capped=softcap is not None,
        **sizes,
        num_warps=8,
        num_stages=1,  # programs beside each other hide the loads; stages would cost the room for them
    )
    passes.combine[(width, heads)](
        *scratch,
        tops if sinks is None else sinks,
        out,
        *place,
        width,
        slots,
        capacity,
        *out.stride()[:2],
        heads=heads,
        group=_GROUP,
        tops_at_once=_TOPS,
        has_sinks=sinks is not None,
        **sizes,
        num_warps=4,
    )


def _padded(dim: int) -> int:
    """The power of two that a matrix product takes for `dim`."""
    return max(16, 1 << (dim - 1).bit_length())
