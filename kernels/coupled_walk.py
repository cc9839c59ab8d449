"""Coupled speculative sampling: trunk and drafter add the same noise, indexed by the emitted token's position.

    choice_j = min argmax_v ( score_j(v) + g(counter + j, v) )          g: `gumbel`, role GUMBEL
    accepted = max { a : drafts[j] = choice_j for all j < a }           token = choice_accepted

choice_j is a draw from softmax(score_j), so the emitted tokens are those of plain sampling with the same noise,
whatever was drafted; a drafter that adds the noise to its own scores merely guesses well. (Gumbel coupling: Daliri,
Musco and Suresh, "Coupling without communication and drafter-invariant speculative decoding", 2024.)
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import gumbel
from kernels.philox import Role, Seed
from kernels.status import Status, of_peak
from kernels.walk import Walk


def reference(scores: Tensor, drafts: Tensor, seed: Seed, counters: Tensor) -> Walk:
    """Walk B rounds; noise is drawn only for the rows that a walk reaches.

    Args:
        scores: [B, R, V] filtered, -inf where removed, R = n + 1. drafts: [B, n] int64, negative: none from there on.
        seed: 64 bits. counters: [B] int64, the event of row 0; row j uses counter + j.

    Returns:
        `Walk`; `tests` counts comparisons. A row with NaN or +infinity, or all -infinity, ends the walk and is named.
    """
    batch, count = drafts.shape
    vocab = scores.shape[2]
    assert scores.shape[:2] == (batch, count + 1) and counters.shape == (batch,)
    accepted, token, tests = (drafts.new_zeros(batch) for _ in range(3))
    status = torch.zeros(batch, dtype=torch.int32, device=drafts.device)

    walking = torch.arange(batch, device=drafts.device)
    for row in range(count + 1):
        noise = gumbel.reference(seed, Role.GUMBEL, counters[walking] + row, vocab)
        top, choice = noise.add_(scores[walking, row]).max(-1)
        row_status = of_peak(top)
        token[walking] = torch.where(row_status == Status.OK, choice, 0)
        status[walking] = row_status
        if row == count:
            break
        draft = drafts[walking, row]
        tests[walking] += draft >= 0
        holds = (draft == choice) & (row_status == Status.OK)
        accepted[walking] += holds
        walking = walking[holds]
        if not len(walking):
            break
    return Walk(accepted, token, tests, status)
