"""`kernels.status` for the kernels: the same codes, computed from a sum or a maximum."""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.status import Status

OK = tl.constexpr(int(Status.OK))
NOT_FINITE = tl.constexpr(int(Status.NOT_FINITE))
NO_MASS = tl.constexpr(int(Status.NO_MASS))


@triton.jit
def of_mass(total: tl.tensor) -> tl.tensor:
    """Status of a row of probabilities by its sum."""
    finite = (total == total) & (tl.abs(total) != float("inf"))
    return tl.where(finite, tl.where(total > 0, OK, NO_MASS), NOT_FINITE)


@triton.jit
def of_peak(top: tl.tensor) -> tl.tensor:
    """Status of a row of logits by its maximum; the caller turns NaN into +infinity, which no maximum loses."""
    return tl.where(top == float("inf"), NOT_FINITE, tl.where(top == float("-inf"), NO_MASS, OK))
