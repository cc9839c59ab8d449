"""The one small read of a round: everything that the host needs, packed on the device and copied through pinned memory.

Whether the forwards before it were finite is part of it, so that no check waits on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.errors import EngineError
from kernels.walk import Walk


@dataclass(frozen=True)
class Unchecked:
    """A forward whose rows nobody has looked at yet."""

    report: Tensor
    """`Computed.report`: its first value is 0 where something is not finite."""
    refuse: Callable[[], EngineError]
    """Removes what must not stay, and gives the error to raise."""


class HostRead:
    """As `engine.rules.read.Read`, for a device that has to be waited for."""

    once = True

    def __init__(self, checks: Sequence[Unchecked], count: Callable[[], None], greedy: Walk | None = None) -> None:
        """`checks`: of the forwards that this read vouches for. `count` is told of every read."""
        self.greedy = greedy
        self._checks, self._count = checks, count

    def __call__(self, *tensors: Tensor) -> list[list[float]]:
        """The values of each tensor, flat; integers up to 2**53 are exact.

        Raises:
            EngineError: one of the checked forwards was not finite; the first one's.
        """
        flags = [check.report[:1] for check in self._checks]
        values = read([*flags, *tensors])
        self._count()
        for check, (finite,) in zip(self._checks, values, strict=False):
            if not finite:
                raise check.refuse()
        return values[len(flags) :]


def read(tensors: Sequence[Tensor]) -> list[list[float]]:
    """The values of every tensor, flat, in one copy."""
    dtype = torch.float64 if any(tensor.is_floating_point() for tensor in tensors) else torch.int64
    parts = [tensor.reshape(-1).to(dtype) for tensor in tensors]
    packed = torch.cat(parts)
    if packed.is_cuda:
        pinned = torch.empty(packed.shape, dtype=packed.dtype, pin_memory=True)
        pinned.copy_(packed, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record(torch.cuda.current_stream(packed.device))
        arrived.synchronize()
        packed = pinned
    flat: list[float] = packed.tolist()
    values, at = [], 0
    for part in parts:
        values.append(flat[at : at + part.shape[0]])
        at += part.shape[0]
    return values
