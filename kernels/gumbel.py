"""Standard Gumbel noise from a counter: g = -log(-log(u)), u from `philox`, one lane per token id.

argmax_v (score_v + g_v) is a draw from softmax(score) (Gumbel 1954; Maddison, Tarlow and Minka 2014, section 2).
Noise is a function of (seed, role, counter, token id), so whoever scores the same event adds the same noise.
"""

from __future__ import annotations

from torch import Tensor

from kernels import philox


def reference(seed: philox.Seed, role: int, counters: Tensor, vocab: int) -> Tensor:
    """[n, vocab] fp32, finite, between -2.9 and 16.7, on the device of `counters` ([n] int64, one event each)."""
    return philox.reference(seed, role, counters, vocab).log_().neg_().log_().neg_()
