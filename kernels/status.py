"""What a drawing operation says about the row it read: usable, or why not."""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor


class Status(IntEnum):
    """Of one row. A row that is not OK yields token 0, never an index that nothing stands behind."""

    OK = 0
    NOT_FINITE = 1
    """NaN, or +infinity where a finite number belongs."""
    NO_MASS = 2
    """Every token is removed: all logits are -infinity, or all probabilities 0."""


def of_mass(total: Tensor) -> Tensor:
    """Status of rows of probabilities by their sums, any shape -> int32. A sum carries any NaN or infinity along."""
    empty = torch.where(total > 0, int(Status.OK), int(Status.NO_MASS))
    return torch.where(total.isfinite(), empty, int(Status.NOT_FINITE)).to(torch.int32)


def of_peak(top: Tensor) -> Tensor:
    """Status of rows of logits by their maxima, any shape -> int32. torch's maximum is NaN if any element is."""
    broken = top.isnan() | (top == float("inf"))
    empty = torch.where(top == float("-inf"), int(Status.NO_MASS), int(Status.OK))
    return torch.where(broken, int(Status.NOT_FINITE), empty).to(torch.int32)
