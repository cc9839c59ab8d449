"""How a rule gets numbers from where they were computed to the host, and why a GPU is asked only once a round.

On a GPU every read waits for everything queued before it. So a rule that is given a `Read` with `once` computes all it
needs first, for every column, and reads it at one time; without, it may read as it goes and stop early.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from kernels.walk import Walk


class Read(Protocol):
    """Brings numbers of one round to the host."""

    @property
    def once(self) -> bool:
        """Whether the rule must read once."""

    @property
    def greedy(self) -> Walk | None:
        """The plain greedy walk over the round's drafts, where the forward has computed it already."""

    def __call__(self, *tensors: Tensor) -> list[list[float]]:
        """The values of each tensor, flat. Raises `EngineError` where the round's forwards were not finite."""


class DirectRead:
    """Memory that the host can reach: every read is free."""

    once = False
    greedy: Walk | None = None

    def __call__(self, *tensors: Tensor) -> list[list[float]]:
        """As the protocol."""
        return [tensor.reshape(-1).tolist() for tensor in tensors]


DIRECT = DirectRead()
"""What a rule reads with unless it is told otherwise."""
