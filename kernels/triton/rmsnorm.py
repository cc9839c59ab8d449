"""Triton form of `kernels.rmsnorm`: one program a row, the whole row in registers, no row sees another."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


def fused(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    eps: float,
    offset: float = 0.0,
    *,
    round_first: bool = True,
) -> tuple[Tensor, Tensor]:
    """As `kernels.rmsnorm.reference`; the sums differ in their last bits only."""
    assert not (round_first and offset), "the weight's offset belongs to the form that multiplies in fp32"
    size = x.shape[-1]
    assert weight.shape == (size,) and weight.is_contiguous() and (residual is None or residual.shape == x.shape)
    rows = x.contiguous()
    added = rows if residual is None else residual.contiguous()
    normed = torch.empty_like(rows)
    summed = rows if residual is None else torch.empty_like(rows)
    block = triton.next_power_of_2(size)
    if rows.numel():
        _rmsnorm[(rows.numel() // size,)](
            rows,
            added,
            weight,
            normed,
            summed,
            eps,
            offset,
            size,
            has_residual=residual is not None,
            round_first=round_first,
            block=block,
            num_warps=min(max(block // 512, 1), 16),  # of the size alone: a sum's order follows the warps
        )
    return normed, x if residual is None else summed


@triton.jit
def _rmsnorm(
    x: tl.tensor,
    residual: tl.tensor,
    weight: tl.tensor,
    normed: tl.tensor,
    summed: tl.tensor,
    eps: tl.tensor,
    offset: tl.tensor,
    size: tl.tensor,
    has_residual: tl.constexpr,
    round_first: tl.constexpr,
    block: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64) * size
    at = tl.arange(0, block)
    inside = at < size
    # every operand is widened as it is loaded: the sum is rounded to the stored dtype by hand, once
    wide = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    dtype = normed.dtype.element_ty
    if has_residual:
        wide += tl.load(residual + row + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(summed + row + at, wide.to(dtype), mask=inside)
        wide = wide.to(dtype).to(tl.float32)
    factor = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    wide *= tl.rsqrt(tl.sum(wide * wide, axis=0) / size + eps)
    if round_first:
        out = wide.to(dtype).to(tl.float32) * factor
    else:
        out = wide * (offset + factor)
    tl.store(normed + row + at, out.to(dtype), mask=inside)
