"""What a drafter is to the session. One file per drafter beside this one.

The session tells a drafter everything it needs and asks for nothing else:
`start` once when it joins a session, `observe` after every commit, `truncate` when rows are dropped, `propose` once a
round. A drafter may lag behind the session (its own context may be shorter); it never leads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from engine.cuda.host_read import Unchecked


@runtime_checkable
class Drafter(Protocol):
    """Proposes tokens. Belongs to one session; never shared.

    Hidden states are the trunk's, before its final norm. A head that pairs the token at position p with the hidden of
    position p - 1 (EAGLE, MTP) finds that predecessor in `last_h` for the first row it is given, and in the
    previous row of `hidden` for every later one.
    """

    name: str
    """As the user writes it, e.g. `ngram`."""

    needs_hidden: bool
    """Whether `observe` wants hidden rows. Then `start` at a position past 0 is a cold start."""

    max_ctx: int | None
    """Committed length at which it stops drafting, or None."""

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        """Join a session whose rows are `committed`; `last_h` [H] is the last row's hidden, None when there is none."""

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        """At most `k` >= 1 guesses of the tokens after `pending`, which follows the last row. Must not change state
        that `truncate` to the present length does not undo."""

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        """Rows were committed: `tokens` in order, and their hidden [n, H] if `needs_hidden`."""

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        """Only the first `length` rows remain; `last_h` [H] is the hidden of row `length - 1`."""

    def release(self) -> None:
        """The session was evicted or closed: give back what the next `propose` can build again from the tokens."""

    def snapshot(self) -> object:
        """What `restore` needs to come back to this moment; small. Append-only drafters give their length."""

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        """Back to a snapshot of this drafter taken at a position that still exists."""


@dataclass(frozen=True)
class Proposal:
    """Drafts that only the device knows."""

    ids: Tensor
    """[n] int64; from the first negative one on there is none."""
    checks: tuple[Unchecked, ...]
    """Of the forwards that made them."""


@runtime_checkable
class DeviceDrafter(Protocol):
    """A drafter that can leave its drafts on the device, so that a round waits for them together with its verify."""

    def propose_on_device(self, choose: Callable[[Tensor], Tensor] | None, pending: int, k: int) -> Proposal | None:
        """As `propose_by`, with `choose` from a row [v] to [1] int64, None for its argmax; None where it cannot."""

    def learned(self, drafts: Sequence[int]) -> None:
        """The latest proposal, now that the host has read it."""


@runtime_checkable
class ChoosingDrafter(Drafter, Protocol):
    """A drafter with probabilities: it lets the round's rule choose each draft from its own row of logits."""

    def propose_by(
        self, choose: Callable[[Tensor], int | None], pending: int, k: int, last_h: Tensor | None
    ) -> list[int]:
        """As `propose`, with `choose` called once per draft on the drafter's row [v]; None ends the drafts."""
