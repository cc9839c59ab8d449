"""The most probable tokens of a row, for whoever looks into a round; one read of the vocabulary, off by default."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.events import Alternatives
from engine.rules import DraftChooser, Rule

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


class Recorder:
    """A draft chooser that notes the alternatives of every row it is asked about."""

    def __init__(self, inner: DraftChooser | None, rule: Rule, context: Sequence[int], count: int) -> None:
        """`inner` chooses; None is the row's argmax."""
        self.noted: list[Alternatives] = []
        self._inner, self._rule, self._context, self._count = inner, rule, list(context), count

    @property
    def probabilities(self) -> list[Tensor]:
        """As the inner one's."""
        return [] if self._inner is None else self._inner.probabilities

    def __call__(self, logits: Tensor) -> int | None:
        """Note, then choose."""
        token = int(logits.argmax()) if self._inner is None else self._inner(logits)
        if token is not None:
            self.noted += alternatives(self._rule.scores(logits[None], self._context, ()), self._count)
            self._context.append(token)
        return token
