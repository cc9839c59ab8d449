"""Pearson's chi-square test of counts against probabilities."""

from __future__ import annotations

import torch
from torch import Tensor

BOUND = 1e-4
"""A correct sampler falls below with this probability per test; seeds are fixed, so that it does so always or never."""


def p_value(counts: Tensor, probs: Tensor) -> float:
    """Probability of counts at least as odd as these if each event drew its cell from `probs` (normalised here).

    A count where there is no probability gives 0. Cells in which fewer than 5 events are expected are pooled.
    """
    counts, probs = counts.double().flatten(), probs.double().flatten()
    probs = probs / probs.sum()
    if bool((counts[probs == 0] > 0).any()):
        return 0.0
    expected = probs * counts.sum()
    small = expected < 5
    cells = [(float(c), float(e)) for c, e in zip(counts[~small], expected[~small], strict=True)]
    pooled = float(expected[small].sum())
    if pooled >= 5:
        cells.append((float(counts[small].sum()), pooled))
    if len(cells) < 2:
        return 1.0
    statistic = sum((c - e) ** 2 / e for c, e in cells)
    half = torch.tensor([(len(cells) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def fit(tokens: Tensor, probs: Tensor) -> float:
    """`p_value` of drawn tokens against a distribution [V]."""
    return p_value(torch.bincount(tokens, minlength=len(probs)), probs)
