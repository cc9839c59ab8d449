"""No drafter: every round is one plain decode step at the round's width."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


class NoDrafter:
    """Proposes nothing."""

    name = "none"
    needs_hidden = False
    max_ctx: int | None = None

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        """Nothing to prepare."""

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        """Always empty."""
        return []

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        """Nothing to keep."""

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        """Nothing to drop."""

    def release(self) -> None:
        """Nothing to give back."""

    def snapshot(self) -> object:
        """Nothing to remember."""
        return None

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        """Nothing to restore."""
