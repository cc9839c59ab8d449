"""What a rule is: how tokens are chosen from the trunk's logits. One file per rule beside this one.

A rule is a frozen value: its settings and its seed, nothing of a session. So two bursts with equal rules choose alike,
and a check can apply the rule of an earlier turn again.

Terms: `context` is the token ids before the one to choose. `index` is a value of the session's draw counter, `sctr`,
which counts categorical draws (rejection) or emitted tokens (coupled); `uctr` counts accept tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from torch import Tensor

from engine.accept import Outcome
from engine.events import Mode
from engine.rules.read import DIRECT, Read

Cut = float
"""Smallest top probability of the drafter's row at which it goes on drafting; 0 never stops it."""


Drafts = Sequence[int] | Tensor
"""Drafted ids; a tensor [n] int64 where only the device knows them, from its first negative id on there is none."""


class DraftChooser(Protocol):
    """Chooses the drafts of one round for a drafter that has probabilities."""

    @property
    def probabilities(self) -> list[Tensor]:
        """q of each draft chosen by drawing: [V] fp32, exactly what it was drawn from. Empty when nothing is drawn."""

    def __call__(self, logits: Tensor) -> int | None:
        """The next draft, from the drafter's row [v], v <= V; None to stop drafting, decided before any draw."""


@runtime_checkable
class DeviceChooser(DraftChooser, Protocol):
    """A draft chooser that can also leave its choices on the device."""

    def on_device(self, logits: Tensor) -> Tensor:
        """As a call, unread: [1] int64, negative to stop drafting. `statuses` are for the rule to read."""

    @property
    def statuses(self) -> list[Tensor]:
        """[1] `kernels.status.Status` of every row drawn from by `on_device`."""


@dataclass(frozen=True)
class Decision:
    """What a rule made of one verify forward."""

    outcome: Outcome
    draws: int = 0
    """Values of `sctr` used, from the round's first on."""
    test_p: tuple[float, ...] = ()
    test_q: tuple[float, ...] = ()
    test_u: tuple[float, ...] = field(default=())
    """One each per accept test, the failing one included; `uctr` moves by their number."""
    drafted: tuple[int, ...] | None = None
    """The drafts, where only the device knew them before."""


class Rule(Protocol):
    """How tokens are chosen. Raises `EngineError` where a row has no finite number or nothing to choose from."""

    @property
    def mode(self) -> Mode:
        """What the trace calls it."""

    @property
    def needs_context(self) -> bool:
        """Whether `context` is read; else it may be empty."""

    def choose(self, logits: Tensor, context: Sequence[int], index: int) -> int:
        """A token from a row [V] outside a round. A rule that draws uses the value `index`."""

    @property
    def draws(self) -> bool:
        """Whether `choose` uses a value of `sctr`."""

    def start(self, counter: int) -> int:
        """Where an answer begins to count when `sctr` stands at `counter`; never less."""

    def draft_chooser(self, context: Sequence[int], index: int, cut: Cut, vocab: int) -> DraftChooser | None:
        """For the drafts after `context`; None where a plain argmax without a cut is meant."""

    def accept(
        self,
        logits: Tensor,
        context: Sequence[int],
        drafts: Drafts,
        chooser: DraftChooser | None,
        index: int,
        tests: int,
        stop_ids: Collection[int],
        read: Read = DIRECT,
    ) -> Decision:
        """Walk the columns of a verify forward.

        Args:
            logits: [n + 1, V], row j after `context` and the first j of the n `drafts`.
            chooser: chose the drafts; None, or one without probabilities, makes them a point mass.
            index, tests: `sctr` and `uctr` before the round.
            read: brings to the host what the walk found; drafts in a tensor need one that reads once.
        """

    def scores(self, logits: Tensor, context: Sequence[int], drafts: Sequence[int]) -> Tensor:
        """[R, V]: what the rule chooses from in rows [R, V] after `context` and `drafts[:j]`; -inf where removed."""

    def replay(self, logits: Tensor, context: Sequence[int], index: int) -> int | None:
        """The token that plain decoding with this rule gives there; None where plain decoding would draw otherwise."""

    def describe(self) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """Seed and settings for the trace."""


Choose = Callable[[Tensor], int]
"""A token from one row [V], by a rule and a context that the caller fixed."""
