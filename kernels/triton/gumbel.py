"""Triton form of `kernels.gumbel`. Its logarithm is the full one: near u = 1 the device's approximation is no good."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.philox import Seed
from kernels.triton.philox import seed_on, uniforms

_BLOCK = 1024


def fused(seed: Seed, role: int, counters: Tensor, vocab: int) -> Tensor:
    """As `kernels.gumbel.reference`; the logarithms may differ in their last bit."""
    out = torch.empty(counters.shape[0], vocab, dtype=torch.float32, device=counters.device)
    if out.numel():
        key = seed_on(counters.device, seed)
        _gumbel[(counters.shape[0], triton.cdiv(vocab, _BLOCK))](key, int(role), counters, out, vocab, block=_BLOCK)
    return out


@triton.jit(do_not_specialize=["role"])
def _gumbel(
    seed: tl.tensor, role: tl.tensor, counters: tl.tensor, out: tl.tensor, vocab: tl.tensor, block: tl.constexpr
) -> None:
    event = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * block
    noise = standard(tl.load(seed), role, tl.load(counters + event), first, block)
    at = first + tl.arange(0, block)
    tl.store(out + event * vocab + at, noise, mask=at < vocab)


@triton.jit
def standard(seed: tl.tensor, role: tl.tensor, counter: tl.tensor, first: tl.tensor, lanes: tl.constexpr) -> tl.tensor:
    """[lanes] fp32: the noise of one event for token ids from `first`, a multiple of 4, on."""
    return -tl.log(-tl.log(uniforms(seed, role, counter, first, lanes)))
