"""Greedy: the trunk's argmax, of penalised logits if there are penalties (Leviathan et al. 2023, temperature 0)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from engine.accept import accept_greedy
from engine.events import Mode
from engine.rules.protocol import Cut, Decision, DraftChooser
from engine.rules.shape import penalised
from engine.sampling import SamplingParams


@dataclass(frozen=True)
class GreedyRule:
    """Argmax. Equal for equal penalties; the other settings play no part."""

    params: SamplingParams = field(default=SamplingParams(temperature=0.0))
    mode: Mode = "greedy"
    draws: bool = False

    @classmethod
    def of(cls, params: SamplingParams) -> GreedyRule:
        """The greedy rule with the penalties of `params`, and plain where there are none."""
        plain = SamplingParams(temperature=0.0)
        return cls(
            replace(params, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0, seed=None) if params.penalised else plain
        )

    @property
    def needs_context(self) -> bool:
        """Only penalties read it."""
        return self.params.penalised

    def start(self, counter: int) -> int:
        """Where it stands."""
        return counter

    def choose(self, logits: Tensor, context: Sequence[int], index: int) -> int:
        """The argmax of the row."""
        return int(
            penalised(logits[None], self.params, context, ())[0].argmax() if self.needs_context else logits.argmax()
        )

    def draft_chooser(self, context: Sequence[int], index: int, cut: Cut, vocab: int) -> DraftChooser | None:
        """The drafter's own argmax, of its penalised logits."""
        return _Argmax(self.params, list(context), cut) if self.needs_context or cut > 0 else None

    def accept(
        self,
        logits: Tensor,
        context: Sequence[int],
        drafts: Sequence[int],
        chooser: DraftChooser | None,
        index: int,
        tests: int,
        stop_ids: Collection[int],
    ) -> Decision:
        """The longest prefix of drafts that equals the trunk's choices."""
        rows = penalised(logits, self.params, context, drafts) if self.needs_context else logits
        return Decision(accept_greedy(drafts, rows.argmax(dim=-1).tolist(), stop_ids))

    def scores(self, logits: Tensor, context: Sequence[int], drafts: Sequence[int]) -> Tensor:
        """The logits, penalised."""
        return penalised(logits, self.params, context, drafts)

    def replay(self, logits: Tensor, context: Sequence[int], index: int) -> int | None:
        """As `choose`."""
        return self.choose(logits, context, index)

    def describe(self) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """No seed: nothing is drawn."""
        return None, self.params.as_settings()


class _Argmax:
    """Drafts by argmax, ended by the cut."""

    def __init__(self, params: SamplingParams, context: list[int], cut: Cut) -> None:
        self.probabilities: list[Tensor] = []
        self._params, self._context, self._cut = params, context, cut

    def __call__(self, logits: Tensor) -> int | None:
        row = penalised(logits[None], self._params, self._context, ())[0]
        token = int(row.argmax())
        if self._cut > 0 and float(torch.softmax(row, dim=-1)[token]) < self._cut:
            return None
        self._context.append(token)
        return token


GREEDY = GreedyRule()
"""Plain greedy decoding."""
