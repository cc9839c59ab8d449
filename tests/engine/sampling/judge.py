"""Chi-square of emitted tokens against their closed form, whatever history each of them had.

Two views, because a place may have many tokens of one distribution or a few of many:
    by distribution   tokens of equal distributions are counted together; statistics and degrees of freedom are added
    by rank           all tokens are counted by how probable they were among their alternatives; the counts' covariance
                      is the sum of the tokens' own
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

LEAST = 5.0
"""Cells in which fewer are expected are pooled."""


def p_value(tokens: Iterable[int], laws: Iterable[list[float]]) -> float:
    """Of tokens at least this odd if each was drawn from its own law. One of probability 0 gives 0."""
    token, law = torch.tensor(list(tokens)), torch.tensor(list(laws), dtype=torch.float64)
    if bool((law[torch.arange(len(token)), token] < 1e-12).any()):
        return 0.0
    return min(1.0, 2 * min(_by_distribution(token, law), _by_rank(token, law)))


def _by_distribution(token: Tensor, law: Tensor) -> float:
    _, group = torch.unique((law * 1e9).round(), dim=0, return_inverse=True)
    statistic, freedom = 0.0, 0
    for index in range(int(group.max()) + 1):
        mine = group == index
        expected = law[mine].sum(0)
        seen = torch.bincount(token[mine], minlength=len(expected)).double()
        large = expected >= LEAST
        rest, pooled = seen[~large].sum(), expected[~large].sum()
        seen, expected = seen[large], expected[large]
        if pooled >= LEAST:
            seen, expected = torch.cat([seen, rest[None]]), torch.cat([expected, pooled[None]])
        if len(seen) > 1:
            freedom += len(seen) - 1
            statistic += float(((seen - expected) ** 2 / expected).sum())
    return _tail(statistic, freedom)


def _by_rank(token: Tensor, law: Tensor) -> float:
    order = law.argsort(dim=-1, descending=True, stable=True)
    ranked = law.gather(1, order)
    rank = (order == token[:, None]).byte().argmax(-1)
    expected = ranked.sum(0)
    cells = int((expected >= LEAST).sum())  # ranks descend, so the small ones are the last
    if cells < 2:
        return 1.0
    excess = (torch.bincount(rank, minlength=len(expected)).double() - expected)[: cells - 1]
    covariance = (torch.diag(expected) - ranked.T @ ranked)[: cells - 1, : cells - 1]
    return _tail(float(excess @ torch.linalg.solve(covariance, excess)), cells - 1)


def _tail(statistic: float, freedom: int) -> float:
    if not freedom:
        return 1.0
    half = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))
