"""The counter-based numbers a sampled burst uses, a block at a time: the same values as one by one, much quicker."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from engine.rules import RejectionRule
from kernels import gumbel, philox
from kernels.philox import Role

BLOCK = 2048


@cache
def _uniforms(seed: int, role: Role, block: int) -> Tensor:
    return philox.reference(seed, role, torch.arange(block * BLOCK, (block + 1) * BLOCK), 1)[:, 0]


@cache
def _noise(seed: int, vocab: int, block: int) -> Tensor:
    counters = torch.arange(block * BLOCK, (block + 1) * BLOCK)
    return gumbel.reference(seed, Role.GUMBEL, counters, vocab)


def uniform(seed: int, role: Role, counter: int) -> float:
    """One uniform."""
    return float(_uniforms(seed, role, counter // BLOCK)[counter % BLOCK])


def noise(seed: int, counter: int, vocab: int) -> list[float]:
    """The Gumbel noise [V] of one emitted token."""
    return _noise(seed, vocab, counter // BLOCK)[counter % BLOCK].tolist()


def from_blocks(rule: RejectionRule, role: Role, first: int | Tensor, count: int, device: torch.device) -> Tensor:
    """Stands in for `RejectionRule._uniforms`."""
    first = int(first)
    block, at = divmod(first, BLOCK)
    if at + count <= BLOCK:
        return _uniforms(rule.seed, role, block)[at : at + count]
    return torch.tensor([uniform(rule.seed, role, first + i) for i in range(count)])
