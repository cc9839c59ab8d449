"""Triton form of `kernels.row_filter`: one program a row; thresholds by bisection instead of a sort.

fp32 numbers are ordered like integers once negative ones are flipped (`_key`), so halving an interval of integers
finds, in at most 32 passes over the row, the one number t with

    top-k   #{ v : z_v >= t } >= k, and fewer at the next number        (earlier where exactly k lie above)
    top-p   mass{ v : z_v >= t } >= top_p * total, and less at the next number

Each pass is a count or a sum, so the kept set is exact, ties included. The row stays in the second-level cache.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 8192
_LOWEST = tl.constexpr(-0x7F800001)  # the key of -infinity


def fused(
    logits: Tensor,
    *,
    temperature: float | Tensor,
    top_k: int | Tensor,
    top_p: float | Tensor,
    min_p: float | Tensor,
) -> Tensor:
    """As `kernels.row_filter.reference`; each setting may also be one number on the device, int32 for top_k.

    Then one captured graph serves every setting. The kept set differs from the reference's only where a mass comes
    within rounding of `top_p`.
    """
    rows, vocab = logits.shape
    assert logits.stride(1) == 1
    out = torch.empty(rows, vocab, dtype=torch.float32, device=logits.device)
    if isinstance(min_p, Tensor):
        log_min_p: float | Tensor = min_p.float().log()
    else:
        log_min_p = math.log(min_p) if min_p > 0 else -math.inf
    settings = (temperature, top_k, top_p, log_min_p)
    if out.numel():
        _filter[(rows,)](
            logits,
            out,
            *settings,
            logits.stride(0),
            vocab=vocab,
            loaded=sum(1 << i for i, setting in enumerate(settings) if isinstance(setting, Tensor)),
            block=_BLOCK,
            num_warps=16,
        )
    return out


@triton.jit(do_not_specialize=["temperature", "top_k", "top_p", "log_min_p"])
def _filter(
    logits: tl.tensor,
    out: tl.tensor,
    temperature: tl.tensor,
    top_k: tl.tensor,
    top_p: tl.tensor,
    log_min_p: tl.tensor,
    stride: tl.tensor,
    vocab: tl.constexpr,
    loaded: tl.constexpr,
    block: tl.constexpr,
) -> None:
    if loaded & 1:
        temperature = tl.load(temperature)
    if loaded & 2:
        top_k = tl.load(top_k)
    if loaded & 4:
        top_p = tl.load(top_p)
    if loaded & 8:
        log_min_p = tl.load(log_min_p)
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    out += row * vocab
    at = tl.arange(0, block)

    # The scaled row is written first and filtered where it lies; each thread reads back what it wrote.
    tops = tl.full((block,), float("-inf"), dtype=tl.float32)
    for start in range(0, vocab, block):
        inside = start + at < vocab
        score = tl.load(logits + start + at, mask=inside, other=float("-inf")).to(tl.float32) / temperature
        tl.store(out + start + at, score, mask=inside)
        tops = tl.where(score > tops, score, tops)  # passes over NaN
    tl.debug_barrier()
    top = tl.max(tops, axis=0)

    threshold = _kth(out, top, top_k, vocab, block)
    threshold = _nucleus(out, top, threshold, top_p, vocab, block)
    threshold = tl.maximum(threshold, top + log_min_p)
    for start in range(0, vocab, block):
        inside = start + at < vocab
        score = tl.load(out + start + at, mask=inside, other=0.0)
        tl.store(out + start + at, tl.where(score < threshold, float("-inf"), score), mask=inside)


@triton.jit
def _kth(scores: tl.tensor, top: tl.tensor, top_k: tl.tensor, vocab: tl.constexpr, block: tl.constexpr) -> tl.tensor:
    """A number with the k largest at or above it, and all ties; -infinity where top-k is off."""
    at = tl.arange(0, block)
    low = tl.full((), _LOWEST, tl.int64)
    high = tl.where((top_k > 0) & (top_k < vocab), _key(top) + 1, low + 1)
    while high - low > 1:
        middle = low + (high - low) // 2
        value = _value(middle)
        counts = tl.zeros((block,), dtype=tl.int32)
        for start in range(0, vocab, block):
            score = tl.load(scores + start + at, mask=start + at < vocab, other=float("-inf"))
            counts += (score >= value).to(tl.int32)
        count = tl.sum(counts, axis=0)
        low = tl.where(count >= top_k, middle, low)
        high = tl.where(count > top_k, high, tl.where(count == top_k, middle + 1, middle))
    return _value(low)


@triton.jit
def _nucleus(
    scores: tl.tensor, top: tl.tensor, kth: tl.tensor, top_p: tl.tensor, vocab: tl.constexpr, block: tl.constexpr
) -> tl.tensor:
    """The smallest number that top-p keeps of those at or above `kth`; `kth` itself where top-p is off."""
    low = _key(kth)
    on = (top_p < 1.0) & (top > float("-inf"))
    high = tl.where(on, tl.maximum(_key(top), low) + 1, low + 1)
    bound = tl.full((), 0.0, tl.float64)
    if on:
        bound = top_p * _mass(scores, top, kth, vocab, block)
    while high - low > 1:
        middle = low + (high - low) // 2
        enough = _mass(scores, top, _value(middle), vocab, block) >= bound
        low = tl.where(enough, middle, low)
        high = tl.where(enough, high, middle)
    return _value(low)


@triton.jit
def _mass(scores: tl.tensor, top: tl.tensor, value: tl.tensor, vocab: tl.constexpr, block: tl.constexpr) -> tl.tensor:
    """Sum of exp(z - top) over z >= value, in fp64."""
    at = tl.arange(0, block)
    sums = tl.zeros((block,), dtype=tl.float64)
    for start in range(0, vocab, block):
        score = tl.load(scores + start + at, mask=start + at < vocab, other=float("-inf"))
        sums += tl.where(score >= value, tl.exp(score - top), 0.0).to(tl.float64)
    return tl.sum(sums, axis=0)


@triton.jit
def _key(value: tl.tensor) -> tl.tensor:
    """An int64 that orders as the fp32 number does."""
    bits = value.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)


@triton.jit
def _value(key: tl.tensor) -> tl.tensor:
    """The fp32 number of a key."""
    bits = key.to(tl.int32)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.float32, bitcast=True)
