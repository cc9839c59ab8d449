"""Triton form of `kernels.philox`: one program draws a run of lanes of one event."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.philox import Seed

_BLOCK = 1024


def fused(seed: Seed, role: int, counters: Tensor, lanes: int) -> Tensor:
    """As `kernels.philox.reference`, bit for bit."""
    out = torch.empty(counters.shape[0], lanes, dtype=torch.float32, device=counters.device)
    if out.numel():
        key = seed_on(counters.device, seed)
        _philox[(counters.shape[0], triton.cdiv(lanes, _BLOCK))](key, int(role), counters, out, lanes, block=_BLOCK)
    return out


def seed_on(device: torch.device, seed: Seed) -> Tensor:
    """The seed as one int64 on the device; a fill, which a capture may hold, and no copy from the host."""
    if isinstance(seed, Tensor):
        assert seed.numel() == 1 and seed.dtype == torch.int64 and seed.device == device
        return seed
    bits = seed & 0xFFFFFFFFFFFFFFFF
    return torch.full((1,), bits - (1 << 64) if bits >> 63 else bits, dtype=torch.int64, device=device)


@triton.jit(do_not_specialize=["role"])
def _philox(
    seed: tl.tensor, role: tl.tensor, counters: tl.tensor, out: tl.tensor, lanes: tl.tensor, block: tl.constexpr
) -> None:
    event = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * block
    drawn = uniforms(tl.load(seed), role, tl.load(counters + event), first, block)
    at = first + tl.arange(0, block)
    tl.store(out + event * lanes + at, drawn, mask=at < lanes)


@triton.jit
def uniforms(seed: tl.tensor, role: tl.tensor, counter: tl.tensor, first: tl.tensor, lanes: tl.constexpr) -> tl.tensor:
    """[lanes] fp32: the uniforms of one event from lane `first`, a multiple of 4, on."""
    block = (first // 4 + tl.arange(0, lanes // 4)).to(tl.uint32)
    zero = tl.zeros((lanes // 4,), dtype=tl.uint32)
    low = zero + (counter & 0xFFFFFFFF).to(tl.uint32)
    high = zero + ((counter >> 32) & 0xFFFFFFFF).to(tl.uint32)
    w0, w1, w2, w3 = tl.philox(seed, block, low, high, (zero + role).to(tl.uint32))
    word = tl.interleave(tl.interleave(w0, w2), tl.interleave(w1, w3))  # w0 w1 w2 w3 of each block in turn
    return ((word >> 9).to(tl.float32) + 0.5) * 1.1920928955078125e-07
