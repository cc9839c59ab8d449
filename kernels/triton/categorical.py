"""Triton form of `kernels.categorical`: one program a row, one pass for the sum and one that stops at the token."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.status import OK, of_mass

_BLOCK = 4096


def fused(probs: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """As `kernels.categorical.reference`; the fp64 sums differ in their last bits only."""
    batch, vocab = probs.shape
    assert u.shape == (batch,) and probs.stride(1) == 1
    token = torch.empty(batch, dtype=torch.int64, device=probs.device)
    status = torch.empty(batch, dtype=torch.int32, device=probs.device)
    if batch:
        _draw[(batch,)](probs, u.contiguous(), token, status, probs.stride(0), vocab=vocab, block=_BLOCK, num_warps=8)
    return token, status


@triton.jit
def _draw(
    probs: tl.tensor,
    u: tl.tensor,
    token: tl.tensor,
    status: tl.tensor,
    stride: tl.tensor,
    vocab: tl.constexpr,
    block: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    probs += row * stride
    at = tl.arange(0, block)
    sums = tl.zeros((block,), dtype=tl.float64)
    for start in range(0, vocab, block):
        sums += weights(probs, probs, -1, 0, start + at, vocab, False).to(tl.float64)
    total = tl.sum(sums, axis=0)
    named = of_mass(total)
    found = invert(probs, probs, -1, 0, total, tl.load(u + row), vocab, False, block)
    tl.store(token + row, tl.where(named == OK, found, 0))
    tl.store(status + row, named)


@triton.jit
def weights(
    p: tl.tensor,
    q: tl.tensor,
    removed: tl.tensor,
    q_end: tl.tensor,
    at: tl.tensor,
    vocab: tl.constexpr,
    has_q: tl.constexpr,
) -> tl.tensor:
    """What to draw from, at token ids `at`: max(0, p - q) below `q_end`, else p; without `removed`."""
    inside = at < vocab
    weight = tl.load(p + at, mask=inside, other=0.0).to(tl.float32)
    if has_q:
        weight -= tl.load(q + at, mask=at < q_end, other=0.0).to(tl.float32)
        weight = tl.where(weight < 0, 0.0, weight)  # not a maximum, which may swallow a NaN
    return tl.where(at == removed, 0.0, weight)


@triton.jit
def invert(
    p: tl.tensor,
    q: tl.tensor,
    removed: tl.tensor,
    q_end: tl.tensor,
    total: tl.tensor,
    u: tl.tensor,
    vocab: tl.constexpr,
    has_q: tl.constexpr,
    block: tl.constexpr,
) -> tl.tensor:
    """The first token id whose cumulative weight exceeds u * total, int64; 0 where none does (a NaN in the row)."""
    target = u.to(tl.float64) * total
    at = tl.arange(0, block)
    before = tl.full((), 0.0, tl.float64)
    found = vocab
    start = 0
    while (start < vocab) & (found == vocab):
        weight = weights(p, q, removed, q_end, start + at, vocab, has_q)
        upto = before + tl.cumsum(weight.to(tl.float64), axis=0)
        found = tl.min(tl.where((upto > target) & (weight > 0), start + at, vocab), axis=0)
        before += tl.sum(weight.to(tl.float64), axis=0)
        start += block
    return tl.where(found < vocab, found, 0).to(tl.int64)
