"""Triton form of `kernels.coupled_walk`: noise, argmax of every row and first mismatch in one launch."""

from __future__ import annotations

from torch import Tensor

from kernels.philox import Seed
from kernels.triton.choice_walk import walk
from kernels.triton.philox import seed_on
from kernels.walk import Walk


def fused(scores: Tensor, drafts: Tensor, seed: Seed, counters: Tensor) -> Walk:
    """As `kernels.coupled_walk.reference`.

    A different token is chosen only where two noisy scores agree to the last bits of the logarithm. Every row is
    drawn at once, used or not: the rows run side by side, and unused noise costs no counter.
    """
    assert counters.shape == (scores.shape[0],)
    return walk(scores, drafts, seed_on(scores.device, seed), counters)
