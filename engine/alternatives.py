"""The most probable tokens of a row, for whoever looks into a round; one read of the vocabulary, off by default."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.events import Alternatives

DIGITS = 6
"""Decimals kept: enough to compare, and short in a trace."""


def alternatives(scores: Tensor, count: int) -> tuple[Alternatives, ...]:
    """Per row of `scores` [R, V] (logits, or scores with -inf where removed) its `count` most probable tokens.

    Best first, with softmax probabilities; tokens of probability 0 are left out.
    """
    if count <= 0 or not len(scores):
        return ()
    rows = scores.float()
    values, ids = rows.topk(min(count, rows.shape[-1]), dim=-1)
    chances = (values - torch.logsumexp(rows, dim=-1, keepdim=True)).exp()
    return tuple(
        tuple((token, round(chance, DIGITS)) for token, chance in zip(row, of, strict=True) if chance > 0)
        for row, of in zip(ids.tolist(), chances.tolist(), strict=True)
    )
