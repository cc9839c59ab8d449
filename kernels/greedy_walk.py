"""Greedy acceptance: the argmax of every row, and the drafts up to the first that differs.

    choice_r = min argmax_v logits[r, v]
    accepted = max { a : drafts[i] = choice_i for all i < a }          token = choice_accepted

(Leviathan, Kalman and Matias 2023, section 2, at temperature 0.) Equal logits: the lowest id.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.status import Status, of_peak
from kernels.walk import Walk, draft_count


def reference(logits: Tensor, drafts: Tensor) -> Walk:
    """Walk B rounds.

    Args:
        logits: [B, R, V]; row r predicts what follows draft r-1. drafts: [B, R-1] int64, negative: none from there on.

    Returns:
        `Walk`; `tests` counts comparisons. A row with NaN or +infinity, or all -infinity, ends the walk and is named.
    """
    count = drafts.shape[1]
    assert logits.shape[:2] == (drafts.shape[0], count + 1)
    top, choice = logits.max(-1)
    row_status = of_peak(top)
    holds = (drafts == choice[:, :count]) & (row_status[:, :count] == Status.OK)
    accepted = holds.long().cumprod(-1).sum(-1)
    status = row_status.gather(1, accepted[:, None])[:, 0]
    token = choice.gather(1, accepted[:, None])[:, 0]
    tests = torch.minimum(accepted + 1, draft_count(drafts))
    return Walk(accepted, torch.where(status == Status.OK, token, 0), tests, status)
