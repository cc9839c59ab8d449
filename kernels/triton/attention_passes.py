"""The two kernels of `kernels.triton.attention`, whose text says what they compute and why a row's bits are its own.

Scratch, by part p, head h and column i of the forward: partial [parts, H, W, Dv], tops and masses [parts, H, W], fp32.
A part that no row of the forward sees is neither written nor read.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["first", "width"])
def attend(
    query: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    partial: tl.tensor,
    tops: tl.tensor,
    masses: tl.tensor,
    slot: tl.tensor,
    start: tl.tensor,
    last: tl.tensor,
    first: tl.tensor,
    width: tl.tensor,
    slots: tl.tensor,
    capacity: tl.tensor,
    query_head: tl.tensor,
    query_row: tl.tensor,
    scaling: tl.tensor,
    softcap: tl.tensor,
    kv_heads: tl.constexpr,
    group: tl.constexpr,
    dim: tl.constexpr,
    dim_padded: tl.constexpr,
    block: tl.constexpr,
    tile: tl.constexpr,
    precision: tl.constexpr,
    capped: tl.constexpr,
    value_dim: tl.constexpr,
    value_padded: tl.constexpr,
    part: tl.constexpr,
    window: tl.constexpr,
) -> None:
    """First pass: one tile of rows of one key head, over every n-th part from the first that they see."""
    kv = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    real = row < width * group
    column = tl.minimum(row // group, width - 1)
    head = kv * group + row % group
    mine = _position(start, last, first + column)
    high = tl.minimum(tl.max(mine, axis=0), capacity - 1)
    chosen = tl.load(slot).to(tl.int64)
    high = tl.where((chosen >= 0) & (chosen < slots), high, -1)  # no such slot: no part
    index = tl.program_id(2) + _first_part(tl.min(mine, axis=0), window, part)

    at_key = tl.arange(0, part)
    at_dim = tl.arange(0, dim_padded)
    at_value = tl.arange(0, value_padded)
    rows_of_query = query + head * query_head + column.to(tl.int64) * query_row
    keys += (chosen * kv_heads + kv) * capacity * dim
    values += chosen * kv_heads * capacity * value_dim
    while index * part <= high:
        # keys past the forward's own are stale and not read at all, so that nothing in them matters
        begin = index * part
        fresh = begin + at_key <= high
        key_at = begin * dim + at_key[None, :] * dim + at_dim[:, None]
        key = tl.load(keys + key_at, mask=fresh[None, :] & (at_dim < dim)[:, None], other=0.0)
        value_row = (begin // block * kv_heads + kv) * block + begin % block
        value_at = value_row * value_dim + at_key[:, None] * value_dim + at_value[None, :]
        value = tl.load(values + value_at, mask=fresh[:, None] & (at_value < value_dim)[None, :], other=0.0)
        # loaded again for each part: kept, it would take the registers of a second program
        q = tl.load(rows_of_query[:, None] + at_dim[None, :], mask=real[:, None] & (at_dim < dim)[None, :], other=0.0)
        s = tl.dot(q, key, input_precision=precision) * scaling
        s = _masked(s, (begin + at_key)[None, :], mine[:, None], softcap, capped, window)
        top = tl.max(s, axis=1)
        weight = tl.exp(s - tl.where(top == float("-inf"), 0.0, top)[:, None])
        o = tl.dot(weight.to(value.dtype), value, input_precision=precision)
        to = (index * (kv_heads * group) + head) * width + column
        tl.store(tops + to, top, mask=real)
        tl.store(masses + to, tl.sum(weight, axis=1), mask=real)
        to_value = to[:, None] * value_dim + at_value[None, :]
        tl.store(partial + to_value, o, mask=real[:, None] & (at_value < value_dim)[None, :])
        index += tl.num_programs(2)


@triton.jit(do_not_specialize=["first", "width"])
def combine(
    partial: tl.tensor,
    tops: tl.tensor,
    masses: tl.tensor,
    sinks: tl.tensor,
    out: tl.tensor,
    slot: tl.tensor,
    start: tl.tensor,
    last: tl.tensor,
    first: tl.tensor,
    width: tl.tensor,
    slots: tl.tensor,
    capacity: tl.tensor,
    out_head: tl.tensor,
    out_row: tl.tensor,
    heads: tl.constexpr,
    group: tl.constexpr,
    tops_at_once: tl.constexpr,
    has_sinks: tl.constexpr,
    value_dim: tl.constexpr,
    value_padded: tl.constexpr,
    part: tl.constexpr,
    window: tl.constexpr,
) -> None:
    """Second pass: one row of one head."""
    column = tl.program_id(0)
    head = tl.program_id(1)
    chosen = tl.load(slot).to(tl.int64)
    mine = _position(start, last, first + column)
    inside = (chosen >= 0) & (chosen < slots) & (mine >= 0) & (mine < capacity)
    low = _first_part(mine, window, part)
    high = tl.where(inside, mine // part, low - 1)
    at_value = tl.arange(0, value_padded)

    top = tl.full([], float("-inf"), tl.float32)
    if has_sinks:
        top = tl.load(sinks + head).to(tl.float32)
    index = low
    while index <= high:
        p = index + tl.arange(0, tops_at_once)
        m = tl.load(tops + (p * heads + head) * width + column, mask=p <= high, other=float("-inf"))
        top = tl.maximum(top, tl.max(m, axis=0))
        index += tops_at_once

    # outside the pool nothing is added, and 0 / 0 is the NaN that says so
    mass = tl.full([], 0.0, tl.float32)
    total = tl.zeros([value_padded], tl.float32)
    index = low // group * group
    while index <= high:
        p = index + tl.arange(0, group)
        seen = (p >= low) & (p <= high)
        row = (p * heads + head) * width + column
        factor = tl.exp(tl.load(tops + row, mask=seen, other=float("-inf")) - top)
        mass += tl.sum(tl.load(masses + row, mask=seen, other=0.0) * factor, axis=0)
        value_at = row[:, None] * value_dim + at_value[None, :]
        o = tl.load(partial + value_at, mask=seen[:, None] & (at_value < value_dim)[None, :], other=0.0)
        total += tl.sum(o * factor[:, None], axis=0)
        index += group
    if has_sinks:
        mass += tl.where(inside, tl.exp(tl.load(sinks + head).to(tl.float32) - top), 0.0)
    to = out + head.to(tl.int64) * out_head + column.to(tl.int64) * out_row
    tl.store(to + at_value, (total / mass).to(out.dtype.element_ty), mask=at_value < value_dim)


@triton.jit
def _position(start: tl.tensor, last: tl.tensor, column: tl.tensor) -> tl.tensor:
    """Where a column of the forward stands in its slot; padding columns repeat the last real position."""
    return tl.minimum(tl.load(start).to(tl.int64) + column, tl.load(last).to(tl.int64))


@triton.jit
def _first_part(position: tl.tensor, window: tl.constexpr, part: tl.constexpr) -> tl.tensor:
    """The first part that a row at `position` sees."""
    if window > 0:
        low = tl.maximum(position - window + 1, 0) // part
    else:
        low = position * 0
    return low


@triton.jit
def _masked(
    s: tl.tensor,
    key: tl.tensor,
    row: tl.tensor,
    softcap: tl.tensor,
    capped: tl.constexpr,
    window: tl.constexpr,
) -> tl.tensor:
    """Scores, capped, with -inf at the keys that lie after a row or before its window."""
    if capped:
        # tanh(x) = 1 - 2 / (exp(2 x) + 1)
        s = softcap * (1.0 - 2.0 / (tl.exp(s * (2.0 / softcap)) + 1.0))
    visible = key <= row
    if window > 0:
        visible = visible & (key > row - window)
    return tl.where(visible, s, float("-inf"))
