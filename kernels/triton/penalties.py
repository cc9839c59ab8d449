"""Triton form of `kernels.penalties`: a copy, and one launch that rewrites only tokens of the context.

One program takes a stretch of the context of one row. A token that occurs twice is written twice with the same value:
both are computed from the untouched logits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 64


def fused(
    logits: Tensor,
    history: Tensor,
    drafts: Tensor,
    *,
    repetition: float,
    frequency: float,
    presence: float,
    last_n: int,
) -> Tensor:
    """As `kernels.penalties.reference`; an id past the vocabulary is skipped."""
    rows, vocab = logits.shape
    assert drafts.shape == (rows - 1,) and logits.stride(1) == 1
    out = torch.empty(rows, vocab, dtype=torch.float32, device=logits.device).copy_(logits)
    length = history.shape[0]
    additive = last_n > 0 and (frequency != 0.0 or presence != 0.0)
    if (repetition != 1.0 or additive) and length + rows > 1:
        _penalise[(rows, triton.cdiv(length + rows - 1, _BLOCK))](
            logits,
            history.contiguous(),
            drafts.contiguous(),
            out,
            repetition,
            frequency,
            presence,
            last_n if additive else 0,
            length,
            vocab,
            logits.stride(0),
            block=_BLOCK,
        )
    return out


@triton.jit(do_not_specialize=["repetition", "frequency", "presence", "last_n", "length"])
def _penalise(
    logits: tl.tensor,
    history: tl.tensor,
    drafts: tl.tensor,
    out: tl.tensor,
    repetition: tl.tensor,
    frequency: tl.tensor,
    presence: tl.tensor,
    last_n: tl.tensor,
    length: tl.tensor,
    vocab: tl.tensor,
    stride: tl.tensor,
    block: tl.constexpr,
) -> None:
    row = tl.program_id(0)
    end = length + row
    at = tl.arange(0, block)
    ids = _context(history, drafts, tl.program_id(1) * block + at, length, end)
    inside = (ids >= 0) & (ids < vocab)
    score = tl.load(logits + row.to(tl.int64) * stride + ids, mask=inside, other=0.0).to(tl.float32)
    score = tl.where(score < 0, score * repetition, score / repetition)
    count = tl.zeros((block,), dtype=tl.int32)
    start = tl.maximum(end - last_n, 0)
    while start < end:
        other = _context(history, drafts, start + at, length, end)
        count += tl.sum((ids[:, None] == other[None, :]).to(tl.int32), axis=1)
        start += block
    score -= count.to(tl.float32) * frequency + tl.where(count > 0, presence, 0.0)
    tl.store(out + row.to(tl.int64) * vocab + ids, score, mask=inside)


@triton.jit
def _context(history: tl.tensor, drafts: tl.tensor, at: tl.tensor, length: tl.tensor, end: tl.tensor) -> tl.tensor:
    """Token ids of history + drafts at places `at`, -1 from `end` on."""
    old = tl.load(history + at, mask=(at < length) & (at < end), other=-1)
    return tl.load(drafts + (at - length), mask=(at >= length) & (at < end), other=old)
